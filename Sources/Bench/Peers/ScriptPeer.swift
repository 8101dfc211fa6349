import Foundation

/// A peer that a script in `benchmarks/peers/` installs and starts.
struct ScriptPeer: Peer {
  let name: String
  /// What the server speaks: ``Target/dialect``.
  let dialect: String
  /// What stands around the port in the address for subscribers: `ws://127.0.0.1:PORT/mqtt`.
  let scheme: String
  var path = ""
  /// The path for publishers, where they use plain HTTP on the same port.
  var publishPath: String?
  /// The script's name, where it is not the peer's.
  var scriptName: String?
  /// What is said in the dialect `template`.
  var templates: MessageTemplates?
  /// Whether it is given a certificate and a key in its folder (``SelfSignedCertificate``), and speaks TLS then.
  var isSecure = false
  /// Folder of the scripts; nil: found by ``ScriptFolder``.
  var folder: String?

  func describe() throws(BenchError) -> PeerDescription {
    let script = try script()
    return PeerDescription(
      name: name, version: try Spawn.run([script, "version"]),
      settings: try Spawn.run([script, "settings"]) + (isSecure ? "; TLS" : "")
        + (templates.map { "; \($0.about)" } ?? ""))
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    let script = try script()
    let port = try LoopbackPort.free()
    var target = Target.loopback(dialect, "\(scheme)://127.0.0.1:\(port)\(path)")
    if let publishPath { target.publishURL = "http://127.0.0.1:\(port)\(publishPath)" }
    target.templates = templates
    let trust = isSecure ? SelfSignedCertificate.certificate : nil
    return try RunningPeer.single(name, target, port: port, cores: cores, trust: trust) { folder throws(BenchError) in
      if isSecure { try SelfSignedCertificate.make(in: folder, for: name) }
      return [script, "start", folder.path, String(port)]
    }
  }

  private func script() throws(BenchError) -> String {
    let path = "\(try ScriptFolder.path(unless: folder))/\(scriptName ?? name)"
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchError(
        "there is no script \(path); run the bench from the repository, or set FANFARE_BENCH_PEERS to benchmarks/peers."
      )
    }
    return path
  }
}

/// Where the peers' scripts are.
enum ScriptFolder {
  /// `FANFARE_BENCH_PEERS`, else `benchmarks/peers` in a folder above the current one or above the bench's executable.
  static func path(unless given: String? = nil) throws(BenchError) -> String {
    if let given { return given }
    if let given = ProcessInfo.processInfo.environment["FANFARE_BENCH_PEERS"], !given.isEmpty { return given }
    let files = FileManager.default
    for start in [files.currentDirectoryPath, try ProcessTable.ownExecutable()] {
      var folder = URL(fileURLWithPath: start)
      for _ in 0..<12 {
        let scripts = folder.appendingPathComponent("benchmarks/peers").path
        if files.fileExists(atPath: "\(scripts)/lib.sh") { return scripts }
        folder.deleteLastPathComponent()
      }
    }
    throw BenchError(
      "the folder benchmarks/peers is not above the current folder; run the bench in the repository, or set FANFARE_BENCH_PEERS."
    )
  }
}

extension Target {
  /// A server on this machine that wants no token.
  static func loopback(_ dialect: String, _ url: String) -> Target {
    Target(
      dialect: dialect, url: url, publishURL: nil, secret: nil, token: nil, trust: nil, spreadsSourceAddresses: true)
  }
}

extension RunningPeer {
  /// One server in a folder of its own, found ready.
  ///
  /// - Parameter trust: file in that folder, of certificates to trust.
  static func single(
    _ name: String, _ target: Target, port: Int, cores: [Int], trust: String? = nil,
    _ command: (PeerFolder) throws(BenchError) -> [String]
  ) throws(BenchError) -> RunningPeer {
    let folder = try PeerFolder(for: name)
    var target = target
    target.trust = trust.map(folder.file)
    do throws(BenchError) {
      let server = try ChildServer(try command(folder), name: name, cores: cores, folder: folder)
      try server.waitForConnections(at: port)
      return RunningPeer(target: target, processes: server.settledProcesses()) {
        server.stop()
        folder.remove()
      }
    } catch {
      // The server, if there is one, ended when its last reference went.
      folder.remove()
      throw error
    }
  }
}
