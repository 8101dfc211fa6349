import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// Nobody can tell Clique in several partitions from Clique in one, once all that is on its way has arrived. But for this:
///
/// - `clique.people` is in another order.
/// - Limits of a person count in each partition by themselves. They are out of reach here.
/// - A list entry says of a crossing that goes on when it was looked at last, which is another moment.
/// - Whoever is blocked by somebody who is invisible is shown so with the next change of their own entry in one partition,
///   and with the next one of their crossings in several.
@Suite("Clique: in several partitions as in one")
struct CliqueClusterTests {
  /// `FANFARE_SEEDS=1000` looks for longer.
  private static let seeds = ProcessInfo.processInfo.environment["FANFARE_SEEDS"].flatMap(UInt64.init) ?? 60

  @Test("the same commands lead to the same answers, lists, chats, notices and pictures", arguments: 0..<Self.seeds)
  func walk(seed: UInt64) throws {
    var walk = try CliqueClusterWalk(seed: seed)
    for step in 0..<70 {
      try walk.step(step)
      if step % 18 == 15 { try walk.compare() }
    }
    #expect(walk.answered > 10, "the walk has been somewhere")
  }
}

private struct CliqueClusterWalk {
  static let minute: Int64 = 60_000
  static let hour: Int64 = 60 * minute

  let alone: CliqueScene
  let cluster: CliqueCluster
  let people: [String]
  /// Rows that are on their way take minutes.
  let isLate: Bool
  let hidesPeople: Bool
  let knownOnly: Bool
  var random: CliqueRandom
  var groups: [String] = []
  /// By user and conversation: the last message and the key of its command.
  var lastSent: [String: (json: String, key: String)] = [:]
  /// By user and conversation: a picture that waits to be sent there.
  var prepared: [String: String] = [:]
  var pictures: [String] = []
  /// Pairs between whom there was a block, and people who were invisible.
  var (blocked, invisible): (Set<String>, Set<String>) = ([], [])
  /// Commands that were answered, and not refused.
  var answered = 0
  /// By user and conversation, what waited for the user when worlds were last compared; and how many notices there were.
  var waiting: [String: AppNotification] = [:]
  var noticed = (alone: 0, home: 0)

  init(seed: UInt64) throws {
    var rules = CliqueRules.notifying
    rules.knownUsersOnly = seed % 5 == 4
    (rules.requestsPerDay, rules.blocksPerDay, rules.visitsPerDay) = (100_000, 100_000, 100_000)
    (rules.groupsPerDay, rules.invitationsPerDay, rules.profileChangesPerDay) = (100_000, 100_000, 100_000)
    (rules.reportsPerDay, rules.unsentPictures) = (100_000, 1000)
    alone = CliqueScene(rules)
    cluster = CliqueCluster(count: 2 + Int(seed % 4), seed: seed, rules)
    // Other names lie in other partitions.
    people = ["ada", "bob", "cy", "dan"].map { $0 + String(seed % 7) }
    (isLate, hidesPeople, knownOnly) = (seed % 3 == 0, seed % 2 == 0, rules.knownUsersOnly)
    random = CliqueRandom(seed: seed + 90_000)
    for scene in cluster.scenes + [alone] { scene.remembersKeys = true }
    try begin()
  }

  private mutating func begin() throws {
    for user in people where Bool.random(using: &random) {
      try both(user, "profile.set", #"{"name":"\#(user) New"}"#, "name-\(user)")
    }
    for (index, user) in people.enumerated() {
      for other in people[..<index] where Int.random(in: 0..<3, using: &random) > 0 {
        try both(user, "send", #"{"to":"\#(other)","text":"m of \#(user)"}"#, "ask-\(user)-\(other)")
        try both(other, "accept", #"{"person":"\#(user)"}"#, "accept-\(user)-\(other)")
      }
    }
  }

  // MARK: Both worlds

  @discardableResult
  private mutating func both(_ user: String, _ method: String, _ json: String, _ key: String) throws -> String {
    if awaitsOthers(method, json) { try cluster.deliver() }
    let (one, other) = try (
      answer { try alone.call(user, method, json, key: key) },
      answer { try cluster.call(user, method, json, key: key) }
    )
    try #require(one == other, "\(user) \(method) \(json)")
    if !one.hasPrefix("error") { answered += 1 }
    return one
  }

  private func answer(_ body: () throws -> String) throws -> String {
    do { return try body() } catch let error as ClientError { return "error \(error.code)" }
  }

  /// Whether a command is decided by what another partition knows first: home knows some milliseconds later what stands
  /// between two people, and what happens there until then would count as before it. A partition knows some milliseconds
  /// later who is known.
  private func awaitsOthers(_ method: String, _ json: String) -> Bool {
    switch method {
    case "enter", "leave", "invisible", "profile.set", "report": true
    case "send" where knownOnly: true
    case "keep", "draft": false
    default: method.hasPrefix("group.") || groups.contains { json.contains($0) }
    }
  }

  private mutating func change(_ user: String, _ id: String, _ json: String?) throws {
    if Clique.isGroup(id) { try cluster.deliver() }
    // Messages of others, and what is none, are refused.
    let own = alone.stream(try ChannelName("clique.chat:\(id)")).filter { $0.info?.user == user }.suffix(3)
    let offset = own.randomElement(using: &random)?.offset ?? 1
    let (one, other) = try (
      answer { try changed { try alone.change(user, id, offset, json) } },
      answer { try changed { try cluster.change(user, id, offset, json) } }
    )
    try #require(one == other, "\(user) changes \(offset) of \(id) to \(json ?? "-")")
  }

  private func changed(_ body: () throws -> Void) rethrows -> String {
    try body()
    return "changed"
  }

  private func pass(_ milliseconds: Int64, isLate: Bool = false) throws {
    try alone.pass(milliseconds)
    try cluster.pass(milliseconds, isLate: isLate)
  }

  // MARK: Steps

  mutating func step(_ step: Int) throws {
    let user = random.pick(people)
    let other = random.pick(people.filter { $0 != user })
    let id = alone.pair(user, other)
    switch Int.random(in: 0..<48, using: &random) {
    case 0..<19: try talk(user, other, id, step)
    case 19..<22: try sendPicture(user, Int.random(in: 0..<3, using: &random) == 0 ? groups.last ?? id : id, step)
    case 22..<32: try mark(user, other, Bool.random(using: &random) ? id : groups.last ?? id, step)
    case 32..<40: try gather(user, other, step)
    case 40..<46: try move(user, step)
    default: try pass(random.pick([1, 5, 20, 4 * 24, 16 * 24]) * Self.hour)
    }
    try cluster.deliver(Int.random(in: 0..<6, using: &random))
  }

  /// What stands between two people, and what they write.
  private mutating func talk(_ user: String, _ other: String, _ id: String, _ step: Int) throws {
    let key = "step-\(step)"
    let person = #"{"person":"\#(other)"}"#
    switch Int.random(in: 0..<23, using: &random) {
    case 0...7:
      let target = Bool.random(using: &random) ? #""to":"\#(other)""# : nil
      try send(user, target, in: id, mentioning: other, step)
    case 8:
      if let last = lastSent[user + id] { try both(user, "send", last.json, last.key) }
    case 9...11: try both(user, "accept", person, key)
    case 12: try both(user, "decline", person, key)
    case 13, 14: if !(try both(user, "block", person, key)).hasPrefix("error") { blocked.insert(id) }
    case 15...17: try both(user, "unblock", person, key)
    case 18: try both(user, "disconnect", person, key)
    case 19: try change(user, id, #"{"text":"m\#(step) changed"}"#)
    case 20: try change(user, id, nil)
    case 21: try both(user, "report", #"{"person":"\#(other)","reason":"spam","text":"t\#(step)"}"#, key)
    default: try both(user, "search", #"{"conversation":"\#(id)","text":"m"}"#, key)
    }
  }

  private mutating func send(
    _ user: String, _ target: String? = nil, in id: String, mentioning other: String, _ step: Int
  ) throws {
    let more =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: #","key":"k\#(step % 3)-\#(id)""#
      case 1: #","reply":\#(1 + step % 4)"#
      case 2: #","mentions":["\#(other)"]"#
      default: ""
      }
    let json = #"{\#(target ?? #""conversation":"\#(id)""#),"text":"m\#(step) of \#(user)"\#(more)}"#
    lastSent[user + id] = (json, "step-\(step)")
    try both(user, "send", json, "step-\(step)")
  }

  private mutating func upload(_ user: String) throws -> String {
    let picture = CliqueScene.picture(pictures.count)
    pictures.append(picture)
    for scene in [alone, cluster.home] { try scene.upload(user, picture) }
    return picture
  }

  /// A picture that a gateway has lost track of is sent to the same conversation again, or to none.
  private mutating func sendPicture(_ user: String, _ id: String, _ step: Int) throws {
    var picture = try prepared[user + id] ?? upload(user)
    let known = pictures.filter { !cluster.stray.contains($0) }
    if step % 6 == 0, let other = known.randomElement(using: &random) { picture = other }
    let text = step % 2 == 0 ? #","text":"m\#(step)""# : ""
    let key = step % 3 == 0 ? "" : #","key":"p\#(step)-\#(id)""#
    let json = #"{"conversation":"\#(id)","picture":{"id":"\#(picture)","hash":"LEHV6n"}\#(text)\#(key)}"#
    let isRefused = try both(user, "send", json, "step-\(step)").hasPrefix("error")
    prepared[user + id] = isRefused && Bool.random(using: &random) ? picture : nil
  }

  /// What somebody does with a conversation.
  private mutating func mark(_ user: String, _ other: String, _ id: String, _ step: Int) throws {
    let key = "step-\(step)"
    let conversation = #""conversation":"\#(id)""#
    let top = alone.stream(try ChannelName("clique.chat:\(id)")).count
    let offset = Int.random(in: 0...top + (step % 9 == 0 ? 1 : 0), using: &random)
    switch Int.random(in: 0..<12, using: &random) {
    case 0...2: try both(user, "read", #"{\#(conversation),"offset":\#(offset)}"#, key)
    case 3: try both(user, "delivered", #"{\#(conversation),"offset":\#(offset)}"#, key)
    case 4: try both(user, "typing", #"{\#(conversation)}"#, key)
    case 5, 6:
      let how = random.pick([#""muted":true"#, #""muted":false"#, #""archived":true"#, #""pinned":true"#])
      try both(user, "keep", #"{\#(conversation),\#(how)}"#, key)
    case 7:
      let text = step % 3 == 0 ? "" : "d\(step)"
      try both(user, "draft", #"{\#(conversation),"text":"\#(text)"}"#, key)
    case 8, 9:
      let sign = random.pick(["👍", "🎉", ""])
      try both(user, "react", #"{\#(conversation),"offset":\#(max(1, offset)),"reaction":"\#(sign)"}"#, key)
    default:
      let after = random.pick([0, Self.minute, Self.hour, Self.hour, 24 * Self.hour])
      try both(user, "disappear", #"{\#(conversation),"after":\#(after)}"#, key)
    }
  }

  /// Groups.
  private mutating func gather(_ user: String, _ other: String, _ step: Int) throws {
    let key = "step-\(step)"
    guard let id = groups.randomElement(using: &random), groups.count > 4 || Int.random(in: 0..<4, using: &random) > 0
    else {
      var members = [other]
      for member in people where member != user && member != other && Bool.random(using: &random) {
        members.append(member)
      }
      let named = members.map { #""\#($0)""# }.joined(separator: ",")
      let reply = try both(user, "group.create", #"{"members":[\#(named)],"name":"n\#(step)"}"#, key)
      if !reply.hasPrefix("error") { groups.append(String(reply.split(separator: "\"")[3])) }
      return
    }
    let conversation = #""conversation":"\#(id)""#
    let person = #"{\#(conversation),"person":"\#(other)"}"#
    switch Int.random(in: 0..<14, using: &random) {
    case 0...5: try send(user, in: id, mentioning: other, step)
    case 6: try both(user, "group.add", #"{\#(conversation),"members":["\#(other)"]}"#, key)
    case 7: try both(user, "group.remove", person, key)
    case 8: try both(user, "group.rename", #"{\#(conversation),"name":"r\#(step)"}"#, key)
    case 9: try both(user, "group.appoint", person, key)
    case 10: try both(user, "group.leave", #"{\#(conversation)}"#, key)
    case 11: try change(user, id, nil)
    case 12: try change(user, id, #"{"text":"m\#(step) changed"}"#)
    default: if let last = lastSent[user + id] { try both(user, "send", last.json, last.key) }
    }
  }

  /// Where somebody is, and who they say that they are.
  private mutating func move(_ user: String, _ step: Int) throws {
    let key = "step-\(step)"
    let place = #"{"place":"\#(random.pick(["park", "café"]))"}"#
    switch Int.random(in: 0..<13, using: &random) {
    case 0...3: try both(user, "enter", place, key)
    case 4: try both(user, "leave", place, key)
    case 5 where hidesPeople:
      try both(user, "invisible", #"{"on":\#(step % 2 == 0)}"#, key)
      invisible.insert(user)
    case 6, 7: try both(user, "profile.set", #"{"name":"\#(user) New \#(step)"}"#, key)
    case 9:
      let picture = step % 3 == 0 ? "null" : #"{"id":"\#(try upload(user))"}"#
      try both(user, "profile.set", #"{"picture":\#(picture)}"#, key)
    case 8: try both(user, "profile.set", #"{"fields":{"university":"\#(step % 2 == 0 ? "" : "U\(step)")"}}"#, key)
    default: try pass(.random(in: 0..<10 * Self.minute, using: &random), isLate: isLate)
    }
  }

  // MARK: Comparing

  mutating func compare() throws {
    try cluster.deliver()
    let (one, many, people) = (CliqueWorld(alone), CliqueWorld(cluster), people)
    for user in people {
      let others = people.filter { $0 != user }
      let ids = others.map { alone.pair(user, $0) } + groups
      let crossings = try crossings(of: user, others)
      let looks: [(CliqueWorld) throws -> [String]] = [
        { try $0.lists(of: user, ids, crossings) }, { world in try ids.flatMap { try world.contents(user, $0) } },
        { world in try others.flatMap { try world.sight(of: $0, by: user) + [world.standing(user, $0)] } },
        { try $0.lookups(of: user, people) }, { try [$0.found(user, "m"), $0.found(user, "changed")] },
        { [pictures] in try $0.pictures(of: user, pictures) },
      ]
      for look in looks {
        let (mine, theirs) = (try look(one), try look(many))
        for (expected, seen) in zip(mine, theirs) { try #require(seen == expected, "\(user)") }
        try #require(mine.count == theirs.count)
      }
      for other in others { try compareUpkeep(of: other, shownTo: user) }
      for id in ids { try compareNotices(user, id) }
    }
    noticed = (alone.notified.count, cluster.home.notified.count)
    try #require(many.told == one.told)
    let (expected, seen) = (try one.ends(), try many.ends())
    try #require(seen == expected)
  }

  /// Lists show a crossing as it was when they were last looked at. Whoever is blocked is not shown that the other is
  /// invisible before their own list changes, which is at home alone where lists are.
  private func crossings(of user: String, _ others: [String]) throws -> [String: CliqueWorld.Crossing] {
    var crossings: [String: CliqueWorld.Crossing] = [:]
    for other in others {
      let id = alone.pair(user, other)
      let areTogether = try alone.app.crossing(user, other, alone)?.areTogether ?? false
      let crossing: CliqueWorld.Crossing = areTogether ? .withoutTime : .whole
      let channel = try ChannelName("clique.list:\(user)")
      let present = try CliqueWorld.text(try alone.app.entry(id, of: channel, alone), crossing)
      let isPresent = try present == CliqueWorld.text(alone.entries(user, "list")[id], crossing)
      let isHidden = blocked.contains(id) && !invisible.isDisjoint(with: [user, other])
      crossings[id] = isHidden || !isPresent ? CliqueWorld.Crossing.none : crossing
    }
    return crossings
  }

  /// What is worked out for channels in memory is worked out again at home whenever it is in one partition alone.
  private func compareUpkeep(of other: String, shownTo user: String) throws {
    for namespace in ["crossings", "people"] {
      let channel = try ChannelName("clique.\(namespace):\(user)")
      guard try alone.app.entry(other, of: channel, alone) == alone.entries(user, namespace)[other] else { continue }
      let home = cluster.home
      let (shown, present) = (try home.entries(user, namespace)[other], try home.app.entry(other, of: channel, home))
      try #require(shown == present, "\(channel) \(other)")
    }
  }

  /// Whoever is notified of something that has come, and waits, is notified at home.
  private mutating func compareNotices(_ user: String, _ id: String) throws {
    let (now, before) = (try alone.notification(user, id), waiting[user + id])
    waiting[user + id] = now
    func areHeard(_ notices: ArraySlice<String>) -> Bool {
      notices.contains { $0.hasPrefix(user + " ") && $0.hasSuffix(":" + id) }
    }
    guard let now, now.unacknowledged > before?.unacknowledged ?? 0, areHeard(alone.notified[noticed.alone...]) else {
      return
    }
    try #require(areHeard(cluster.home.notified[noticed.home...]), "\(user) is told of \(now)")
  }
}
