import Foundation
import TestSupport
import Testing

@Suite("TLS for development", .ownThread)
struct DevelopmentTLSTests {
  /// The value of a field in the loud line.
  private func field(_ name: String, of server: ServerProcess) throws -> String {
    let line = try #require(server.errorOutput.split(separator: "\n").first { $0.contains("FOR DEVELOPMENT ONLY") })
    let value = try #require(line.split(separator: " ").first { $0.hasPrefix("\(name)=") })
    return String(value.dropFirst(name.count + 1))
  }

  private func health(_ server: ServerProcess, _ arguments: [String]) async throws -> Command.Outcome {
    let address = server.endpoints.websocket.replacing("wss://", with: "https://")
      .replacing("/connection/websocket", with: "/health")
    return try await Command(named: "curl", ["--silent", "--show-error"] + arguments + [address]).run(
      deadline: .seconds(60))
  }

  @Test("serve --dev-tls speaks TLS with a certificate that only who is told so trusts, says which, and keeps it")
  func serves() async throws {
    try await withTemporaryFolder { folder in
      let directory = folder.appendingPathComponent("data")
      var fingerprints: [String] = []
      for _ in 0..<2 {
        let server = try await ServerProcess(in: directory, configuration: "{}", arguments: ["--dev-tls"])
        #expect(server.endpoints.websocket.hasPrefix("wss://127.0.0.1:"))
        let file = try field("certificate", of: server)
        #expect(file == directory.appendingPathComponent("dev-tls.crt").path)
        #expect(try await health(server, ["--cacert", file]).output.contains(#"{"status":"ok"}"#))
        let stranger = try await health(server, [])
        #expect(stranger.status == 60 && !stranger.output.contains("ok\""), "\(stranger)")
        let shown = try TestCertificate.openssl([
          "x509", "-in", file, "-noout", "-fingerprint", "-sha256", "-ext", "basicConstraints",
        ])
        let fingerprint = try field("fingerprint", of: server)
        #expect(shown.contains(fingerprint) && shown.contains("CA:FALSE"), "\(shown)")
        fingerprints.append(fingerprint)
        let key = directory.appendingPathComponent("dev-tls.key").path
        let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(await server.terminate() == 0)
      }
      #expect(fingerprints.count == 2 && fingerprints[0] == fingerprints[1])
      // A certificate that nobody can serve any more is made anew.
      try Data().write(to: directory.appendingPathComponent("dev-tls.crt"))
      let server = try await ServerProcess(in: directory, configuration: "{}", arguments: ["--dev-tls"])
      #expect(try field("fingerprint", of: server) != fingerprints[0])
      #expect(await server.terminate() == 0)
    }
  }

  @Test("together with a certificate of one's own it is refused, enabled or not")
  func refused() async throws {
    try await withTemporaryFolder { folder in
      for setting in [
        "server.tls.certificate_file=a.pem", #"server.tls.certificates=[{"certificate_file":"a","key_file":"b"}]"#,
      ] {
        let (status, tool) = try await Tool.run(
          ["serve", "--dev-tls", "--set", "data.directory=\(folder.path)/data", "--set", setting], in: folder)
        #expect(status == 1)
        #expect(tool.errors.contains("--dev-tls makes a certificate for development, and server.tls names others"))
      }
      #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/data/dev-tls.key"))
    }
  }

  @Test("several certificates and clients' certificates are set as docs/OPERATIONS.md says")
  func settings() async throws {
    let authority = try TestAuthority()
    let first = try authority.sign("DNS:localhost,IP:127.0.0.1", file: "first")
    let second = try authority.sign("DNS:*.chat.example", file: "second")
    let guest = try authority.sign("DNS:guest", for: .clientAuth, file: "guest")
    try authority.answer(second, to: authority.path("second.der"))
    let configuration = """
      {"server": {"tls": {"enabled": true, "client_ca_file": "\(authority.certificatePath)", "certificates": [
        {"certificate_file": "\(first.certificatePath)", "key_file": "\(first.keyPath)"},
        {"certificate_file": "\(second.certificatePath)", "key_file": "\(second.keyPath)",
         "ocsp_file": "\(authority.path("second.der"))"}]}}}
      """
    try await withServer(configuration) { server in
      let trusted = ["--cacert", authority.certificatePath]
      let shown = trusted + ["--cert", guest.certificatePath, "--key", guest.keyPath]
      #expect(try await health(server, shown).output.contains(#"{"status":"ok"}"#))
      #expect(try await !health(server, trusted).output.contains(#"{"status":"ok"}"#))
      #expect(await eventually { server.errorOutput.contains("cause=client_certificate_missing") })
      let port = try #require(URL(string: server.endpoints.websocket)?.port)
      let named = try await Command(
        named: "curl",
        ["--silent", "--show-error", "--cert-status", "--resolve", "eu.chat.example:\(port):127.0.0.1"] + shown
          + ["https://eu.chat.example:\(port)/health"]
      ).run(deadline: .seconds(60))
      #expect(named.output.contains(#"{"status":"ok"}"#), "\(named.output)")
    }
  }
}
