/// One message on a channel, as the broker ordered it.
///
/// A value whose copies share their contents until one of them is changed: on its way from the log to many readers a
/// publication is handed on often and changed hardly ever.
public struct Publication: Sendable, Equatable {
  private var fields: Fields

  /// Unchecked: changed only while no other copy refers to it.
  private final class Fields: @unchecked Sendable {
    var offset: UInt64
    var time: Int64
    var data: [UInt8]
    var info: ClientInfo?
    var tags: [String: String]
    var change: KeyChange?

    init(offset: UInt64, time: Int64, data: [UInt8], info: ClientInfo?, tags: [String: String], change: KeyChange?) {
      self.offset = offset
      self.time = time
      self.data = data
      self.info = info
      self.tags = tags
      self.change = change
    }

    func copy() -> Fields {
      Fields(offset: offset, time: time, data: data, info: info, tags: tags, change: change)
    }
  }

  public init(
    offset: UInt64 = 0, time: Int64 = 0, data: [UInt8], info: ClientInfo? = nil, tags: [String: String] = [:],
    change: KeyChange? = nil
  ) {
    fields = Fields(offset: offset, time: time, data: data, info: info, tags: tags, change: change)
  }

  private mutating func own() {
    if !isKnownUniquelyReferenced(&fields) { fields = fields.copy() }
  }

  /// The publication's number in its channel: contiguous within an epoch, from 1.
  public var offset: UInt64 {
    get { fields.offset }
    set {
      own()
      fields.offset = newValue
    }
  }

  /// When the broker accepted the publication, in milliseconds since 1970.
  public var time: Int64 {
    get { fields.time }
    set {
      own()
      fields.time = newValue
    }
  }

  /// The payload, byte by byte as it came. Valid JSON unless the namespace's `publication_data_format` is `binary`.
  public var data: [UInt8] {
    get { fields.data }
    set {
      own()
      fields.data = newValue
    }
  }

  /// The client that published; nil for the server API and services.
  public var info: ClientInfo? {
    get { fields.info }
    set {
      own()
      fields.info = newValue
    }
  }

  public var tags: [String: String] {
    get { fields.tags }
    set {
      own()
      fields.tags = newValue
    }
  }

  /// What the publication does to a key; set on map channels alone.
  public var change: KeyChange? {
    get { fields.change }
    set {
      own()
      fields.change = newValue
    }
  }

  public static func == (one: Publication, other: Publication) -> Bool {
    if one.fields === other.fields { return true }
    return one.offset == other.offset && one.time == other.time && one.data == other.data && one.info == other.info
      && one.tags == other.tags && one.change == other.change
  }
}

extension Publication {
  /// Tags by which apps say who may see a publication. Clients never see these tags, which would tell somebody who is
  /// blocked that this is so.
  public static let audienceTags = ["only", "hidden", "term"]

  public var withoutAudienceTags: Publication {
    if tags.isEmpty { return self }
    var copy = self
    for tag in Self.audienceTags { copy.tags[tag] = nil }
    copy.tags[FormerVersions.tag] = nil
    copy.tags[Self.vanishesTag] = nil
    return copy
  }

  /// Tag of an app's publications that are gone after a time: when, in milliseconds since 1970. The log keeps what they say
  /// under a key that is destroyed then. No client sees the tag.
  public static let vanishesTag = "vanishes"

  /// When the publication of an app is gone, in milliseconds since 1970; nil: it stays.
  public var vanishes: Int64? { tags.isEmpty ? nil : tags[Self.vanishesTag].flatMap { Int64($0) } }
}

/// Who stands behind a connection, as presence, joins, leaves and publications show it to others.
///
/// A value whose copies share their contents, because every publication of a connection carries one.
public struct ClientInfo: Sendable, Equatable {
  private let fields: Fields

  private final class Fields: Sendable {
    let user: String
    let client: String
    let connectionInfo: [UInt8]?
    let channelInfo: [UInt8]?

    init(user: String, client: String, connectionInfo: [UInt8]?, channelInfo: [UInt8]?) {
      self.user = user
      self.client = client
      self.connectionInfo = connectionInfo
      self.channelInfo = channelInfo
    }
  }

  public init(user: String, client: String, connectionInfo: [UInt8]? = nil, channelInfo: [UInt8]? = nil) {
    fields = Fields(user: user, client: client, connectionInfo: connectionInfo, channelInfo: channelInfo)
  }

  /// The token's `sub`; empty for an anonymous connection.
  public var user: String { fields.user }
  /// The identifier of the connection, unique over all gateways.
  public var client: String { fields.client }
  /// The connection token's `info`, raw JSON; nil where it has none.
  public var connectionInfo: [UInt8]? { fields.connectionInfo }
  /// The subscription token's `info`, raw JSON; nil where it has none.
  public var channelInfo: [UInt8]? { fields.channelInfo }

  public static func == (one: ClientInfo, other: ClientInfo) -> Bool {
    if one.fields === other.fields { return true }
    return one.user == other.user && one.client == other.client && one.connectionInfo == other.connectionInfo
      && one.channelInfo == other.channelInfo
  }
}
