import Foundation
import Testing
import Wire

@testable import Apps

/// What must be true after any sequence of events.
@Suite("State: random walks")
struct StateWalkTests {
  @Test("any sequence keeps the promises", arguments: 0..<30)
  func walk(seed: UInt64) throws {
    var walk = StateWalk(seed: seed)
    // What is beyond a receiver's limit is not answered, so such walks take longer to come around.
    for _ in 0..<(seed % 2 == 0 ? 400 : 150) { try walk.step() }
    // The walk has been somewhere.
    #expect(walk.shownPictures.count >= 4)
    #expect(walk.sealedPictures.values.reduce(0) { $0 + $1.count } > walk.shownPictures.count)
    try walk.end()
  }
}

private struct StateWalk {
  let scene: StateScene
  var random: StateRandom
  let people = ["ada", "bob", "cy"]
  /// By user and other: what was prepared and not sent, and the last that was sent.
  var prepared: [String: StateScene.Sending] = [:]
  var lastSent: [String: StateScene.Sending] = [:]
  var owners: [String: String] = [:]
  /// A pair's pictures that were ever sent.
  var sealedPictures: [String: Set<String>] = [:]
  /// Pictures that were ever to be seen.
  var shownPictures: Set<String> = []
  /// By user and other: when the one has blocked the other.
  var blocks: [String: [Int64]] = [:]
  var lateTimers = false

  init(seed: UInt64) {
    random = StateRandom(state: seed)
    lateTimers = seed % 3 == 0
    // Half of the walks go through what is beyond a receiver's limits, too.
    scene = StateScene { rules in
      if seed % 2 == 0 { rules.receivedThreads = 1 }
    }
  }

  mutating func step() throws {
    let user = people[Int.random(in: 0..<3, using: &random)]
    guard let other = people.filter({ $0 != user }).randomElement(using: &random) else { return }
    let blockedBefore = scene.entry(user, other)?["blocked"] as? Bool == true
    let noticesBefore = scene.notices(user).count
    let pair = user + ">" + other
    switch Int.random(in: 0..<16, using: &random) {
    case 0, 1: _ = scene.refusal(user, "state.begin", #"{"to":"\#(other)"}"#)
    case 2...5: try sendSomething(user, other, pair)
    case 6:
      if let again = lastSent[pair] { try retry(again, user, other) }
    case 7: _ = scene.refusal(user, "state.seen", #"{"with":"\#(other)"}"#)
    case 8: try block(user, other)
    case 14: react(user, other)
    case 15: cancel(user, other, pair)
    case 9, 13: _ = scene.refusal(user, "state.unblock", #"{"user":"\#(other)"}"#)
    case 10: try scene.advance(.random(in: 0..<100_000, using: &random), runsTimers: !lateTimers)
    case 11: try scene.advance(.random(in: 0..<20 * 3_600_000, using: &random), runsTimers: !lateTimers)
    default: try scene.runTimers()
    }
    if blockedBefore, scene.entry(user, other)?["blocked"] as? Bool == true {
      let news = scene.published.filter { $0.channel == "state.events:" + user }.dropFirst(noticesBefore)
      #expect(!news.contains { $0.data["with"] as? String == other })
    }
    try check()
  }

  private mutating func sendSomething(_ user: String, _ other: String, _ pair: String) throws {
    _ = scene.refusal(user, "state.begin", #"{"to":"\#(other)"}"#)
    let sending: StateScene.Sending
    if let waiting = prepared[pair] {
      sending = waiting
    } else {
      guard let new = try? scene.prepare(user, to: other, #","caption":"secret of \#(user)""#) else { return }
      sending = new
    }
    if scene.refusal(user, "state.send", sending.json) == nil {
      prepared[pair] = nil
      lastSent[pair] = sending
      sealedPictures[key(user, other), default: []].formUnion([sending.front, sending.rear])
    } else {
      // The pictures may have been discarded before, so others are uploaded next time.
      prepared[pair] = Bool.random(using: &random) ? sending : nil
    }
  }

  private func retry(_ sending: StateScene.Sending, _ user: String, _ other: String) throws {
    try scene.runTimers()
    let (before, published) = (scene.phases(user, other), scene.published.count)
    _ = scene.refusal(user, "state.send", sending.json)
    #expect(scene.phases(user, other) == before)
    #expect(scene.published.count == published)
  }

  /// Gives up what was recorded, with its pictures or without.
  private mutating func cancel(_ user: String, _ other: String, _ pair: String) {
    let phases = scene.phases(user, other)
    let waiting = Bool.random(using: &random) ? prepared[pair] : nil
    let pictures = waiting.map { #","pictures":["\#($0.front)","\#($0.rear)"]"# } ?? ""
    #expect(scene.refusal(user, "state.cancel", #"{"to":"\#(other)"\#(pictures)}"#) == nil)
    if waiting != nil { prepared[pair] = nil }
    if !lateTimers { #expect(scene.phases(user, other) == phases) }
  }

  /// Says something to the other, or takes it back: allowed exactly where one is shown a reveal.
  private mutating func react(_ user: String, _ other: String) {
    let entry = scene.entry(user, other)
    let isShown = entry?["phase"] as? String == "revealed" && entry?["until"] as? Int64 ?? 0 > scene.now
    let text = Bool.random(using: &random) ? #","reaction":"🔥""# : ""
    let theirs = scene.entry(other, user) as NSDictionary?
    let error = scene.refusal(user, "state.react", #"{"with":"\#(other)"\#(text)}"#)
    #expect((error == nil) == isShown)
    if scene.phase(other, user) == "idle" { #expect(scene.entry(other, user) as NSDictionary? == theirs) }
  }

  private mutating func block(_ user: String, _ other: String) throws {
    try scene.runTimers()
    blocks[user + ">" + other, default: []].append(scene.now)
    let theirs = scene.entry(other, user) as NSDictionary?
    let notices = scene.notices(other).count
    try scene.call(user, "state.block", #"{"user":"\#(other)"}"#)
    #expect(scene.phase(user, other) == "idle")
    // Nothing at all changes for the one who is blocked.
    #expect(scene.entry(other, user) as NSDictionary? == theirs)
    #expect(scene.notices(other).count == notices)
  }

  private func key(_ a: String, _ b: String) -> String { min(a, b) + "+" + max(a, b) }

  private static let possible: Set<String> = [
    "idle/idle", "sent/received", "sent/idle", "received/idle", "revealed/revealed", "revealed/idle",
    "expired/expired", "expired/idle", "received/sent", "idle/sent", "idle/received", "idle/revealed", "idle/expired",
  ]

  private mutating func check() throws {
    #expect(!scene.storedText.contains("secret of") && !scene.storedText.contains("🔥"))
    try checkCounts()
    for (a, b) in [("ada", "bob"), ("ada", "cy"), ("bob", "cy")] {
      #expect(Self.possible.contains(scene.phases(a, b)))
      for (me, other) in [(a, b), (b, a)] {
        let entry = scene.entry(me, other) ?? [:]
        let phase = entry["phase"] as? String ?? "idle"
        #expect((entry["mine"] != nil) == (phase == "revealed"))
        #expect((entry["theirs"] != nil) == (phase == "revealed"))
        #expect(entry["blocked"] as? Bool != true || phase == "idle")
        let isOver = (entry["until"] as? Int64 ?? .max) <= scene.now
        let shown = Set(
          ["mine", "theirs"].flatMap { side -> [String] in
            let contents = entry[side] as? [String: Any] ?? [:]
            return [contents["front"], contents["rear"]].compactMap { $0 as? String }
          })
        shownPictures.formUnion(shown)
        for id in sealedPictures[key(a, b)] ?? [] {
          // Exactly what is shown can be had, no longer than it says; also where the timers are late.
          let isVisible = shown.contains(id) && !isOver
          #expect((scene.pictureKey(id, for: me) != nil) == isVisible)
          if isVisible { #expect(!scene.discarded.contains(id)) }
        }
      }
    }
  }

  /// What is counted of a person is what there is.
  private func checkCounts() throws {
    for me in people {
      let others = people.filter { $0 != me }
      let threads = try others.compactMap { other -> (StateThread, StateSide)? in
        let people = try StatePair(me, other)
        guard let thread = try scene.record(StateThread.self, people.key), let side = people.side(of: me) else {
          return nil
        }
        return (thread, side)
      }
      let person = try scene.person(me) ?? StatePerson()
      #expect(person.blocks == threads.count { $0.blocks[$1] })
      #expect(person.bytes == (try scene.pictureBytes(of: me)))
      #expect(person.waiting == threads.count { $0.isWaiting($1) })
      #expect(person.received == threads.count { $0.phase(of: $1) == .received })
    }
  }

  mutating func end() throws {
    for person in people {
      for other in people where other != person {
        try scene.call(person, "state.unblock", #"{"user":"\#(other)"}"#)
      }
    }
    try scene.advance(72 * 3_600_000)
    #expect(scene.recordCount == 0)
    #expect(scene.listedCount == 0)
    for person in people {
      let heard = scene.notices(person)
      #expect(heard.count { $0 == "ended" } == heard.count { $0 == "revealed" }, "each reveal ends once")
      for other in people where other != person { checkExpired(person, other) }
    }
    for pictures in sealedPictures.values { #expect(pictures.isSubset(of: scene.discarded)) }
  }
}

extension StateWalk {
  /// What a user has heard of a thread.
  private struct Heard {
    var event: String
    var since: Int64
    var until: Int64

    init(_ data: [String: Any]) {
      event = data["event"] as? String ?? ""
      since = data["since"] as? Int64 ?? 0
      until = data["until"] as? Int64 ?? 0
    }
  }

  /// Of each exchange that ended by its time a side hears so exactly once, unless it has blocked the other before. An
  /// exchange that something else ended is one of which something else was heard before its time.
  fileprivate func checkExpired(_ user: String, _ other: String) {
    let all = scene.published
      .filter { $0.channel == "state.events:" + user && $0.data["with"] as? String == other }
      .map { Heard($0.data) }
    for (index, heard) in all.enumerated() {
      let next = index + 1 < all.count ? all[index + 1] : nil
      let last = index > 0 ? all[index - 1] : nil
      switch heard.event {
      case "sent", "received":
        func hasBlocked(_ pair: String) -> Bool {
          blocks[pair, default: []].contains { $0 >= heard.since && $0 < heard.until }
        }
        if hasBlocked(user + ">" + other) { continue }
        // What the other sends after a block of their own takes its place, unheard where it is beyond this side's limit.
        if scene.rules.receivedThreads == 1, heard.event == "received", hasBlocked(other + ">" + user) { continue }
        let isOtherwise = next.map { $0.since < heard.until } ?? false
        let hasExpired = next?.event == "expired" && next?.since == heard.until
        #expect(isOtherwise != hasExpired, "\(user) of \(other) since \(heard.since), then \(String(describing: next))")
      case "expired":
        #expect(["sent", "received"].contains(last?.event) && last?.until == heard.since, "\(user) of \(other)")
      default: break
      }
    }
  }
}

struct StateRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
