import Cryptography
import Wire

extension Clique.Group {
  /// A way into the group for whoever has its secret, of which only a digest is kept.
  struct Link: Codable, Sendable, Equatable {
    /// The digest of the secret (``digest(of:)``).
    var digest: String
    /// The administrator who made it.
    var by: String
    /// Milliseconds since 1970.
    var ends: Int64
    /// How many more people may join by it; nil: as many as the group takes.
    var uses: Int?

    /// By what it is named, in lists and when it is revoked. It is no secret, and opens nothing.
    var id: String { String(digest.prefix(8)) }

    static func digest(of link: CliqueCommand.GroupLink) -> String {
      CliqueIdentifier.hex(["link", link.conversation, link.secret])
    }
  }

  /// Links of one group that hold at a time.
  static let maximumLinks = 10
  /// People who were removed and that a group remembers, so that a link does not bring them back; the one who was
  /// removed first makes room.
  static let maximumRemoved = 100

  /// The group with an administrator, and without links that have ended or whose maker is no administrator any more.
  /// In groups of older data folders, as in those whose last administrator has gone, the longest member is one: members
  /// stand in the order in which they came.
  func settled(at now: Int64) -> Self {
    var group = self
    if !members.isEmpty, !members.contains(where: \.isAdministrator) { group.members[0].administrator = true }
    if let links {
      let open = links.filter { link in
        link.ends > now && group.members.contains { $0.isAdministrator && $0.user.hasSameBytes(as: link.by) }
      }
      group.links = open.isEmpty ? nil : open
    }
    return group
  }

  /// Where a user stands.
  func place(of user: String) -> GroupPlace {
    if let member = members.first(where: { $0.user.hasSameBytes(as: user) }) {
      let rank: GroupPlace.Rank = member.isAdministrator ? .administrator : .member
      return member.absent ? .absent(rank) : .present(rank)
    }
    return removed?.containsBytes(of: user) ?? false ? .removed : .outside
  }

  /// Notes where a user stands now. A new member has joined after all others.
  mutating func put(_ user: String, at place: GroupPlace) {
    let index = members.firstIndex { $0.user.hasSameBytes(as: user) }
    switch place {
    case .outside, .removed:
      if let index { members.remove(at: index) }
      blocks.removeAll { $0.by.hasSameBytes(as: user) || $0.of.hasSameBytes(as: user) }
      if place == .removed { removed = Array(((removed ?? []) + [user]).suffix(Self.maximumRemoved)) }
    case .absent(let rank), .present(let rank):
      var member = index.map { members[$0] } ?? Member(user: user)
      member.administrator = rank == .administrator ? true : nil
      if case .absent = place { member.absent = true } else { member.absent = false }
      if let index { members[index] = member } else { members.append(member) }
      removed?.drop(user)
      if removed?.isEmpty ?? false { removed = nil }
    }
  }

  /// Whether the user is the only one who is shown as an administrator.
  func isLastAdministrator(_ user: String) -> Bool {
    let administrators = members.filter(\.isAdministrator)
    return administrators.count == 1 && administrators[0].user.hasSameBytes(as: user)
  }

  var present: [Member] { members.filter { !$0.absent } }

  /// The link with the secret; nil: there is none. Looks at all links, each in the same time, whatever the secret.
  func link(with secret: CliqueCommand.GroupLink) -> Int? {
    let digest = Array(Link.digest(of: secret).utf8)
    var found: Int?
    for (index, link) in (links ?? []).enumerated() where Digest.areSame(digest, Array(link.digest.utf8)) {
      found = index
    }
    return found
  }

  /// The tags that every publication of the group has, even if it is hidden from nobody: by the tag `hidden`, an
  /// audience tells publications from joins.
  func tags(hiddenFrom users: [String] = []) -> [String: String] {
    var tags = Clique.tags(hiddenFrom: users)
    if let term { tags[Clique.Tag.term] = String(term) }
    return tags
  }
}

extension Clique.Group.Member {
  var isAdministrator: Bool { administrator ?? false }
}

extension Clique.Person {
  /// How many groups the person is in, as it must look to somebody who adds them.
  ///
  /// - Parameter pair: of the person and the one who adds them; nil: they add themselves.
  func groupCount(asSeenBy pair: Clique.Pair?) -> Int {
    guard let pair, pair.state.isBlocked || pair.crossedFrom != nil else { return groups.count }
    return groups.count + (away?.count ?? 0)
  }

  mutating func stayAway(from group: String) { away = (away ?? []) + [group] }

  mutating func stayAwayNoMore(from group: String) {
    away?.drop(group)
    if away?.isEmpty ?? false { away = nil }
  }
}
