import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Fan-out, with and without io_uring")
struct EgressTests {
  static let ways = runsUnlessLacking(.ioUring, isThere: EgressScene.ringWorks) ? [false, true] : [false]

  private func frame(_ number: Int, size: Int = 40) -> [UInt8] {
    let text = "\(number)."
    return ServerFrame.message(
      Array(text.utf8) + [UInt8](repeating: 0x78, count: max(0, size - text.utf8.count)), format: .json)
  }

  private func append(_ frame: [UInt8], _ tape: Tape, _ scene: EgressScene, key: ConflationKey = .channel) {
    scene.fanOut.append(frame, key: key, to: tape)
  }

  @Test("what came in one round goes out whole, in order, to everybody", arguments: ways)
  func coalesced(ring: Bool) throws {
    let scene = try EgressScene(ring: ring)
    let tape = scene.tape()
    let members = (0..<100).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    let frames = (0..<50).map { frame($0) }
    for frame in frames { append(frame, tape, scene) }
    #expect(scene.fanOut.backlogBytes == frames.reduce(0) { $0 + $1.count })
    scene.runToEnd()
    for member in members {
      member.readAll(scene)
      #expect(member.received == frames.flatMap { $0 })
    }
    #expect(scene.fanOut.backlogBytes == 0)
    #expect(tape.base == tape.end)
  }

  @Test("a reader that takes bytes in drops gets every frame whole and in order", arguments: ways)
  func partial(ring: Bool) throws {
    let scene = try EgressScene(ring: ring, queueBytes: 64 << 20)
    let tapes = [scene.tape(), scene.tape()]
    let slow = scene.member(bufferBytes: 4_096)
    let fast = scene.member()
    for tape in tapes { for member in [slow, fast] { tape.sit(member.driver, held: false, positioned: false) } }
    var generator = SplitMix(state: 7)
    var sent = [[], []] as [[[UInt8]]]
    for number in 0..<2_000 {
      let which = Int.random(in: 0..<2, using: &generator)
      let new = frame(which * 1_000_000 + number, size: Int.random(in: 10...3_000, using: &generator))
      sent[which].append(new)
      append(new, tapes[which], scene)
      if number % 7 == 0 { scene.runToEnd() }
      fast.read(scene)
      if number % 5 == 0 { slow.read(atMost: Int.random(in: 1...9_000, using: &generator), scene) }
    }
    scene.runToEnd()
    #expect(slow.laggingBytes > 0)
    for member in [slow, fast] {
      member.readAll(scene)
      let frames = Self.split(member.received)
      for which in 0..<2 {
        #expect(frames.filter { (Self.number($0) >= 1_000_000) == (which == 1) } == sent[which])
      }
      #expect(frames.count == 2_000)
      #expect(member.laggingBytes == 0)
      #expect(member.lags.isEmpty)
    }
    #expect(tapes.allSatisfy { $0.base == $0.end && $0.laggards == 0 })
  }

  private static func split(_ bytes: [UInt8]) -> [[UInt8]] {
    var rest = bytes[...]
    var frames: [[UInt8]] = []
    while !rest.isEmpty {
      let length = rest.withUnsafeBytes { ServerFrame.length(of: $0) }
      frames.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return frames
  }

  private static func number(_ frame: [UInt8]) -> Int {
    let header = frame[1] & 0x7F == 126 ? 4 : 2
    return Int(String(decoding: frame[header...].prefix { $0 != 0x2E }, as: UTF8.self)) ?? -1
  }

  @Test("what a reader asked for does not make it slow, however large; what nobody asked for does", arguments: ways)
  func asked(ring: Bool) throws {
    let scene = try EgressScene(ring: ring, queueBytes: 100_000)
    let tape = scene.tape()
    let member = scene.member(bufferBytes: 4_096)
    tape.sit(member.driver, held: false, positioned: false)
    let page = frame(0, size: 1_000_000)
    member.send(page)
    // Live publications behind a large answer: the first of them closed it.
    for number in 1...50 {
      append(frame(number, size: 1_000), tape, scene)
      scene.runToEnd()
    }
    #expect(member.slowCloses == 0 && member.askedBytes > 500_000)
    member.readAll(scene)
    let frames = Self.split(member.received)
    #expect(frames.count == 51)
    #expect(member.askedBytes == 0 && member.unaskedBytes == 0)
    member.send(page)
    for number in 51...200 {
      append(frame(number, size: 1_000), tape, scene)
      scene.runToEnd()
    }
    #expect(member.slowCloses == 1)
  }

  @Test("who does not read is closed at the limit; the tape forgets what was kept for them", arguments: ways)
  func slow(ring: Bool) throws {
    let scene = try EgressScene(ring: ring, queueBytes: 100_000)
    let tape = scene.tape()
    let stuck = scene.member(bufferBytes: 4_096)
    let fast = scene.member()
    for member in [stuck, fast] { tape.sit(member.driver, held: false, positioned: false) }
    var sent = 0
    while stuck.slowCloses == 0 && sent < 10_000 {
      append(frame(sent, size: 1_000), tape, scene)
      scene.runToEnd()
      fast.readAll(scene)
      sent += 1
      #expect(stuck.laggingBytes + stuck.queuedBytes <= 101_100)
    }
    #expect(stuck.slowCloses == 1)
    #expect(stuck.laggingBytes == 0)
    append(frame(sent, size: 1_000), tape, scene)
    scene.runToEnd()
    fast.readAll(scene)
    #expect(Self.split(fast.received).count == sent + 1)
    #expect(tape.base == tape.end)
  }

  @Test("a connection that breaks is left alone, and nobody else notices", arguments: ways)
  func broken(ring: Bool) throws {
    let scene = try EgressScene(ring: ring)
    let tape = scene.tape()
    let members = (0..<5).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    members[2].hangUp()
    for number in 0..<3 {
      append(frame(number), tape, scene)
      scene.runToEnd()
    }
    #expect(members.map(\.abandons) == [0, 0, 1, 0, 0])
    for member in [members[0], members[1], members[3], members[4]] {
      member.readAll(scene)
      #expect(Self.split(member.received).count == 3)
    }
  }

  @Test("a slice ends, and the next goes on with whoever was not reached", arguments: ways)
  func slices(ring: Bool) throws {
    var now: UInt64 = 0
    // Every look at the clock takes 100 µs: after three looks a slice is over.
    let scene = try EgressScene(ring: ring, slice: 250_000) {
      now += 100_000
      return now
    }
    let tape = scene.tape()
    let members = (0..<200).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    append(frame(1), tape, scene)
    scene.fanOut.runSlice()
    #expect(scene.turns == 1)
    func reached() -> Int {
      for member in members { member.read(scene) }
      return members.filter { !$0.received.isEmpty }.count
    }
    let first = reached()
    #expect(first > 0 && first < 200)
    // What comes meanwhile shares the sends of those who were not reached yet.
    append(frame(2), tape, scene)
    scene.runToEnd()
    _ = reached()
    #expect(members.allSatisfy { $0.received == frame(1) + frame(2) })
  }

  @Test("a channel of one does not wait for a channel of many", arguments: ways)
  func small(ring: Bool) throws {
    var now: UInt64 = 0
    let scene = try EgressScene(ring: ring, slice: 250_000) {
      now += 100_000
      return now
    }
    let large = scene.tape()
    let quiet = scene.tape()
    let crowd = (0..<500).map { _ in scene.member() }
    let one = scene.member()
    for member in crowd { large.sit(member.driver, held: false, positioned: false) }
    quiet.sit(one.driver, held: false, positioned: false)
    append(frame(1), large, scene)
    scene.fanOut.runSlice()
    append(frame(2), quiet, scene)
    scene.fanOut.runSlice()
    one.read(scene)
    #expect(one.received == frame(2))
    #expect(scene.turns > 0)
    scene.runToEnd()
  }

  @Test("lower lanes go out when no higher one waits", arguments: ways)
  func lanes(ring: Bool) throws {
    let scene = try EgressScene(ring: ring)
    let tapes = [scene.tape(.typing), scene.tape(.receipts), scene.tape(.publications)]
    let member = scene.member()
    for (number, tape) in tapes.enumerated() {
      tape.sit(member.driver, held: false, positioned: false)
      append(frame(number), tape, scene)
    }
    scene.runToEnd()
    member.readAll(scene)
    #expect(member.received == frame(2) + frame(1) + frame(0))
  }

  @Test("who lags in a low lane gets the newest of each key, behind all publications", arguments: ways)
  func conflation(ring: Bool) throws {
    let scene = try EgressScene(ring: ring)
    let typing = scene.tape(.typing)
    let chat = scene.tape()
    let slow = scene.member(bufferBytes: 4_096)
    let fast = scene.member()
    for member in [slow, fast] {
      typing.sit(member.driver, held: false, positioned: false)
      chat.sit(member.driver, held: false, positioned: false)
    }
    var publications = 0
    while slow.isClear {
      append(frame(1_000 + publications, size: 1_000), chat, scene)
      publications += 1
      scene.runToEnd()
      fast.readAll(scene)
    }
    let keys = ["ann", "ben"].map { ConflationKey(presenceOf: ClientInfo(user: $0, client: $0)) }
    for number in 0..<10 {
      append(frame(number), typing, scene, key: keys[number % 2])
      scene.runToEnd()
    }
    append(frame(1_000 + publications, size: 1_000), chat, scene)
    publications += 1
    scene.runToEnd()
    fast.readAll(scene)
    slow.readAll(scene)
    let got = Self.split(slow.received).map { Self.number($0) }
    #expect(got == Array(1_000..<(1_000 + publications)) + [8, 9])
    #expect(Self.split(fast.received).count == publications + 10)
    #expect(typing.base == typing.end)
  }

  @Test("who sits down during a lap gets nothing older; who leaves disturbs nobody", arguments: ways)
  func duringLap(ring: Bool) throws {
    var now: UInt64 = 0
    let scene = try EgressScene(ring: ring, slice: 250_000) {
      now += 100_000
      return now
    }
    let tape = scene.tape()
    let members = (0..<200).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    append(frame(1), tape, scene)
    scene.fanOut.runSlice()
    let late = scene.member()
    tape.sit(late.driver, held: false, positioned: false)
    for leaver in [0, 50, 199] { scene.fanOut.leave(members[leaver], tape) }
    scene.runToEnd()
    append(frame(2), tape, scene)
    scene.runToEnd()
    late.readAll(scene)
    #expect(late.received == frame(2))
    for (place, member) in members.enumerated() where ![0, 50, 199].contains(place) {
      member.readAll(scene)
      #expect(member.received == frame(1) + frame(2))
    }
    #expect(scene.fanOut.backlogBytes == 0)
  }
}
