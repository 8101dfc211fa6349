/// Full-text search over some channels.
public struct MessageSearch: Sendable, Equatable {
  /// The channels to search, all of which the caller may read.
  public var channels: [ChannelName]
  /// The words of the search: a message must have each of them, the last as a prefix. No character has a meaning beyond
  /// that.
  public var text: String
  /// Finds only what this user published, whose id is compared byte for byte; nil: what anybody published.
  public var publisher: String?
  /// The filter that publications must pass to be found; nil: everything passes.
  public var audience: TagFilter?
  /// Filters that publications of single channels must pass besides ``audience``.
  public var audiences: [ChannelName: TagFilter]
  /// Finds each publication as this user reads it (``FormerVersions``); nil: as it is.
  public var reader: String?
  public var limit: Int
  /// The user who searches, who gets no more than a share of the searches that wait. Empty: counts in nobody's share.
  public var user: String

  /// After so many bytes no more messages are added to an answer. Whoever misses some searches for more words.
  public static let answerBytes = 256 << 10

  public init(
    channels: [ChannelName], text: String, publisher: String? = nil, audience: TagFilter?,
    audiences: [ChannelName: TagFilter] = [:], reader: String? = nil, limit: Int, user: String = ""
  ) {
    self.channels = channels
    self.text = text
    self.publisher = publisher
    self.audience = audience
    self.audiences = audiences
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
