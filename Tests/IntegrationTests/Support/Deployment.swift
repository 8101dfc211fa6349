import Auth
import Foundation
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// A whole installation: one process, or a broker and two gateways.
final class Deployment: Sendable {
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case serve
    case inproc
    case ipc
    case curve

    var testDescription: String {
      switch self {
      case .serve: "one process"
      case .inproc: "one process with libzmq between its halves"
      case .ipc: "broker and two gateways over ipc"
      case .curve: "broker and two gateways over tcp with CURVE"
      }
    }
  }

  private var isOneProcess: Bool { kind == .serve || kind == .inproc }

  static let secret = String(repeating: "0123456789abcdef", count: 4)

  let kind: Kind
  let directory: URL
  let minter: TokenMinter
  /// Where broker and gateways have machines of their own.
  private let network: Network?
  /// Of all processes.
  let settings: [String]
  private let configuration: URL
  private let processes = Mutex<[String: FanfareProcess]>([:])

  private init(_ kind: Kind, in directory: URL, on network: Network?, settings: [String]) async throws {
    self.kind = kind
    self.directory = directory
    self.network = network
    self.settings = ["token.hmac_secret=\(Self.secret)"] + settings
    minter = try TokenMinter(hmacSecret: Self.secret)
    configuration = directory.appendingPathComponent("fanfare.json")
  }

  /// Runs the body against a deployment of its own.
  ///
  /// - Parameters:
  ///   - given: where it keeps its data; nil: in a folder that is removed afterwards.
  ///   - network: whose machines its processes run on; nil: this one's.
  static func with(
    _ kind: Kind, settings: [String] = [], in given: URL? = nil, on network: Network? = nil,
    _ body: (Deployment) async throws -> Void
  ) async throws {
    await Turn.shared.take()
    defer { Turn.shared.giveBack() }
    if let given { return try await run(kind, settings, in: given, network, body) }
    try await withTemporaryFolder { try await run(kind, settings, in: $0, network, body) }
  }

  private static func run(
    _ kind: Kind, _ settings: [String], in directory: URL, _ network: Network?,
    _ body: (Deployment) async throws -> Void
  ) async throws {
    let deployment = try await Deployment(kind, in: directory, on: network, settings: settings)
    do {
      try await deployment.start()
      try await body(deployment)
    } catch {
      deployment.tellLastWords()
      await deployment.killAll()
      throw error
    }
    await deployment.killAll()
  }

  /// What went wrong in a test may be no more than that one of its servers had ended.
  private func tellLastWords() {
    for (name, process) in processes.withLock({ $0.sorted { $0.key < $1.key } }) {
      let state = process.isRunning ? "runs" : "had ended"
      Issue.record("\(name) \(state) and said at last: \(process.errorOutput.suffix(1000))")
    }
  }

  // MARK: Processes

  /// The broker, alone or with its gateway.
  var broker: FanfareProcess { self["broker"] }
  /// `a` or `b`; with one process both are that.
  func gateway(_ name: String) -> FanfareProcess { isOneProcess ? broker : self[name] }

  var a: String { gateway("a").endpoints.websocket ?? "" }
  var b: String { gateway("b").endpoints.websocket ?? "" }
  /// Where gateways find the broker. One that starts others, for partitions, does not say it.
  var backbone: String { broker.endpoints.backbone ?? (kind == .ipc ? ownEndpoint : "") }
  private var ownEndpoint: String { "ipc://\(directory.path)/b.ipc" }

  var commands: String { broker.endpoints.commands ?? "" }
  var tap: String { broker.endpoints.tap ?? "" }

  /// `broker`, `a` or `b`, where each is a process of its own.
  subscript(name: String) -> FanfareProcess {
    guard let process = processes.withLock({ $0[name] }) else { preconditionFailure("\(name) was not started") }
    return process
  }

  private func start() async throws {
    var curve = ""
    var brokerKeys: Curve.KeyPair?
    var gatewayKeys: Curve.KeyPair?
    if kind == .curve {
      let (broker, gateway) = (try Curve.KeyPair.generate(), try Curve.KeyPair.generate())
      (brokerKeys, gatewayKeys) = (broker, gateway)
      try write(broker.secretKey.z85, to: "broker.key")
      try write(gateway.secretKey.z85, to: "gateway.key")
      curve = #","backbone":{"curve":{"client_public_keys":["\#(gateway.publicKey.z85)"]}}"#
    }
    try Self.configuration(adding: kind == .curve ? "" : curve)
      .write(to: configuration, atomically: true, encoding: .utf8)
    let brokerConfiguration = directory.appendingPathComponent("broker.json")
    try Self.configuration(adding: curve).write(to: brokerConfiguration, atomically: true, encoding: .utf8)
    var own: [String] = []
    switch kind {
    case .serve: break
    case .inproc: own.append("backbone.endpoint=inproc://halves")
    case .ipc: own.append("backbone.endpoint=\(ownEndpoint)")
    case .curve:
      own += [
        "backbone.endpoint=tcp://\(network == nil ? "127.0.0.1" : Network.brokerAddress):*",
        "backbone.curve.server_secret_key_file=\(directory.path)/broker.key",
      ]
    }
    try await start("broker", isOneProcess ? .serve : .broker, brokerConfiguration, own)
    guard !isOneProcess else { return }
    var link = ["backbone.endpoint=\(backbone)"]
    if let brokerKeys, gatewayKeys != nil {
      link += [
        "backbone.curve.server_public_key=\(brokerKeys.publicKey.z85)",
        "backbone.curve.client_secret_key_file=\(directory.path)/gateway.key",
      ]
    }
    let options = link
    async let a: Void = start("a", .gateway, configuration, options)
    async let b: Void = start("b", .gateway, configuration, options)
    _ = try await (a, b)
  }

  func write(_ text: String, to file: String) throws {
    let path = directory.appendingPathComponent(file).path
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    else { throw Failure("\(path) cannot be written") }
  }

  private func start(
    _ name: String, _ role: FanfareProcess.Role, _ configuration: URL, _ own: [String]
  ) async throws {
    let process = try await FanfareProcess(
      role, in: directory.appendingPathComponent(name), configuration: configuration, settings: own + settings,
      under: network?.wrapper(on: name) ?? [])
    processes.withLock { $0[name] = process }
  }

  /// Starts another gateway on this broker.
  func startGateway(_ name: String, settings own: [String]) async throws {
    try await start(name, .gateway, configuration, own)
  }

  /// Starts the broker again where it was: the same data, the same endpoints. It must have ended.
  func restartBroker() async throws {
    let before = broker.endpoints
    var own: [String] = []
    if !backbone.isEmpty { own.append("backbone.endpoint=\(backbone)") }
    if kind == .curve { own.append("backbone.curve.server_secret_key_file=\(directory.path)/broker.key") }
    if let port = before.websocket.flatMap(URL.init(string:))?.port { own.append("server.port=\(port)") }
    try await start(
      "broker", isOneProcess ? .serve : .broker, directory.appendingPathComponent("broker.json"), own)
  }

  private func killAll() async {
    for process in processes.withLock({ Array($0.values) }) { await process.kill() }
  }

  // MARK: Clients

  func token(_ user: String, channels: [String] = []) throws -> String {
    try minter.connectionToken(user: user, expiresIn: 3600, channels: channels)
  }

  /// A connected client.
  func client(
    _ user: String, at url: String? = nil, over kind: StreamPeer.Kind? = nil, channels: [String] = [],
    subs: [String: Peer.Position] = [:], name: String = "test", receiveBufferBytes: Int32? = nil
  ) async throws -> Peer {
    let peer = try Peer(url ?? a, over: kind, receiveBufferBytes: receiveBufferBytes)
    try await peer.connect(token: token(user, channels: channels), subs: subs, name: name)
    return peer
  }

  func service() throws -> Service { Service(commands) }

  // MARK: Configuration

  /// Publications that each channel keeps, which is as many as may be configured. A long fire has more
  /// (``FireRecord/whole(_:seen:)``).
  static let historySize = 100_000

  /// Namespaces: `mem`, `rel`, `dur` by durability, all with history, presence, joins and leaves.
  ///
  /// Times that no test here is about are long: a machine that stands still for a while is no fault of the server's.
  /// Floods of one client are what many of them are about, so how fast clients may go is not limited either.
  /// But a request must not wait for longer than the broker knows what it has done: a minute.
  static func configuration(adding more: String) -> String {
    let namespaces = ["mem": "memory", "rel": "relaxed", "dur": "durable"].map { name, durability in
      """
      {"name":"\(name)","durability":"\(durability)","history_size":\(historySize),"history_ttl":"1h","force_recovery":true,
       "presence":true,"join_leave":true,"force_push_join_leave":true,"allow_subscribe_for_client":true,
       "allow_publish_for_client":true,"allow_history_for_client":true,"allow_presence_for_client":true,
       "allow_publish_for_subscriber":true,"allow_history_for_subscriber":true,"allow_presence_for_subscriber":true,
       "allow_user_limited_channels":true}
      """
    }
    let kinds = ["commands", "publications", "bytes", "subscribes", "clique_calls", "state_calls", "push_calls"]
    let unlimited = "{\(kinds.map { "\"\($0)_per_second\":0" }.joined(separator: ","))}"
    return """
      {"channel":{"namespaces":[\(namespaces.sorted().joined(separator: ",\n"))]},
       "server":{"header_timeout":"1m"},
       "client":{"recovery_max_publications":100000,"history_max_publications":10000,
                 "connect_timeout":"10m","request_timeout":"50s","ping_interval":"10m",
                 "limits":\(unlimited),"user_limits":\(unlimited)},
       "broker":{"gateway_timeout":"1m"},
       "log":{"level":"debug"}\(more)}
      """
  }
}

/// Lets a few deployments run at a time: each is several processes.
final class Turn: Sendable {
  static let shared = Turn(3)

  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  func take() async {
    await withCheckedContinuation { continuation in
      let mayGo = state.withLock { state -> Bool in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if mayGo { continuation.resume() }
    }
  }

  func giveBack() {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.waiting.isEmpty {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }?.resume()
  }
}
