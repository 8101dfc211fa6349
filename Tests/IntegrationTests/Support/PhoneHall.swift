import Auth
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import Wire

/// A server with the configuration that it comes with, and phones on it.
final class PhoneHall: Sendable {
  /// Both are one process where the server runs alone.
  private struct Processes {
    /// Whom backends and operators ask. In partitions it has started a broker for each.
    var server: FanfareProcess
    /// Whom phones connect to.
    var gateway: FanfareProcess
  }

  let place: HallPlace
  private let directory: URL
  private let settings: [String]
  private let minter: TokenMinter
  /// Where the log is in partitions.
  private let log: LogTables?
  private let processes: Mutex<Processes>

  /// Runs the body against a server of its own.
  ///
  /// - Parameters:
  ///   - settings: of all its processes.
  ///   - given: where it keeps its data, in the folder `data`; nil: in a folder that is removed afterwards.
  static func with(
    _ settings: [String] = [], at place: HallPlace = .alone, in given: URL? = nil,
    _ body: (PhoneHall) async throws -> Void
  ) async throws {
    await Turn.shared.take()
    defer { Turn.shared.giveBack() }
    if let given { return try await run(settings, at: place, in: given, body) }
    try await withTemporaryFolder { try await run(settings, at: place, in: $0, body) }
  }

  private static func run(
    _ settings: [String], at place: HallPlace, in directory: URL, _ body: (PhoneHall) async throws -> Void
  ) async throws {
    let hall = try await PhoneHall(place, in: directory, settings)
    do { try await body(hall) } catch {
      if place == .partitions { Issue.record("\(hall.account)") }
      await hall.kill()
      throw error
    }
    await hall.kill()
  }

  private init(_ place: HallPlace, in directory: URL, _ settings: [String]) async throws {
    (self.place, self.directory) = (place, directory)
    var own = [
      "token.hmac_secret=\(Deployment.secret)", "server.header_timeout=1m", "client.connect_timeout=10m",
      "client.request_timeout=50s", "client.ping_interval=10m", "backbone.heartbeat_interval=10s",
      "broker.gateway_timeout=1m",
    ]
    if place == .partitions {
      let shared = try HallPlace.sharedSettings(in: directory)
      guard let tables = try LogTables(of: shared) else { throw Failure("the log has no schema") }
      log = tables
      own +=
        shared + [
          "backbone.endpoint=ipc://\(directory.path)/b.ipc", "state.picture_directory=\(directory.path)/data/pictures",
        ]
    } else {
      log = nil
    }
    self.settings = own + settings
    minter = try TokenMinter(hmacSecret: Deployment.secret)
    try FileManager.default.copyItem(
      at: Self.shippedConfiguration, to: directory.appendingPathComponent("fanfare.json"))
    processes = Mutex(
      try await Self.start(
        place, in: directory, data: directory.appendingPathComponent("data"), settings: self.settings))
  }

  private static var shippedConfiguration: URL {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return root.appendingPathComponent("config/fanfare.json")
  }

  private static func start(
    _ place: HallPlace, in directory: URL, data: URL, settings: [String]
  ) async throws -> Processes {
    let configuration = directory.appendingPathComponent("fanfare.json")
    if place == .alone {
      let server = try await FanfareProcess(.serve, in: data, configuration: configuration, settings: settings)
      return Processes(server: server, gateway: server)
    }
    let processes = Processes(
      server: try await FanfareProcess(.broker, in: data, configuration: configuration, settings: settings),
      gateway: try await FanfareProcess(
        .gateway, in: gatewayFolder(in: directory), configuration: configuration, settings: settings))
    // Where each is asked before the brokers of all partitions are at work, its first answers take long.
    for process in [processes.server, processes.gateway] { try await process.awaitReady() }
    return processes
  }

  private static func gatewayFolder(in directory: URL) -> URL { directory.appendingPathComponent("gateway") }

  /// Whom backends and operators ask. What it says to standard error is what all brokers say.
  var server: FanfareProcess { processes.withLock { $0.server } }
  /// Where the server keeps its files, pictures among them, whatever keeps the log.
  var data: URL { directory.appendingPathComponent("data") }
  var patience: Duration { place.patience }
  var url: String { processes.withLock { $0.gateway }.endpoints.websocket ?? "" }
  func service() -> Service { Service(server.endpoints.commands ?? "") }
  func token(_ user: String) throws -> String { try minter.connectionToken(user: user, expiresIn: 3600) }

  func phone(of user: String) async throws -> Phone {
    let phone = try Phone(url)
    try await phone.connect(token(user))
    return phone
  }

  // MARK: What is kept

  /// Who holds a text, by the text: files of all processes, and tables of a log that is in no file (``LogTables``).
  func holders(of texts: [String]) throws -> [String: [String]] {
    var found = try ByteSearch.files(in: data, holding: texts)
    guard let log else { return found }
    let more = [
      try ByteSearch.files(in: Self.gatewayFolder(in: directory), holding: texts), try log.holding(texts),
    ]
    for some in more { found.merge(some) { $0 + $1 } }
    return found
  }

  /// What the processes have said at last.
  private var account: String {
    let (server, gateway) = processes.withLock { ($0.server, $0.gateway) }
    return [("the brokers", server), ("the gateway", gateway)]
      .map { "\($0) \($1.isRunning ? "run" : "had ended") and said: \($1.errorOutput.suffix(4000))" }
      .joined(separator: "\n")
  }

  // MARK: Ends

  /// Sends a signal to the broker of a partition.
  func signal(_ signal: Int32, broker partition: Int) throws {
    guard let broker = Brokers.identifiers(in: server.errorOutput)[partition] else {
      throw Failure("there is no broker of partition \(partition)")
    }
    _ = Glibc.kill(broker, signal)
  }

  /// SIGKILL of all processes.
  func kill() async {
    let (server, gateway) = processes.withLock { ($0.server, $0.gateway) }
    gateway.signal(SIGKILL)
    if place == .partitions, server.isRunning {
      // While it stands still, it starts no broker again; and no broker learns that it ends, and does so in order.
      await server.standStill()
      let brokers = Array(Brokers.identifiers(in: server.errorOutput).values)
      for broker in brokers { _ = Glibc.kill(broker, SIGKILL) }
      await server.kill()
      let areGone = await eventually { brokers.allSatisfy(Brokers.isGone) }
      #expect(areGone, "a broker has outlived SIGKILL")
    }
    await server.kill()
    await gateway.kill()
  }

  /// SIGKILL, and the same data again.
  ///
  /// - Parameters:
  ///   - folder: another data folder, as on another machine.
  ///   - meanwhile: what happens while no server runs.
  func killAndRestart(
    _ more: [String] = [], in folder: URL? = nil, meanwhile: () async throws -> Void = {}
  ) async throws {
    let port = URL(string: url)?.port ?? 0
    await kill()
    try await meanwhile()
    let next = try await Self.start(
      place, in: directory, data: folder ?? data, settings: settings + ["server.port=\(port)"] + more)
    processes.withLock { $0 = next }
  }
}

/// Whether what people use is decided in one place or in several.
enum HallPlace: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// One broker, with a log in a file: `fanfare serve`.
  case alone
  /// A gateway, and a broker for each of the partitions among which Clique and State are shared, with a log in PostgreSQL.
  case partitions

  var testDescription: String { self == .alone ? "one broker" : "\(Self.count) partitions" }

  private static let count = 3

  /// How long it may take at most until what was answered shows everywhere. Where one broker decides, it shows at once.
  var patience: Duration { self == .alone ? .zero : .seconds(60) }

  /// Those that this machine has.
  static let here = allCases.filter {
    $0 == .alone || runsUnlessLacking(.postgresql, isThere: PostgresServer.isThere)
  }

  /// Whether two people and their conversation are in three partitions. A test whose people are all at home would show
  /// little of what partitions tell each other.
  static func areApart(_ one: String, _ other: String, conversation: String) -> Bool {
    let people = [one, other].map(partitioning.place(ofUser:))
    return Set(people + [place(ofConversation: conversation)]).count == 3
  }

  /// The partition in which two people's conversation is decided about.
  static func place(ofConversation id: String) -> Int { partitioning.place(ofConversation: id) }

  /// The partition in which a person's lists are.
  static func place(ofUser user: String) -> Int { partitioning.place(ofUser: user) }

  private static var partitioning: Partitioning { Partitioning(count: count, namespaces: NamespaceTable()) }

  /// Settings of brokers and gateways in partitions, with a log of their own.
  ///
  /// - Parameter folder: where their master key is kept.
  static func sharedSettings(in folder: URL) throws -> [String] {
    let master = try MasterKeyFile.make(in: folder)
    return try Engine.postgres.settings() + [
      "cluster.partitions=\(count)", "clique.partitioned=true", "state.partitioned=true", "keys.master_file=\(master)",
      "log.postgres.wait=1h", "log.postgres.outbox_interval=2ms", "backbone.heartbeat_interval=200ms",
    ]
  }

  /// Runs the body against a deployment of its own with two gateways, which share a folder of pictures.
  func withGateways(_ body: (Deployment) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      let pictures = "state.picture_directory=\(folder.path)/pictures"
      let shared = self == .partitions ? try Self.sharedSettings(in: folder) : []
      try await Deployment.with(.ipc, settings: shared + [pictures], in: folder) { deployment in
        for name in ["a", "b"] { try await deployment.gateway(name).awaitReady() }
        try await body(deployment)
      }
    }
  }
}

extension Phone {
  /// The answer to a call that may be refused where one partition has not heard yet of what another has answered.
  ///
  /// - Parameter patience: for how long it is made again.
  @discardableResult
  func call(_ method: String, _ data: String, within patience: Duration) async throws -> JSON {
    var result: Result<JSON, any Error> = .failure(Failure("\(method) was not asked"))
    _ = try await eventually(within: patience) {
      do {
        result = .success(try await call(method, data))
        return true
      } catch let fault as Fault {
        result = .failure(fault)
        return false
      }
    }
    return try result.get()
  }
}

extension FanfareProcess {
  /// Waits until it says that it is ready: that all brokers whom it asks are at work.
  func awaitReady() async throws {
    guard let port = endpoints.admin.flatMap(URL.init(string:))?.port else { throw Failure("there is no port to ask") }
    let http = HTTPExchange(port: port)
    let isReady = await eventually(within: .seconds(120)) {
      !self.isRunning || (try? http.ask("GET", "/ready", "Connection: close\r\n").status) == 200
    }
    guard isReady, isRunning else { throw Failure("a process is not ready: \(errorOutput.suffix(4000))") }
  }
}
