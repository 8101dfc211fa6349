import Auth
import Foundation
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

/// Machines that share a log in PostgreSQL in partitions: on each a process that runs a broker for every partition, which
/// works or stands in line; and two gateways that follow all of them.
final class Machines: Sendable {
  /// Of the machines.
  let names: [String]
  let directory: URL
  let partitions: Int
  let schema: String
  private let minter: TokenMinter
  private let settings: [String]
  private let configuration: URL
  private let brokerConfiguration: URL
  let database: OwnDatabase
  private let machines = Mutex<[String: FanfareProcess]>([:])
  private let gateways = Mutex<[String: FanfareProcess]>([:])

  private init(in directory: URL, _ names: [String], partitions: Int, settings more: [String]) throws {
    (self.directory, self.names, self.partitions) = (directory, names, partitions)
    minter = try TokenMinter(hmacSecret: Deployment.secret)
    configuration = directory.appendingPathComponent("fanfare.json")
    brokerConfiguration = directory.appendingPathComponent("broker.json")
    let engine = try Engine.postgres.settings()
    schema = engine.last?.split(separator: "=").last.map(String.init) ?? ""
    database = try OwnDatabase(.shared(), schema: schema)
    let keys: (broker: Curve.KeyPair, gateway: Curve.KeyPair) = (try .generate(), try .generate())
    let brokers = names.map {
      #"{"endpoint":"ipc://\#(directory.path)/\#($0).ipc","server_public_key":"\#(keys.broker.publicKey.z85)"}"#
    }
    settings =
      engine + [
        "cluster.partitions=\(partitions)", "token.hmac_secret=\(Deployment.secret)", "log.postgres.wait=1h",
        "backbone.heartbeat_interval=200ms", "backbone.brokers=[\(brokers.joined(separator: ","))]",
        "backbone.curve.client_secret_key_file=\(directory.path)/gateway.key",
        // Nobody publishes in transactions, for which each partition would look 500 times a second.
        "log.postgres.outbox_interval=500ms", "clique.enabled=false", "state.enabled=false",
      ] + more
    try Deployment.configuration(adding: "").write(to: configuration, atomically: true, encoding: .utf8)
    let list = #","backbone":{"curve":{"client_public_keys":["\#(keys.gateway.publicKey.z85)"]}}"#
    try Deployment.configuration(adding: list).write(to: brokerConfiguration, atomically: true, encoding: .utf8)
    try keys.broker.secretKey.write(to: "broker.key", in: directory)
    try keys.gateway.secretKey.write(to: "gateway.key", in: directory)
  }

  /// - Parameters:
  ///   - names: of the machines.
  ///   - settings: of all processes, beside those that each test's have.
  static func with(
    _ names: [String] = ["one", "two"], partitions: Int, settings: [String] = [],
    _ body: (Machines) async throws -> Void
  ) async throws {
    try await withProcesses(
      { try Machines(in: $0, names, partitions: partitions, settings: settings) },
      start: { machines in
        for name in names { try await machines.start(name) }
        for name in ["a", "b"] { try await machines.startGateway(name) }
      }, account: \.account, end: { await $0.end() }, body)
  }

  /// Starts the brokers of a machine. The first one's take all leases.
  func start(_ name: String) async throws {
    let machine = try await FanfareProcess(
      .broker, in: directory.appendingPathComponent(name), configuration: brokerConfiguration,
      settings: settings(of: name))
    machines.withLock { $0[name] = machine }
    for partition in 0..<partitions { _ = try await owner(of: partition) }
  }

  private func settings(of name: String) -> [String] {
    settings + [
      "cluster.name=\(name)", "backbone.endpoint=ipc://\(directory.path)/\(name).ipc",
      "backbone.curve.server_secret_key_file=\(directory.path)/broker.key",
    ]
  }

  /// What home's broker of a machine says that does not start with such settings, beside those that it has.
  func refusal(at name: String, _ more: [String]) async throws -> String {
    let all = ["admin.port=0", "data.directory=\(directory.path)/refused"] + settings(of: name) + more
    let arguments = ["broker", "--partition", "0", "--config", brokerConfiguration.path]
    let run = try await Tool.run(arguments + all.flatMap { ["--set", $0] }, in: directory)
    #expect(run.status == 1)
    return run.tool.errors
  }

  func startGateway(_ name: String, settings more: [String] = []) async throws {
    let gateway = try await FanfareProcess(
      .gateway, in: directory.appendingPathComponent(name), configuration: configuration, settings: settings + more)
    gateways.withLock { $0[name] = gateway }
  }

  private func end() async {
    for gateway in gateways.withLock({ Array($0.values) }) { await gateway.kill() }
    // The brokers end with whoever has started them.
    let brokers = (0..<partitions).compactMap { try? process(of: $0) }
    for machine in machines.withLock({ Array($0.values) }) { await machine.kill() }
    _ = await eventually(within: .seconds(60)) { brokers.allSatisfy { kill($0, 0) != 0 } }
  }

  /// What all processes have said at last.
  var account: String {
    let all = machines.withLock { $0 }.merging(gateways.withLock { $0 }) { $1 }
    return all.map { "\($0) \($1.isRunning ? "runs" : "had ended") and said: \($1.errorOutput.suffix(4000))" }
      .joined(separator: "\n")
  }

  func machine(_ name: String) throws -> FanfareProcess { try #require(machines.withLock { $0[name] }) }
  func gateway(_ name: String) throws -> FanfareProcess { try #require(gateways.withLock { $0[name] }) }

  // MARK: The log

  func schema(of partition: Int) -> String { partition == 0 ? schema : "\(schema)_p\(partition)" }

  /// The first column of what the statement finds.
  func ask(_ statement: String) throws -> [String] { try database.ask(statement) }

  /// The process that has a partition's log, by what the log's table says; nil: none that runs.
  private func process(of partition: Int) throws -> Int32? {
    guard
      let text = try? ask("SELECT owner FROM \(schema(of: partition)).shards WHERE shard = 0").first,
      let number = text.split(separator: " ").last.flatMap({ Int32($0) }), kill(number, 0) == 0
    else { return nil }
    return number
  }

  /// The process that has a partition's log, waited for.
  func owner(of partition: Int) async throws -> Int32 {
    // Kept from the look that found it: one that is just ending may be gone at the next.
    var found: Int32?
    _ = try await eventually(within: .seconds(60)) {
      found = try process(of: partition)
      return found != nil
    }
    guard let found else { throw Failure("nobody has the log of partition \(partition)") }
    return found
  }

  /// Durable channels, some in each partition.
  func channels(each count: Int) throws -> [String] {
    let partitioning = Partitioning(count: partitions, namespaces: NamespaceTable())
    var found: [Int: [String]] = [:]
    for number in 0..<10_000 where found.values.reduce(0, { $0 + $1.count }) < count * partitions {
      let name = "dur:\(number)"
      let partition = partitioning.partition(of: try ChannelName(name))
      if found[partition, default: []].count < count { found[partition, default: []].append(name) }
    }
    return (0..<partitions).flatMap { found[$0] ?? [] }
  }

  // MARK: Clients

  func client(_ user: String, at gateway: String) async throws -> Peer {
    let peer = try Peer(url(of: gateway))
    try await peer.connect(token: pass(of: user), subs: [:], name: "test")
    return peer
  }

  /// Where services listen to the brokers of all partitions on all machines, whether they are at work or not.
  var taps: [String] {
    names.flatMap { name in
      (0..<partitions).map { partition in
        "ipc://\(directory.path)/\(name)/services/tap.ipc" + (partition == 0 ? "" : ".p\(partition)")
      }
    }
  }

  /// A service that speaks to a machine.
  func service(at machine: String) throws -> Service { try Service(self.machine(machine).endpoints.commands ?? "") }
}

extension Machines: FireGround {
  func url(of gateway: String) throws -> String { try self.gateway(gateway).endpoints.websocket ?? "" }
  func pass(of user: String) throws -> String { try minter.connectionToken(user: user, expiresIn: 3600) }
}
