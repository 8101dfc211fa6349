/// Asks whether a publication reached a user, and why not.
public struct WhyRequest: Sendable, Equatable {
  public var user: String
  public var channel: ChannelName
  public var offset: UInt64
  /// Nil: the channel's present epoch.
  public var epoch: String?
  /// Whoever asks may know what an app keeps from people, such as that somebody is blocked. To be set by the door that
  /// knows their grant.
  public var mayKnowExclusions: Bool

  public init(
    user: String, channel: ChannelName, offset: UInt64, epoch: String? = nil, mayKnowExclusions: Bool = false
  ) {
    self.user = user
    self.channel = channel
    self.offset = offset
    self.epoch = epoch
    self.mayKnowExclusions = mayKnowExclusions
  }
}

extension ByteSink {
  mutating func write(_ request: WhyRequest) {
    write(request.user)
    write(request.channel)
    write(request.offset)
    write(optionalText: request.epoch)
    write(flag: request.mayKnowExclusions)
  }
}

extension ByteReader {
  mutating func readWhyRequest() throws(MalformedMessage) -> WhyRequest {
    WhyRequest(
      user: try readString(), channel: try readChannel(), offset: try readNumber(), epoch: try readOptionalString(),
      mayKnowExclusions: try readFlag())
  }
}
