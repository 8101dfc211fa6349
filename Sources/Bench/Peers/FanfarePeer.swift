import Foundation

/// The `fanfare` that was built beside the bench.
struct FanfarePeer: Peer {
  enum Variant: String, CaseIterable, Sendable {
    /// `serve`, sending as the server chooses by itself.
    case chosen = "fanfare"
    /// With plain `send()`.
    case send = "fanfare-send"
    /// With io_uring.
    case uring = "fanfare-uring"
    /// Broker and gateway as processes of their own.
    case split = "fanfare-split"
    /// `serve` with TLS.
    case tls = "fanfare-tls"
    /// `serve`, with every publication through the rules of Clique.
    case clique = "fanfare-clique"
  }

  let variant: Variant
  /// Of `fanfare`; nil: the one beside the running program.
  private let executable: String?

  init(_ variant: Variant, executable: String? = nil) {
    self.variant = variant
    self.executable = executable
  }

  var name: String { variant.rawValue }

  func describe() throws(BenchError) -> PeerDescription {
    PeerDescription(
      name: name, version: try Spawn.run([try program(), "--version"]),
      settings: (settings.isEmpty ? "defaults" : settings.joined(separator: ", "))
        + "; an event loop for each core it is pinned to; clients may subscribe and publish; and the scenario's settings"
        + (variant == .split ? "; broker and gateway apart, over ipc" : "") + (variant == .tls ? "; TLS" : "")
        + (variant == .clique ? "; each channel a conversation, each publication a clique.send" : ""))
  }

  /// Of the variant.
  private var settings: [String] {
    switch variant {
    case .send: ["gateway.io_uring=false"]
    case .uring: ["gateway.io_uring=true"]
    case .chosen, .split, .tls, .clique: []
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
    let port = try LoopbackPort.free()
    let secret = (0..<32).map { _ in String(Int.random(in: 256...511), radix: 16).suffix(2) }.joined()
    try folder.write(secret, to: "secret.key")
    try folder.write(try Self.configuration(for: scenario), to: "fanfare.json")
    var common = ["--config", folder.file("fanfare.json")]
    func set(_ setting: String) -> [String] { ["--set", setting] }
    common += set("server.host=127.0.0.1") + set("server.port=\(port)")
    common += set("broker.services.commands=tcp://127.0.0.1:\(port + 1)")
    common += set("broker.services.tap=tcp://127.0.0.1:\(port + 2)")
    common += set("token.hmac_secret_file=\(folder.file("secret.key"))")
    common += set("backbone.endpoint=ipc://\(folder.file("link"))")
    if !cores.isEmpty { common += set("server.event_loops=\(cores.count)") }
    if variant == .tls { common += try tls(in: folder).flatMap(set) }
    common += (settings + scenario.settings).flatMap(set)
    var target = Target.loopback(
      "centrifuge", "\(variant == .tls ? "wss" : "ws")://127.0.0.1:\(port)/connection/websocket")
    target.secret = secret
    if variant == .clique { target.dialect = CliqueConversations.dialect }
    if variant == .tls { target.trust = folder.file("certificate.pem") }

    // Each role with its folder and the port at which it shows that it is there.
    let roles =
      variant == .split ? [("broker", port + 1), ("gateway", port)] : [("serve", port)]
    var servers: [ChildServer] = []
    for (role, itsPort) in roles {
      let command = [program, role] + common + set("data.directory=\(folder.file(role))")
      let server = try ChildServer(
        command, name: role, cores: cores, folder: folder,
        environment: ChildServer.environment(keepsPeers: false))
      try server.waitForConnections(at: itsPort)
      servers.append(server)
    }
    if variant == .clique {
      let count = scenario.groups.reduce(0) { max($0, $1.channels) }
      try CliqueConversations.open(count: count, commands: "tcp://127.0.0.1:\(port + 1)")
    }
    let started = servers
    return RunningPeer(target: target, processes: started.flatMap(\.processes)) {
      for server in started.reversed() { server.stop() }
      folder.remove()
    }
  }

  /// Every channel may be used by every client; all else is the default, or the scenario's settings.
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
    guard
      let data = try? JSONSerialization.data(withJSONObject: ["channel": channel], options: [.sortedKeys])
    else { throw BenchError("the scenario's namespaces cannot be written as JSON; name them with letters and digits.") }
    return String(decoding: data, as: UTF8.self)
  }

  /// Makes a key and a certificate that signs itself.
  private func tls(in folder: PeerFolder) throws(BenchError) -> [String] {
    let (certificate, key) = (folder.file("certificate.pem"), folder.file("key.pem"))
    do throws(BenchError) {
      try Spawn.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out",
        certificate,
      ])
    } catch { throw BenchError("openssl made no certificate for \(name): \(error)") }
    return [
      "server.tls.enabled=true", "server.tls.certificate_file=\(certificate)", "server.tls.key_file=\(key)",
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
