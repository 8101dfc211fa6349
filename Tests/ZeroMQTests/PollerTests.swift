import Testing
import ZeroMQ

@Suite struct PollerTests {
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
}
