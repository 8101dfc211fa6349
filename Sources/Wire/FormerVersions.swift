/// What a publication said before it was changed, for the users from whom the change is hidden.
///
/// An app's publication is changed in place, at its offset. A user who is blocked goes on reading the version that they
/// knew, and its author reads what it became: if either read otherwise, one of them would learn of the block. So both
/// versions stand at the one offset: the publication as it is now and, in a tag that no client sees, what it was and
/// for whom.
///
///     tag = (users newline edited newline data newline)*      users = (user tab)*
public struct FormerVersions: Sendable, Equatable {
  public static let tag = "former"
  /// Former versions that a publication keeps. A user who would need one more is shown the last of them.
  static let limit = 8

  struct Version: Sendable, Equatable {
    /// The users who see this version, compared byte for byte. None holds a control character, and no version is
    /// without users.
    var users: [String]
    /// The tag `edited` as it was; empty: there was none.
    var edited: String
    var data: [UInt8]
  }

  private(set) var versions: [Version] = []

  public init() {}

  /// - Parameter text: the tag's value. A text that this type did not write counts as none.
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

  /// The tag's value; nil: the publication needs no tag.
  public var text: String? {
    if versions.isEmpty { return nil }
    var bytes: [UInt8] = []
    for version in versions {
      for user in version.users { bytes += Array(user.utf8) + [UInt8(ascii: "\t")] }
      bytes += [UInt8(ascii: "\n")] + Array(version.edited.utf8) + [UInt8(ascii: "\n")]
      // In JSON a line break can only stand between tokens, where a space means the same.
      bytes += version.data.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } + [UInt8(ascii: "\n")]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Keeps a publication as it is, because it is about to be changed and the change is hidden from these users: those
  /// who see an older version already go on with that, the others with this one.
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

  /// Keeps other data for one user of something that was never changed: an entry of a map.
  public mutating func keep(_ data: [UInt8], for user: String) {
    versions.append(Version(users: [user], edited: "", data: data))
  }

  /// The users who read a former version.
  public var users: [String] { versions.flatMap(\.users) }

  /// Whether a version is for a user that the closure picks.
  func names(_ isSought: (String) -> Bool) -> Bool { versions.contains { $0.users.contains(where: isSought) } }

  /// The versions without the users that the closure picks, and without those that nobody else reads.
  func without(_ isSought: (String) -> Bool) -> FormerVersions {
    var kept = self
    for index in kept.versions.indices { kept.versions[index].users.removeAll(where: isSought) }
    kept.versions.removeAll(where: \.users.isEmpty)
    return kept
  }

  /// The versions with other data, for the same users.
  public func mapData(_ change: ([UInt8]) -> [UInt8]) -> FormerVersions {
    var changed = self
    for index in versions.indices { changed.versions[index].data = change(versions[index].data) }
    return changed
  }

  func version(for user: String) -> Version? {
    versions.first { $0.users.contains { $0.hasSameBytes(as: user) } }
  }
}

extension Publication {
  /// The tags that say who hears that an entry of a map is gone: all who have seen it, in whatever version.
  public var audienceTagsOfRemoval: [String: String] {
    var tags = tags.filter { Self.audienceTags.contains($0.key) }
    guard let hidden = tags["hidden"], let text = self.tags[FormerVersions.tag] else { return tags }
    let readers = Set(FormerVersions(text).versions.flatMap(\.users).map { IdentifierKey(PlainName.encode($0)) })
    let others = hidden.split(separator: "|").filter { !readers.contains(IdentifierKey(String($0))) }
    tags["hidden"] = others.map { "|\($0)|" }.joined()
    return tags
  }

  /// The publication as a user reads it: as it is now, or as it was before changes that are hidden from them.
  public func shown(to user: String) -> Publication {
    guard let text = tags[FormerVersions.tag] else { return self }
    var shown = self
    shown.tags[FormerVersions.tag] = nil
    guard let version = FormerVersions(text).version(for: user) else { return shown }
    shown.data = version.data
    shown.tags["edited"] = version.edited.isEmpty ? nil : version.edited
    // `hidden` names who may not read what the publication became: it does not hold for the version that is shown.
    if shown.tags["hidden"] != nil { shown.tags["hidden"] = "" }
    return shown
  }

  /// The publication as it is now, and each former version that somebody still reads.
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
