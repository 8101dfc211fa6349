import Dispatch
import TestSupport
import Testing
import ZeroMQ

@Suite(.ownThread) struct ContextTests {
  @Test("Shutting the context down wakes a receiver that blocks", .timeLimit(.minutes(15)))
  func shutdown() throws {
    let context = try Context()
    let report = Report<ZeroMQError.Reason?>()
    let ready = DispatchSemaphore(value: 0)
    Dispatch.DispatchQueue(label: "receiver").async {
      do throws(ZeroMQError) {
        let pair = try Socket(context, .pair)
        try pair.bind("inproc://never")
        ready.signal()
        _ = try pair.receive(blocking: true)
        report.post(nil)
      } catch {
        report.post(error.reason)
      }
    }
    ready.wait()
    context.shutdown()
    try report.next()
    #expect(report.all == [.terminated])
  }

  @Test("A context ends at once although a closed socket still has messages for nobody", .timeLimit(.minutes(15)))
  func endsWithUnsentMessages() throws {
    do {
      let context = try Context()
      let dealer = try Socket(context, .dealer)
      // Nobody listens on port 9 of the loopback device: the message stays queued.
      try dealer.connect("tcp://127.0.0.1:9")
      try dealer.send([1])
    }
    // Reached: the end of the scope ended the context.
  }

  @Test("The library is libzmq 4.3 or later")
  func version() {
    let parts = Context.libraryVersion.split(separator: ".").compactMap { Int($0) }
    #expect(parts.lexicographicallyPrecedes([4, 3]) == false)
  }
}
