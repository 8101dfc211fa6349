import NIOCore
import NIOPosix
import Synchronization
import Testing
import Wire

@testable import Gateway

@Suite("TLS handshakes in turn")
struct HandshakeTurnTests {
  private let crowd = IPAddress("192.0.2.66")
  private let other = IPAddress("192.0.2.7")

  @Test("Whoever comes from elsewhere stands behind one of a crowd, not behind the crowd")
  func addressesTakeTurns() {
    var queue = HandshakeQueue<String>()
    for number in 0..<1000 { queue.add("crowd \(number)", from: crowd) }
    queue.add("ada", from: other)
    queue.add("bob", from: nil)
    #expect((0..<4).map { _ in queue.next() } == ["crowd 0", "ada", "bob", "crowd 1"])
    queue.add("ada again", from: other)
    #expect((0..<2).map { _ in queue.next() } == ["crowd 2", "ada again"])
    #expect((3..<1000).map { _ in queue.next() } == (3..<1000).map { "crowd \($0)" })
    #expect(queue.next() == nil)
    #expect(queue.isEmpty)
  }

  @Test("Between two handshakes the event loop looks at its sockets")
  func othersGoBetween() throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    defer { try? group.syncShutdownGracefully() }
    let eventLoop = group.next()
    let order = Mutex<[String]>([])
    let done = eventLoop.makePromise(of: Void.self)
    let address = crowd
    // Both descriptors are watched when the handshakes begin.
    let bound = try eventLoop.submit {
      let message = LoopTurn(on: eventLoop) { order.withLock { $0.append("message") } }
      return NIOLoopBound((HandshakeTurns(on: eventLoop), message), eventLoop: eventLoop)
    }.wait()
    try eventLoop.submit {
      let (turns, message) = bound.value
      for number in 0..<20 {
        turns.enter(address) {
          order.withLock { $0.append("handshake") }
          if number == 19 { done.succeed(()) }
        }
      }
      message.arm()
    }.wait()
    try done.futureResult.wait()
    withExtendedLifetime(bound) {}
    let found = order.withLock { $0 }
    #expect(found.count(where: { $0 == "handshake" }) == 20)
    let place = try #require(found.firstIndex(of: "message"))
    #expect(place <= 3, "\(found)")
  }
}
