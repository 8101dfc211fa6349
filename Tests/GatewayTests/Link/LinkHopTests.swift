import Metering
import Synchronization
import Testing
import Telemetry
import Wire

@testable import Gateway

/// A recorder with a clock that a test sets, and the numbers that it took.
final class MeasuringScene: Sendable {
  private let time = Mutex<UInt64>(0)
  private let registry = PrometheusRegistry(version: "1")

  var recorder: HopRecorder {
    HopRecorder(host: 1, clock: { [self] in time.withLock { $0 } }, factory: registry)
  }

  func pass(milliseconds: UInt64) { time.withLock { $0 += milliseconds * 1_000_000 } }

  /// The times of a hop together, in seconds, and how many there were.
  func hop(_ hop: Hop) -> String {
    let page = String(decoding: registry.render(), as: UTF8.self)
    let numbers = ["sum", "count"].map { part -> Substring in
      let line = "fanfare_hop_seconds_\(part){hop=\"\(hop.rawValue)\"} "
      return page.split(separator: "\n").first { $0.hasPrefix(line) }?.dropFirst(line.count) ?? "none"
    }
    return numbers.joined(separator: "/")
  }
}

@Suite("What the gateway's link measures")
struct LinkHopTests {
  private let measuring = MeasuringScene()
  private let scene = LinkScene()
  private let hops: GatewayHops
  private let a = Fixed.channel

  init() {
    hops = GatewayHops(measuring.recorder)
    scene.link.hops = hops
  }

  private func publish(_ tag: UInt64) {
    scene.submit(.publish(.init(channel: a, data: [0x31])), tag: tag)
  }

  private func announce(_ offset: UInt64) {
    let trace = hops.recorder.begin(isTraced: false)
    scene.receive(.trace(LinkTrace(.publication(a, offset: offset), trace)))
  }

  @Test("The broker hears of a measured request just before it, and of no other")
  func request() {
    scene.subscribed(a)
    hops.post(hops.recorder.begin(isTraced: false), of: RequestSource(loop: 0, connection: 7, tag: 7))
    measuring.pass(milliseconds: 3)
    publish(6)
    #expect(scene.sends() == [.request])
    publish(7)
    #expect(scene.sends() == [.trace, .request] && !hops.hasPosted)
    publish(7)
    #expect(scene.sends() == [.request])
    #expect(measuring.hop(.gatewayIn) == "0.003/1")
  }

  @Test("Event loops hear of a measured publication just after it, and of none without subscribers")
  func publication() throws {
    scene.subscribed(a)
    announce(1)
    measuring.pass(milliseconds: 1)
    scene.publication(a, 1)
    scene.publication(a, 2)
    let told = scene.tells()
    try #require(told.count == 3)
    guard case .measured(a, offset: 1, _, let audience) = told[1] else {
      Issue.record("the publication is not followed by what is measured of it")
      return
    }
    #expect(audience.loops == 1 && told[0].offset == 1 && told[2].offset == 2)
    #expect(measuring.hop(.linkOut) == "0/1" && !hops.hasComing)
    announce(9)
    #expect(hops.hasComing && scene.tells() == [])
    scene.reopen()
    #expect(!hops.hasComing)
  }

  @Test("Where a session's gap swallows the announced publication, nothing else is taken for it")
  func bounded() {
    scene.subscribed(a)
    for offset: UInt64 in 100...200 { announce(offset) }
    scene.publication(a, 1)
    #expect(scene.tells().count == 1 && hops.hasComing)
  }
}

@Suite("What the fan-out measures")
struct HopWatchTests {
  private let measuring = MeasuringScene()

  private func mark(loops: Int = 1) -> HopMark {
    let recorder = measuring.recorder
    return HopMark(recorder.begin(isTraced: false), SpanAttributes(), loops: loops, recorder: recorder)
  }

  private func frame(_ text: String) -> [UInt8] { ServerFrame.message(Array(text.utf8), format: .json) }

  @Test("The first and the last send of a frame are measured, with and without io_uring", arguments: EgressTests.ways)
  func sends(ring: Bool) throws {
    let measuring = measuring
    let scene = try EgressScene(ring: ring)
    let tape = scene.tape()
    let members = (0..<100).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    let mark = mark()
    measuring.pass(milliseconds: 2)
    scene.fanOut.append(frame("1"), key: .channel, to: tape)
    scene.fanOut.watches.begin(mark, on: [tape])
    #expect(measuring.hop(.gatewayOut) == "0.002/1" && measuring.hop(.socketFirst) == "0/0")
    measuring.pass(milliseconds: 4)
    scene.runToEnd()
    #expect(measuring.hop(.socketFirst) == "0.004/1" && measuring.hop(.socketLast) == "0.004/1")
    #expect(measuring.hop(.whole) == "0.006/1" && scene.fanOut.watches.isEmpty)
    for member in members {
      member.readAll(scene)
      #expect(member.received == frame("1"), "everybody gets it once")
    }
    scene.fanOut.append(frame("2"), key: .channel, to: tape)
    scene.runToEnd()
    #expect(measuring.hop(.whole) == "0.006/1", "the next frame is not measured")
  }

  @Test("The whole ends with the last tape of the last event loop")
  func whole() throws {
    let measuring = measuring
    let scene = try EgressScene(ring: false)
    let tapes = [scene.tape(), scene.tape()]
    let members = tapes.map { _ in scene.member() }
    for (tape, member) in zip(tapes, members) { tape.sit(member.driver, held: false, positioned: false) }
    let mark = mark(loops: 3)
    for tape in tapes { scene.fanOut.append(frame("1"), key: .channel, to: tape) }
    scene.fanOut.watches.begin(mark, on: tapes)
    scene.runToEnd()
    #expect(measuring.hop(.socketLast) == "0/2" && measuring.hop(.whole) == "0/0")
    // An event loop on which nobody is left.
    scene.fanOut.watches.begin(mark, on: [])
    #expect(measuring.hop(.whole) == "0/0")
    measuring.pass(milliseconds: 5)
    scene.fanOut.append(frame("1"), key: .channel, to: tapes[0])
    scene.fanOut.watches.begin(mark, on: [tapes[0]])
    scene.runToEnd()
    #expect(measuring.hop(.whole) == "0.005/1" && measuring.hop(.gatewayOut) == "0.005/2")
  }

  @Test("A frame that waits behind an earlier lap is measured when it is out, and one whose readers left is dropped")
  func laps() throws {
    let measuring = measuring
    var now: UInt64 = 0
    // Each look at the clock takes as long as a slice, so that a lap takes several.
    let scene = try EgressScene(ring: false, slice: 1) {
      now += 1
      return now
    }
    let tape = scene.tape()
    let members = (0..<200).map { _ in scene.member() }
    for member in members { tape.sit(member.driver, held: false, positioned: false) }
    scene.fanOut.append(frame("1"), key: .channel, to: tape)
    scene.fanOut.runSlice()
    #expect(tape.isDirty)
    scene.fanOut.append(frame("2"), key: .channel, to: tape)
    scene.fanOut.watches.begin(mark(), on: [tape])
    scene.runToEnd()
    #expect(measuring.hop(.socketFirst) == "0/1" && measuring.hop(.socketLast) == "0/1")
    scene.fanOut.append(frame("3"), key: .channel, to: tape)
    scene.fanOut.watches.begin(mark(), on: [tape])
    for member in members { scene.fanOut.leave(member, tape) }
    scene.runToEnd()
    #expect(scene.fanOut.watches.isEmpty && measuring.hop(.socketLast) == "0/1")
  }
}
