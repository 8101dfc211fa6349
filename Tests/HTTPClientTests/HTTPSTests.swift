import Foundation
import TestSupport
import Testing

@testable import HTTPClient

/// Calls of a real web server over TLS.
@Suite("Calls over HTTPS", .skipUnlessStrict(.proxies, isThere: ProxyProgram.areThere), .ownThread)
struct HTTPSTests {
  /// nginx with a certificate for `localhost`, which answers with the protocol that it was spoken to in, and with the
  /// number of its connection.
  private func withServer(
    listen options: String, name: String = "localhost", hanging: UInt16 = 1,
    _ body: (String, TestCertificate) async throws -> Void
  ) async throws {
    let certificate = try TestCertificate(name: name)
    try await withTemporaryFolder { folder in
      let http = { (port: UInt16) in
        """
          server {
            listen 127.0.0.1:\(port) ssl \(options);
            ssl_certificate \(certificate.chainPath);
            ssl_certificate_key \(certificate.keyPath);
            location / { return 200 "$server_protocol $connection"; }
            location /hang { proxy_pass http://127.0.0.1:\(hanging); }
          }
        """
      }
      try await ProxyProgram.nginx.run(
        in: folder, configuration: { ProxyProgram.nginxConfiguration(http($0), in: folder) }
      ) { try await body("https://localhost:\($0)/", certificate) }
    }
  }

  private func limits(_ certificate: TestCertificate) -> HTTPClient.Limits {
    HTTPClient.Limits(
      connections: 8, connectionsPerHost: 4, allowsPrivateAddresses: true,
      certificateAuthorities: certificate.chainPath)
  }

  @Test("A server that speaks HTTP/2 is spoken to in it, and many calls share a connection")
  func http2() async throws {
    try await withServer(listen: "http2") { url, certificate in
      try await withClient(limits(certificate)) { client in
        let outcomes = Outcomes()
        for _ in 0..<100 { client.send(.post(url)) { outcomes.add($0) } }
        #expect(await eventually { outcomes.all.count == 100 })
        let bodies = try outcomes.all.map { String(decoding: try $0.get().body, as: UTF8.self) }
        #expect(bodies.allSatisfy { $0.hasPrefix("HTTP/2.0 ") }, "\(bodies.first ?? "none")")
        #expect(Set(bodies).count <= 4)
      }
    }
  }

  @Test("A server without HTTP/2 is spoken to in HTTP/1.1")
  func http1() async throws {
    try await withServer(listen: "") { url, certificate in
      try await withClient(limits(certificate)) { client in
        for _ in 0..<3 {
          let reply = try await client.reply(to: .post(url))
          #expect(String(decoding: reply.body, as: UTF8.self).hasPrefix("HTTP/1.1 "))
        }
      }
    }
  }

  @Test(
    "A call that hangs over TLS keeps no other call waiting, whether they share a connection or not",
    arguments: ["", "http2"])
  func hangingCall(options: String) async throws {
    let hanging = try ScriptedServer { $0.waitForEnd() }
    defer { hanging.stop() }
    try await withServer(listen: options, hanging: hanging.port) { url, certificate in
      try await withClient(limits(certificate)) { client in
        let outcomes = Outcomes()
        for _ in 0..<2 { client.send(.post(url + "hang")) { outcomes.add($0) } }
        #expect(await eventually { hanging.openNow == 2 })
        #expect(await client.status(of: .post(url)) == 200)
        #expect(outcomes.all.isEmpty)
      }
    }
  }

  @Test("A certificate that nobody vouches for is refused")
  func unknownAuthority() async throws {
    try await withServer(listen: "http2") { url, _ in
      try await withClient { client in
        guard case .unreachable(let reason)? = await client.error(of: .post(url)) else {
          Issue.record("the call went through")
          return
        }
        #expect(reason.contains("certificate"), "\(reason)")
      }
    }
  }

  @Test("A certificate for another name is refused")
  func otherName() async throws {
    try await withServer(listen: "http2", name: "other.example") { url, certificate in
      try await withClient(limits(certificate)) { client in
        guard case .unreachable(let reason)? = await client.error(of: .post(url)) else {
          Issue.record("the call went through")
          return
        }
        #expect(reason.contains("name"), "\(reason)")
      }
    }
  }

  @Test("A file of authorities that is not there is told in the reason")
  func missingAuthorities() async throws {
    try await withServer(listen: "") { url, _ in
      let limits = HTTPClient.Limits(allowsPrivateAddresses: true, certificateAuthorities: "/nowhere/authorities.pem")
      try await withClient(limits) { client in
        guard case .unreachable(let reason)? = await client.error(of: .post(url)) else {
          Issue.record("the call went through")
          return
        }
        #expect(reason.contains("/nowhere/authorities.pem"), "\(reason)")
      }
    }
  }

  @Test("TLS spoken to a server without it ends with a reason, and so does HTTP to one with it")
  func mixedUp() async throws {
    let plain = try ScriptedServer { line in
      line.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      line.waitForEnd()
    }
    defer { plain.stop() }
    try await withClient { client in
      guard case .unreachable? = await client.error(of: .post("https://127.0.0.1:\(plain.port)/")) else {
        Issue.record("TLS was spoken to a server without it")
        return
      }
    }
    try await withServer(listen: "") { url, _ in
      try await withClient { client in
        let status = await client.status(of: .post(url.replacingOccurrences(of: "https:", with: "http:")))
        #expect(status == 400)
      }
    }
  }
}
