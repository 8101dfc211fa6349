public import Wire

/// One subscription to a shared poll, among all of the gateway.
struct PollSubscriber: Hashable, Sendable {
  /// The event loop that its connection is on.
  var loop: Int
  var connection: UInt64
  /// The subscription's own number in its connection: what was on its way to an earlier one is not for this one.
  var number: UInt64
}

/// What a client wants to hear of, with signatures that were found valid.
public struct PollTrack: Equatable, Sendable {
  public struct Item: Equatable, Sendable {
    public var key: String
    /// What the client has of it; 0: nothing.
    public var version: UInt64
    /// When the signature ends that allows it, in seconds since 1970; `Int64.max`: never.
    public var expiresAt: Int64
  }

  public var channel: ChannelName
  /// The subscription's number.
  public var number: UInt64
  /// The epoch that the client was told: its versions are of that.
  public var epoch: String
  /// A key that comes twice counts as it comes last.
  public var items: [Item]
  /// Keys to untrack in the same step, those among the items too.
  public var untracked: [String]
}

/// What becomes of a ``PollTrack``.
public enum PollTracked: Equatable, Sendable {
  /// All keys are tracked. The publications are what is known already and the client lacks.
  case tracked([Publication])
  /// Nothing is tracked: the error says which limit.
  case refused(ClientError, RefusalCause)
  /// Nothing is tracked: the client's versions are of another epoch, so it has to subscribe anew.
  case otherEpoch
}

/// One question to the backend: what some keys of a channel are now.
struct PollCall: Equatable, Sendable {
  var number: UInt64
  var channel: ChannelName
  var items: [ProxyQuestion.PolledKey]
}

/// What the backend said of one key.
public struct PolledItem: Sendable, Equatable {
  public var key: String
  /// 0: the backend said none.
  public var version: UInt64
  /// Nil: it is as it was.
  public var data: [UInt8]?
  /// There is no such key any more.
  public var removed: Bool
  /// The data came as JSON, or there is none: else nobody has looked yet whether it is.
  public var isJSON: Bool

  public init(key: String, version: UInt64 = 0, data: [UInt8]? = nil, removed: Bool = false, isJSON: Bool = true) {
    self.key = key
    self.version = version
    self.data = data
    self.removed = removed
    self.isJSON = isJSON
  }
}

/// How a ``PollCall`` ended.
enum PollAnswer: Equatable, Sendable {
  /// - epoch: of the backend's versions; empty: it has none.
  case items([PolledItem], epoch: String)
  /// There was no answer, or an error.
  case failed
}

/// One publication, and who gets it.
struct PollDelivery: Equatable, Sendable {
  var channel: ChannelName
  var publication: Publication
  var subscribers: [PollSubscriber]
}

/// What is to be done, in order.
enum PollEffect: Equatable, Sendable {
  /// Answered with exactly one ``SharedPoll/answered(_:_:at:into:)``.
  case ask(PollCall)
  case deliver(PollDelivery)
  /// The versions that these have are of an epoch that is over: they have to subscribe anew.
  case restart(ChannelName, [PollSubscriber])
}
