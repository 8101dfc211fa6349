import Auth
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// Checks nothing until it is told to, and writes down what it was given, in the order in which checks began.
final class ScriptedVerifier: TokenVerifier {
  private struct State {
    var begun: [String] = []
    var running = 0
    var mostRunning = 0
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  var begun: [String] { state.withLock(\.begun) }
  var mostRunning: Int { state.withLock(\.mostRunning) }

  /// Lets the checks that have begun end.
  func release() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// No check waits from now on.
  func open() {
    state.withLock { $0.isOpen = true }
    release()
  }

  private func check(_ token: String) async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        state.begun.append(token)
        state.running += 1
        state.mostRunning = max(state.mostRunning, state.running)
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
    state.withLock { $0.running -= 1 }
  }

  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
    await check(token)
    return ConnectionClaims(user: token)
  }

  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    await check(token)
    return SubscriptionClaims(user: "u", channel: token)
  }
}

@Suite("Token checks", .ownThread)
struct TokenGateTests {
  @Test("So many checks run at a time, and who signs in goes before all others that wait")
  func order() async {
    let verifier = ScriptedVerifier()
    let gate = TokenGate(verifier, width: 2)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<50 { group.addTask { _ = try? await gate.others.verifySubscription("flood \(number)") } }
      #expect(await eventually { verifier.begun.count == 2 && gate.waitingCount == 48 })
      for user in ["ada", "bob"] { group.addTask { _ = try? await gate.connects.verifyConnection(user) } }
      #expect(await eventually { gate.waitingCount == 50 })
      verifier.release()
      #expect(await eventually { verifier.begun.count == 4 })
      #expect(Set(verifier.begun[2...]) == ["ada", "bob"])
      verifier.open()
    }
    #expect(verifier.begun.count == 52)
    #expect(verifier.mostRunning == 2)
    #expect(gate.waitingCount == 0)
  }

  @Test("A flood at the door does not stop those who are in")
  func noStarvation() async {
    let verifier = ScriptedVerifier()
    let gate = TokenGate(verifier, width: 1)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 { group.addTask { _ = try? await gate.connects.verifyConnection("\(number)") } }
      #expect(await eventually { gate.waitingCount == 199 })
      group.addTask { _ = try? await gate.others.verifyConnection("refresh") }
      #expect(await eventually { gate.waitingCount == 200 })
      verifier.open()
    }
    let place = verifier.begun.firstIndex(of: "refresh") ?? .max
    #expect(place <= 34, "it was checked as number \(place)")
  }

  @Test("A check that fails gives its place back")
  func failure() async {
    struct Refusing: TokenVerifier {
      func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims { throw .expired }
      func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims { throw .expired }
    }
    let gate = TokenGate(Refusing(), width: 1)
    for _ in 0..<10 { await #expect(throws: TokenError.self) { try await gate.connects.verifyConnection("x") } }
  }

  @Test("A connection has so many checks under way, and one whose subscription is gone is never begun")
  func perConnection() {
    var checks = TokenChecks(most: 2)
    var begun: [UInt64] = []
    for tag in UInt64(1)...6 where checks.begin(.subscription(tag: tag, token: "t")) { begun.append(tag) }
    #expect(begun == [1, 2])
    #expect(checks.isFull)
    // The client has ended subscriptions 1 to 4 meanwhile: those that run still count.
    let isWanted: (UInt64) -> Bool = { $0 > 4 }
    #expect(checks.running == 2)
    let next = checks.ended(isWanted: isWanted)
    #expect(next?.tag == 5)
    #expect(checks.isFull)
    let last = checks.ended(isWanted: isWanted)
    #expect(last?.tag == 6)
    let none = (checks.ended(isWanted: isWanted), checks.ended(isWanted: isWanted))
    #expect(none.0 == nil && none.1 == nil)
    #expect(checks.running == 0 && !checks.isFull)
  }

  @Test(
    "A client that subscribes and unsubscribes with tokens without end is read later, and an honest one signs in first")
  func flood() async throws {
    let verifier = ScriptedVerifier()
    let gate = TokenGate(verifier, width: 2)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let flood = try await loop.submit { NIOLoopBound(CheckScene(loop, gate, user: "mallory"), eventLoop: loop) }.get()
    func onLoop<T: Sendable>(_ body: @escaping @Sendable (CheckScene) -> T) async throws -> T {
      try await loop.submit { body(flood.value) }.get()
    }
    try await onLoop { $0.say(#"{"id":1,"connect":{"token":"mallory"}}"#) }
    #expect(await eventually { verifier.begun == ["mallory"] })
    verifier.release()
    while try await onLoop({ $0.driver.phase != .live }) { await Task.yield() }

    try await onLoop { scene in
      for number in 0..<100 {
        let channel = "c\(number)"
        scene.say(
          #"{"id":\#(2 + 2 * number),"subscribe":{"channel":"\#(channel)","token":"\#(channel)"}}"# + "\n"
            + #"{"id":\#(3 + 2 * number),"unsubscribe":{"channel":"\#(channel)"}}"#)
      }
    }
    #expect(try await onLoop { $0.transport.isPaused })
    // Two run, and six wait at the gate: the other ninety-two have not even been asked for.
    #expect(await eventually { verifier.begun.count == 3 && gate.waitingCount == 6 })
    let honest = try await loop.submit { NIOLoopBound(CheckScene(loop, gate, user: "ada"), eventLoop: loop) }.get()
    try await loop.submit { honest.value.say(#"{"id":1,"connect":{"token":"ada"}}"#) }.get()
    #expect(await eventually { gate.waitingCount == 7 })
    verifier.release()
    #expect(await eventually { verifier.begun.contains("ada") })
    #expect(verifier.begun.firstIndex(of: "ada").map { $0 <= 4 } == true, "\(verifier.begun)")
    verifier.open()
    while try await onLoop({ $0.driver.checks.running > 0 || $0.transport.isPaused }) { await Task.yield() }
    #expect(verifier.begun.filter { $0.hasPrefix("c") }.count <= 100)
    #expect(verifier.mostRunning <= 2)
    try await loop.submit {
      flood.value.driver.closed()
      honest.value.driver.closed()
    }.get()
    try await group.shutdownGracefully()
  }
}

/// A driver behind a gate, on a real event loop.
final class CheckScene {
  let transport: RecordingTransport
  let host = RecordingHost()
  let driver: SessionDriver

  init(_ loop: any EventLoop, _ gate: TokenGate, user: String) {
    transport = RecordingTransport(eventLoop: loop)
    host.transport = transport
    host.verifier = gate.connects
    host.otherVerifier = gate.others
    driver = SessionDriver(
      transport: transport, host: host,
      rules: SessionRules(SessionConfiguration(), namespaces: NamespaceTable(withoutNamespace: .open)),
      identity: .init(client: user, session: user), firstPingDelayMilliseconds: 10_000)
    driver.opened()
  }

  func say(_ text: String) {
    driver.received(ByteBuffer(string: text))
    driver.readCompleted()
  }
}
