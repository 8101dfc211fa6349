import Foundation
import Synchronization
import TLS
import TestSupport
import Testing

/// With `openssl s_client`, which keeps a session in a file and comes back with it.
@Suite("Sessions that are resumed", .ownThread)
struct ResumptionTests {
  private final class Clock: Sendable {
    let now = Atomic<Int64>(1_000)
    func pass(_ seconds: Int64) { now.add(seconds, ordering: .relaxed) }
    var clock: TLSClock {
      TLSClock(wall: TLSClock.system.wall, uptime: { self.now.load(ordering: .relaxed) })
    }
  }

  enum Version: String, CaseIterable, Sendable {
    case tls12 = "-tls1_2"
    case tls13 = "-tls1_3"
  }

  /// A client that comes again and again.
  private struct Client {
    let server: GreetingServer
    let version: Version
    /// The file of its session.
    let session: String
    var extra: [String] = []

    /// Connects with the session, if there is one, and keeps what comes of it.
    ///
    /// - Returns: whether the server has resumed it; nil where there was no greeting.
    func comes() throws -> Bool? {
      let hasSession = FileManager.default.fileExists(atPath: session)
      let said = try server.connect(
        [version.rawValue, "-sess_out", session] + (hasSession ? ["-sess_in", session] : []) + extra)
      guard said.contains(GreetingServer.greeting) else {
        Issue.record("no greeting: \(said)")
        return nil
      }
      let (isNew, isReused) = (said.contains("New, TLSv1."), said.contains("Reused, TLSv1."))
      guard isNew != isReused else {
        Issue.record("neither new nor reused: \(said)")
        return nil
      }
      return isReused
    }
  }

  @Test(
    "the second connection is resumed, and so is the next; by a key that no longer seals as well",
    arguments: Version.allCases)
  func resumed(version: Version) throws {
    let (certificate, clock) = (try TestCertificate(), Clock())
    let server = try GreetingServer(TLSContext.server([certificate.files], clock: clock.clock))
    let client = Client(server: server, version: version, session: certificate.path("session.pem"))
    #expect(try client.comes() == false)
    #expect(try client.comes() == true)
    #expect(try client.comes() == true)
    clock.pass(TicketKeys.sealingSeconds + 1)
    #expect(try client.comes() == true)
    // What it has got then is sealed with the next key, and lasts longer than the first would. Of TLS 1.2 s_client
    // keeps what the first handshake gave alone.
    clock.pass(TicketKeys.lifetimeSeconds - 1)
    #expect(try client.comes() == (version == .tls13))
    #expect(server.takenOver == Array(repeating: version == .tls13, count: 5))
  }

  @Test("a ticket whose key is forgotten begins a full handshake", arguments: Version.allCases)
  func forgotten(version: Version) throws {
    let (certificate, clock) = (try TestCertificate(), Clock())
    let server = try GreetingServer(TLSContext.server([certificate.files], clock: clock.clock))
    let client = Client(server: server, version: version, session: certificate.path("session.pem"))
    #expect(try client.comes() == false)
    clock.pass(TicketKeys.sealingSeconds + TicketKeys.lifetimeSeconds)
    #expect(try client.comes() == false)
    #expect(try client.comes() == true)
  }

  @Test("with a new certificate everybody shakes hands in full", arguments: Version.allCases)
  func reloaded(version: Version) throws {
    let certificate = try TestCertificate()
    let context = try TLSContext.server(certificate.files)
    let server = try GreetingServer(context)
    let client = Client(server: server, version: version, session: certificate.path("session.pem"))
    #expect(try client.comes() == false)
    try context.reload()
    #expect(try client.comes() == false)
    #expect(try client.comes() == true)
  }

  @Test("a client with a certificate resumes, but gets no ticket for that: in the end it shows its certificate again")
  func withCertificate() throws {
    let authority = try TestAuthority()
    let signed = try authority.sign("DNS:localhost", file: "server")
    let guest = try authority.sign("DNS:guest", for: .clientAuth, file: "guest")
    let server = try GreetingServer(
      TLSContext.server(
        [.init(chainPath: signed.certificatePath, keyPath: signed.keyPath)],
        clients: .init(authoritiesPath: authority.certificatePath, isRequired: true)))
    let session = authority.path("session.pem")
    let client = Client(
      server: server, version: .tls13, session: session, extra: ["-cert", guest.certificatePath, "-key", guest.keyPath])
    #expect(try client.comes() == false)
    let first = try Data(contentsOf: URL(fileURLWithPath: session))
    #expect(try client.comes() == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: session)) == first)
    #expect(server.takenOver == [true, true])
    #expect(server.errors.isEmpty)
  }

  @Test("data in the first flight, which somebody could send again, is not taken")
  func earlyData() throws {
    let certificate = try TestCertificate()
    let server = try GreetingServer(TLSContext.server(certificate.files))
    let session = certificate.path("session.pem")
    _ = try server.connect(["-tls1_3", "-sess_out", session])
    let early = certificate.path("early")
    try Data("GET / HTTP/1.1\r\n\r\n".utf8).write(to: URL(fileURLWithPath: early))
    let said = try server.connect(["-tls1_3", "-sess_in", session, "-early_data", early])
    #expect(said.contains("Early data was not sent") && said.contains("Reused, TLSv1.3"), "\(said)")
  }
}
