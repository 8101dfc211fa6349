import Foundation
import TestSupport
import Testing

/// The shipped examples of proxies, in the real ones: only ports and files are others.
@Suite("Behind a proxy", .skipUnlessStrict(.proxies, isThere: ProxyProgram.areThere), .ownThread)
struct BehindProxyTests {
  private static let secret = "conformance-secret-of-more-than-thirty-two-bytes"

  private static func configuration(_ server: String) -> String {
    """
    {
      "server": {"trusted_proxies": ["127.0.0.1"], "address": {"limit_loopback": true, "max_connections": 1}\(server)},
      "token": {"hmac_secret": "\(secret)"},
      "channel": {"without_namespace": {
        "allow_subscribe_for_client": true, "allow_publish_for_subscriber": true, "allow_history_for_subscriber": true,
        "history_size": 10, "history_ttl": "1m"}}
    }
    """
  }

  @Test("With config/nginx.conf clients reach the server over TLS, and count by their own addresses")
  func nginx() async throws {
    try await withServer(Self.configuration("")) { server in
      let certificate = try TestCertificate()
      let port = try #require(URL(string: server.endpoints.websocket)?.port)
      try await withTemporaryFolder { folder in
        try await ProxyProgram.nginx.run(
          in: folder,
          configuration: { own in
            let example = try Self.example("nginx.conf").replacingOnly("127.0.0.1:8000", with: "127.0.0.1:\(port)")
              .replacingOnly("listen 443", with: "listen 127.0.0.1:\(own)")
              .replacingOnly("/etc/fanfare/tls/fullchain.pem", with: certificate.chainPath)
              .replacingOnly("/etc/fanfare/tls/privkey.pem", with: certificate.keyPath)
            return ProxyProgram.nginxConfiguration(example, in: folder)
          }
        ) { try await Self.check(server, through: $0, certificate, refusals: "429") }
      }
    }
  }

  @Test("With config/haproxy.cfg clients reach the server over TLS, and count by their own addresses")
  func haproxy() async throws {
    try await withServer(Self.configuration(#", "proxy_protocol": true"#)) { server in
      let certificate = try TestCertificate()
      let port = try #require(URL(string: server.endpoints.websocket)?.port)
      let admin = try #require(URL(string: server.endpoints.admin)?.port)
      try await withTemporaryFolder { folder in
        let both = folder.appendingPathComponent("haproxy.pem")
        let pem = try [certificate.chainPath, certificate.keyPath].map {
          try String(contentsOfFile: $0, encoding: .utf8)
        }
        try pem.joined().write(to: both, atomically: true, encoding: .utf8)
        try await ProxyProgram.haproxy.run(
          in: folder,
          configuration: { own in
            try Self.example("haproxy.cfg").replacingOnly("127.0.0.1:8000", with: "127.0.0.1:\(port)")
              .replacingOnly("port 9000", with: "port \(admin)")
              .replacingOnly("bind :443", with: "bind 127.0.0.1:\(own)")
              .replacingOnly("/etc/fanfare/tls/haproxy.pem", with: both.path)
              // On a machine that is full of other tests a server that is there may be late to say so.
              .replacingOnly("fall 2", with: "fall 100")
              // 50,000 connections take more descriptors than every machine allows a process.
              .replacingOnly("maxconn 50000", with: "maxconn 100")
          }
        ) { try await Self.check(server, through: $0, certificate, refusals: "429 502") }
      }
    }
  }

  private static func check(
    _ server: ServerProcess, through port: UInt16, _ certificate: TestCertificate, refusals: String
  ) async throws {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    let outcome = try await Command(
      interpreter, [PythonEnvironment.shared.scripts.appendingPathComponent("proxied.py").path],
      environment: [
        "SERVER_URL": "wss://127.0.0.1:\(port)/connection/websocket", "TOKEN_SECRET": secret,
        "AUTHORITIES": certificate.chainPath, "SERVER_PID": "\(server.identifier)", "REFUSALS": refusals,
        "PYTHONDONTWRITEBYTECODE": "1",
      ]
    ).run(deadline: .seconds(360))
    #expect(outcome.status == 0, "\(outcome.output)\nThe server's log ends with:\n\(server.errorOutput)")
    #expect(outcome.output.components(separatedBy: "ok: ").count == 6, "\(outcome.output)")
    let refusal = server.errorOutput.split(separator: "\n").first { $0.contains("cause=address_connections") }
    #expect(refusal?.contains("from=127.0.0.2") == true, "\(server.errorOutput)")
  }

  private static func example(_ name: String) throws -> String {
    try String(contentsOf: ServerProcess.repository.appendingPathComponent("config/\(name)"), encoding: .utf8)
  }
}

extension String {
  /// Fails where the text is missing: the example would run with its own ports then.
  fileprivate func replacingOnly(_ text: String, with other: String) throws -> String {
    try #require(contains(text), "the example does not hold \(text)")
    return replacingOccurrences(of: text, with: other)
  }
}
