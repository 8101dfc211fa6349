/// One message on a channel, as the broker ordered it.
public struct Publication: Sendable, Equatable {
  /// Contiguous within an epoch, from 1.
  public var offset: UInt64
  /// When the broker accepted it, in milliseconds since 1970.
  public var time: Int64
  /// The payload, byte by byte as it came. Valid JSON unless the namespace's `publication_data_format` is `binary`.
  public var data: [UInt8]
  /// Who published: set for clients, nil for the server API and services.
  public var info: ClientInfo?
  public var tags: [String: String]
  /// Set on map channels alone.
  public var change: KeyChange?

  public init(
    offset: UInt64 = 0, time: Int64 = 0, data: [UInt8], info: ClientInfo? = nil, tags: [String: String] = [:],
    change: KeyChange? = nil
  ) {
    self.offset = offset
    self.time = time
    self.data = data
    self.info = info
    self.tags = tags
    self.change = change
  }
}

extension Publication {
  /// Tags by which apps say who may see a publication. Clients never see them: they would tell somebody who was blocked
  /// that this is so.
  public static let audienceTags = ["only", "hidden"]

  public var withoutAudienceTags: Publication {
    if tags.isEmpty { return self }
    var copy = self
    for tag in Self.audienceTags { copy.tags[tag] = nil }
    copy.tags[FormerVersions.tag] = nil
    return copy
  }
}

/// Who stands behind a connection, as presence, joins, leaves and publications show it to others.
public struct ClientInfo: Sendable, Equatable {
  /// The token's `sub`; empty for an anonymous connection.
  public var user: String
  /// Identifier of the connection, unique over all gateways.
  public var client: String
  /// The connection token's `info`, raw JSON; nil where it has none.
  public var connectionInfo: [UInt8]?
  /// The subscription token's `info`, raw JSON; nil where it has none.
  public var channelInfo: [UInt8]?

  public init(user: String, client: String, connectionInfo: [UInt8]? = nil, channelInfo: [UInt8]? = nil) {
    self.user = user
    self.client = client
    self.connectionInfo = connectionInfo
    self.channelInfo = channelInfo
  }
}
