import Foundation
import TestSupport
import Testing

/// Where people use the apps while it burns: what keeps the log, and in how many processes all runs.
struct FirePlace: Sendable, CustomTestStringConvertible {
  let engine: Engine
  let kind: Deployment.Kind
  /// More than one: the broker starts a process for each, and Clique and State are shared among them.
  var partitions = 1

  var testDescription: String {
    "\(engine.testDescription), \(kind.testDescription)" + (partitions > 1 ? ", \(partitions) partitions" : "")
  }

  /// One process with a file, and broker and gateways with each engine that this machine has.
  static let here =
    [FirePlace(engine: .sqlite, kind: .serve)] + Engine.here.map { FirePlace(engine: $0, kind: .ipc) }

  /// The same with the apps shared among partitions, which takes PostgreSQL.
  static let shared =
    Engine.here.filter { $0 == .postgres }.map { FirePlace(engine: $0, kind: .ipc, partitions: 3) }

  /// What people do not do as often in a day, or at once, as a long fire does.
  static let unlimited = [
    "clique.max_requests_per_day=1000000", "clique.max_request_messages_per_day=0", "clique.max_requests_sent=10000",
    "clique.max_requests_received=5000", "clique.max_blocked=10000", "clique.max_blocks_per_day=1000000",
    "clique.max_unsent_pictures=1000", "state.max_received_per_day=1000000", "state.max_changes_per_minute=60000",
    "state.max_unsent_pictures=1000", "state.max_picture_requests_per_user=1000", "push.max_per_person=10000",
    "push.max_changes_per_minute=60000",
  ]

  /// Runs the body against a deployment of its own whose gateways share a folder of pictures.
  func with(_ settings: [String] = [], _ body: (Deployment) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      var own = ["state.picture_directory=\(folder.path)/pictures", "backbone.heartbeat_interval=200ms"]
      if partitions > 1 {
        let master = try MasterKeyFile.make(in: folder)
        own += [
          "cluster.partitions=\(partitions)", "clique.partitioned=true", "state.partitioned=true",
          "keys.master_file=\(master)", "log.postgres.wait=1h",
        ]
      }
      try await Deployment.with(
        kind, settings: engine.settings() + Self.unlimited + own + settings, in: folder, body)
    }
  }
}

/// What people under fire connect to.
protocol FireGround: Sendable {
  /// Where a gateway listens, which may have been killed and started again.
  func url(of gateway: String) throws -> String
  /// A connection token.
  func pass(of user: String) throws -> String
}

extension Deployment: FireGround {
  func url(of gateway: String) -> String { self.gateway(gateway).endpoints.websocket ?? "" }
  func pass(of user: String) throws -> String { try token(user) }

  /// What is killed at once.
  enum Victim: CaseIterable {
    case broker
    case gateway
    /// All processes.
    case everything
  }

  /// The ids of the pictures whose files are there.
  func pictures() throws -> Set<String> {
    let folder = directory.appendingPathComponent("pictures").path
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return Set(try FileManager.default.contentsOfDirectory(atPath: folder))
  }

  /// Who holds a text, by the text: files of all processes, and tables of a log that is in no file (``LogTables``).
  func holders(of texts: [String]) throws -> [String: [String]] {
    let tables = try LogTables(of: settings)?.holding(texts) ?? [:]
    return try ByteSearch.files(in: directory, holding: texts).merging(tables) { $0 + $1 }
  }

  /// SIGKILL, and the same again with the same data.
  func strike(_ victim: Victim, _ gateway: String) async throws {
    let all = kind == .serve ? [] : ["a", "b"]
    let gateways = victim == .broker ? [] : victim == .everything ? all : all.filter { $0 == gateway }
    let withBroker = victim != .gateway || gateways.isEmpty
    if withBroker { broker.signal(SIGKILL) }
    for name in gateways { self.gateway(name).signal(SIGKILL) }
    if withBroker {
      await broker.kill()
      try await restartBroker()
    }
    for name in gateways {
      await self.gateway(name).kill()
      try await startGateway(name, settings: ["backbone.endpoint=\(backbone)"])
    }
  }

  /// ``Fire/burn(_:_:_:strike:)`` where any of the deployment's parts are killed.
  func burn<Outcome: Sendable>(
    _ what: String, _ rounds: Int, _ people: [@Sendable (FireWatch, SeededGenerator) async throws -> Outcome]
  ) async throws -> [Outcome] {
    try await Fire.burn(what, rounds, people) { _, random in
      let victim = Victim.allCases.randomElement(using: &random) ?? .broker
      try await strike(victim, Bool.random(using: &random) ? "a" : "b")
    }
  }
}

extension Fire {
  /// Has people do what they do, each in a task of their own, while processes are killed at seeded moments. Returns when
  /// all have ended by themselves, with everything that they asked answered.
  ///
  /// - Parameters:
  ///   - people: each with randomness of its own, until the fire is over.
  ///   - strike: kills something, and starts what is not started by itself; it is given the round, from 1.
  /// - Returns: what people say in the end, in any order.
  static func burn<Outcome: Sendable>(
    _ what: String, _ rounds: Int, _ people: [@Sendable (FireWatch, SeededGenerator) async throws -> Outcome],
    strike: (Int, inout SeededGenerator) async throws -> Void
  ) async throws -> [Outcome] {
    let seed = Fire.seed(of: what)
    var random = SeededGenerator(seed: seed)
    let watch = FireWatch()
    let outcomes = try await withThrowingTaskGroup(of: Outcome?.self) { group in
      defer { watch.end() }
      for (place, person) in people.enumerated() {
        group.addTask {
          do { return try await person(watch, SeededGenerator(seed: seed &+ UInt64(place + 1))) } catch {
            watch.fail("person \(place): \(error)")
            return nil
          }
        }
      }
      for round in 1...rounds {
        try await watch.goesOn(by: .random(in: people.count...4 * people.count, using: &random))
        guard watch.failures.isEmpty else { break }
        do { try await strike(round, &random) } catch {
          throw Failure("round \(round), FIRE_SEED=\(seed): \(error)")
        }
      }
      if watch.failures.isEmpty { try await watch.goesOn(by: people.count) }
      watch.end()
      return try await group.reduce(into: []) { $0.append($1) }.compactMap { $0 }
    }
    guard watch.failures.isEmpty else { throw Failure("FIRE_SEED=\(seed): \(watch.failures.prefix(5))") }
    print("\(what): \(watch.steps) steps in \(rounds) rounds")
    return outcomes
  }
}
