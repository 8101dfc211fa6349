import Foundation
import TestSupport
import Testing

/// What testssl.sh says of a server, as somebody scans it who thinks of letting it onto the internet.
@Suite("testssl.sh", .skipUnlessStrict(.testssl, isThere: TestSSLProgram.executable != nil), .ownThread)
struct TLSScanTests {
  private struct Finding: Decodable {
    var id: String
    var severity: String
    var finding: String
  }

  @Test("finds TLS 1.2 and 1.3 alone, strong ciphers alone, no renegotiation, no compression and no vulnerability")
  func scan() async throws {
    let program = try #require(TestSSLProgram.executable)
    let certificate = try TestCertificate()
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: certificate.keyPath)
    let settings = [
      "server.tls.enabled=true", "server.tls.certificate_file=\(certificate.chainPath)",
      "server.tls.key_file=\(certificate.keyPath)",
    ].flatMap { ["--set", $0] }
    try await withServer("{}", arguments: settings) { server in
      let port = try #require(URL(string: server.endpoints.websocket)?.port)
      let file = certificate.path("findings.json")
      let said = try await Command(
        program,
        [
          "--nodns", "none", "--warnings", "off", "--color", "0", "--quiet", "--jsonfile", file, "--protocols", "--std",
          "--pfs", "--vulnerable", "127.0.0.1:\(port)",
        ]
      ).run(deadline: .seconds(600))
      let findings = try JSONDecoder().decode([Finding].self, from: Data(contentsOf: URL(fileURLWithPath: file)))
      let byID = Dictionary(findings.map { ($0.id, $0.finding) }, uniquingKeysWith: { first, _ in first })
      let bad = findings.filter { !["OK", "INFO"].contains($0.severity) && $0.id != "engine_problem" }
      #expect(bad.isEmpty, "\(bad)\n\(said.output)")
      for id in ["SSLv2", "SSLv3", "TLS1", "TLS1_1"] { #expect(byID[id] == "not offered", "\(id)") }
      #expect(byID["TLS1_2"] == "offered")
      #expect(byID["TLS1_3"]?.hasPrefix("offered") == true)
      #expect(byID["ALPN"] == "http/1.1")
      for id in ["NULL", "aNULL", "EXPORT", "LOW", "3DES_IDEA", "AVERAGE"] {
        #expect(byID["cipherlist_\(id)"] == "not offered", "\(id)")
      }
      for id in ["secure_client_renego", "CRIME_TLS", "ticketbleed", "heartbleed", "ROBOT", "LUCKY13"] {
        #expect(byID[id]?.hasPrefix("not vulnerable") == true, "\(id)")
      }
    }
  }
}
