import Logging
import Synchronization
import Testing
import Wire
import ZeroMQ

@testable import Broker

@Suite("The front of several brokers, over real sockets")
struct ServiceFrontTests {
  private typealias Answer = @Sendable (BrokerResponse) -> Void

  /// Keeps what is asked until the test answers it.
  private final class Brokers: Sendable {
    let endpoint = Mutex("")
    private let asked = Mutex<[(request: BrokerRequest, answer: Answer)]>([])

    var requests: [BrokerRequest] { asked.withLock { $0.map(\.request) } }

    func ask(_ request: BrokerRequest, _ answer: @escaping Answer) { asked.withLock { $0.append((request, answer)) } }

    func answer(_ place: Int, _ response: BrokerResponse) { asked.withLock { $0[place] }.answer(response) }

    /// Waits until so many requests were asked.
    func wait(for count: Int) async throws {
      while requests.count < count { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  private let brokers = Brokers()
  private let context: Context
  private let desk = ServiceDesk(namespaces: NamespaceTable(), bytes: 1 << 20)

  init() throws { context = try Context() }

  private func start(limit: Int = 1 << 20) throws -> BackboneThread {
    let (brokers, context, desk) = (brokers, context, desk)
    return try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      var endpoints = BrokerEndpoints(backbone: nil, maximumServiceMessageBytes: 1 << 20)
      endpoints.commands = "tcp://127.0.0.1:*"
      endpoints.tap = "tcp://127.0.0.1:*"
      let front = try ServiceFront(
        endpoints: endpoints, namespaces: NamespaceTable(), limit: limit, desk: desk, context: context, loop: loop,
        logger: Logger(label: "test")
      ) { brokers.ask($0, $1) }
      brokers.endpoint.withLock { $0 = front.commandsEndpoint ?? "" }
      return [front]
    }
  }

  /// A socket of a service that may have several requests under way.
  private func service() throws -> Socket {
    let socket = try Socket(
      context, .dealer,
      Socket.Options {
        $0.receiveTimeoutMilliseconds = 120_000
        $0.sendTimeoutMilliseconds = 120_000
        $0.lingerMilliseconds = 0
      })
    try socket.connect(brokers.endpoint.withLock { $0 })
    return socket
  }

  private func send(_ frames: [String], to socket: borrowing Socket) throws {
    try socket.send(multipart: frames.map { Array($0.utf8) }, blocking: true)
  }

  private func receive(_ socket: borrowing Socket) throws -> [String] {
    var frames: [[UInt8]] = []
    let received = try socket.receiveMultipart(into: &frames, blocking: true)
    try #require(received != nil, "nothing arrived within two minutes")
    return frames.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("Requests are passed on as they come, and each service hears its own answer, in whatever order they come")
  func passes() async throws {
    let thread = try start()
    defer { thread.stop() }
    let socket = try service()
    try send(["1", "publish", #"{"channel":"a"}"#, "7"], to: socket)
    try send(["2", "presence_stats", #"{"channel":"b"}"#], to: socket)
    try send(["3", "nothing"], to: socket)
    #expect(try receive(socket).prefix(2) == ["3", "error"])
    try await brokers.wait(for: 2)
    let channels = brokers.requests.compactMap(\.channel?.string)
    #expect(channels == ["a", "b"])
    brokers.answer(1, .presenceStats(clients: 3, users: 2))
    #expect(try receive(socket) == ["2", "ok", #"{"num_clients":3,"num_users":2}"#])
    brokers.answer(0, .published(StreamPosition(epoch: "e", offset: 9)))
    #expect(try receive(socket) == ["1", "ok", #"{"epoch":"e","offset":9}"#])
  }

  @Test("The server API asks by the same way, and hears that the server stops when it does")
  func desks() async throws {
    let thread = try start()
    let (asked, brokers) = (desk, brokers)
    async let answers = asked.ask([.presenceStats("a"), .subscribe(.init(channel: "a"))])
    try await brokers.wait(for: 1)
    brokers.answer(0, .presenceStats(clients: 1, users: 1))
    let found = await answers
    #expect(found[0] == .presenceStats(clients: 1, users: 1) && found[1].errorCode == 104)
    async let last = asked.ask([.presenceStats("b")])
    try await brokers.wait(for: 2)
    thread.stop()
    #expect(await last.first?.errorCode == 100)
    // What a broker still answers is for nobody.
    brokers.answer(1, .done)
  }

  @Test("While too much waits for brokers, requests stay in their pipes; they are read when there is room again")
  func full() async throws {
    let thread = try start(limit: 1)
    defer { thread.stop() }
    let socket = try service()
    for number in 0..<3 { try send(["\(number)", "presence_stats", #"{"channel":"c\#(number)"}"#], to: socket) }
    for number in 0..<3 {
      try await brokers.wait(for: number + 1)
      #expect(brokers.requests.count == number + 1)
      brokers.answer(number, .presenceStats(clients: UInt32(number), users: 0))
      #expect(try receive(socket)[0] == "\(number)")
    }
  }
}
