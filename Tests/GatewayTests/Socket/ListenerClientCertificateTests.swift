import TLS
import TestSupport
import Testing

@testable import Gateway

@Suite("The public port with clients' certificates", .ownThread)
struct ListenerClientCertificateTests {
  /// What a client gets that asks for `/health` and shows this certificate.
  private func health(_ harness: ListenerHarness, _ shown: TestAuthority.Signed?, _ version: String) throws -> String {
    try TestCertificate.openssl(
      ["s_client", "-connect", "127.0.0.1:\(harness.port)", version, "-ign_eof", "-quiet"]
        + (shown.map { ["-cert", $0.certificatePath, "-key", $0.keyPath] } ?? []),
      input: "GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
  }

  @Test(
    "who shows none, or a stranger's, gets no answer; the log and the metric say which",
    arguments: ["-tls1_2", "-tls1_3"])
  func required(version: String) throws {
    let (authority, certificate) = (try TestAuthority(), try TestCertificate())
    let guest = try authority.sign("DNS:guest", for: .clientAuth, file: "guest")
    let other = try TestAuthority()
    let stranger = try other.sign("DNS:guest", for: .clientAuth, file: "guest")
    let server = try TLSContext.server(
      [.init(chainPath: certificate.chainPath, keyPath: certificate.keyPath)],
      clients: .init(authoritiesPath: authority.certificatePath, isRequired: true))
    defer { withExtendedLifetime((authority, other, certificate)) {} }
    try withListener({ $0.tls = server }) { harness throws in
      let ok = #"{"status":"ok"}"#
      #expect(try health(harness, guest, version).contains(ok))
      #expect(harness.listener.counters.refusedConnections == 0)
      #expect(try !health(harness, nil, version).contains(ok))
      #expect(harness.refusals.count(.missingCertificate) == 1)
      #expect(try !health(harness, stranger, version).contains(ok))
      #expect(harness.refusals.count(.refusedCertificate) == 1)
      // Any other error of TLS is nobody's refusal.
      _ = try TestCertificate.openssl(["s_client", "-connect", "127.0.0.1:\(harness.port)", "-alpn", "h2"])
      #expect(harness.listener.counters.refusedConnections == 2)
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
    }
  }
}
