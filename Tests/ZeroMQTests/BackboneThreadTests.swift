import Glibc
import TestSupport
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(15)), .ownThread) struct LoopThreadTests {
  private let context: Context

  init() throws { context = try Context() }

  /// Answers on a ROUTER what it is asked.
  private final class Echo: BackboneParticipant {
    let router: Socket
    let closed: Report<String>?
    private let limit: Int

    init(_ context: Context, _ endpoint: String, on loop: BackboneLoop, closed: Report<String>? = nil) throws {
      router = try Socket(context, .router, Socket.Options { $0.routerMandatory = true })
      try router.bind(endpoint)
      self.closed = closed
      limit = loop.messagesPerRound
      loop.watch(router, for: self) { echo, _ in echo.read() }
    }

    private func read() {
      var frames: [[UInt8]] = []
      do {
        for _ in 0..<limit {
          guard try router.receiveMultipart(into: &frames) != nil else { return }
          try router.send(multipart: frames)
        }
      } catch {
        Issue.record(error)
      }
    }

    func tick(now: UInt64) -> UInt64? { nil }
    func close() { closed?.post("echo") }
  }

  /// Sends a number, waits for its echo, sends the next one.
  private final class Asker: BackboneParticipant {
    let dealer: Socket
    let done: Report<Int>
    let closed: Report<String>
    private var number = 0

    init(_ context: Context, _ endpoint: String, on loop: BackboneLoop, done: Report<Int>, closed: Report<String>)
      throws
    {
      dealer = try Socket(context, .dealer)
      try dealer.connect(endpoint)
      self.done = done
      self.closed = closed
      loop.watch(dealer, for: self) { asker, _ in asker.read() }
      try dealer.send([0])
    }

    private func read() {
      do {
        while let message = try dealer.receive() {
          if message.copyBytes() != [UInt8(number % 256)] { Issue.record("echo of another number") }
          number += 1
          if number == 1000 { return done.post(number) }
          try dealer.send([UInt8(number % 256)])
        }
      } catch {
        Issue.record(error)
      }
    }

    func tick(now: UInt64) -> UInt64? { nil }
    func close() { closed.post("asker") }
  }

  @Test("Two participants talk over inproc on one thread, and close in reverse order")
  func twoParticipants() throws {
    let done = Report<Int>()
    let closed = Report<String>()
    let context = context
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      let echo = try Echo(context, "inproc://two", on: loop, closed: closed)
      return [echo, try Asker(context, "inproc://two", on: loop, done: done, closed: closed)]
    }
    try done.next()
    thread.stop()
    #expect(closed.all == ["asker", "echo"])
  }

  @Test("stop closes the sockets before it returns, and may be called again")
  func stop() throws {
    let context = context
    let closed = Report<String>()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      [try Echo(context, "inproc://stop", on: loop, closed: closed)]
    }
    let other = try socket(context, .router)
    #expect(throws: ZeroMQError.self) { try other.bind("inproc://stop") }
    thread.stop()
    thread.stop()
    #expect(closed.all == ["echo"])
    #expect(try eventuallyBinds(other, "inproc://stop"))
  }

  @Test("Letting go of the thread stops it")
  func letGo() throws {
    let context = context
    let closed = Report<String>()
    _ = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      [try Echo(context, "inproc://let-go", on: loop, closed: closed)]
    }
    #expect(closed.all == ["echo"])
  }

  @Test("An error while the participants are built reaches the caller of start")
  func buildError() throws {
    let context = context
    let taken = try socket(context, .router)
    try taken.bind("inproc://taken")
    let error = #expect(throws: ZeroMQError.self) {
      _ = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
        [
          try Echo(context, "inproc://free", on: loop),
          try Echo(context, "inproc://taken", on: loop),
        ]
      }
    }
    #expect(error?.reason == .addressInUse)
    // The first participant's socket is closed again.
    let other = try socket(context, .router)
    #expect(try eventuallyBinds(other, "inproc://free"))
  }

  /// libzmq gives the endpoint of a closed socket free on a thread of its own: soon, not at once.
  private func eventuallyBinds(_ socket: borrowing Socket, _ endpoint: String) throws -> Bool {
    try eventually {
      do throws(ZeroMQError) {
        try socket.bind(endpoint)
        return true
      } catch {
        if error.reason != .addressInUse { throw error }
        return false
      }
    }
  }

  /// Wants to be called at one time after another.
  private final class Timer: BackboneParticipant {
    let fired: Report<UInt64>
    private var deadline: UInt64
    private var left = 3

    init(_ fired: Report<UInt64>) {
      self.fired = fired
      deadline = MonotonicClock.now() + 2_000_000
    }

    func tick(now: UInt64) -> UInt64? {
      if left > 0, now >= deadline {
        fired.post(deadline)
        left -= 1
        deadline = now + 2_000_000
      }
      return left > 0 ? deadline : nil
    }

    func close() {}
  }

  @Test("A deadline ends the wait although nothing arrives")
  func deadline() throws {
    let fired = Report<UInt64>()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { _ in [Timer(fired)] }
    for _ in 0..<3 { try fired.next() }
    thread.stop()
    #expect(fired.all.count == 3)
  }

  /// Reads two sockets, one of which is flooded.
  private final class Flooded: BackboneParticipant {
    let flood: Socket
    let flooder: Socket
    let quiet: Socket
    let whisperer: Socket
    let limit: Int
    let order: Report<String>

    init(_ context: Context, on loop: BackboneLoop, order: Report<String>) throws {
      flood = try Socket(context, .pair)
      flooder = try Socket(context, .pair)
      quiet = try Socket(context, .pair)
      whisperer = try Socket(context, .pair)
      limit = loop.messagesPerRound
      self.order = order
      try flood.bind("inproc://flood")
      try flooder.connect("inproc://flood")
      try quiet.bind("inproc://quiet")
      try whisperer.connect("inproc://quiet")
      for _ in 0..<100 { try flooder.send([1]) }
      try whisperer.send([2])
      loop.watch(flood, for: self) { flooded, _ in
        for _ in 0..<flooded.limit where (try? flooded.flood.receiveMultipart()) == true {
          flooded.order.post("flood")
        }
      }
      loop.watch(quiet, for: self) { flooded, _ in
        if (try? flooded.quiet.receiveMultipart()) == true { flooded.order.post("quiet") }
      }
    }

    func tick(now: UInt64) -> UInt64? { nil }
    func close() {}
  }

  @Test("A flooded socket does not keep another from being read, and is read to its end")
  func fairness() throws {
    let order = Report<String>()
    let context = context
    let thread = try BackboneThread.start(messagesPerRound: 4, onFailure: { Issue.record($0) }) { loop in
      [try Flooded(context, on: loop, order: order)]
    }
    for _ in 0..<101 { try order.next() }
    thread.stop()
    #expect(order.all.firstIndex(of: "quiet") == 4)
    #expect(order.all.count == 101)
  }

  /// Fails in its first round.
  private final class Failing: BackboneParticipant {
    struct Error: Swift.Error {}
    unowned let loop: BackboneLoop
    let closed: Report<String>

    init(_ loop: BackboneLoop, _ closed: Report<String>) {
      self.loop = loop
      self.closed = closed
    }

    func tick(now: UInt64) -> UInt64? {
      loop.fail(Error())
      return nil
    }

    func close() { closed.post("closed") }
  }

  @Test("A participant that cannot go on ends the loop, and onFailure hears why after the close")
  func failure() throws {
    let events = Report<String>()
    let thread = try BackboneThread.start(onFailure: { events.post("\(type(of: $0))") }) { [Failing($0, events)] }
    try events.next()
    try events.next()
    #expect(events.all == ["closed", "Error"])
    thread.stop()
  }

  @Test("Shutting the context down ends the loop with an error")
  func contextShutdown() throws {
    let context = context
    let failed = Report<ZeroMQError.Reason?>()
    let thread = try BackboneThread.start(onFailure: { failed.post(($0 as? ZeroMQError)?.reason) }) { loop in
      [try Echo(context, "inproc://shutdown", on: loop)]
    }
    context.shutdown()
    try failed.next()
    #expect(failed.all == [.terminated])
    thread.stop()
  }

  /// Looks at the thread it lives on.
  private final class Observer: BackboneParticipant {
    init(_ seen: Report<String>) {
      var mask = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &mask)
      let isBlocked = [SIGTERM, SIGINT, SIGUSR1, SIGPIPE].allSatisfy { sigismember(&mask, $0) == 1 }
      var name = [UInt8](repeating: 0, count: 64)
      let descriptor = open("/proc/thread-self/comm", O_RDONLY)
      let count = max(0, read(descriptor, &name, name.count))
      Glibc.close(descriptor)
      seen.post("\(String(decoding: name.prefix(count), as: UTF8.self))\(isBlocked)")
    }

    func tick(now: UInt64) -> UInt64? { nil }
    func close() {}
  }

  @Test("The thread has its name and blocks signals, and the caller's mask stays as it was")
  func threadTraits() throws {
    var before = sigset_t()
    pthread_sigmask(SIG_SETMASK, nil, &before)
    let seen = Report<String>()
    let thread = try BackboneThread.start(name: "backbone", onFailure: { Issue.record($0) }) { _ in [Observer(seen)] }
    thread.stop()
    var after = sigset_t()
    pthread_sigmask(SIG_SETMASK, nil, &after)
    #expect(seen.all == ["backbone\ntrue"])
    #expect(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM))
  }
}

extension Socket {
  /// Reads one message and forgets it; false if there is none.
  fileprivate borrowing func receiveMultipart() throws(ZeroMQError) -> Bool {
    var frames: [[UInt8]] = []
    return try receiveMultipart(into: &frames) != nil
  }
}
