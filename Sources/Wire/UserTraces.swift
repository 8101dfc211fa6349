/// A name with all bytes but letters, digits, `-` and `_` written as `%41`: so that it can stand between other signs, and
/// no two names are written alike, in whatever way texts are compared.
public enum PlainName {
  public static func encode(_ name: String) -> String {
    let hex = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        bytes.append(byte)
      default:
        bytes.append(UInt8(ascii: "%"))
        bytes.append(hex[Int(byte >> 4)])
        bytes.append(hex[Int(byte & 15)])
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Users whose traces are looked for, and how each may be written.
public struct SoughtUsers: Sendable {
  public let users: [String]
  private let byID: Set<IdentifierKey>
  /// As the tags `hidden` and `mentions` write them (``PlainName``).
  private let plain: Set<IdentifierKey>

  public init(_ users: [String]) {
    self.users = users
    byID = Set(users.map { IdentifierKey($0) })
    plain = Set(users.map { IdentifierKey(PlainName.encode($0)) })
  }

  public func contains(_ user: some StringProtocol) -> Bool { byID.contains(IdentifierKey(String(user))) }

  /// Whether a channel's name limits it to one of the users.
  public func own(_ channel: ChannelName) -> Bool { channel.limitedToUsers?.contains { contains($0) } ?? false }

  /// Whether one of the users published it.
  public func published(_ publication: Publication) -> Bool { publication.info.map { contains($0.user) } ?? false }

  /// Whether one of the users published it, or is named by what the server wrote beside the payload.
  public func areNamed(by publication: Publication) -> Bool {
    if published(publication) { return true }
    if let key = publication.change?.key, contains(key) { return true }
    return publication.tags.contains { isNamed(by: $0.value, of: $0.key) }
  }

  /// Whether a JSON document has one of the users as a text of its own.
  public func areQuoted(in data: [UInt8]) -> Bool {
    users.contains { user in
      var writer = JSONWriter()
      writer.write(element: user)
      return data.firstRange(of: writer.bytes) != nil
    }
  }

  private func isNamed(by value: String, of tag: String) -> Bool {
    switch tag {
    case "only", "user", "actor": contains(value)
    case "hidden", "mentions": value.split(separator: "|").contains { plain.contains(IdentifierKey(String($0))) }
    case FormerVersions.tag: FormerVersions(value).names { contains($0) }
    default: false
    }
  }

  /// The tags without the users. `only` stays where it named one of them, with nobody in it: nobody else may see the
  /// publication all of a sudden. `hidden` stays too, since by that tag an audience tells publications from joins.
  public func stripped(_ tags: [String: String]) -> [String: String] {
    var tags = tags
    for (tag, value) in tags where isNamed(by: value, of: tag) {
      switch tag {
      case "hidden", "mentions":
        let others = value.split(separator: "|").filter { !plain.contains(IdentifierKey(String($0))) }
        tags[tag] = others.map { "|\($0)|" }.joined()
      case FormerVersions.tag: tags[tag] = FormerVersions(value).without { contains($0) }.text
      default: tags[tag] = ""
      }
    }
    return tags
  }
}
