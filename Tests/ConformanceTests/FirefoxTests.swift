import Foundation
import Push
import TestSupport
import Testing

/// Notifications in a browser that people use: subscribed by the page, and shown by the service worker, of docs/PUSH.md.
@Suite("Notifications in Firefox", .skipUnlessStrict(.firefox, isThere: FirefoxProgram.executable != nil), .ownThread)
struct FirefoxTests {
  private static let key = "key-of-the-server-api-for-notifications"
  private static let secret = "conformance-secret-of-more-than-thirty-two-bytes"

  @Test("What push_send sends is shown, replaced and withdrawn; a payload of another browser's shows nothing")
  func pushSend() async throws { try await run("firefox_push") }

  @Test("A request that no device acknowledges is shown, without its text, and withdrawn once it is read")
  func clique() async throws { try await run("firefox_clique", push: #", "notifications": true, "delay": "1s""#) }

  /// - Parameter more: members of the configuration, each with a comma before it.
  private func run(_ script: String, _ more: String = "", push: String = "") async throws {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    let firefox = try #require(FirefoxProgram.executable, "there is no Firefox; install firefox-esr")
    let (certificate, vapidKey) = (try TestCertificate(), try VAPIDKey())
    let configuration = """
      {
        "admin": {"api": {"key": "\(Self.key)"}}, "token": {"hmac_secret": "\(Self.secret)"},
        "push": {
          "web": {
            "vapid_private_key": "\(try vapidKey.privateText())", "subject": "mailto:push@example.com",
            "page": "https://example.com/chat", "allow_private_addresses": true
          },
          "certificate_authorities": "\(certificate.chainPath)"\(push)
        }\(more)
      }
      """
    try await withServer(configuration) { server in
      try await withTemporaryFolder { folder in
        let command = Command(
          interpreter, [PythonEnvironment.shared.scripts.appendingPathComponent("\(script).py").path],
          environment: [
            "SERVER_URL": server.endpoints.websocket, "ADMIN_URL": server.endpoints.admin, "API_KEY": Self.key,
            "TOKEN_SECRET": Self.secret, "WIRE_FORMAT": "json", "PYTHONDONTWRITEBYTECODE": "1",
            "CERTIFICATE": certificate.chainPath, "CERTIFICATE_KEY": certificate.keyPath,
            "VAPID_PUBLIC_KEY": vapidKey.publicText, "FIREFOX": firefox.path,
            "FOLDER": folder.path,
            "PUSH_PAGE": ServerProcess.repository.appendingPathComponent("docs/PUSH.md").path,
          ])
        let outcome = try await command.run(deadline: .seconds(360))
        #expect(outcome.status == 0, "\(outcome.output)\nThe server's log ends with:\n\(server.errorOutput)")
        // A script that ended early without a word would pass otherwise.
        #expect(outcome.output.contains("ok: "))
      }
    }
  }
}
