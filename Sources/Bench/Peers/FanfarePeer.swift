import Foundation

/// The `fanfare` that was built beside the bench.
struct FanfarePeer: Peer {
  enum Variant: String, CaseIterable, Sendable {
    /// `serve`, sending as the server chooses by itself.
    case chosen = "fanfare"
    /// `serve`, sending with plain `send()`.
    case send = "fanfare-send"
    /// `serve`, sending through io_uring.
    case uring = "fanfare-uring"
    /// Broker and gateway as processes of their own.
    case split = "fanfare-split"
    /// `serve` with TLS.
    case tls = "fanfare-tls"
    /// `serve`, with subscribers that ask for compression.
    case deflate = "fanfare-deflate"
    /// `serve`, with every publication through the rules of Clique.
    case clique = "fanfare-clique"
    /// `serve`, with every publication a send of State.
    case state = "fanfare-state"
    /// `serve`, started anew on very many threads of State that all should have expired meanwhile.
    case expiry = "fanfare-expiry"
    /// As ``expiry``, with threads that stay open.
    case open = "fanfare-open"
    /// `serve`, started anew on long histories that are read for the first time while it is measured.
    case cold = "fanfare-cold"
    /// As ``cold``, with nobody who reads the histories.
    case unread = "fanfare-unread"
  }

  let variant: Variant
  /// The path of `fanfare`; nil: the one beside the running program.
  private let executable: String?
  /// Where threads wait (``Variant/expiry``, ``Variant/open``): how many, and for how many seconds those that expire are
  /// open.
  private let threads: OpenThreads
  private let lifetime: Int
  /// Publications of each history that waits (``Variant/cold``, ``Variant/unread``).
  private let publications: Int

  init(
    _ variant: Variant, executable: String? = nil, threads: Int = 10_000, lifetime: Int = 30,
    publications: Int = 10_000
  ) {
    self.variant = variant
    self.executable = executable
    self.threads = OpenThreads(count: threads)
    self.lifetime = lifetime
    self.publications = publications
  }

  var name: String { variant.rawValue }

  func describe() throws(BenchError) -> PeerDescription {
    PeerDescription(
      name: name, version: try Spawn.run([try program(), "--version"]),
      settings: (settings.isEmpty ? "defaults" : settings.joined(separator: ", "))
        + "; no limits on how fast a client may go; an event loop for each core it is pinned to; clients may subscribe and publish; and the scenario's settings"
        + about)
  }

  private var about: String {
    switch variant {
    case .chosen, .send, .uring: ""
    case .split: "; broker and gateway apart, over ipc"
    case .tls: "; TLS"
    case .deflate: "; subscribers with permessage-deflate, publications of words"
    case .clique: CliqueConversations.about
    case .state: "; each publication a state.send, each delivery the notification of it"
    case .expiry: "; started on \(threads.count) threads that were overdue"
    case .open: "; started on \(threads.count) threads that stay open"
    case .cold: "; started on histories of \(publications) publications, of which one is read each second"
    case .unread: "; started on histories of \(publications) publications, which nobody reads"
    }
  }

  /// The settings that make the variant.
  private var settings: [String] {
    switch variant {
    case .send: ["gateway.io_uring=false"]
    case .uring: ["gateway.io_uring=true"]
    case .state: ["state.record_limit=10m"]
    case .expiry: ["state.record_limit=10m", "state.lifetime=\(lifetime)s"]
    case .open: ["state.record_limit=10m", "state.lifetime=24h"]
    case .chosen, .split, .tls, .deflate, .clique, .cold, .unread: []
    }
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    let program = try program()
    let folder = try PeerFolder(for: name)
    do throws(BenchError) {
      return try start(program, scenario, cores, folder)
    } catch {
      folder.remove()
      throw error
    }
  }

  private func start(
    _ program: String, _ scenario: Scenario, _ cores: [Int], _ folder: PeerFolder
  ) throws(BenchError) -> RunningPeer {
    if variant == .cold || variant == .unread { try ColdHistory.check(scenario) }
    let port = try LoopbackPort.free()
    let secret = (0..<32).map { _ in String(Int.random(in: 256...511), radix: 16).suffix(2) }.joined()
    try folder.write(secret, to: "secret.key")
    try folder.write(try Self.configuration(for: scenario), to: "fanfare.json")
    var common = ["--config", folder.file("fanfare.json")]
    func set(_ setting: String) -> [String] { ["--set", setting] }
    common += set("server.host=127.0.0.1") + set("server.port=\(port)") + set("admin.port=0")
    common += set("broker.services.commands=\(Self.commands(folder))")
    // The tap is over TCP, so that a broker alone has a port at which it shows that it is there. Nobody taps.
    common += set("broker.services.tap=tcp://127.0.0.1:\(port + 1)")
    common += set("broker.services.allow_anyone_on_this_machine=true")
    common += set("token.hmac_secret_file=\(folder.file("secret.key"))")
    common += set("backbone.endpoint=ipc://\(folder.file("link"))")
    if !cores.isEmpty { common += set("server.event_loops=\(cores.count)") }
    if variant == .tls { common += try tls(in: folder).flatMap(set) }
    common += (settings + scenario.settings).flatMap(set)
    var target = Target.loopback(
      "centrifuge", "\(variant == .tls ? "wss" : "ws")://127.0.0.1:\(port)/connection/websocket")
    target.secret = secret
    if variant == .clique { target.dialect = CliqueConversations.dialect }
    target.compresses = variant == .deflate
    if variant == .state { target.dialect = StateExchange.dialect }
    if variant == .tls { target.trust = folder.file(SelfSignedCertificate.certificate) }

    // Each role with its folder and the port at which it shows that it is there.
    let roles =
      variant == .split ? [("broker", port + 1), ("gateway", port)] : [("serve", port)]
    func startAll() throws(BenchError) -> [ChildServer] {
      var servers: [ChildServer] = []
      for (role, itsPort) in roles {
        let command = [program, role] + common + set("data.directory=\(folder.file(role))")
        let server = try ChildServer(
          command, name: role, cores: cores, folder: folder,
          environment: ChildServer.environment(keepsPeers: false))
        try server.waitForConnections(at: itsPort)
        servers.append(server)
      }
      return servers
    }
    var servers = try startAll()
    let isOver = try prepare(scenario, port: port, secret: secret, commands: Self.commands(folder))
    if let isOver {
      for server in servers.reversed() { server.stop() }
      while WallTime.now() <= isOver { usleep(10_000) }
      servers = try startAll()
    }
    let (started, since) = (servers, WallTime.now())
    var running = RunningPeer(target: target, processes: started.flatMap(\.processes)) {
      for server in started.reversed() { server.stop() }
      folder.remove()
    }
    accompany(&running, scenario, commands: Self.commands(folder), started: since)
    return running
  }

  /// Says what the variant does beside the measurement, and looks at after it.
  private func accompany(_ running: inout RunningPeer, _ scenario: Scenario, commands: String, started: Int64) {
    switch variant {
    case .expiry:
      let threads = threads
      running.conclude = { measured throws(BenchError) in
        try threads.conclude(
          commands: commands, started: started,
          measured: WallTime.of(measured.lowerBound)...WallTime.of(measured.upperBound))
      }
    case .cold:
      let histories = histories(scenario)
      running.accompany = { histories.begin(commands: commands) }
      running.conclude = { _ throws(BenchError) in try histories.conclude() }
    case .chosen, .send, .uring, .split, .tls, .deflate, .clique, .state, .open, .unread: break
    }
  }

  /// One history for each second that is measured.
  private func histories(_ scenario: Scenario) -> ColdHistory {
    ColdHistory(channels: max(1, min(60, Int(scenario.duration))), publications: publications)
  }

  /// The endpoint for services' commands.
  private static func commands(_ folder: PeerFolder) -> String { "ipc://\(folder.file("commands.ipc"))" }

  /// Makes on the running server what the variant needs to be there.
  ///
  /// - Returns: until when, in milliseconds since 1970, the server must stand still and then start anew; nil: it goes on.
  private func prepare(
    _ scenario: Scenario, port: Int, secret: String, commands: String
  ) throws(BenchError) -> Int64? {
    switch variant {
    case .clique:
      let count = scenario.groups.reduce(0) { max($0, $1.channels) }
      try CliqueConversations.open(count: count, commands: commands)
    case .state: try StateExchange(scenario).prepare(port: port, secret: secret, commands: commands)
    case .expiry:
      let seconds = Double(lifetime)
      let last = try threads.open(port: port, secret: secret, commands: commands, lifetime: seconds)
      return last + Int64(lifetime) * 1000 + 500
    case .open: return try threads.open(port: port, secret: secret, commands: commands, lifetime: 86_400)
    case .cold, .unread:
      try histories(scenario).fill(commands: commands)
      return WallTime.now()
    case .chosen, .send, .uring, .split, .tls, .deflate: break
    }
    return nil
  }

  /// The server's configuration: every client may use every channel, as fast as it can; all else is the default, or the
  /// scenario's settings.
  static func configuration(for scenario: Scenario) throws(BenchError) -> String {
    var namespaces = Set(scenario.groups.map(\.namespace).filter { !$0.isEmpty })
    for setting in scenario.settings where setting.hasPrefix("channel.namespaces.") {
      namespaces.insert(String(setting.dropFirst("channel.namespaces.".count).prefix { $0 != "." && $0 != "=" }))
    }
    let options: [String: Any] = ["allow_subscribe_for_client": true, "allow_publish_for_client": true]
    let channel: [String: Any] = [
      "without_namespace": options,
      "namespaces": namespaces.sorted().map { options.merging(["name": $0]) { $1 } },
    ]
    let kinds = ["commands", "publications", "bytes", "subscribes", "clique_calls", "state_calls", "push_calls"]
    let unlimited = Dictionary(uniqueKeysWithValues: kinds.map { ("\($0)_per_second", 0) })
    let all: [String: Any] = [
      "broker": [
        "channel": ["publications_per_second": 0], "user": ["channels_per_second": 0, "max_channels": 10_000_000],
      ],
      "channel": channel, "client": ["limits": unlimited, "user_limits": unlimited],
    ]
    guard
      let data = try? JSONSerialization.data(withJSONObject: all, options: [.sortedKeys])
    else { throw BenchError("the scenario's namespaces cannot be written as JSON; name them with letters and digits.") }
    return String(decoding: data, as: UTF8.self)
  }

  private func tls(in folder: PeerFolder) throws(BenchError) -> [String] {
    try SelfSignedCertificate.make(in: folder, for: name)
    return [
      "server.tls.enabled=true", "server.tls.certificate_file=\(folder.file(SelfSignedCertificate.certificate))",
      "server.tls.key_file=\(folder.file(SelfSignedCertificate.key))",
    ]
  }

  private func program() throws(BenchError) -> String {
    let folder = URL(fileURLWithPath: try ProcessTable.ownExecutable()).deletingLastPathComponent()
    let path = executable ?? folder.appendingPathComponent("fanfare").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchError("there is no \(path); build it with the bench: swift build -c release.")
    }
    return path
  }
}
