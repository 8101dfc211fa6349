import Testing
import Wire

@testable import Apps

/// Who is notified of what, and what there is to tell when the time comes (``StateNews`` has the table).
@Suite("State: notifications")
struct StateNoticeTests {
  static let hour: Int64 = 3_600_000

  private func scene(_ configure: (inout StateRules) -> Void = { _ in }) -> StateScene {
    StateScene {
      $0.notifies = true
      configure(&$0)
    }
  }

  private func say(_ scene: StateScene, _ user: String, _ method: String, _ other: String) throws {
    try scene.call(user, "state." + method, #"{"with":"\#(other)"}"#)
  }

  @Test("what is sealed is told of without who sent it, until a device has it, and stays until it is answered")
  func sealed() throws {
    let scene = scene()
    try scene.send("ada", to: "bob", #","caption":"secret""#)
    #expect(scene.notified == ["bob state.sealed state.with:ada"])
    let told = AppNotification(
      topic: "state.sealed", unacknowledged: 1, unseen: 1, since: scene.now, badge: 1,
      data: ["channel": "state.threads:bob"])
    #expect(try scene.notification("bob", "ada") == told)
    #expect(try scene.notification("ada", "bob") == nil)
    for _ in 0..<2 { try say(scene, "bob", "delivered", "ada") }
    #expect(scene.acknowledged == ["bob state.with:ada"], "the same again changes nothing")
    #expect(try scene.notification("bob", "ada")?.unacknowledged == 0)
    try say(scene, "bob", "seen", "ada")
    #expect(try scene.notification("bob", "ada")?.unseen == 1, "it waits on")
    try scene.send("cy", to: "bob")
    #expect(try scene.notification("bob", "cy")?.badge == 2)
    try scene.send("bob", to: "ada")
    #expect(try scene.notification("bob", "ada") == nil, "who answers sees it on that phone")
    #expect(scene.acknowledged.last == "bob state.with:ada")
    #expect(try scene.notification("bob", "cy")?.badge == 1)
    #expect(scene.notified.last == "ada state.revealed state.with:bob")
  }

  @Test("whoever opens the recorder has what waits")
  func recorder() throws {
    let scene = scene()
    try scene.send("ada", to: "bob")
    try scene.call("bob", "state.begin", #"{"to":"ada"}"#)
    #expect(scene.acknowledged == ["bob state.with:ada"])
    #expect(try scene.notification("bob", "ada")?.unacknowledged == 0)
  }

  @Test("what is revealed, and what is said to it, is told of until it was seen")
  func revealed() throws {
    let scene = scene()
    try scene.send("ada", to: "bob")
    try scene.advance(1000)
    try scene.send("bob", to: "ada")
    let told = AppNotification(
      topic: "state.revealed", unacknowledged: 1, unseen: 1, since: scene.now, badge: 0, sender: "bob",
      data: ["channel": "state.threads:ada", "with": "bob"], unseenSince: scene.now)
    #expect(try scene.notification("ada", "bob") == told)
    try scene.call("bob", "state.react", #"{"with":"ada","reaction":"🔥"}"#)
    #expect(try scene.notification("ada", "bob") == told, "the reveal is worth more")
    try say(scene, "ada", "seen", "bob")
    #expect(try scene.notification("ada", "bob") == nil)
    #expect(scene.acknowledged.last == "ada state.with:bob")
    try scene.call("bob", "state.react", #"{"with":"ada","reaction":"👀"}"#)
    #expect(scene.notified.last == "ada state.reaction state.with:bob")
    #expect(try scene.notification("ada", "bob")?.topic == "state.reaction")
    // Neither one's own reaction nor one that is taken back is news.
    let count = scene.notified.count
    try scene.call("bob", "state.react", #"{"with":"ada"}"#)
    #expect(try scene.notification("ada", "bob") == nil)
    try scene.call("ada", "state.react", #"{"with":"bob","reaction":"🔥"}"#)
    #expect(scene.notified.dropFirst(count) == ["bob state.reaction state.with:ada"])
    try scene.advance(24 * Self.hour)
    #expect(try scene.notification("ada", "bob") == nil && scene.notification("bob", "ada") == nil)
    #expect(scene.recordCount == 0)
  }

  @Test("an hour before it is gone, whoever has not answered is told so once, at that time, delivered or not")
  func ends() throws {
    for isDelivered in [false, true] {
      let scene = scene()
      try scene.send("ada", to: "bob")
      if isDelivered { try say(scene, "bob", "delivered", "ada") }
      try scene.advance(23 * Self.hour - 1)
      #expect(scene.notified.count == 1)
      try scene.advance(1)
      #expect(scene.notified.dropFirst() == ["bob state.ends state.with:ada"])
      let told = try #require(try scene.notification("bob", "ada"))
      #expect(told.topic == "state.ends" && told.unacknowledged == 1 && told.since == scene.now && told.sender == nil)
      #expect(scene.phases("ada", "bob") == "sent/received" && scene.notices("bob") == ["received"])
      try scene.advance(Self.hour - 1)
      #expect(scene.notified.count == 2)
      try scene.advance(1)
      #expect(scene.phases("ada", "bob") == "expired/expired")
      #expect(try scene.notification("bob", "ada") == nil)
      #expect(scene.acknowledged.last == "bob state.with:ada", "what is shown is withdrawn")
    }
  }

  @Test("nobody is told of the end who has answered in time, or whose exchange is short")
  func noEnd() throws {
    let answered = scene()
    try answered.send("ada", to: "bob")
    try answered.send("bob", to: "ada")
    try answered.advance(48 * Self.hour)
    let short = scene { $0.lifetime = 2 * Self.hour - 1 }
    try short.send("ada", to: "bob")
    try short.advance(48 * Self.hour)
    #expect(!(answered.notified + short.notified).contains { $0.contains("state.ends") })
  }

  @Test("what is sent to somebody who blocks, or is sent too much, is told to nobody; a block takes what is shown")
  func unheard() throws {
    let scene = scene { $0.receivedThreads = 1 }
    try scene.send("eve", to: "ada")
    try scene.send("cy", to: "ada")
    #expect(scene.notified == ["ada state.sealed state.with:eve"])
    try scene.call("ada", "state.block", #"{"user":"eve"}"#)
    #expect(try scene.notification("ada", "eve") == nil)
    #expect(scene.acknowledged == ["ada state.with:eve"])
    try scene.call("dan", "state.block", #"{"user":"eve"}"#)
    try scene.send("eve", to: "dan")
    #expect(scene.notified.count == 1)
  }

  @Test("where nobody is notified no decision says anything of it, and no record grows")
  func off() throws {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    let stored = scene.storedText
    try say(scene, "bob", "delivered", "ada")
    #expect(scene.storedText == stored && !stored.contains("told"))
    try scene.send("bob", to: "ada")
    #expect(scene.notified.isEmpty && scene.acknowledged.isEmpty)
    try say(scene, "eve", "delivered", "bob")
  }

  @Test("a subject that is not State's, or names nobody, has nothing to tell")
  func foreign() throws {
    let scene = scene()
    for subject in ["", "state.with:", "state.with:ada", "state.threads:bob", "clique.chat:p"] {
      #expect(try scene.app.notification(about: subject, for: "ada", scene) == nil, "\(subject)")
    }
  }

  /// Two worlds with the same steps of ada. In one bob blocks and unblocks her, in the other he is silent.
  @Test("who is blocked has their devices told the same as by somebody silent", arguments: 0..<60)
  func blocked(seed: UInt64) throws {
    var random = StateRandom(state: seed)
    let (silent, other) = (scene(), scene())
    let worlds = [silent, other]
    for world in worlds {
      if seed % 3 > 0 { try world.send("bob", to: "ada") }
      if seed % 3 > 1 { try world.send("ada", to: "bob") }
    }
    var blocks = 0
    for count in 0..<40 {
      let kind = Int.random(in: 0..<8, using: &random)
      for world in worlds { world.awaited = [] }
      switch kind {
      case 0:
        blocks += 1
        try other.call("bob", count % 3 == 0 ? "state.unblock" : "state.block", #"{"user":"ada"}"#)
      case 1, 2:
        let times: [Int64] = [1, Self.hour / 2, 22 * Self.hour, 25 * Self.hour]
        let time = times.randomElement(using: &random) ?? 1
        for world in worlds { try world.advance(time) }
      case 3: for world in worlds { try say(world, "ada", "delivered", "bob") }
      case 4: for world in worlds { try say(world, "ada", "seen", "bob") }
      case 5:
        for world in worlds { _ = world.refusal("ada", "state.react", #"{"with":"bob","reaction":"\#(count % 2)"}"#) }
      // What bob has sent cannot be answered any more once he has blocked her, as after its deadline.
      default:
        if silent.phase("ada", "bob") == "received" { break }
        for world in worlds { _ = try? world.send("ada", to: "bob") }
      }
      let views = try worlds.map { world in
        let heard = (world.notified + world.acknowledged).filter { $0.hasPrefix("ada ") }
        let told = try world.notification("ada", "bob")
        return heard + ["\(told as AppNotification?)", world.phase("ada", "bob")]
      }
      try #require(views[0] == views[1], "after \(count) steps")
      // What is not open has to be read from the disk, and she could measure that.
      if kind > 2 { #expect(silent.awaited == other.awaited, "after \(count) steps") }
    }
    #expect(blocks > 0)
  }
}
