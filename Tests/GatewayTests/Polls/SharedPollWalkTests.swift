import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SharedPoll: whatever comes in whatever order")
struct SharedPollWalkTests {
  /// A backend whose keys change, clients that come and go, and what must hold after each step.
  private struct Walk {
    let scene: PollScene
    var randomness: SeededGenerator
    let isVersioned: Bool
    /// What the backend has: the version, which is the data too.
    var truth: [String: UInt64] = [:]
    /// The newest data that each client was sent of what it tracks.
    var seen: [UInt64: [String: UInt64]] = [:]
    var broken: String?
    static let keys = (0..<6).map { "k\($0)" }

    init(seed: UInt64) {
      randomness = SeededGenerator(seed: seed)
      isVersioned = seed.isMultiple(of: 2)
      var limits = PollScene.limits
      limits.calls = 1
      limits.dataBytes = Int.random(in: 0...4, using: &randomness)
      limits.answerBytes = Int.random(in: 0...3, using: &randomness)
      let versioned = isVersioned
      scene = PollScene(limits, seed: seed) {
        $0.mode = versioned ? .versioned : .versionless
        $0.batchSize = 2
        $0.intervalMilliseconds = 1000
      }
      for key in Self.keys { truth[key] = 1 }
    }

    mutating func step() {
      let client = UInt64.random(in: 1...4, using: &randomness)
      let key = Self.keys[Int.random(in: 0..<Self.keys.count, using: &randomness)]
      switch Int.random(in: 0..<10, using: &randomness) {
      case 0, 1:
        // A client says what it has; now and then it has lost it.
        let keeps = isVersioned && Bool.random(using: &randomness)
        let has = keeps ? seen[client]?[key] ?? 0 : 0
        seen[client, default: [:]][key] = has
        take(scene.track(client, [key: has]).map { "\(client) \($0)" })
      case 2:
        scene.untrack(client, [key])
        seen[client]?[key] = nil
      case 3:
        if Int.random(in: 0..<4, using: &randomness) == 0 {
          scene.leave(client)
          seen[client] = nil
        }
      case 4: truth[key, default: 0] += 1
      case 5: if !scene.asked.isEmpty { scene.fail() }
      case 6: scene.pass(Int64.random(in: 0...300, using: &randomness))
      default: answer()
      }
      take(scene.looked())
      check()
    }

    /// Answers as a backend may: in full, or without what is known already.
    ///
    /// - Parameter isTerse: it never says what is known already.
    private mutating func answer(isTerse: Bool = false) {
      guard let asked = scene.asked.first else { return scene.pass(50) }
      var items: [PolledItem] = []
      for word in asked.split(separator: " ") {
        let parts = word.split(separator: ":")
        let version = truth[String(parts[0])] ?? 0
        let isKnown = parts.count == 2 && UInt64(parts[1]) == version
        if isKnown, isTerse || Bool.random(using: &randomness) { continue }
        items.append(item(String(parts[0]), "\(version)", version: isVersioned ? version : 0))
      }
      scene.answer(items)
    }

    private mutating func take(_ told: [String]) {
      for line in told {
        let parts = line.split(whereSeparator: { " =".contains($0) })
        guard parts.count == 3, let client = UInt64(parts[0]), let data = UInt64(parts[2]) else {
          broken = "told \(line)"
          continue
        }
        guard let before = seen[client]?[String(parts[1])] else {
          broken = "\(line), which it does not track"
          continue
        }
        if data <= before { broken = "\(line) after \(before)" }
        seen[client]?[String(parts[1])] = data
      }
    }

    private mutating func check() {
      let trackings = seen.values.reduce(0) { $0 + $1.count }
      let counts = scene.counts
      if counts.trackings != trackings { broken = "\(counts) with \(trackings) trackings" }
      if counts.keys != Set(seen.values.flatMap(\.keys)).count { broken = "\(counts) with other keys" }
      if scene.asked.count != counts.callsUnderWay || counts.callsUnderWay > 1 { broken = "\(counts) calls" }
      if counts.dataBytes > scene.poll.limits.dataBytes { broken = "\(counts) of data" }
    }

    /// Without changes, everybody has what there is in the end; and when they have gone, nothing is left.
    mutating func settle() {
      for _ in 0..<100 {
        if scene.asked.isEmpty { scene.passToNext() } else { answer(isTerse: true) }
        take(scene.looked())
      }
      for (client, keys) in seen {
        for (key, has) in keys where has != truth[key] {
          broken = "\(client) has \(has) of \(key), which is \(truth[key] ?? 0)"
        }
      }
      for client in seen.keys { scene.leave(client) }
      while !scene.asked.isEmpty { scene.answer([]) }
      for _ in 0..<10 { scene.passToNext() }
      if scene.counts != .init() || scene.nextDue != nil { broken = "\(scene.counts) is left" }
    }
  }

  @Test("nobody gets a version twice or an older one later, and all have the newest in the end")
  func walk() {
    for seed in 1...300 as ClosedRange<UInt64> {
      var walk = Walk(seed: seed)
      for _ in 0..<200 where walk.broken == nil { walk.step() }
      if walk.broken == nil { walk.settle() }
      #expect(walk.broken == nil, "seed \(seed)")
    }
  }

  @Test("names come out in the order of their times")
  func heap() {
    var randomness = SeededGenerator(seed: 7)
    var heap = DueHeap<Int64>()
    var times: [Int64] = []
    for _ in 0..<500 {
      let time = Int64.random(in: 0..<100, using: &randomness)
      times.append(time)
      heap.insert(time, at: time)
    }
    #expect(heap.next == times.min())
    var taken: [Int64] = []
    while let (at, name) = heap.take(by: 49) {
      #expect(at == name)
      taken.append(at)
    }
    #expect(taken == times.filter { $0 < 50 }.sorted() && heap.count == times.count - taken.count)
  }
}
