import CZeroMQ
import Glibc
import TestSupport
import Testing
import ZeroMQ

@Suite(.ownThread) struct PollerTests {
  private let context: Context

  init() throws { context = try Context() }

  @Test("Without interest in input a waiting message is left alone, and told again later")
  func pause() throws {
    let left = try socket(context, .pair)
    let right = try socket(context, .pair)
    try left.bind("inproc://pause")
    try right.connect("inproc://pause")
    try right.send([1])
    let poller = Poller()
    let registration = poller.add(left, .input)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    #expect(poller.ready(registration) == .input)
    poller.setEvents([], for: registration)
    #expect(poller.ready(registration) == [])
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    poller.setEvents(.input, for: registration)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
  }

  @Test("A socket that was closed while it was watched is skipped")
  func closed() throws {
    let poller = Poller()
    let gone = try socket(context, .pair)
    let registration = poller.add(gone, [.input, .output])
    gone.close()
    #expect(poller.ready(registration) == [])
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
  }

  @Test("A registration does not speak for the socket that takes its place")
  func replaced() throws {
    let poller = Poller()
    let first = try socket(context, .pair)
    let second = try socket(context, .pair)
    try second.bind("inproc://replaced")
    let peer = try socket(context, .pair)
    try peer.connect("inproc://replaced")
    try peer.send([1])
    let old = poller.add(first, .input)
    poller.remove(old)
    let new = poller.add(second, .input)
    poller.setEvents([], for: old)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    #expect(poller.ready(old) == [])
    #expect(poller.ready(new) == .input)
    first.close()
  }

  @Test("A message whose arrival a send took in is found without being told of by the descriptor")
  func takenInBySend() throws {
    let left = try socket(context, .pair) { $0.sendHighWaterMark = 0 }
    let right = try socket(context, .pair) { $0.receiveHighWaterMark = 0 }
    try left.bind("inproc://taken-in")
    try right.connect("inproc://taken-in")
    let poller = Poller()
    let registration = poller.add(left, .input)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    #expect(try left.receive() == nil)
    try right.send([1])
    // libzmq looks at its commands in a send only where it has not done so for a while: so often that it does.
    for _ in 0..<100_000 { try left.send([2]) }
    #expect(try poller.countReady() == 1)
    #expect(poller.ready(registration) == .input)
    #expect(try left.receive()?.copyBytes() == [1])
    #expect(try left.receive() == nil)
    #expect(try poller.countReady() == 0)
  }

  @Test("What one socket sends to another of the same poller over inproc is known without a wait")
  func neighbours() throws {
    let left = try socket(context, .pair)
    let right = try socket(context, .pair)
    try left.bind("inproc://neighbours")
    try right.connect("inproc://neighbours")
    let poller = Poller()
    let first = poller.add(left, .input)
    let second = poller.add(right, .input)
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    try left.send([1])
    #expect(poller.ready(first) == [])
    #expect(poller.ready(second) == .input)
  }

  @Test("A message that was not received stays known, and one that came while nobody asked is told with the interest")
  func stays() throws {
    let left = try socket(context, .pair)
    let right = try socket(context, .pair)
    try left.bind("inproc://stays")
    try right.connect("inproc://stays")
    let poller = Poller()
    let registration = poller.add(left, [])
    try right.send([1])
    for _ in 0..<3 { #expect(try poller.wait(timeoutMilliseconds: 0) == 0) }
    poller.setEvents(.input, for: registration)
    for _ in 0..<3 { #expect(try poller.wait(timeoutMilliseconds: 0) == 1) }
    #expect(try left.receive()?.copyBytes() == [1])
    #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
  }

  @Test("A wake descriptor ends the wait once for each write, read or not")
  func wake() throws {
    let descriptor = eventfd(0, Int32(EFD_NONBLOCK))
    defer { _ = Glibc.close(descriptor) }
    let poller = Poller(wakeDescriptor: descriptor)
    var one: UInt64 = 1
    for _ in 0..<3 {
      _ = Glibc.write(descriptor, &one, 8)
      let started = MonotonicClock.now()
      #expect(try poller.wait(timeoutMilliseconds: 600_000) == 0)
      #expect(MonotonicClock.now() - started < 300_000_000_000)
    }
  }
}
