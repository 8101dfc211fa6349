import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// What both hear where a timer is late, and somebody does something before it runs.
@Suite("State: timers that are late")
struct StateLateTests {
  static let day: Int64 = 24 * 3_600_000

  private func told(_ scene: StateScene, _ user: String, _ event: String) -> [[String: Any]] {
    scene.published.filter { $0.channel == "state.events:" + user && $0.data["event"] as? String == event }.map(\.data)
  }

  private func expectExpired(_ scene: StateScene, _ user: String, at time: Int64, _ what: String) {
    let notices = told(scene, user, "expired")
    #expect(notices.count == 1, "\(user), \(what)")
    #expect(notices.first?["since"] as? Int64 == time, "\(user), \(what)")
    #expect(notices.first?["until"] as? Int64 == time + Self.day, "\(user), \(what)")
  }

  private func webhooks(_ scene: StateScene, _ event: String) -> Int { scene.told.count { $0.hasPrefix(event) } }

  // MARK: One command

  private static let commands = [
    "begin": "to", "seen": "with", "delivered": "with", "cancel": "to", "block": "user", "unblock": "user",
  ]

  @Test(
    "Whatever one of the two does first when it has ended, both hear once that it has expired, and so do webhooks",
    arguments: commands.keys.sorted(), [0, 1, day - 1, day, 3 * day])
  func first(method: String, lateness: Int64) throws {
    for (me, other) in [("ada", "bob"), ("bob", "ada")] {
      let scene = StateScene { $0.notifies = true }
      try scene.send("ada", to: "bob")
      let until = scene.now + Self.day
      try scene.advance(Self.day + lateness, runsTimers: false)
      let what = "\(me) \(method) \(lateness)"
      try scene.call(me, "state.\(method)", #"{"\#(Self.commands[method] ?? "")":"\#(other)"}"#)
      for user in ["ada", "bob"] { expectExpired(scene, user, at: until, what) }
      try scene.runTimers()
      try scene.advance(3 * Self.day)
      for user in ["ada", "bob"] { expectExpired(scene, user, at: until, what) }
      #expect(webhooks(scene, "state_expired") == 1, "\(what)")
    }
  }

  @Test("The same send again tells it, too, and is answered as the first time", arguments: [0, day])
  func retry(lateness: Int64) throws {
    let scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let sending = try scene.prepare("ada", to: "bob")
    let first = try scene.call("ada", "state.send", sending.json) as NSDictionary
    let until = scene.now + Self.day
    try scene.advance(Self.day + lateness, runsTimers: false)
    #expect(try scene.call("ada", "state.send", sending.json) as NSDictionary == first)
    try scene.advance(3 * Self.day)
    for user in ["ada", "bob"] { expectExpired(scene, user, at: until, "\(lateness)") }
  }

  @Test("Before an answer that comes too late both hear that there is none any more", arguments: [0, 1, 60_000])
  func tooLate(lateness: Int64) throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    let until = scene.now + Self.day
    try scene.advance(Self.day - 1000, runsTimers: false)
    try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
    let answer = try scene.prepare("bob", to: "ada")
    try scene.advance(1000 + lateness, runsTimers: false)
    #expect(try scene.call("bob", "state.send", answer.json)["phase"] as? String == "sent")
    #expect(scene.notices("bob") == ["received", "expired", "sent"])
    #expect(scene.notices("ada") == ["sent", "expired", "received"])
    for user in ["ada", "bob"] { expectExpired(scene, user, at: until, "\(lateness)") }
    let events = ["state_sent", "state_expired", "state_sent"]
    #expect(scene.told.map { String($0.split(separator: " ")[0]) } == events)
    #expect(scene.told.map { $0.contains(#""from":"ada""#) } == [true, true, false])
  }

  @Test("What asks for no thread tells nothing, and the timer tells it when it runs")
  func others() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    let until = scene.now + Self.day
    try scene.advance(Self.day + 1, runsTimers: false)
    try scene.call("ada", "state.settings", #"{"limit":60000}"#)
    let unsent = try scene.upload("bob")
    try scene.call("bob", "state.discard", #"{"pictures":["\#(unsent)"]}"#)
    let shown = try scene.app.entry("bob", of: StateChannels.threads(of: "ada"), scene)
    let entry = try #require(try JSONSerialization.jsonObject(with: Data(shown?.data ?? [])) as? [String: Any])
    #expect(entry["phase"] as? String == "expired", "whoever reads the list sees it")
    #expect(scene.refusal("bob", "state.react", #"{"with":"ada","reaction":"🔥"}"#)?.code == 438)
    #expect(told(scene, "ada", "expired").isEmpty && told(scene, "bob", "expired").isEmpty)
    try scene.runTimers()
    for user in ["ada", "bob"] { expectExpired(scene, user, at: until, "timer") }
  }

  @Test("Who blocks hears nothing, and who is blocked hears that it has expired, as from somebody silent")
  func blocked() throws {
    let scene = StateScene()
    try scene.call("bob", "state.block", #"{"user":"ada"}"#)
    try scene.send("ada", to: "bob")
    let until = scene.now + Self.day
    try scene.advance(2 * Self.day, runsTimers: false)
    try scene.call("ada", "state.seen", #"{"with":"bob"}"#)
    expectExpired(scene, "ada", at: until, "blocked")
    #expect(scene.notices("bob").isEmpty)
  }

  @Test(
    "Where somebody's data is deleted nobody is told, whether it has ended or not", arguments: [day - 1, day, 9 * day])
  func deleted(time: Int64) throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.advance(time, runsTimers: false)
    let published = scene.published.count
    try scene.forget("ada")
    try scene.advance(3 * Self.day)
    #expect(scene.published.count == published)
    #expect(webhooks(scene, "state_expired") == 0, "a deletion is no silence, and their name is to go")
  }

  @Test("What somebody ends with a block before its time has not expired")
  func endedByBlocks() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.call("bob", "state.block", #"{"user":"ada"}"#)
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    try scene.advance(3 * Self.day)
    #expect(told(scene, "ada", "expired").isEmpty && told(scene, "bob", "expired").isEmpty)
    #expect(webhooks(scene, "state_expired") == 0)
  }

  // MARK: Silence

  @Test(
    "How many channels are opened, or rows sent, does not tell whether what has ended had reached the other",
    arguments: commands.keys.sorted() + ["send"], [0, 2 * day])
  func silence(method: String, lateness: Int64) throws {
    for isShared in [false, true] {
      let traces = try [false, true].map { isBlocked in
        try trace(of: method, lateness, isShared: isShared, isBlocked: isBlocked)
      }
      #expect(traces[0] == traces[1] && !traces[0].isEmpty, "shared: \(isShared)")
    }
  }

  /// What ada's command has to wait for: channels that have to be open, and rows for other partitions.
  private func trace(of method: String, _ lateness: Int64, isShared: Bool, isBlocked: Bool) throws -> [String] {
    let four = Partitioning.four
    let ada = Partitioning.user("ada") { four.place(ofUser: $0) == 1 }
    let bob = Partitioning.user("bob") { four.place(ofPair: ada, $0) == 2 && four.place(ofUser: $0) == 3 }
    let scene = StateScene(places: isShared ? AppPlaces(own: 2, partitioning: .four) : nil) { $0.notifies = true }
    if isBlocked { try scene.call(bob, .state(.block(ada))) }
    func send(_ number: Int) throws {
      let ids = [0, 1].map { "picture-\(number)-\($0)-0123456789abcdef" }
      let key = try scene.vault.seal(Array(repeating: 7, count: 32), at: scene.now)
      let pictures = ids.map { StatePicture(id: $0, owner: ada, type: "image/png", bytes: 9, key: key, due: Int64.max) }
      if !isShared {
        for id in ids {
          let picture = StateCommand.Picture(
            id: id, type: "image/png", bytes: 9, key: Array(repeating: 7, count: 32), upload: nil)
          try scene.call(ada, .state(.addPicture(picture)), source: .gateway)
        }
      }
      try scene.send(ada, to: bob, ids, lent: isShared ? try AppJSON.encode(StateLent(pictures: pictures)) : [])
    }
    try send(0)
    try scene.advance(Self.day + lateness, runsTimers: false)
    scene.relays = []
    switch method {
    case "send": try send(1)
    default:
      let json = #"{"\#(Self.commands[method] ?? "")":"\#(bob)"}"#
      try scene.call(ada, "state.\(method)", json)
    }
    return try scene.awaited.map(\.string).sorted() + scene.said().sorted()
  }

  // MARK: Walks

  @Test("Nobody can tell by what they hear how late timers are, in one partition or in several", arguments: 0..<100)
  func walk(seed: UInt64) throws {
    var walk = LateWalk(seed: seed)
    for step in 0..<60 {
      try walk.step(step)
      if step % 6 == 5 { try walk.compare() }
    }
    #expect(walk.punctual.published.count > 5)
  }
}

/// The same commands where timers are on time, and where they run now and then, in one partition and in several.
private struct LateWalk {
  let punctual: StateScene
  let late: StateScene
  let cluster: StateCluster
  let people = ["ada", "bob", "cy"]
  var random: StateRandom
  /// By user and other: pictures that wait to be sent.
  private var prepared: [String: [String]] = [:]
  private var uploads = 0

  init(seed: UInt64) {
    let configure: (inout StateRules) -> Void = { rules in
      rules.notifies = seed % 2 == 0
      (rules.changesPerMinute, rules.unsentPictures, rules.receivedPerDay) = (60_000, 10_000, 1_000_000)
    }
    (punctual, late) = (StateScene(configure), StateScene(configure))
    cluster = StateCluster(count: 2 + Int(seed % 4), seed: seed, configure)
    random = StateRandom(state: seed ^ 0x1A7E)
  }

  mutating func step(_ step: Int) throws {
    let user = people[Int.random(in: 0..<3, using: &random)]
    guard let other = people.filter({ $0 != user }).randomElement(using: &random) else { return }
    let (key, to, with, of) = (
      "step-\(step)", #"{"to":"\#(other)"}"#, #"{"with":"\#(other)"}"#, #"{"user":"\#(other)"}"#
    )
    switch Int.random(in: 0..<18, using: &random) {
    case 0: try all(user, "begin", to, key)
    case 1...6: try send(user, other, key)
    case 7, 8: try all(user, "seen", with, key)
    case 9: try all(user, "delivered", with, key)
    case 10: try all(user, "block", of, key)
    case 11, 12: try all(user, "unblock", of, key)
    case 13: try all(user, "react", #"{"with":"\#(other)","reaction":"🔥"}"#, key)
    case 14: try all(user, "cancel", to, key)
    // Until after the answer is due, and until after it is forgotten that there was none.
    default: try advance(.random(in: 0..<30 * 3_600_000, using: &random))
    }
    try cluster.deliver(Int.random(in: 0..<6, using: &random))
  }

  private func advance(_ milliseconds: Int64) throws {
    try punctual.advance(milliseconds)
    try late.advance(milliseconds, runsTimers: false)
    try cluster.advance(milliseconds, isLate: true, runsTimers: false)
  }

  /// Whether it was answered, and not refused: by all alike.
  @discardableResult
  private func all(_ user: String, _ method: String, _ json: String, _ key: String) throws -> Bool {
    let command = try AppCommand("state." + method, Array(json.utf8), by: user)
    let answers = try [
      answer { try punctual.call(user, command, key: key) }, answer { try late.call(user, command, key: key) },
      answer { try cluster.call(user, "state." + method, json, key: key) },
    ]
    try #require(answers[0] == answers[1] && answers[0] == answers[2], "\(user) \(method) \(json): \(answers)")
    return !answers[0].hasPrefix("error")
  }

  private func answer(_ body: () throws -> [UInt8]) throws -> String {
    do { return String(decoding: try body(), as: UTF8.self) } catch let error as ClientError {
      return "error \(error.code)"
    }
  }

  private mutating func send(_ user: String, _ other: String, _ key: String) throws {
    if Int.random(in: 0..<4, using: &random) > 0 { try all(user, "begin", #"{"to":"\#(other)"}"#, key) }
    let pictures = try prepared[user + other] ?? [upload(user), upload(user)]
    // It may become too late for an answer in between.
    if Int.random(in: 0..<4, using: &random) == 0 { try advance(.random(in: 0..<170_000, using: &random)) }
    let json = #"{"to":"\#(other)","front":"\#(pictures[0])","rear":"\#(pictures[1])"}"#
    let isSent = try all(user, "send", json, key)
    let isOver = isSent || !cluster.stray.isDisjoint(with: pictures) || Bool.random(using: &random)
    prepared[user + other] = isOver ? nil : pictures
  }

  private mutating func upload(_ user: String) throws -> String {
    uploads += 1
    let id = "picture-\(uploads)-0123456789abcdef"
    let key = Array(repeating: UInt8(truncatingIfNeeded: uploads), count: 32)
    let picture = StateCommand.Picture(id: id, type: "image/jpeg", bytes: 1000, key: key, upload: nil)
    for scene in [punctual, late, cluster.scene(of: user)] {
      try scene.call(user, .state(.addPicture(picture)), source: .gateway)
    }
    return id
  }

  /// Runs the timers that are late. Then all have heard the same, and are shown the same.
  func compare() throws {
    for scene in [late] + cluster.scenes { try scene.runTimers() }
    try cluster.deliver()
    for user in people {
      for other in people where other != user {
        let expected = events(punctual, user, other)
        try #require(events(late, user, other) == expected, "\(user) of \(other)")
        try #require(events(cluster.scene(of: user), user, other) == expected, "\(user) of \(other), in partitions")
        let entry = punctual.entry(user, other) as NSDictionary?
        try #require(late.entry(user, other) as NSDictionary? == entry)
        try #require(cluster.scene(of: user).entry(user, other) as NSDictionary? == entry)
      }
    }
    try #require(late.told.sorted() == punctual.told.sorted())
    try #require(cluster.scenes.flatMap(\.told).sorted() == punctual.told.sorted())
  }

  private func events(_ scene: StateScene, _ user: String, _ other: String) -> [NSDictionary] {
    scene.published.filter { $0.channel == "state.events:" + user && $0.data["with"] as? String == other }
      .map { $0.data as NSDictionary }
  }
}
