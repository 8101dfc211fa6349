import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// What partitions say to each other. Ann is in partition 1, bob in 3, and their conversation in 2.
@Suite("Clique: what crosses partitions")
struct CliquePlacesTests {
  static let hour: Int64 = 3_600_000
  let (ann, bob, id): (String, String, String)
  /// Ann's partition, bob's, that of their conversation, and home.
  let (mine, theirs, pair, home): (CliqueScene, CliqueScene, CliqueScene, CliqueScene)

  init() {
    let four = Partitioning.clique(4)
    let ann = Partitioning.user("ann") { four.place(ofUser: $0) == 1 }
    bob = Partitioning.user("bob") {
      four.place(ofUser: $0) == 3 && four.place(ofConversation: Clique.conversationID(ann, $0)) == 2
    }
    self.ann = ann
    id = Clique.conversationID(ann, bob)
    (mine, theirs, pair, home) = (Self.scene(1), Self.scene(3), Self.scene(2), Self.scene(0))
  }

  static func scene(_ own: Int, _ configure: (inout CliqueRules) -> Void = { _ in }) -> CliqueScene {
    var rules = CliqueRules.notifying
    configure(&rules)
    return CliqueScene(rules, places: AppPlaces(own: own, partitioning: .clique(4, rules)))
  }

  private func code(_ body: () throws -> Void) -> UInt32? {
    do { try body() } catch { return (error as? ClientError)?.code }
    return nil
  }

  private var scenes: [CliqueScene] { [home, mine, pair, theirs] }

  /// Delivers all, and what follows from it.
  ///
  /// - Returns: what was delivered, in this order.
  @discardableResult
  private func deliver() throws -> [AppRelay] {
    var delivered: [AppRelay] = []
    while let source = scenes.first(where: { !$0.relays.isEmpty }) {
      let relay = source.relays.removeFirst()
      try scenes[relay.partition].receive(relay.data)
      delivered.append(relay)
    }
    return delivered
  }

  private func talk(_ user: String, _ text: String = "m") throws {
    try pair.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  // MARK: Silence

  /// What bob does next, as method and JSON.
  private func step(_ random: inout CliqueRandom, _ count: Int) -> (String, String) {
    switch Int.random(in: 0..<16, using: &random) {
    case 0...5: ("send", #"{"to":"\#(ann)","text":"m\#(count)","key":"\#(count % 7)"}"#)
    case 6: ("accept", #"{"person":"\#(ann)"}"#)
    case 7: ("decline", #"{"person":"\#(ann)"}"#)
    case 8: ("disconnect", #"{"person":"\#(ann)"}"#)
    case 9: ("block", #"{"person":"\#(ann)"}"#)
    case 10: ("unblock", #"{"person":"\#(ann)"}"#)
    case 11: ("draft", #"{"person":"\#(ann)","text":"d\#(count)"}"#)
    case 12: ("read", #"{"conversation":"\#(id)","offset":\#(count % 4)}"#)
    case 13: ("react", #"{"conversation":"\#(id)","offset":\#(1 + count % 4),"reaction":"👍"}"#)
    case 14: ("keep", #"{"person":"\#(ann)","muted":\#(count % 2 == 0)}"#)
    default: ("disappear", #"{"person":"\#(ann)","after":\#([0, 60_000, Self.hour][count % 3])}"#)
    }
  }

  @Test("what bob does makes the same rows for the same partitions, whether or not it reaches ann", arguments: 0..<60)
  func silence(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 11_000)
    let (silent, other) = (Self.scene(2), Self.scene(2))
    for scene in [silent, other] {
      switch seed % 3 {
      case 1: try scene.call(ann, "send", #"{"to":"\#(bob)","text":"from ann"}"#)
      case 2: _ = try scene.befriend(bob, ann)
      default: break
      }
    }
    for count in 0..<40 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1:
        let method = random.pick(["decline", "block", "block", "unblock"])
        _ = try other.said(ann, method, #"{"person":"\#(bob)"}"#)
      case 2:
        let time = random.pick([1, 24, 4 * 24, 16 * 24]) * Self.hour
        for scene in [silent, other] { try scene.pass(time) }
      default:
        for scene in [silent, other] { scene.relays = [] }
        let (method, json) = step(&random, count)
        #expect(try silent.said(bob, method, json) == other.said(bob, method, json))
        let awaited = try [silent, other].map { try CliqueScene.rows($0.awaitedRelays) }
        try #require(awaited[0] == awaited[1], "\(method) after \(count) steps, with its answer")
        let (rows, twin) = (try silent.saidRows(), try other.saidRows())
        // What is worked out a moment later, home is told where it is new.
        let isLater = { (row: String) in row == "0 news" && ["send", "accept"].contains(method) }
        try #require(rows.filter { !isLater($0) } == twin.filter { !isLater($0) }, "\(method) after \(count) steps")
      }
    }
  }

  // MARK: Lists

  @Test("lists show a crossing from before the first request, until it is none that they would show in one partition")
  func crossings() throws {
    let crossing = { try mine.field("crossing", ann, id) }
    for user in [ann, bob] { try home.call(user, "enter", #"{"place":"park"}"#) }
    try pair.call(bob, "send", #"{"to":"\#(ann)","text":"hello"}"#)
    try deliver()
    #expect(try mine.state(ann, id) == "request_in" && theirs.state(bob, id) == "request_out")
    #expect(try crossing()?.contains("park") == true)
    try pair.call(ann, "accept", #"{"person":"\#(bob)"}"#)
    try deliver()
    #expect(try mine.state(ann, id) == "active" && crossing()?.contains("park") == true)
    for scene in scenes { try scene.pass(60_000) }
    for scene in scenes { try scene.pass(60_000) }
    for user in [ann, bob] { try home.call(user, "enter", #"{"place":"café"}"#) }
    try deliver()
    #expect(try crossing()?.contains("café") == true && theirs.field("crossing", bob, id)?.contains("café") == true)
    try pair.call(bob, "disconnect", #"{"person":"\#(ann)"}"#)
    try deliver()
    #expect(try mine.state(ann, id) == "ended" && crossing() == nil && theirs.state(bob, id) == nil)
  }

  @Test("of a block, and of what ann does under it, home says nothing to bob's partition")
  func block() throws {
    _ = try pair.befriend(ann, bob)
    try deliver()
    for user in [ann, bob] { try home.call(user, "enter", #"{"place":"park"}"#) }
    try deliver()
    let shown = try theirs.field("crossing", bob, id)
    #expect(shown?.contains("park") == true)
    try pair.call(ann, "block", #"{"person":"\#(bob)"}"#)
    for relay in pair.relays where relay.partition == 0 { try home.receive(relay.data) }
    #expect(Set(try pair.saidRows()) == ["0 bond", "0 news", "1 shows"])
    #expect(try home.saidRows() == ["1 crossing"])
    #expect(try home.entry(ann, "blocked", bob) != nil)
    try home.call(bob, "enter", #"{"place":"café"}"#)
    try home.call(ann, "enter", #"{"place":"café"}"#)
    try home.call(ann, "leave", #"{"place":"park"}"#)
    try home.call(ann, "profile.set", #"{"name":"Ann"}"#)
    #expect(try home.saidRows() == [])
    #expect(try theirs.field("crossing", bob, id) == shown)
  }

  @Test("a block holds at home when home hears of it, and its end: in groups of both, and in what is seen of profiles")
  func blockAtHome() throws {
    _ = try pair.befriend(ann, bob)
    try deliver()
    let founded = try home.call(ann, "group.create", #"{"members":["\#(bob)"]}"#)
    let group = String(founded.split(separator: "\"")[3])
    func say(_ user: String, _ text: String) throws {
      try home.call(user, "send", #"{"conversation":"\#(group)","text":"\#(text)"}"#)
    }
    func rename(_ name: String) throws { try home.call(ann, "profile.set", #"{"name":"\#(name)"}"#) }
    func seen() throws -> String { try home.call(bob, "profiles", #"{"people":["\#(ann)"]}"#) }
    try rename("First")
    try say(bob, "before")
    #expect(try home.chat(ann, group) == ["before"] && seen().contains("First"))
    try pair.call(ann, "block", #"{"person":"\#(bob)"}"#)
    try deliver()
    try rename("Second")
    try say(bob, "by bob")
    try say(ann, "by ann")
    #expect(try home.chat(ann, group) == ["before", "by ann"])
    #expect(try home.chat(bob, group) == ["before", "by bob"])
    #expect(try seen().contains("First"), "as it was, and not nothing")
    try pair.call(ann, "unblock", #"{"person":"\#(bob)"}"#)
    try deliver()
    try say(bob, "after")
    #expect(try home.chat(ann, group) == ["before", "by ann", "after"])
    #expect(try seen().contains("First"), "the end of the block changes nothing")
    try rename("Third")
    #expect(try seen().contains("Third"))
  }

  // MARK: Notices

  @Test("home tells people of conversations elsewhere as of its own, and counts them all")
  func news() throws {
    _ = try pair.befriend(ann, bob)
    try deliver()
    let subject = "clique.chat:\(id)"
    #expect(home.notified == ["\(bob) clique.request \(subject)", "\(ann) clique.accepted \(subject)"])
    try talk(bob)
    let rows = pair.relays.filter { $0.partition == 0 }
    pair.relays.removeAll { $0.partition == 0 }
    for _ in 0..<2 { for row in rows { try home.receive(row.data) } }
    #expect(home.notified.dropFirst(2) == ["\(ann) clique.message \(subject)"], "the same again tells nobody")
    let third = Self.scene(3)
    let four = Partitioning.clique(4)
    let cy = Partitioning.user("cy") { four.place(ofConversation: Clique.conversationID(ann, $0)) == 3 }
    try third.call(cy, "send", #"{"to":"\#(ann)","text":"hi"}"#)
    for row in third.relays where row.partition == 0 { try home.receive(row.data) }
    let told = try #require(try home.notification(ann, id))
    #expect(told.text == "m" && told.sender == bob && told.unacknowledged == 1)
    #expect(told.badge == 2, "a message and a request")
    #expect(try home.notification(ann, Clique.conversationID(ann, cy))?.topic == "clique.request")
    try pair.call(ann, "delivered", #"{"conversation":"\#(id)","offset":2}"#)
    try deliver()
    #expect(try home.notification(ann, id)?.unacknowledged == 0 && home.acknowledged.last == "\(ann) \(subject)")
    try pair.call(ann, "read", #"{"conversation":"\#(id)","offset":2}"#)
    try deliver()
    #expect(try home.notification(ann, id) == nil)
    #expect(try home.notification(ann, Clique.conversationID(ann, cy))?.badge == 1)
  }

  @Test("the conversation's partition tells no device, and home hears of it again only where that has changed")
  func quiet() throws {
    _ = try pair.befriend(ann, bob)
    try talk(bob)
    #expect(pair.notified.isEmpty && pair.acknowledged.isEmpty)
    pair.relays = []
    try pair.call(bob, "typing", #"{"conversation":"\#(id)"}"#)
    #expect(try pair.saidRows() == [])
    try pair.call(ann, "read", #"{"conversation":"\#(id)","offset":2}"#)
    #expect(try pair.saidRows() == ["0 news", "1 shows"])
    try pair.call(ann, "draft", #"{"conversation":"\#(id)","text":"well"}"#)
    #expect(try pair.saidRows() == ["1 shows"])
  }

  // MARK: Deletion, places

  /// The records of a partition that name somebody.
  private func naming(_ user: String, _ scene: CliqueScene) -> [String] {
    scene.records.filter { $0.key.contains(user) || String(decoding: $0.value.data, as: UTF8.self).contains(user) }
      .keys.sorted()
  }

  private func forget(_ user: String, _ scene: CliqueScene) throws {
    scene.forgotten[user] = scene.now
    for key in scene.records.keys.sorted() {
      if let decision = try scene.app.forget(SoughtUsers([user]), in: key, scene) { try scene.apply(decision.effects) }
    }
  }

  @Test("what comes late of somebody who was forgotten is dropped; what stands without them comes after it")
  func forgetting() throws {
    _ = try pair.befriend(ann, bob)
    for user in [ann, bob] { try home.call(user, "enter", #"{"place":"park"}"#) }
    let late = try deliver()
    #expect(try mine.field("with", ann, id) == bob && mine.field("crossing", ann, id)?.contains("park") == true)
    for scene in [home, mine, theirs] {
      try forget(bob, scene)
      #expect(naming(bob, scene) == [])
    }
    #expect(try mine.entry(ann, "list", id) == nil)
    let heard = home.notified.count
    let forgotten = [home, mine, theirs].map { $0.records.mapValues { $0.data } }
    for relay in late { try scenes[relay.partition].receive(relay.data) }
    #expect([home, mine, theirs].map { $0.records.mapValues { $0.data } } == forgotten, "home's copy included")
    for scene in [home, mine, theirs] { #expect(naming(bob, scene) == []) }
    #expect(try mine.entry(ann, "list", id) == nil)
    #expect(home.notified.count == heard)
    try forget(bob, pair)
    try deliver()
    #expect(try mine.field("with", ann, id)?.isEmpty == true)
    for scene in scenes { #expect(naming(bob, scene) == []) }
  }

  @Test("what shows a message of somebody who is forgotten names them, also where the conversation does not any more")
  func forgottenAuthor() throws {
    _ = try pair.befriend(ann, bob)
    try talk(bob)
    try deliver()
    #expect(try mine.field("from", ann, id) == bob)
    for scene in scenes { scene.forgotten[bob] = .max }
    try forget(bob, mine)
    mine.forgotten[bob] = .max
    #expect(try mine.entry(ann, "list", id) == nil)
    // The messages are emptied after the records.
    try forget(bob, pair)
    try deliver()
    #expect(try mine.entry(ann, "list", id) == nil)
    #expect(naming(bob, mine) == [])
  }

  @Test("whoever is known in one partition is known in all")
  func known() throws {
    let rule = { (rules: inout CliqueRules) in rules.knownUsersOnly = true }
    let (home, pair) = (Self.scene(0, rule), Self.scene(2, rule))
    let hello = #"{"to":"\#(bob)","text":"hello"}"#
    #expect(code { try pair.call(ann, "send", hello) } == ClientError.permissionDenied.code)
    try home.call(bob, "profiles", #"{"people":["\#(ann)"]}"#)
    for relay in home.relays where relay.partition == 2 { try pair.receive(relay.data) }
    #expect(try home.saidRows() == ["1 known", "2 known", "3 known"])
    try home.call(bob, "profiles", #"{"people":["\#(ann)"]}"#)
    #expect(home.relays.isEmpty)
    #expect(code { try pair.call(ann, "send", hello) } == nil)
  }

  @Test("nothing is decided in the wrong partition, and nothing taken in that nobody knows")
  func misplaced() throws {
    let person = #"{"person":"\#(bob)"}"#
    let conversation = #"{"conversation":"\#(id)","offset":1,"text":"m"}"#
    for method in ["send", "read", "typing", "search"] {
      #expect(code { try home.call(ann, method, conversation) } == ClientError.internalError.code, "\(method)")
    }
    for method in ["accept", "block", "draft"] {
      let json = method == "draft" ? #"{"person":"\#(bob)","text":"d"}"# : person
      #expect(code { try mine.call(ann, method, json) } == ClientError.internalError.code, "\(method)")
    }
    for (method, json) in [
      ("enter", #"{"place":"park"}"#), ("profile.set", #"{"name":"Ann"}"#), ("crossings", "{}"), ("totals", "{}"),
      ("group.create", #"{"members":["\#(bob)"]}"#), ("people", #"{"text":"b"}"#),
    ] {
      #expect(code { try pair.call(ann, method, json) } == ClientError.internalError.code, "\(method)")
    }
    #expect(try mine.call(ann, "totals").contains(#""messages":0"#))
    #expect(code { try home.receive(Array(#"{"sent":1,"says":{"later":{}}}"#.utf8)) } == ClientError.badRequest.code)
    let known = try AppJSON.encode(CliqueRelay(sent: 1, says: .known("known/0")))
    #expect(code { try CliqueScene().receive(known) } == ClientError.notAvailable.code)
  }

  @Test("channels are where what they show is decided, or where the person is whose they are")
  func channels() throws {
    let four = Partitioning.clique(4)
    let group = "g" + id.dropFirst()
    let expected = [
      "clique.chat:\(id)": 2, "clique.reactions:\(id)": 2, "clique.receipts:\(id)": 2, "clique.typing:\(id)": 2,
      "clique.list:\(ann)": 1, "clique.drafts:\(ann)": 1, "clique.totals:\(ann)": 1, "clique.blocked:\(ann)": 0,
      "clique.crossings:\(ann)": 0, "clique.people:\(ann)": 0, "clique.profile:\(ann)": 0, "clique.reports:\(ann)": 0,
      "clique.chat:\(group)": 0, "clique.reactions:\(group)": 0,
    ]
    for (channel, place) in expected {
      #expect(four.partition(of: try ChannelName(channel)) == place, "\(channel)")
    }
    #expect(Set(expected.keys.map { $0.prefix { $0 != ":" } }) == Set(home.app.namespaces.keys.map { $0[...] }))
    #expect(CliqueScene().app.namespaces.values.allSatisfy { !$0.isShared })
  }
}

extension CliqueScene {
  /// What was sent to other partitions since the last time: `1 shows`, in order of the partitions.
  func saidRows() throws -> [String] {
    defer { relays = [] }
    return try Self.rows(relays)
  }

  /// Rows as ``saidRows()`` names them.
  static func rows(_ relays: [AppRelay]) throws -> [String] {
    try relays.map { relay in
      let object = try JSONSerialization.jsonObject(with: Data(relay.data)) as? [String: Any]
      return "\(relay.partition) \((object?["says"] as? [String: Any])?.keys.first ?? "")"
    }.sorted()
  }
}
