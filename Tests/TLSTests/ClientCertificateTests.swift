import Foundation
import TLS
import TestSupport
import Testing

@Suite("Clients with certificates", .ownThread)
struct ClientCertificateTests {
  private struct Scene {
    let authority: TestAuthority
    let server: GreetingServer
    let guest: TestAuthority.Signed

    init(isRequired: Bool) throws {
      authority = try TestAuthority()
      let own = try TestCertificate()
      server = try GreetingServer(
        TLSContext.server(
          [own.files], clients: .init(authoritiesPath: authority.certificatePath, isRequired: isRequired)))
      guest = try authority.sign("DNS:guest", for: .clientAuth, file: "guest")
    }

    /// What an `s_client` hears that shows this certificate.
    func isGreeted(_ signed: TestAuthority.Signed?, _ version: String) throws -> Bool {
      let shown = signed.map { ["-cert", $0.certificatePath, "-key", $0.keyPath] } ?? []
      return try server.connect([version] + shown).contains(GreetingServer.greeting)
    }
  }

  @Test(
    "who has a certificate of the authority gets in, nobody else, and the error says why",
    arguments: ["-tls1_2", "-tls1_3"])
  func required(version: String) throws {
    let scene = try Scene(isRequired: true)
    #expect(try scene.isGreeted(scene.guest, version))
    #expect(scene.server.errors.isEmpty)
    #expect(try !scene.isGreeted(nil, version))
    #expect(scene.server.errors == [.clientWithoutCertificate])
    let other = try TestAuthority()
    let stranger = try other.sign("DNS:guest", for: .clientAuth, file: "guest")
    #expect(try !scene.isGreeted(stranger, version))
    let server = try scene.authority.sign("DNS:server", for: .serverAuth, file: "server")
    #expect(try !scene.isGreeted(server, version))
    let why = scene.server.errors.dropFirst().map { error in
      if case .untrustedClient(let detail) = error { detail } else { "\(error)" }
    }
    #expect(why.count == 2 && why[1].contains("purpose"), "\(why)")
    #expect(why.first?.contains("issuer") == true || why.first?.contains("self") == true, "\(why)")
    withExtendedLifetime(other) {}
  }

  @Test(
    "where it is optional, nobody needs one, and a wrong one is refused all the same",
    arguments: ["-tls1_2", "-tls1_3"])
  func optional(version: String) throws {
    let scene = try Scene(isRequired: false)
    #expect(try scene.isGreeted(nil, version))
    #expect(try scene.isGreeted(scene.guest, version))
    #expect(scene.server.errors.isEmpty)
    let other = try TestAuthority()
    let stranger = try other.sign("DNS:guest", for: .clientAuth, file: "guest")
    #expect(try !scene.isGreeted(stranger, version))
    guard case .untrustedClient? = scene.server.errors.first else {
      Issue.record("\(scene.server.errors)")
      return
    }
    withExtendedLifetime(other) {}
  }

  @Test("the authorities are read again with the certificates, and a session of before counts for nothing then")
  func reload() throws {
    let (old, new) = (try TestAuthority(), try TestAuthority())
    let own = try TestCertificate()
    let authorities = own.path("authorities.pem")
    try FileManager.default.copyItem(atPath: old.certificatePath, toPath: authorities)
    let context = try TLSContext.server([own.files], clients: .init(authoritiesPath: authorities, isRequired: true))
    let reloader = CertificateReloader(context)
    let server = try GreetingServer(context)
    let guest = try old.sign("DNS:guest", for: .clientAuth, file: "guest")
    let session = own.path("session.pem")
    let shown = ["-cert", guest.certificatePath, "-key", guest.keyPath]
    #expect(try server.connect(["-sess_out", session] + shown).contains(GreetingServer.greeting))
    #expect(try server.connect(["-sess_in", session] + shown).contains("Reused, TLSv1.3"))
    try Data(contentsOf: URL(fileURLWithPath: new.certificatePath)).write(to: URL(fileURLWithPath: authorities))
    #expect(reloader.reloadIfChanged())
    #expect(try !server.connect(["-sess_in", session] + shown).contains(GreetingServer.greeting))
    try Data("no certificate\n".utf8).write(to: URL(fileURLWithPath: authorities))
    #expect(!reloader.reloadIfChanged())
  }

  @Test("authorities that cannot be read are refused with their path")
  func unreadable() throws {
    let own = try TestCertificate()
    let error = #expect(throws: TLSError.self) {
      try TLSContext.server([own.files], clients: .init(authoritiesPath: own.keyPath, isRequired: true))
    }
    #expect(error?.description.contains(own.keyPath) == true)
  }
}
