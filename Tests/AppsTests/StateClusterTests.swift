import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// Nobody can tell State in several partitions from State in one, once all that is on its way has arrived.
@Suite("State: in several partitions as in one")
struct StateClusterTests {
  @Test("the same commands lead to the same answers, lists, events and notices", arguments: 0..<200)
  func walk(seed: UInt64) throws {
    var walk = ClusterWalk(seed: seed)
    for step in 0..<70 {
      try walk.step(step)
      if step % 10 == 9 { try walk.compare() }
    }
    try walk.end()
  }
}

private struct ClusterWalk {
  let alone: StateScene
  let cluster: StateCluster
  let isLate: Bool
  let people = ["ada", "bob", "cy", "dan"]
  var random: StateRandom
  /// By user and other: what waits to be sent, and what was sent last.
  var prepared: [String: [String]] = [:]
  var lastSent: [String: String] = [:]
  var uploaded: Set<String> = []
  var sent: Set<String> = []

  init(seed: UInt64) {
    let configure: (inout StateRules) -> Void = { rules in
      rules.notifies = true
      (rules.changesPerMinute, rules.unsentPictures, rules.receivedPerDay) = (60_000, 10_000, 1_000_000)
    }
    alone = StateScene(configure)
    cluster = StateCluster(count: 2 + Int(seed % 4), seed: seed, configure)
    isLate = seed % 3 == 0
    random = StateRandom(state: seed)
  }

  mutating func step(_ step: Int) throws {
    let user = people[Int.random(in: 0..<4, using: &random)]
    guard let other = people.filter({ $0 != user }).randomElement(using: &random) else { return }
    let key = "step-\(step)"
    switch Int.random(in: 0..<20, using: &random) {
    case 0: try both(user, "begin", #"{"to":"\#(other)"}"#, key)
    case 1...6: try send(user, other, key)
    case 7: if let json = lastSent[user + other] { try both(user, "send", json, key) }
    case 8, 9: try both(user, "seen", #"{"with":"\#(other)"}"#, key)
    case 10: try both(user, "delivered", #"{"with":"\#(other)"}"#, key)
    case 11: try both(user, "block", #"{"user":"\#(other)"}"#, key)
    case 12, 13: try both(user, "unblock", #"{"user":"\#(other)"}"#, key)
    case 14: try both(user, "react", #"{"with":"\#(other)","reaction":"🔥"}"#, key)
    case 15: try both(user, "react", #"{"with":"\#(other)"}"#, key)
    case 16: try cancel(user, other, key)
    case 17:
      try both(user, "settings", #"{"limit":\#(1000 * Int.random(in: 5...99, using: &random))}"#, key)
      // Other partitions know it a moment later, and answer by what they know.
      try cluster.deliver()
    case 18: try advance(.random(in: 0..<100_000, using: &random))
    default: try advance(.random(in: 0..<(isLate ? 3 : 20) * 3_600_000, using: &random))
    }
    try cluster.deliver(Int.random(in: 0..<6, using: &random))
  }

  private func advance(_ milliseconds: Int64) throws {
    try alone.advance(milliseconds)
    try cluster.advance(milliseconds, isLate: isLate)
  }

  /// Whether it was answered, and not refused.
  @discardableResult
  private func both(_ user: String, _ method: String, _ json: String, _ key: String) throws -> Bool {
    let answers = try [
      answer { try alone.call(user, try AppCommand("state." + method, Array(json.utf8), by: user), key: key) },
      answer { try cluster.call(user, "state." + method, json, key: key) },
    ]
    try #require(answers[0] == answers[1], "\(user) \(method) \(json)")
    return !answers[0].hasPrefix("error")
  }

  private func answer(_ body: () throws -> [UInt8]) throws -> String {
    do { return String(decoding: try body(), as: UTF8.self) } catch let error as ClientError {
      return "error \(error.code)"
    }
  }

  private mutating func upload(_ user: String) throws -> String {
    let id = "picture-\(uploaded.count)-0123456789abcdef"
    uploaded.insert(id)
    let key = Array(repeating: UInt8(truncatingIfNeeded: uploaded.count), count: 32)
    let picture = StateCommand.Picture(id: id, type: "image/jpeg", bytes: 1000, key: key, upload: nil)
    for scene in [alone, cluster.scene(of: user)] {
      try scene.call(user, .state(.addPicture(picture)), source: .gateway)
    }
    return id
  }

  private mutating func send(_ user: String, _ other: String, _ key: String) throws {
    if Int.random(in: 0..<8, using: &random) > 0 { try both(user, "begin", #"{"to":"\#(other)"}"#, key) }
    let pictures = try prepared[user + other] ?? [upload(user), upload(user)]
    let more = [#","caption":"at the sea""#, #","reply_limit":60000"#, ""].randomElement(using: &random) ?? ""
    let json = #"{"to":"\#(other)","front":"\#(pictures[0])","rear":"\#(pictures[1])"\#(more)}"#
    let isSent = try both(user, "send", json, key)
    if isSent { (lastSent[user + other], sent) = (json, sent.union(pictures)) }
    let isOver = isSent || !cluster.stray.isDisjoint(with: pictures) || Int.random(in: 0..<3, using: &random) == 0
    prepared[user + other] = isOver ? nil : pictures
  }

  private mutating func cancel(_ user: String, _ other: String, _ key: String) throws {
    let list = prepared[user + other].map { #","pictures":["\#($0[0])","\#($0[1])"]"# } ?? ""
    if try both(user, "cancel", #"{"to":"\#(other)"\#(list)}"#, key) { prepared[user + other] = nil }
  }

  // MARK: Comparing

  func compare() throws {
    try cluster.deliver()
    for user in people {
      for other in people where other != user {
        let (mine, home) = (cluster.scene(of: user), cluster.scenes[Partitioning.home])
        let entry = alone.entry(user, other) as NSDictionary?
        try #require(mine.entry(user, other) as NSDictionary? == entry)
        try #require(events(mine, user, other) == events(alone, user, other))
        try #require(heard(home, user, other) == heard(alone, user, other))
        try #require(try home.notification(user, other) == alone.notification(user, other))
      }
      for id in sent {
        let keys = cluster.scenes.compactMap { $0.pictureKey(id, for: user) }
        #expect(keys == [alone.pictureKey(id, for: user)].compactMap(\.self), "\(user) \(id)")
      }
    }
    try #require(cluster.scenes.flatMap(\.told).sorted() == alone.told.sorted())
    let discarded = cluster.scenes.reduce(into: Set()) { $0.formUnion($1.discarded) }
    try #require(discarded == alone.discarded)
  }

  private func events(_ scene: StateScene, _ user: String, _ other: String) -> [NSDictionary] {
    scene.published.filter { $0.channel == "state.events:" + user && $0.data["with"] as? String == other }
      .map { $0.data as NSDictionary }
  }

  private func heard(_ scene: StateScene, _ user: String, _ other: String) -> [String] {
    (scene.notified + scene.acknowledged).filter { $0.hasPrefix(user + " ") && $0.hasSuffix(":" + other) }
  }

  /// Nothing is left of anything, anywhere.
  mutating func end() throws {
    for user in people {
      try both(user, "settings", #"{"limit":0}"#, "end")
      for other in people where other != user { try both(user, "unblock", #"{"user":"\#(other)"}"#, "end") }
    }
    try cluster.deliver()
    try alone.advance(75 * 3_600_000)
    try cluster.advance(75 * 3_600_000, isLate: false)
    try compare()
    #expect(alone.discarded == uploaded && sent.count > 4)
    for scene in cluster.scenes + [alone] { #expect(scene.recordCount == 0 && scene.listedCount == 0) }
  }
}
