import Foundation
import TLS
import TestSupport
import Testing

@Suite("TLS certificates", .ownThread)
struct TLSContextTests {
  @Test("files that cannot be used are refused with the path and what to give instead")
  func unusable() throws {
    let certificate = try TestCertificate()
    let other = try TestCertificate()
    let files = certificate.files
    #expect(throws: TLSError.keyDoesNotMatch(certificatePath: files.chainPath, keyPath: other.files.keyPath)) {
      try TLSContext.server(.init(chainPath: files.chainPath, keyPath: other.files.keyPath))
    }
    for wrong in ["/nonexistent/chain.pem", files.keyPath] {
      let error = #expect(throws: TLSError.self) {
        try TLSContext.server(.init(chainPath: wrong, keyPath: files.keyPath))
      }
      #expect(error?.description.contains(wrong) == true)
    }
    let error = #expect(throws: TLSError.self) {
      try TLSContext.server(.init(chainPath: files.chainPath, keyPath: files.chainPath))
    }
    guard case .cannotReadKey? = error else {
      Issue.record("a certificate was taken for a key: \(String(describing: error))")
      return
    }
  }

  @Test("a key with a pass phrase is refused rather than asked for on the terminal")
  func passPhrase() throws {
    let certificate = try TestCertificate()
    let locked = certificate.path("locked.pem")
    _ = try TestCertificate.openssl(
      ["pkcs8", "-topk8", "-in", certificate.files.keyPath, "-out", locked, "-passout", "pass:secret"])
    let error = #expect(throws: TLSError.self) {
      try TLSContext.server(.init(chainPath: certificate.chainPath, keyPath: locked))
    }
    guard case .cannotReadKey? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  /// True where a client that trusts only `authority` accepts what the context serves.
  private func isServed(_ authority: String, by context: TLSContext, name: String) throws -> Bool {
    let server = try TLSPair.Side(context.makeServerHandler())
    let client = try TLSPair.Side(
      TLSContext.client(trust: .authorities(path: authority)).makeClientHandler(serverName: name))
    let pair = TLSPair(server: server, client: client)
    defer { pair.finish() }
    try pair.pump()
    return client.seen.handshakes.count == 1
  }

  @Test("a changed certificate is served to the next connection, and one under way goes on")
  func reload() throws {
    let certificate = try TestCertificate(name: "old.example")
    let context = try TLSContext.server(certificate.files)
    let reloader = CertificateReloader(context)
    let old = certificate.path("old.pem")
    try FileManager.default.copyItem(atPath: certificate.chainPath, toPath: old)
    let underWay = TLSPair(
      server: try .init(context.makeServerHandler()),
      client: try .init(TLSContext.client(trust: .insecure).makeClientHandler(serverName: "old.example")))
    defer { underWay.finish() }
    try underWay.pump()

    #expect(!reloader.reloadIfChanged())
    try certificate.make(name: "new.example")
    #expect(try isServed(old, by: context, name: "old.example"))
    #expect(reloader.reloadIfChanged())
    #expect(!reloader.reloadIfChanged())
    #expect(try isServed(certificate.chainPath, by: context, name: "new.example"))
    #expect(try !isServed(old, by: context, name: "old.example"))

    underWay.client.write("still here")
    try underWay.pump()
    #expect(underWay.server.seen.text == "still here")
  }

  @Test("a broken new certificate leaves the old one in use, until a good one comes")
  func brokenReload() throws {
    let certificate = try TestCertificate()
    let context = try TLSContext.server(certificate.files)
    let reloader = CertificateReloader(context)
    let (old, whole) = (certificate.path("old.pem"), try Data(contentsOf: URL(fileURLWithPath: certificate.chainPath)))
    try whole.write(to: URL(fileURLWithPath: old))
    try whole.prefix(100).write(to: URL(fileURLWithPath: certificate.chainPath))
    #expect(!reloader.reloadIfChanged())
    #expect(!reloader.reload())
    #expect(try isServed(old, by: context, name: "localhost"))
    try whole.write(to: URL(fileURLWithPath: certificate.chainPath))
    #expect(reloader.reloadIfChanged())
  }

  @Test("another implementation's client talks to the server (openssl s_client), with TLS 1.2, 1.3, and not with less")
  func commandLineClient() throws {
    let certificate = try TestCertificate()
    let context = try TLSContext.server(certificate.files)
    let server = try GreetingServer(context)
    for (version, works) in [("-tls1_2", true), ("-tls1_3", true), ("-tls1_1", false)] {
      let said = try server.connect([
        version, "-CAfile", certificate.chainPath, "-verify_return_error", "-servername", "localhost", "-alpn",
        "http/1.1",
      ])
      #expect(said.contains(GreetingServer.greeting) == works, "\(version): \(said)")
      #expect(said.contains("ALPN protocol: http/1.1") == works)
    }
  }
}
