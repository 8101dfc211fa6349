import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// What partitions say to each other. Ada is in partition 1, bob in 3, and ada's threads with bob and cy are in 2.
@Suite("State: what crosses partitions")
struct StatePlacesTests {
  static let day: Int64 = 24 * 3_600_000
  let (ada, bob, cy): (String, String, String)
  /// Ada's partition, that of her threads, and home.
  let (mine, pair, home): (StateScene, StateScene, StateScene)

  init() {
    let four = Partitioning.four
    let ada = Partitioning.user("ada") { four.place(ofUser: $0) == 1 }
    bob = Partitioning.user("bob") { four.place(ofPair: ada, $0) == 2 && four.place(ofUser: $0) == 3 }
    cy = Partitioning.user("cy") { four.place(ofPair: ada, $0) == 2 }
    self.ada = ada
    (mine, pair, home) = (Self.scene(1), Self.scene(2), Self.scene(0))
  }

  private static func scene(_ own: Int, _ configure: (inout StateRules) -> Void = { _ in }) -> StateScene {
    StateScene(places: AppPlaces(own: own, partitioning: .four)) {
      $0.notifies = true
      configure(&$0)
    }
  }

  func code(_ body: () throws -> Void) -> UInt32? {
    do { try body() } catch { return (error as? ClientError)?.code }
    return nil
  }

  private func send(_ user: String, _ other: String, _ scene: StateScene) throws {
    let key = try scene.vault.seal(Array(repeating: 7, count: 32), at: scene.now)
    let pictures = [0, 1].map { number in
      StatePicture(
        id: "lent-\(scene.lookups)-\(number)-0123456789abcdef", owner: user, type: "image/png", bytes: 9, key: key,
        due: scene.now + 1)
    }
    let lent = try AppJSON.encode(StateLent(pictures: pictures))
    try scene.send(user, to: other, pictures.map(\.id), #","caption":"of \#(user)""#, lent: lent)
  }

  /// Both send.
  private func exchange(_ scene: StateScene) throws {
    try send(ada, bob, scene)
    try send(bob, ada, scene)
  }

  private func deliver(_ source: StateScene, to target: StateScene, _ place: Int) throws {
    for relay in source.relays where relay.partition == place { try target.receive(relay.data) }
    source.relays.removeAll { $0.partition == place }
  }

  @Test("how many rows a send makes does not tell whether it reached the other", arguments: 0..<4, 0..<4)
  func silence(before: Int, variant: Int) throws {
    let scene = Self.scene(2) { if variant == 3 { $0.receivedThreads = 0 } }
    switch before {
    case 1: try send(bob, ada, scene)
    case 2:
      try exchange(scene)
      for (user, other) in [(ada, bob), (bob, ada)] { try scene.call(user, .state(.seen(with: other))) }
    case 3:
      try send(ada, bob, scene)
      try scene.advance(Self.day)
    default: break
    }
    if variant == 1 || variant == 2 { try scene.call(bob, .state(.block(ada))) }
    if variant == 2 { try scene.call(bob, .state(.unblock(ada))) }
    // Home hears that who opens the recorder has what waits.
    try scene.call(ada, .state(.begin(to: bob)))
    scene.relays = []
    try send(ada, bob, scene)
    #expect(try scene.said().sorted() == ["0 news", "0 news", "1 shows", "1 used", "3 shows"])
    #expect(scene.awaited.isEmpty)
  }

  @Test("texts go when their time is over; the phase ends when the thread's partition says so")
  func texts() throws {
    let caption = { (mine.entry(ada, bob)?["theirs"] as? [String: Any])?["caption"] as? String }
    try exchange(pair)
    try deliver(pair, to: mine, 1)
    #expect(caption() == "of \(bob)" && mine.notices(ada) == ["sent", "revealed"])
    #expect(!mine.storedText.contains("of \(bob)"))
    try mine.advance(Self.day - 1)
    #expect(caption() != nil && mine.scrubs == 0)
    try mine.advance(1, runsTimers: false)
    let late = try mine.app.entry(bob, of: StateChannels.threads(of: ada), mine)
    #expect(try #require(late).kept == nil, "whether or not the timer has run")
    try mine.runTimers()
    #expect(caption() == nil && mine.phase(ada, bob) == "revealed" && mine.scrubs == 1 && mine.nextDue == nil)
    #expect(!mine.storedText.contains("sealed"))
    try pair.advance(Self.day)
    try deliver(pair, to: mine, 1)
    #expect(mine.phase(ada, bob) == "idle" && mine.notices(ada) == ["sent", "revealed", "ended"])
    #expect(mine.recordCount == 0)
  }

  @Test("what comes late of somebody who was forgotten is dropped, but for what takes away")
  func forgetting() throws {
    let behind = Self.scene(1)
    try exchange(pair)
    let late = pair.relays
    try deliver(pair, to: mine, 1)
    try deliver(pair, to: home, 0)
    for relay in late where relay.partition == 1 { try behind.receive(relay.data) }
    for scene in [mine, home] { try scene.forget(bob) }
    #expect(mine.phase(ada, bob) == "idle" && mine.recordCount == 0 && home.recordCount == 0)
    let heard = (mine.published.count, home.notified.count)
    for relay in late where relay.partition < 2 { try (relay.partition == 1 ? mine : home).receive(relay.data) }
    #expect(mine.recordCount == 0 && home.recordCount == 0 && mine.listedCount == 0)
    #expect((mine.published.count, home.notified.count) == heard)
    pair.relays = []
    try pair.forget(bob)
    #expect(try pair.record(StateThread.self, StatePair(ada, bob).key) == nil)
    behind.forgotten = [bob: behind.now]
    try deliver(pair, to: behind, 1)
    #expect(behind.phase(ada, bob) == "idle" && behind.recordCount == 0 && behind.scrubs == 1)
    #expect(behind.notices(ada) == ["sent", "revealed"], "nobody is told")
    #expect(try pair.said().sorted() == ["0 news", "3 shows"])
  }

  @Test("home tells people of threads elsewhere as of its own, and counts them all")
  func news() throws {
    let third = Self.scene(3)
    let four = Partitioning.four
    try send(bob, ada, pair)
    let relays = pair.relays
    try deliver(pair, to: home, 0)
    for _ in 0..<2 { for relay in relays where relay.partition == 0 { try home.receive(relay.data) } }
    #expect(home.notified == ["\(ada) state.sealed state.with:\(bob)"], "the same again tells nobody")
    let told = try #require(try home.notification(ada, bob))
    #expect(told.topic == "state.sealed" && told.badge == 1 && told.sender == nil && told.unacknowledged == 1)
    for (scene, place) in [(third, 3), (home, 0)] {
      let other = Partitioning.user("cy") { four.place(ofPair: ada, $0) == place && four.place(ofUser: $0) == 1 }
      try send(other, ada, scene)
      try deliver(scene, to: home, 0)
      #expect(try home.notification(ada, other) != nil)
    }
    #expect(try home.notification(ada, bob)?.badge == 3)
    try pair.call(ada, .state(.delivered(with: bob)))
    try deliver(pair, to: home, 0)
    #expect(try home.notification(ada, bob)?.unacknowledged == 0)
    #expect(home.acknowledged == ["\(ada) state.with:\(bob)"])
    try send(ada, bob, pair)
    try deliver(pair, to: home, 0)
    #expect(try home.notification(ada, bob) == nil && home.app.badge(of: ada, home) == 2)
    #expect(home.notified.last == "\(bob) state.revealed state.with:\(ada)")
    #expect(try home.notification(bob, ada)?.sender == ada)
  }

  @Test("a user's own time to record is told to all others, and nothing is decided in the wrong partition")
  func misplaced() throws {
    try mine.call(ada, .state(.settings(limit: 60_000)))
    try deliver(mine, to: pair, 2)
    #expect(try mine.said() == ["0 limit", "3 limit"])
    try mine.call(ada, .state(.settings(limit: 60_000)))
    #expect(mine.relays.isEmpty)
    #expect(try pair.call(ada, "state.begin", #"{"to":"\#(bob)"}"#)["limit"] as? Int == 60_000)
    let commands: [StateCommand] = [.begin(to: bob), .block(bob), .settings(limit: nil), .discard([])]
    for command in commands {
      #expect(code { try home.call(ada, .state(command)) } == ClientError.internalError.code)
    }
    #expect(code { try home.receive(Array(#"{"sent":1,"says":{"later":{}}}"#.utf8)) } == 107)
    #expect(code { try StateScene().receive(.limit(user: ada, limit: 1)) } == 108)
    #expect(home.app.namespaces.values.allSatisfy { $0.isShared })
    #expect(StateScene().app.namespaces.values.allSatisfy { !$0.isShared })
  }
}
