import Wire

/// Who is on a channel, over all gateways.
struct Presence {
  struct Member: Equatable {
    var info: ClientInfo
    var gateway: UInt64
    /// Session of the link in which the gateway last named the member. After a resync, members that it did not name in
    /// the new session are gone.
    var session: UInt64
  }

  /// The members, in no order that means anything, but the same in each run of a simulation. The place of a member who
  /// leaves is taken by the last.
  private var members: [Member] = []
  /// The index of each client's member in `members`.
  private var places: [String: Int] = [:]
  /// How many members each gateway has, so that nobody walks 100,000 members to learn whether it has any.
  private var countByGateway: [UInt64: Int] = [:]
  /// How many clients each user has here. Kept, so that asking for the number of users costs the same for ten members
  /// as for 100,000.
  private var countByUser: [IdentifierKey: Int] = [:]
  /// Bytes of a list of all members, as they weigh in memory.
  private(set) var bytes = 0

  var isEmpty: Bool { members.isEmpty }
  func hasMembers(of gateway: UInt64) -> Bool { countByGateway[gateway] != nil }
  func hasMembers(of gateway: UInt64, notNamedIn session: UInt64?) -> Bool {
    hasMembers(of: gateway) && members.contains { $0.gateway == gateway && $0.session != session }
  }

  var count: Int { members.count }
  var userCount: Int { countByUser.count }

  func holds(_ user: String) -> Bool { countByUser[IdentifierKey(user)] != nil }

  subscript(client: String) -> Member? { places[client].map { members[$0] } }

  var infos: [ClientInfo] { members.map(\.info) }

  /// Calls `body` for one member after another, until it returns false.
  func forEach(_ body: (ClientInfo) -> Bool) {
    for member in members where !body(member.info) { return }
  }

  /// - Returns: true where the member was not there before.
  mutating func enter(_ member: Member) -> Bool {
    if let place = places[member.info.client] {
      let before = members[place]
      members[place] = member
      count(before, -1)
      count(member, 1)
      return false
    }
    places[member.info.client] = members.count
    members.append(member)
    count(member, 1)
    return true
  }

  mutating func leave(client: String) -> ClientInfo? {
    guard let place = places.removeValue(forKey: client) else { return nil }
    let member = members[place]
    let last = members.removeLast()
    if place < members.count {
      members[place] = last
      places[last.info.client] = place
    }
    count(member, -1)
    members.giveBackMemory()
    places.giveBackMemory()
    return member.info
  }

  /// Removes a gateway's members, all of them or those that it did not name in `session`.
  mutating func removeMembers(of gateway: UInt64, notNamedIn session: UInt64? = nil) -> [ClientInfo] {
    if !hasMembers(of: gateway) { return [] }
    let gone = members.filter { $0.gateway == gateway && $0.session != session }
    return gone.compactMap { leave(client: $0.info.client) }.sorted { $0.client < $1.client }
  }

  private mutating func count(_ member: Member, _ change: Int) {
    let ofGateway = (countByGateway[member.gateway] ?? 0) + change
    countByGateway[member.gateway] = ofGateway > 0 ? ofGateway : nil
    let user = IdentifierKey(member.info.user)
    let ofUser = (countByUser[user] ?? 0) + change
    countByUser[user] = ofUser > 0 ? ofUser : nil
    bytes += change * member.info.cost
  }
}
