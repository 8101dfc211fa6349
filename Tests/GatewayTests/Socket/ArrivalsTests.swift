import Dispatch
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Gateway

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite("Sockets that wait to be taken over")
struct ArrivalsTests {
  /// What the event loop did, in order.
  private final class Record: Sendable {
    let entries = Mutex<[String]>([])
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  /// Says that its socket was looked at.
  private final class Somebody: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let record: Record

    init(_ record: Record) { self.record = record }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { record.add("served") }
  }

  private let gatekeeper = Gatekeeper(.none)

  private func slot() throws -> ConnectionSlot { try gatekeeper.open(nil, counters: ListenerCounters()).get() }

  /// The event loop does nothing else until it is released.
  private func occupy(_ eventLoop: any EventLoop) -> DispatchSemaphore {
    let (isHeld, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    eventLoop.execute {
      isHeld.signal()
      release.wait()
    }
    isHeld.wait()
    return release
  }

  @Test(
    "Those who are in are looked at after each few who come, whose order stays, and after more of these where nobody is served",
    arguments: [false, true])
  func turns(isAtRest: Bool) throws {
    let few = isAtRest ? Arrivals.perPassAtRest : Arrivals.perPass
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let (eventLoop, record) = (group.next(), Record())
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    _ = try NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { $0.pipeline.addHandler(Somebody(record)) }
      .takingOwnershipOfDescriptor(input: reading)
      .wait()
    let over = DispatchSemaphore(value: 0)
    let count = 4 * few
    let arrivals = Arrivals(on: eventLoop, isAtRest: { isAtRest }) { number, _ in
      record.add("\(number)")
      // Somebody who is in asks for something while others come.
      if number == 1 { _ = unsafe write(writing, "x", 1) }
      if number == count { over.signal() }
    }
    // All of them stand in line before the event loop looks at it.
    let release = occupy(eventLoop)
    for number in 1...count { arrivals.add(Int32(number), try slot()) }
    release.signal()
    over.wait()
    let seen = record.entries.withLock { $0 }
    #expect(seen.filter { $0 != "served" } == (1...count).map { "\($0)" })
    let place = try #require(seen.firstIndex(of: "served"), "nobody was served while others came: \(seen)")
    #expect(place >= few && place <= 2 * few, "\(seen)")
    close(writing)
    arrivals.end()
    try group.syncShutdownGracefully()
  }

  @Test("Whoever waits when the listener ends is closed, and whoever comes later, and their places are given back")
  func end() throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let eventLoop = group.next()
    let opened = Record()
    let arrivals = Arrivals(on: eventLoop) { number, _ in opened.add("\(number)") }
    let release = occupy(eventLoop)
    let counters = ListenerCounters()
    let descriptors = try (0..<4).map { _ in
      let descriptor = open("/dev/null", O_RDONLY)
      try #require(descriptor >= 0)
      return descriptor
    }
    for descriptor in descriptors.prefix(3) {
      arrivals.add(descriptor, try gatekeeper.open(nil, counters: counters).get())
    }
    #expect(counters.openConnections == 3)
    arrivals.end()
    #expect(counters.openConnections == 0)
    arrivals.add(descriptors[3], try gatekeeper.open(nil, counters: counters).get())
    #expect(counters.openConnections == 0)
    release.signal()
    try eventLoop.submit {}.wait()
    #expect(opened.entries.withLock { $0 }.isEmpty)
    try group.syncShutdownGracefully()
  }
}
