import Glibc
import Synchronization
import TestSupport
import Testing
import Wire

@testable import FanfareClient

@Suite("The client on a socket", .timeLimit(.minutes(15)), .ownThread)
struct RealtimeClientTests {
  private func fastOptions() -> RealtimeClient.Options {
    var options = RealtimeClient.Options()
    options.backoff = Backoff(minimum: .milliseconds(1), maximum: .milliseconds(5))
    // No test here is about answers that do not come; client and servers share threads with all other tests.
    options.timeout = .seconds(300)
    return options
  }

  /// What every server here does with a connect command.
  private func connected(_ id: UInt32) -> ScriptedServer.Answer {
    var result = ClientReply.ConnectResult()
    result.client = "c1"
    return .replies([.connect(id: id, result)])
  }

  @Test("It subscribes, receives in order, calls, and unsubscribes")
  func wholeSession() async throws {
    let server = try await ScriptedServer { _, command in
      switch command.body {
      case .connect(let connect): connect.token == "t" ? self.connected(command.id) : .drop
      case .subscribe(let subscribe):
        .replies([
          .subscribe(id: command.id, .init()),
          .push(.publication(channel: subscribe.channel, Publication(offset: 1, data: [1]))),
          .push(.publication(channel: subscribe.channel, Publication(offset: 2, data: [2], tags: ["k": "v"]))),
        ])
      case .presenceStats: .replies([.presenceStats(id: command.id, clients: 3, users: 2)])
      case .publish: .replies([.error(id: command.id, .permissionDenied)])
      case .unsubscribe: .replies([.unsubscribe(id: command.id)])
      default: .drop
      }
    }
    let client = try RealtimeClient(url: server.url, token: "t", options: fastOptions())
    try await client.connect()
    let subscription = try await client.subscribe("news")
    var events = subscription.events.makeAsyncIterator()
    #expect(await events.next() == .subscribed(position: nil, wasRecovering: false, recovered: false))
    #expect(await events.next() == .publication(Publication(offset: 1, data: [1])))
    #expect(await events.next() == .publication(Publication(offset: 2, data: [2], tags: ["k": "v"])))
    #expect(try await subscription.presenceStats() == PresenceStats(clients: 3, users: 2))
    await #expect(throws: RealtimeError.server(.permissionDenied)) { try await subscription.publish([1]) }
    await #expect(throws: RealtimeError.alreadySubscribed(channel: "news")) { try await client.subscribe("news") }
    await subscription.unsubscribe()
    #expect(await events.next() == .unsubscribed(LocalCode.unsubscribeCalled))
    #expect(await events.next() == nil)
    await client.disconnect()
    await server.stop()
  }

  @Test("A dropped connection is replaced, and the subscription recovers from its position")
  func recovers() async throws {
    let server = try await ScriptedServer { connection, command in
      switch command.body {
      case .connect: return self.connected(command.id)
      case .subscribe(let subscribe):
        var result = ClientReply.SubscribeResult()
        result.recoverable = true
        result.epoch = "e"
        result.offset = 7
        if connection > 1 {
          result.wasRecovering = subscribe.recover
          result.recovered = subscribe.recover && subscribe.epoch == "e" && subscribe.offset == 7
        }
        return .replies([.subscribe(id: command.id, result)])
      default: return .drop
      }
    }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    try await client.connect()
    let subscription = try await client.subscribe("news")
    var events = subscription.events.makeAsyncIterator()
    let position = StreamPosition(epoch: "e", offset: 7)
    #expect(await events.next() == .subscribed(position: position, wasRecovering: false, recovered: false))
    // The server drops the connection at a command that it does not know.
    await #expect(throws: RealtimeError.connectionLost) { try await client.rpc("drop") }
    guard case .subscribing = await events.next() else {
      Issue.record("the interruption was not told")
      return
    }
    #expect(await events.next() == .subscribed(position: position, wasRecovering: true, recovered: true))
    await client.disconnect()
    await server.stop()
  }

  @Test("connect() throws the server's final code")
  func finalCode() async throws {
    let server = try await ScriptedServer { _, _ in .close(.invalidToken) }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    await #expect(throws: RealtimeError.disconnected(.invalidToken)) { try await client.connect() }
    await server.stop()
  }

  @Test("A server of another subprotocol is told apart")
  func otherSubprotocol() async throws {
    let server = try await ScriptedServer(subprotocol: "chat") { _, _ in .drop }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    await #expect {
      try await client.connect()
    } throws: { error in
      guard case .disconnected(let code) = error as? RealtimeError else { return false }
      return code.code == LocalCode.badProtocol.code
    }
    await server.stop()
  }

  @Test("Nobody listening is an error after the attempts allowed, and the sentence says what to look at")
  func nobodyListens() async throws {
    let port = try DeafPort()
    var options = fastOptions()
    options.maximumReconnectAttempts = 2
    let client = try RealtimeClient(
      url: "ws://127.0.0.1:\(port.number)/connection/websocket", options: options)
    let error = await #expect(throws: RealtimeError.self) { try await client.connect() }
    let sentence = error.map { "\($0)" } ?? ""
    #expect(sentence.contains("Connection refused; is the server running there?"), "\(sentence)")
    withExtendedLifetime(port) {}
  }

  @Test("A token provider gives the token of each connection")
  func tokenProvider() async throws {
    let server = try await ScriptedServer { _, command in
      guard case .connect(let connect) = command.body else { return .drop }
      return connect.token == "token 2" ? self.connected(command.id) : .replies([.error(id: command.id, .tokenExpired)])
    }
    let asked = Counter()
    var options = fastOptions()
    options.tokenProvider = { "token \(asked.next())" }
    let client = try RealtimeClient(url: server.url, options: options)
    try await client.connect()
    await client.disconnect()
    await server.stop()
  }

  @Test("A token provider that does not answer is given up, and the next one counts")
  func slowTokenProvider() async throws {
    let server = try await ScriptedServer { _, command in
      guard case .connect(let connect) = command.body else { return .drop }
      return connect.token == "token 1" ? .close(.invalidToken) : self.connected(command.id)
    }
    let asked = Counter()
    var options = fastOptions()
    options.tokenTimeout = .milliseconds(20)
    options.tokenProvider = {
      let number = asked.next()
      // Until it is cancelled.
      if number == 1 { try await Task.sleep(for: .seconds(3600)) }
      return "token \(number)"
    }
    let client = try RealtimeClient(url: server.url, options: options)
    try await client.connect()
    #expect(asked.last >= 2)
    await client.disconnect()
    await server.stop()
  }

  @Test("What is larger than the server takes fails alone")
  func commandTooLarge() async throws {
    let server = try await ScriptedServer { _, command in self.connected(command.id) }
    var options = fastOptions()
    options.maximumCommandBytes = 1000
    let client = try RealtimeClient(url: server.url, options: options)
    try await client.connect()
    await #expect {
      try await client.publish([UInt8](repeating: 0x31, count: 1000), to: "c")
    } throws: { error in
      guard case .commandTooLarge(let bytes, limit: 1000)? = error as? RealtimeError else { return false }
      return bytes > 1000 && bytes < 1100
    }
    await client.disconnect()
    await server.stop()
  }

  @Test("A map is shown when it is whole, then change by change, and to readers that come late as it is")
  func map() async throws {
    @Sendable func entry(_ key: String, _ value: Int, offset: UInt64 = 0) -> Publication {
      Publication(offset: offset, data: Array("\(value)".utf8), change: KeyChange(key: key))
    }
    let server = try await ScriptedServer { _, command in
      switch command.body {
      case .connect: return self.connected(command.id)
      case .subscribe(let subscribe):
        var result = ClientReply.SubscribeResult()
        (result.type, result.recoverable, result.epoch, result.offset) = (1, true, "e", 2)
        if subscribe.cursor.isEmpty, subscribe.phase == 2 {
          (result.phase, result.cursor, result.state) = (2, "next", [entry("b", 2)])
        } else if subscribe.phase == 2 {
          (result.phase, result.state) = (2, [entry("a", 1)])
        } else {
          result.publications = [entry("b", 3, offset: 2)]
        }
        return .replies([.subscribe(id: command.id, result)])
      case .rpc:
        let push = ClientReply.push(.publication(channel: "m", entry("c", 4, offset: 3)))
        return .replies([push, .rpc(id: command.id, data: Array("{}".utf8))])
      case .unsubscribe: return .replies([.unsubscribe(id: command.id)])
      default: return .drop
      }
    }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    try await client.connect()
    let map = try await client.map("m", of: Int.self)
    try await map.ready()
    #expect(map.view.values == [1, 3] && map.view["b"] == 3)
    await #expect(throws: RealtimeError.alreadySubscribed(channel: "m")) { try await client.map("m", of: Int.self) }
    try await map.set("c", to: 4)
    #expect(map.view.entries.map(\.key) == ["a", "b", "c"])
    var changes = map.changes.makeAsyncIterator()
    var keys: [String] = []
    while keys.count < 3, let change = await changes.next() { keys.append(change.key) }
    #expect(keys == ["a", "b", "c"])
    await map.unsubscribe()
    #expect(await changes.next() == nil)
    #expect(map.view.state == .ended(LocalCode.unsubscribeCalled) && map.view.count == 3)
    var late = map.views.makeAsyncIterator()
    #expect(await late.next()?.count == 3)
    #expect(await late.next()?.count == nil)
    await client.disconnect()
    await server.stop()
  }

  @Test("A reader that does not read is unsubscribed, after what had room")
  func slowReader() async throws {
    let server = try await ScriptedServer { _, command in
      switch command.body {
      case .connect: return self.connected(command.id)
      case .subscribe(let subscribe):
        let push = ClientReply.push(
          .publication(channel: subscribe.channel, Publication(data: [UInt8](repeating: 7, count: 900))))
        return .replies([.subscribe(id: command.id, .init())] + [ClientReply](repeating: push, count: 50))
      case .unsubscribe: return .replies([.unsubscribe(id: command.id)])
      case .ping: return .replies([.ping(id: command.id)])
      default: return .drop
      }
    }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    try await client.connect()
    let subscription = try await client.subscribe("news", .init(maximumWaitingBytes: 10_000))
    // An answer to a later command: everything before it has arrived.
    _ = try await client.call(.ping)
    var events: [SubscriptionEvent] = []
    for await event in subscription.events { events.append(event) }
    #expect(events.last == .unsubscribed(LocalCode.slowConsumer))
    #expect((8...11).contains(events.count))
    await client.disconnect()
    await server.stop()
  }

  @Test("A cancelled task gets its answer at once")
  func cancellation() async throws {
    let server = try await ScriptedServer { _, command in
      if case .connect = command.body { self.connected(command.id) } else { .replies([]) }
    }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    try await client.connect()
    let call = Task { try await client.rpc("never answered") }
    call.cancel()
    await #expect(throws: RealtimeError.cancelled) { try await call.value }
    await client.disconnect()
    await server.stop()
  }

  @Test("A state stream begins with the state at hand")
  func states() async throws {
    let server = try await ScriptedServer { _, command in self.connected(command.id) }
    let client = try RealtimeClient(url: server.url, options: fastOptions())
    try await client.connect()
    var states = await client.states().makeAsyncIterator()
    #expect(await states.next() == .connected(client: "c1"))
    await client.disconnect()
    #expect(await states.next() == .disconnected(LocalCode.disconnectCalled, willReconnect: false))
    await server.stop()
  }
}

/// A port that is taken, so that nobody else gets it, and on which nobody listens.
private final class DeafPort: Sendable {
  struct Failure: Error {}

  let number: Int
  private let descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    number = Int(UInt16(bigEndian: address.sin_port))
    if !isBound { throw Failure() }
  }

  deinit { close(descriptor) }
}

private final class Counter: Sendable {
  private let value = Mutex(0)

  var last: Int { value.withLock { $0 } }

  func next() -> Int {
    value.withLock {
      $0 += 1
      return $0
    }
  }
}
