import TestSupport
import Testing
import ZeroMQ

@Suite("Connections of which the other end says nothing any more", .ownThread) struct DeadConnectionTests {
  enum End: CaseIterable { case dealer, router }

  @Test(
    "Either end gives the connection up, and what is sent when the wire is whole again arrives",
    arguments: End.allCases)
  func givenUp(by end: End) throws {
    let context = try Context()
    let folder = try TemporaryFolder()
    let router = try socket(context, .router) {
      $0.routerHandover = true
      if end == .router { $0.giveUpDeadConnections(patience: 2000) }
    }
    try router.bind("ipc://\(folder.path)/router.ipc")
    let wire = try SocketProxy(at: "\(folder.path)/wire.ipc", to: "\(folder.path)/router.ipc")
    defer { wire.close() }
    let dealer = try socket(context, .dealer) {
      $0.routingID = [UInt8]("dealer")
      if end == .dealer { $0.giveUpDeadConnections(patience: 2000) }
    }
    let monitor =
      switch end {
      case .dealer: try SocketMonitor(dealer, name: "dead", in: context)
      case .router: try SocketMonitor(router, name: "dead", in: context)
      }
    try dealer.connect("ipc://\(folder.path)/wire.ipc")
    try dealer.send([UInt8]("before"))
    #expect(try receive(router) == [[UInt8]("dealer"), [UInt8]("before")])

    wire.set(.paused)
    try #require(try eventually { try monitor.next() == .disconnected })
    wire.set(.open)
    // More than once: until the dealer has heard that its connection is gone, it says things on it.
    var frames: [[UInt8]] = []
    let isHeard = try eventually {
      try dealer.send([UInt8]("after"))
      return try router.receiveMultipart(into: &frames) != nil && frames.last == [UInt8]("after")
    }
    #expect(isHeard)
  }
}
