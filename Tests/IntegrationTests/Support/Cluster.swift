import Auth
import Foundation
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Brokers that share one log in PostgreSQL, of which one has it and the others stand in line; and two gateways that reach
/// all of them.
final class Cluster: Sendable {
  /// A broker's process. While it stands in line, gateways connect to it, and nobody is answered.
  private struct Broker {
    var process: ChildProcess
    var errors: URL
  }

  let directory: URL
  private let minter: TokenMinter
  /// Settings of the log, as the brokers have them, but for their ways to it.
  let engine: [String]
  private let settings: [String]
  private let configuration: URL
  private let brokerConfiguration: URL
  /// Of the brokers, and of the gateways, which are the only ones that may connect to them.
  let keys: (broker: Curve.KeyPair, gateway: Curve.KeyPair)
  private let database: OwnDatabase
  /// Each broker's way to the database.
  private let databases: [PostgresProxy]
  /// The way of each gateway to each broker, by the gateway's name.
  private let links: [String: [SocketProxy]]
  private let brokers = Mutex<[Broker]>([])
  private let gateways = Mutex<[String: FanfareProcess]>([:])

  private init(in directory: URL, brokers count: Int, on server: PostgresServer?, settings more: [String]) throws {
    self.directory = directory
    let server = try server ?? PostgresServer.shared()
    databases = try (0..<count).map { _ in try PostgresProxy(to: server) }
    links = try Dictionary(
      uniqueKeysWithValues: ["a", "b"].map { name in
        let proxies = try (0..<count).map { number in
          try SocketProxy(
            at: Self.endpoint(directory, "\(name)\(number)"), to: Self.endpoint(directory, "own\(number)"))
        }
        return (name, proxies)
      })
    minter = try TokenMinter(hmacSecret: Deployment.secret)
    configuration = directory.appendingPathComponent("fanfare.json")
    brokerConfiguration = directory.appendingPathComponent("broker.json")
    keys = (try .generate(), try .generate())
    engine = try Engine.postgres.settings()
    settings =
      engine + [
        "token.hmac_secret=\(Deployment.secret)", "log.postgres.wait=1h", "backbone.heartbeat_interval=200ms",
      ] + more
    database = try OwnDatabase(server, schema: engine.last?.split(separator: "=").last.map(String.init) ?? "")
  }

  /// - Parameters:
  ///   - server: of the database; nil: that which the tests share.
  ///   - settings: of all processes, beside those that each test's have.
  static func with(
    brokers count: Int, on server: PostgresServer? = nil, settings: [String] = [],
    _ body: (Cluster) async throws -> Void
  ) async throws {
    try await withProcesses(
      { try Cluster(in: $0, brokers: count, on: server, settings: settings) }, start: { try await $0.start(count) },
      account: \.account, end: { await $0.end() }, body)
  }

  /// The file of a socket.
  private static func endpoint(_ directory: URL, _ name: String) -> String { "\(directory.path)/\(name).ipc" }

  /// How a gateway reaches a broker.
  func endpoint(of number: Int, from gateway: String) -> String {
    "ipc://" + Self.endpoint(directory, "\(gateway)\(number)")
  }

  private func start(_ count: Int) async throws {
    try Deployment.configuration(adding: "").write(to: configuration, atomically: true, encoding: .utf8)
    let list = #","backbone":{"curve":{"client_public_keys":["\#(keys.gateway.publicKey.z85)"]}}"#
    try Deployment.configuration(adding: list).write(to: brokerConfiguration, atomically: true, encoding: .utf8)
    try keys.broker.secretKey.write(to: "broker.key", in: directory)
    try keys.gateway.secretKey.write(to: "gateway.key", in: directory)
    for number in 0..<count {
      let broker = try begin(number)
      brokers.withLock { $0.append(broker) }
      // The first one makes the tables, and has the log.
      if number == 0 { _ = try await owner() }
    }
    for name in ["a", "b"] {
      let key = keys.broker.publicKey.z85
      let list = (0..<count).map {
        #"{"endpoint":"\#(endpoint(of: $0, from: name))","server_public_key":"\#(key)"}"#
      }.joined(separator: ",")
      let gateway = try await FanfareProcess(
        .gateway, in: directory.appendingPathComponent(name), configuration: configuration,
        settings: settings + [
          "backbone.brokers=[\(list)]", "backbone.curve.client_secret_key_file=\(directory.path)/gateway.key",
        ])
      gateways.withLock { $0[name] = gateway }
    }
  }

  private func begin(_ number: Int) throws -> Broker {
    let folder = directory.appendingPathComponent("broker\(number)")
    try? FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let errors = directory.appendingPathComponent("broker\(number)-\(UUID().uuidString).txt")
    let all =
      settings + [
        "data.directory=\(folder.path)", "admin.port=0",
        "backbone.endpoint=ipc://\(Self.endpoint(directory, "own\(number)"))",
        "backbone.curve.server_secret_key_file=\(directory.path)/broker.key",
        "log.postgres.connection=\(databases[number].connection)",
      ]
    let process = try ChildProcess(
      ServerProcess.executable(), ["broker", "--config", brokerConfiguration.path] + all.flatMap { ["--set", $0] },
      environment: ChildProcess.fanfareEnvironment, errors: errors)
    return Broker(process: process, errors: errors)
  }

  private func end() async {
    for gateway in gateways.withLock({ Array($0.values) }) { await gateway.kill() }
    let all = brokers.withLock { $0.map(\.process) }
    for process in all { process.signal(SIGKILL) }
    for proxy in databases { proxy.close() }
    for proxy in links.values.joined() { proxy.close() }
    _ = await eventually(within: .seconds(60)) { all.allSatisfy { !$0.isRunning } }
  }

  /// What all processes have said at last.
  var account: String {
    let ofBrokers = brokers.withLock({ $0 }).enumerated().map { number, broker in
      let said = (try? String(contentsOf: broker.errors, encoding: .utf8)) ?? ""
      return "broker \(number) \(broker.process.isRunning ? "runs" : "had ended") and said: \(said.suffix(2500))"
    }
    let ofGateways = gateways.withLock({ $0 }).map { "gateway \($0) said at last: \($1.errorOutput.suffix(2500))" }
    return (ofBrokers + ofGateways).joined(separator: "\n")
  }

  // MARK: Brokers

  /// Who has the log, as the log's own table says.
  func owner() async throws -> Int {
    let found = Mutex<Int?>(nil)
    let isKnown = await eventually(within: .seconds(60)) { [self] in
      guard let text = try? ask("SELECT owner FROM shards WHERE shard = 0").first else { return false }
      let number = brokers.withLock { brokers in
        brokers.firstIndex { text.hasSuffix("process \($0.process.identifier)") && $0.process.isRunning }
      }
      found.withLock { $0 = number }
      return number != nil
    }
    guard isKnown, let number = found.withLock({ $0 }) else { throw Failure("nobody has the log") }
    return number
  }

  /// The way of a broker to the database.
  func database(of number: Int) -> SocketProxy { databases[number].socket }

  /// Has all brokers reach another server from now on; what they have open to the former one is cut.
  func lead(to server: PostgresServer) { for proxy in databases { proxy.lead(to: server) } }

  /// Has ``ask(_:)`` ask another server from now on.
  func askFromNowOn(_ server: PostgresServer) throws { try database.follow(server) }

  func link(from gateway: String, to number: Int) throws -> SocketProxy { try #require(links[gateway]?[number]) }

  func process(_ number: Int) -> ChildProcess { brokers.withLock { $0[number].process } }

  func errorOutput(of number: Int) -> String {
    (try? String(contentsOf: brokers.withLock { $0[number].errors }, encoding: .utf8)) ?? ""
  }

  /// Starts a broker again that has ended: it stands in line.
  func begin(again number: Int) throws {
    let broker = try begin(number)
    brokers.withLock { $0[number] = broker }
  }

  /// The first column of what the statement finds.
  func ask(_ statement: String) throws -> [String] { try database.ask(statement) }

  // MARK: Clients

  func client(_ user: String, at gateway: String) async throws -> Peer {
    guard let process = gateways.withLock({ $0[gateway] }) else { throw Failure("there is no gateway \(gateway)") }
    let peer = try Peer(process.endpoints.websocket ?? "")
    try await peer.connect(token: minter.connectionToken(user: user, expiresIn: 3600), subs: [:], name: "test")
    return peer
  }

  /// A phone, and the same user's way to pictures.
  func phone(_ user: String, at gateway: String) async throws -> (phone: Phone, pictures: PictureClient) {
    guard let url = self.gateway(gateway)?.endpoints.websocket else { throw Failure("there is no gateway \(gateway)") }
    let token = try minter.connectionToken(user: user, expiresIn: 3600)
    let phone = try Phone(url)
    try await phone.connect(token)
    return (phone, PictureClient(port: URL(string: url)?.port ?? 0, token: token))
  }

  /// What is in a broker's data folder.
  func files(of number: Int) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.appendingPathComponent("broker\(number)").path)
  }

  func gateway(_ name: String) -> FanfareProcess? { gateways.withLock { $0[name] } }

  /// The history of a channel, whole, as the broker that has the log tells it.
  func history(_ channel: String) async throws -> [Service.Answer.Publication] {
    let file = directory.appendingPathComponent("broker\(try await owner())/endpoints.json")
    let listens = await eventually(within: .seconds(60)) { FileManager.default.fileExists(atPath: file.path) }
    guard listens else { throw Failure("the owner does not listen") }
    let endpoints = try JSONDecoder().decode(FanfareProcess.Endpoints.self, from: Data(contentsOf: file))
    return try await Service(endpoints.commands ?? "").wholeHistory(channel)
  }
}
