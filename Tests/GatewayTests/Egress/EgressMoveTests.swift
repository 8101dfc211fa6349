import Testing
import Wire

@testable import Gateway

/// Over real sockets, so that sends end in the middle of frames.
@Suite("Fan-out, moving between tapes")
struct EgressMoveTests {
  private func frame(_ number: Int, size: Int) -> [UInt8] {
    let text = "\(number)."
    return ServerFrame.message(
      Array(text.utf8) + [UInt8](repeating: 0x78, count: max(0, size - text.utf8.count)), format: .json)
  }

  @Test(
    "whoever moves gets every frame of the tape that it sat on, in order, whole and once", arguments: EgressTests.ways)
  func moving(ring: Bool) throws {
    let scene = try EgressScene(ring: ring, queueBytes: 64 << 20)
    let tapes = [scene.tape(), scene.tape()]
    let movers = [scene.member(bufferBytes: 4_096), scene.member()]
    let stayers = [scene.member(bufferBytes: 4_096), scene.member()]
    var places = [0, 1]
    for index in 0..<2 {
      tapes[places[index]].sit(movers[index].driver, held: false, positioned: true)
      tapes[index].sit(stayers[index].driver, held: false, positioned: false)
    }
    var expected: [[UInt8]] = [[], [], [], []]
    var generator = SplitMix(state: 8)
    for number in 0..<3_000 {
      let which = Int.random(in: 0..<2, using: &generator)
      let new = frame(number, size: Int.random(in: 10...3_000, using: &generator))
      scene.fanOut.append(new, key: .channel, to: tapes[which])
      for index in 0..<2 where places[index] == which { expected[index] += new }
      expected[2 + which] += new
      if number % 7 == 0 { scene.runToEnd() }
      if number % 11 == 0 {
        let mover = Int.random(in: 0..<2, using: &generator)
        let next = 1 - places[mover]
        let pending = scene.fanOut.move(movers[mover].driver, from: tapes[places[mover]], to: tapes[next])
        scene.fanOut.send(pending, to: movers[mover])
        places[mover] = next
      }
      for member in [movers[1], stayers[1]] { member.read(scene) }
      if number % 5 == 0 {
        for member in [movers[0], stayers[0]] {
          member.read(atMost: Int.random(in: 1...9_000, using: &generator), scene)
        }
      }
    }
    scene.runToEnd()
    for (index, member) in (movers + stayers).enumerated() {
      member.readAll(scene)
      #expect(member.received == expected[index])
      #expect(member.laggingBytes == 0 && member.lags.isEmpty && member.slowCloses == 0)
    }
    for tape in tapes { #expect(tape.base == tape.end && tape.laggards == 0) }
    #expect(tapes.map(\.positionedSessions.count).reduce(0, +) == 2)
  }

  @Test("who lags in a low lane takes the newest of each key along, and then lags on the other tape")
  func conflated() throws {
    let scene = try EgressScene(ring: false)
    let (first, second) = (scene.tape(.typing), scene.tape(.typing))
    let slow = scene.member(bufferBytes: 4_096)
    let other = scene.member()
    first.sit(slow.driver, held: false, positioned: false)
    second.sit(other.driver, held: false, positioned: false)
    let keys = ["ann", "ben"].map { ConflationKey(presenceOf: ClientInfo(user: $0, client: $0)) }
    func append(_ number: Int, _ key: Int, _ tape: Tape) {
      scene.fanOut.append(frame(number, size: 2_000), key: keys[key], to: tape)
      scene.runToEnd()
    }
    for number in 0..<40 { append(number, number % 2, first) }
    #expect(first.laggards == 1)
    let pending = scene.fanOut.move(slow.driver, from: first, to: second)
    #expect(pending == frame(38, size: 2_000) + frame(39, size: 2_000))
    scene.fanOut.send(pending, to: slow)
    for number in 40..<80 { append(number, number % 2, second) }
    let last = frame(78, size: 2_000) + frame(79, size: 2_000)
    slow.readAll(scene)
    other.readAll(scene)
    #expect(Array(slow.received.suffix(last.count + pending.count)) == pending + last)
    #expect(Array(other.received.suffix(last.count)) == last)
    #expect(first.isEmpty && second.conflated.isEmpty)
  }

  @Test("who would have too much waiting after a move is too slow")
  func tooSlow() throws {
    let scene = try EgressScene(ring: false, queueBytes: 100_000)
    let (first, second) = (scene.tape(), scene.tape())
    let slow = scene.member(bufferBytes: 4_096)
    first.sit(slow.driver, held: false, positioned: false)
    for number in 0..<100 { scene.fanOut.append(frame(number, size: 2_000), key: .channel, to: first) }
    let pending = scene.fanOut.move(slow.driver, from: first, to: second)
    #expect(slow.slowCloses == 0)
    scene.fanOut.send(pending, to: slow)
    #expect(slow.slowCloses == 1)
    #expect(slow.laggingBytes == 0)
  }

  @Test("a connection that has ended takes nothing along")
  func ended() throws {
    let scene = try EgressScene(ring: false)
    let (first, second) = (scene.tape(), scene.tape())
    let gone = scene.member()
    first.sit(gone.driver, held: false, positioned: false)
    scene.fanOut.append(frame(1, size: 100), key: .channel, to: first)
    gone.end()
    #expect(scene.fanOut.move(gone.driver, from: first, to: second).isEmpty)
    #expect(first.isEmpty && second.seats.count == 1)
    scene.runToEnd()
  }
}
