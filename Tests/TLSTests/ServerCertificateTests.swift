import Foundation
import Logging
import Synchronization
import TLS
import TestSupport
import Testing

@Suite("Several certificates, and what is stapled to them", .ownThread)
struct ServerCertificateTests {
  private func files(_ signed: TestAuthority.Signed, response: String? = nil) -> TLSContext.CertificateFiles {
    .init(chainPath: signed.certificatePath, keyPath: signed.keyPath, responsePath: response)
  }

  /// The subject of the certificate that a client gets who asks for the name.
  private func subject(_ server: GreetingServer, _ name: String?) throws -> String? {
    let said = try server.connect(name.map { ["-servername", $0] } ?? ["-noservername"])
    #expect(said.contains(GreetingServer.greeting))
    return said.split(separator: "\n").first { $0.hasPrefix("subject=") }?
      .split(separator: "=").last.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test("a client gets the certificate with the name that it asks for, else the first; a reload is for all of them")
  func byName() throws {
    let authority = try TestAuthority()
    let first = try authority.sign("DNS:a.example", file: "first")
    let second = try authority.sign("DNS:b.example,DNS:*.b.example", file: "second")
    let context = try TLSContext.server([files(first), files(second)])
    let reloader = CertificateReloader(context)
    let server = try GreetingServer(context)
    for (name, expected) in [
      ("a.example", "first"), ("b.example", "second"), ("B.EXAMPLE", "second"), ("x.b.example", "second"),
      ("y.x.b.example", "first"), ("other.example", "first"), (nil, "first"),
    ] {
      for version in ["-tls1_2", "-tls1_3"] {
        let said = try server.connect([version] + (name.map { ["-servername", $0] } ?? ["-noservername"]))
        #expect(said.contains("CN = \(expected)"), "\(name ?? "nothing") \(version): \(said)")
      }
    }
    let third = try authority.sign("DNS:b.example", file: "third")
    for (new, old) in [(third.keyPath, second.keyPath), (third.certificatePath, second.certificatePath)] {
      try Data(contentsOf: URL(fileURLWithPath: new)).write(to: URL(fileURLWithPath: old))
    }
    #expect(reloader.reloadIfChanged())
    #expect(try subject(server, "b.example") == "third")
    #expect(try subject(server, "x.b.example") == "first")
    // One of them broken: all old ones stay.
    try Data().write(to: URL(fileURLWithPath: first.certificatePath))
    #expect(!reloader.reloadIfChanged())
    #expect(try subject(server, "a.example") == "first")
    #expect(try subject(server, "b.example") == "third")
  }

  @Test("a certificate that no client could get is refused, and one for any name may be without names")
  func nameless() throws {
    let authority = try TestAuthority()
    let named = try authority.sign("DNS:a.example", file: "named")
    let nameless = try authority.sign("IP:127.0.0.1", file: "nameless")
    #expect(throws: TLSError.namelessCertificate(path: nameless.certificatePath)) {
      try TLSContext.server([files(named), files(nameless)])
    }
    #expect(throws: Never.self) { try TLSContext.server([files(nameless), files(named)]) }
  }

  // MARK: Stapled responses

  /// What was logged, in parts.
  private final class Log {
    private let lines = LogLines()
    private var taken = 0
    var logger: Logger { Logger(label: "test") { [lines] _ in lines } }

    /// What was logged since the last call.
    func take() -> [String] {
      defer { taken = lines.all.count }
      return Array(lines.all[taken...])
    }
  }

  private final class Wall: Sendable {
    let later = Atomic<Int64>(0)
    var clock: TLSClock {
      TLSClock(
        wall: { TLSClock.system.wall() + self.later.load(ordering: .relaxed) }, uptime: TLSClock.system.uptime)
    }
  }

  private func isStapled(_ server: GreetingServer) throws -> Bool {
    let said = try ["-tls1_2", "-tls1_3"].map { try server.connect([$0, "-status", "-servername", "a.example"]) }
    #expect(said.allSatisfy { $0.contains(GreetingServer.greeting) })
    let stapled = said.map { $0.contains("OCSP Response Status: successful (0x0)") }
    #expect(said.map { $0.contains("OCSP response: no response sent") } == stapled.map { !$0 }, "\(said)")
    #expect(stapled[0] == stapled[1])
    return stapled[0]
  }

  @Test("a good response is stapled until it expires, a new one is found, and each change is logged once")
  func stapled() throws {
    let (authority, wall, log) = (try TestAuthority(), Wall(), Log())
    let signed = try authority.sign("DNS:a.example", file: "a")
    let response = authority.path("response.der")
    let context = try TLSContext.server([files(signed, response: response)], clock: wall.clock)
    let reloader = CertificateReloader(context, logger: log.logger)
    let server = try GreetingServer(context)
    #expect(try !isStapled(server))
    #expect(log.take().map { $0.hasPrefix("error the OCSP response is not stapled: it cannot be read") } == [true])

    try authority.answer(signed, to: response)
    #expect(!reloader.reloadIfChanged())
    #expect(try isStapled(server))
    #expect(log.take() == ["notice the OCSP response is good again, and stapled file=\(response)"])
    // Who does not ask for one gets none.
    #expect(try !server.connect(["-servername", "a.example"]).contains("OCSP Response Status"))

    wall.later.store(2 * 86_400, ordering: .relaxed)
    #expect(try !isStapled(server))
    reloader.reloadIfChanged()
    reloader.reloadIfChanged()
    #expect(log.take().map { $0.contains("it has expired") } == [true])
    wall.later.store(-86_400, ordering: .relaxed)
    #expect(try !isStapled(server))
    reloader.reloadIfChanged()
    #expect(log.take().map { $0.contains("it does not hold yet") } == [true])
  }

  @Test("a session that began before goes on being resumed when only the response changes")
  func keepsTickets() throws {
    let authority = try TestAuthority()
    let signed = try authority.sign("DNS:a.example", file: "a")
    let response = authority.path("response.der")
    let context = try TLSContext.server([files(signed, response: response)])
    let reloader = CertificateReloader(context, logger: Log().logger)
    let server = try GreetingServer(context)
    let session = authority.path("session.pem")
    _ = try server.connect(["-tls1_2", "-sess_out", session])
    try authority.answer(signed, to: response)
    reloader.reloadIfChanged()
    #expect(try server.connect(["-tls1_2", "-sess_in", session]).contains("Reused, TLSv1.2"))
  }

  @Test("nothing but a good response about this certificate, signed by who issued it, is stapled")
  func unusable() throws {
    let (authority, other) = (try TestAuthority(), try TestAuthority())
    let signed = try authority.sign("DNS:a.example", file: "a")
    let response = authority.path("response.der")
    func why(_ make: () throws -> Void) throws -> String {
      try? FileManager.default.removeItem(atPath: response)
      try make()
      let log = Log()
      let context = try TLSContext.server([files(signed, response: response)])
      _ = CertificateReloader(context, logger: log.logger)
      #expect(try !isStapled(GreetingServer(context)))
      return log.take().joined()
    }
    #expect(try why { try authority.answer(signed, isRevoked: true, to: response) }.contains("revoked"))
    #expect(
      try why { try authority.answer(authority.sign("DNS:b.example", file: "b"), to: response) }
        .contains("about another certificate"))
    #expect(
      try why {
        // The same serial number, and another authority's signature.
        try FileManager.default.copyItem(atPath: signed.certificatePath, toPath: other.path("a.pem"))
        try other.answer(.init(certificatePath: other.path("a.pem"), keyPath: ""), to: response)
      }.contains("not signed by who issued"))
    #expect(try why { try authority.answer(signed, to: response, cutBy: 1) }.contains("cannot be read"))
    #expect(try why { try write([UInt8](repeating: 0x30, count: 70_000), to: response) }.contains("is larger than"))
    #expect(try why { try write([0x30, 0x03, 0x0A, 0x01, 0x06], to: response) }.contains("holds no answer"))
    #expect(try why {}.contains("cannot be read"))
  }

  private func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
}

extension TestAuthority {
  /// Writes a response without its last bytes.
  fileprivate func answer(_ signed: Signed, to file: String, cutBy count: Int) throws {
    try answer(signed, to: file)
    let whole = try Data(contentsOf: URL(fileURLWithPath: file))
    try whole.dropLast(count).write(to: URL(fileURLWithPath: file))
  }
}
