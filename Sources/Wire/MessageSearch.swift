/// Full-text search over some channels.
public struct MessageSearch: Sendable, Equatable {
  /// Those that the caller may read.
  public var channels: [ChannelName]
  /// Words, each of which must be there, the last as a prefix. Nothing in it has a meaning beyond that.
  public var text: String
  /// Only what this user published, byte for byte; nil: anybody's.
  public var publisher: String?
  /// Only what passes it may be found.
  public var audience: TagFilter?
  /// Finds each publication as this user reads it (``FormerVersions``); nil: as it is.
  public var reader: String?
  public var limit: Int
  /// Who searches, as the broker knows it: nobody gets more than a share of the searches that wait. Empty: nobody's share.
  public var user: String

  public init(
    channels: [ChannelName], text: String, publisher: String? = nil, audience: TagFilter?, reader: String? = nil,
    limit: Int, user: String = ""
  ) {
    self.channels = channels
    self.text = text
    self.publisher = publisher
    self.audience = audience
    self.reader = reader
    self.limit = limit
    self.user = user
  }
}

/// What a search found: a publication as the log holds it now.
public struct FoundMessage: Sendable, Equatable {
  public var channel: ChannelName
  public var publication: Publication

  public init(channel: ChannelName, publication: Publication) {
    self.channel = channel
    self.publication = publication
  }
}
