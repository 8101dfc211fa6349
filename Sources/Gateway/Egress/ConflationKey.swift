import Wire

/// What makes a message of a low lane take the place of an older one: for a subscriber that lags, only the newest
/// message of each key is kept.
///
/// Compared byte by byte, as ``ChannelName`` is and for the same reason: two users whose names differ only in how an
/// "é" is composed must not push each other's messages out.
struct ConflationKey: Hashable, Sendable {
  /// What the key's text names. Keeps a user `7` apart from a tag `7`, and a join apart from the same client's
  /// publication.
  private enum Kind: UInt8 {
    case channel
    case tag
    case user
    case client
    case presence
  }

  /// The tag by which a publisher says what its publication replaces.
  static let tag = "key"

  /// The kind, then the text.
  private let bytes: [UInt8]

  /// One key for the whole channel: only its newest publication is kept.
  static let channel = ConflationKey(.channel, "")

  private init(_ kind: Kind, _ text: String) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 1)
    bytes.append(kind.rawValue)
    bytes.append(contentsOf: text.utf8)
    self.bytes = bytes
  }

  /// On a map channel the key of the entry; else the publication's tag `key` if it has one, an empty one too; else its
  /// publisher's user, else its publisher's client, else one key for the whole channel.
  init(_ publication: Publication) {
    if let tag = publication.change?.key ?? publication.tags[Self.tag] {
      self.init(.tag, tag)
    } else if let info = publication.info, !info.user.isEmpty {
      self.init(.user, info.user)
    } else if let info = publication.info, !info.client.isEmpty {
      self.init(.client, info.client)
    } else {
      self = .channel
    }
  }

  /// The key of a join or a leave: of a client that came and went, only that it went is kept.
  init(presenceOf member: ClientInfo) { self.init(.presence, member.client) }

  var byteCount: Int { bytes.count }

  func hash(into hasher: inout Hasher) {
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}
