import TestSupport
import Testing
import ZeroMQ

@Suite(.ownThread) struct SocketTests {
  private let context: Context

  init() throws { context = try Context() }

  @Test("A multipart message keeps its frame boundaries")
  func multipart() throws {
    let left = try socket(context, .pair)
    let right = try socket(context, .pair)
    try left.bind("inproc://multipart")
    try right.connect("inproc://multipart")
    let frames: [[UInt8]] = [[], [1], [2, 3], [UInt8](repeating: 4, count: 100_000), []]
    try right.send(multipart: frames)
    try right.send([5])
    #expect(try receive(left) == frames)
    #expect(try left.hasInput)
    #expect(try receive(left) == [[5]])
    #expect(try !left.hasInput)
  }

  @Test("Frames beyond the limit are drained and counted, and the next message is whole")
  func oversized() throws {
    let left = try socket(context, .pair)
    let right = try socket(context, .pair)
    try left.bind("inproc://oversized")
    try right.connect("inproc://oversized")
    try right.send(multipart: [[1], [2], [3], [4], [5]])
    try right.send(multipart: [[6], [7]])
    var frames: [[UInt8]] = []
    let first = try left.receiveMultipart(into: &frames, maxFrames: 2)
    #expect(first?.frames == 2)
    #expect(first?.surplus == 3)
    #expect(frames == [[1], [2]])
    let second = try left.receiveMultipart(into: &frames, maxFrames: 2)
    #expect(second?.surplus == 0)
    #expect(frames == [[6], [7]])
  }

  @Test("Receiving from an empty socket gives nil at once")
  func empty() throws {
    let pair = try socket(context, .pair)
    try pair.bind("inproc://empty")
    #expect(try isEmpty(pair))
    var frames: [[UInt8]] = [[1]]
    #expect(try pair.receiveMultipart(into: &frames) == nil)
    #expect(frames.isEmpty)
  }

  @Test("Both ends of an inproc connection work on one thread without blocking")
  func inproc() throws {
    let router = try socket(context, .router)
    let dealer = try socket(context, .dealer)
    try router.bind("inproc://one-thread")
    try dealer.connect("inproc://one-thread")
    try dealer.send([UInt8]("ask"))
    var frames: [[UInt8]] = []
    #expect(try router.receiveMultipart(into: &frames)?.frames == 2)
    try router.send(multipart: [frames[0], [UInt8]("answer")])
    #expect(try dealer.receiveMultipart(into: &frames)?.frames == 1)
    #expect(frames == [[UInt8]("answer")])
  }

  @Test("An ipc path connects two sockets")
  func ipc() throws {
    let directory = try TemporaryFolder()
    try withExtendedLifetime(directory) { _ = try roundTrip("ipc://\(directory.path)/socket") }
  }

  @Test("A port of * is chosen by the system, and lastEndpoint tells it")
  func tcp() throws {
    let endpoint = try roundTrip("tcp://127.0.0.1:*")
    #expect(endpoint.hasPrefix("tcp://127.0.0.1:"))
    #expect((Int(endpoint.split(separator: ":").last ?? "") ?? 0) > 0)
  }

  @discardableResult
  private func roundTrip(_ endpoint: String) throws -> String {
    let server = try socket(context, .rep)
    try server.bind(endpoint)
    let bound = try server.lastEndpoint
    let client = try socket(context, .req)
    try client.connect(bound)
    try client.send([UInt8]("ping"), blocking: true)
    #expect(try receive(server) == [[UInt8]("ping")])
    try server.send([UInt8]("pong"), blocking: true)
    #expect(try receive(client) == [[UInt8]("pong")])
    return bound
  }

  @Test("A frame over maxMessageBytes costs its sender the connection, and others are served")
  func maxMessageBytes() throws {
    let server = try socket(context, .router) { $0.maxMessageBytes = 100 }
    let monitor = try SocketMonitor(server, name: "max-message-bytes", in: context)
    try server.bind("tcp://127.0.0.1:*")
    let good = try socket(context, .dealer)
    let bad = try socket(context, .dealer) { $0.reconnectIntervalMilliseconds = -1 }
    try good.connect(server.lastEndpoint)
    try bad.connect(server.lastEndpoint)
    try bad.send([UInt8](repeating: 1, count: 101))
    #expect(try eventually { try monitor.next() == .disconnected })
    try good.send([UInt8](repeating: 2, count: 100))
    #expect(try receive(server)[1] == [UInt8](repeating: 2, count: 100))
    #expect(try isEmpty(server))
  }

  @Test("An endpoint in use is named, with what to do about it")
  func addressInUse() throws {
    let first = try socket(context, .router)
    try first.bind("tcp://127.0.0.1:*")
    let endpoint = try first.lastEndpoint
    let second = try socket(context, .router)
    let error = #expect(throws: ZeroMQError.self) { try second.bind(endpoint) }
    #expect(error?.reason == .addressInUse)
    #expect(
      error?.description
        == "Could not bind to \(endpoint): something listens there already; stop the other process, "
        + "or choose another endpoint.")
  }

  @Test(
    "A wrong endpoint says what is wrong",
    arguments: [
      ("nonsense", ZeroMQError.Reason.invalid, "write it like tcp://"),
      ("tcp://nosuchcard9:7000", .noSuchInterface, "no such network interface"),
    ])
  func wrongEndpoint(endpoint: String, reason: ZeroMQError.Reason, part: String) throws {
    let router = try socket(context, .router)
    let error = #expect(throws: ZeroMQError.self) { try router.bind(endpoint) }
    #expect(error?.reason == reason)
    #expect(error?.description.contains(part) == true)
  }

  @Test("An option out of range is refused by name")
  func wrongOption() throws {
    let error = #expect(throws: ZeroMQError.self) {
      _ = try Socket(context, .dealer, Socket.Options { $0.routingID = [] })
    }
    #expect(error?.reason == .invalid)
    #expect(error?.subject == "routingID")
  }

  @Test("A context with all its sockets open says which limit to raise")
  func tooManySockets() throws {
    let small = try Context(maxSockets: 1)
    let first = try socket(small, .pair)
    let error = #expect(throws: ZeroMQError.self) { _ = try socket(small, .pair) }
    #expect(error?.reason == .tooManyOpen)
    first.close()
  }
}
