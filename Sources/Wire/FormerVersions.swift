/// What a publication said before it was changed, for those from whom the change is kept.
///
/// An app's publication is changed where it stands. Somebody whom a block stands before goes on reading what they knew, and
/// its author reads what it became: if either read otherwise, one of them would learn of the block. So both stand at the
/// one offset, the publication as it is now and, in a tag that no client sees, what it was and for whom.
///
///     tag = (users newline edited newline data newline)*      users = (user tab)*
public struct FormerVersions: Sendable, Equatable {
  public static let tag = "former"
  /// Whoever would need more is shown the last of them, which they knew once.
  static let limit = 8

  struct Version: Sendable, Equatable {
    /// Compared byte for byte. None holds a control character, and no version is without users.
    var users: [String]
    /// The tag `edited` as it was; empty: there was none.
    var edited: String
    var data: [UInt8]
  }

  private(set) var versions: [Version] = []

  public init() {}

  /// - Parameter text: of the tag. What this type did not write is nothing.
  public init(_ text: String?) {
    guard let text else { return }
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for start in stride(from: 0, to: lines.count - 2, by: 3) {
      let users = lines[start].split(separator: UInt8(ascii: "\t")).map { String(decoding: $0, as: UTF8.self) }
      versions.append(
        Version(
          users: users, edited: String(decoding: lines[start + 1], as: UTF8.self), data: Array(lines[start + 2])))
    }
  }

  /// Of the tag; nil: it needs none.
  public var text: String? {
    if versions.isEmpty { return nil }
    var bytes: [UInt8] = []
    for version in versions {
      for user in version.users { bytes += Array(user.utf8) + [UInt8(ascii: "\t")] }
      bytes += [UInt8(ascii: "\n")] + Array(version.edited.utf8) + [UInt8(ascii: "\n")]
      // In JSON a line break stands between values alone, where a space means the same.
      bytes += version.data.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } + [UInt8(ascii: "\n")]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The publication is about to be changed, and the change is kept from these users alone: whoever knows an older version
  /// goes on with that, the others with this one.
  public mutating func keep(_ publication: Publication, for users: [String]) {
    let known = versions.flatMap(\.users)
    for index in versions.indices {
      versions[index].users.removeAll { user in !users.contains { $0.hasSameBytes(as: user) } }
    }
    versions.removeAll(where: \.users.isEmpty)
    let others = users.filter { user in !known.contains { $0.hasSameBytes(as: user) } }
    if others.isEmpty { return }
    if versions.count >= Self.limit { return versions[versions.count - 1].users += others }
    versions.append(Version(users: others, edited: publication.tags["edited"] ?? "", data: publication.data))
  }

  /// These users see other data, of something that was never changed: an entry of a map.
  public mutating func keep(_ data: [UInt8], for user: String) {
    versions.append(Version(users: [user], edited: "", data: data))
  }

  func version(for user: String) -> Version? {
    versions.first { $0.users.contains { $0.hasSameBytes(as: user) } }
  }
}

extension Publication {
  /// As a user reads it: what it is now, or what it was before changes that are kept from them.
  public func shown(to user: String) -> Publication {
    guard let text = tags[FormerVersions.tag] else { return self }
    var shown = self
    shown.tags[FormerVersions.tag] = nil
    guard let version = FormerVersions(text).version(for: user) else { return shown }
    shown.data = version.data
    shown.tags["edited"] = version.edited.isEmpty ? nil : version.edited
    // Not what they read is hidden from them, but what it became.
    if shown.tags["hidden"] != nil { shown.tags["hidden"] = "" }
    return shown
  }

  /// It and all that it was for somebody.
  public var versions: [Publication] {
    guard let text = tags[FormerVersions.tag] else { return [self] }
    return [self]
      + FormerVersions(text).versions.map { version in
        var former = self
        former.data = version.data
        return former
      }
  }
}
