import Foundation
import TLS
import TestSupport
import Testing

/// What the server agrees to, as another implementation's client sees it.
@Suite("What a server offers", .ownThread)
struct ServerOfferTests {
  private func serve() throws -> (GreetingServer, TestCertificate) {
    let certificate = try TestCertificate()
    return (try GreetingServer(TLSContext.server(certificate.files)), certificate)
  }

  @Test(
    "a client that offers other protocols alone is refused with no_application_protocol; one that offers none is not")
  func applicationProtocol() throws {
    let (server, certificate) = try serve()
    defer { withExtendedLifetime(certificate) {} }
    for version in ["-tls1_2", "-tls1_3"] {
      let refused = try server.connect([version, "-alpn", "h2,spdy/3"])
      #expect(!refused.contains(GreetingServer.greeting))
      #expect(refused.contains("no application protocol"), "\(refused)")
      for offer in [["-alpn", "h2,http/1.1"], ["-alpn", "http/1.1"]] {
        let said = try server.connect([version] + offer)
        #expect(said.contains(GreetingServer.greeting) && said.contains("ALPN protocol: http/1.1"), "\(said)")
      }
      let silent = try server.connect([version])
      #expect(silent.contains(GreetingServer.greeting) && silent.contains("No ALPN negotiated"), "\(silent)")
    }
    #expect(server.errors.count == 2)
  }

  @Test("nothing older than TLS 1.2 is spoken, not even with a client that takes any cipher")
  func versions() throws {
    let (server, certificate) = try serve()
    defer { withExtendedLifetime(certificate) {} }
    for version in ["-tls1", "-tls1_1"] {
      let said = try server.connect([version, "-cipher", "ALL:@SECLEVEL=0"])
      #expect(!said.contains(GreetingServer.greeting))
      #expect(said.contains("protocol version"), "\(said)")
    }
  }

  @Test("in TLS 1.2 every cipher has forward secrecy and authenticated encryption")
  func ciphers() throws {
    let (server, certificate) = try serve()
    defer { withExtendedLifetime(certificate) {} }
    let all = try TestCertificate.openssl(["ciphers", "-tls1_2", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"])
      .trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ":").map { String($0) }
      .filter { !$0.hasPrefix("TLS_") && !$0.contains("PSK") && !$0.contains("SRP") }
    #expect(all.count > 40, "\(all)")
    var taken: [String] = []
    for cipher in all
    where try server.connect(["-tls1_2", "-cipher", "\(cipher):@SECLEVEL=0"]).contains(GreetingServer.greeting) {
      taken.append(cipher)
    }
    // With a key on a curve; those with RSA are the same otherwise.
    #expect(
      taken.sorted() == [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305",
      ])
  }

  @Test("nothing is compressed, and a client that wants to renegotiate is turned away")
  func renegotiation() throws {
    let certificate = try TestCertificate()
    let server = try GreetingServer(TLSContext.server(certificate.files), closes: false)
    let said = try server.connect(["-tls1_2"], input: "R\n", waits: false)
    #expect(said.contains("Compression: NONE"))
    #expect(said.contains("RENEGOTIATING"))
    #expect(said.contains("no renegotiation"), "\(said)")
  }
}
