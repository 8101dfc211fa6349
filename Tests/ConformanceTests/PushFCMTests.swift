import Foundation
import Push
import TestSupport
import Testing

/// Notifications to FCM, and the tokens that it is told with.
@Suite("Notifications to FCM", .ownThread)
struct PushFCMTests {
  private static func message(_ body: String = "Hello", isWithdrawal: Bool = false) throws -> PushMessage {
    try PushMessage(
      title: "Ada", body: body, data: ["channel": "chat:7"], badge: 3, collapseKey: "chat:7",
      isWithdrawal: isWithdrawal, link: "https://example.com/chat")
  }

  private static func error(_ status: Int, _ name: String, _ code: String?) -> PushServers.Answer {
    let detail = code.map { #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"# }
    return PushServers.Answer(
      status: status, body: #"{"error":{"status":"\#(name)","message":"words","details":[\#(detail ?? "")]}}"#)
  }

  @Test("FCM takes notifications, long ones and withdrawals, all with one access token that was fetched once")
  func messages() async throws {
    let servers = try await PushServers()
    defer { servers.stop() }
    try await servers.withService { service in
      var messages = [
        (try Self.message(), try PushServers.fcm(1)),
        (try Self.message(String(repeating: "\"", count: 5000)), try PushServers.fcm(2)),
        (try Self.message(isWithdrawal: true), try PushServers.fcm(3)),
      ]
      for number in 10..<60 { messages.append((try PushMessage(title: "Ada"), try PushServers.fcm(number))) }
      for outcome in await service.outcomes(messages) {
        #expect(outcome == .taken(id: "projects/an-app-1/messages/0:1"))
      }
    }
    #expect(servers.broken == [] && servers.requests(of: "token").count == 1)
    let requests = servers.requests(of: "fcm")
    func request(_ number: Int) -> PushServers.Request? {
      requests.first { $0.device == PushServers.fcmToken(number) }
    }
    #expect(requests.count == 53 && request(1)?.value("message.notification.body") == "Hello")
    #expect(request(1)?.value("message.webpush.fcm_options.link") == "https://example.com/chat")
    #expect(request(2)?.value("message.notification.body")?.hasSuffix("\"…") == true)
    #expect(request(3)?.value("message.notification") == nil)
    #expect(request(3)?.value("message.data.withdraw") == request(3)?.value("message.android.collapse_key"))
  }

  @Test("What FCM answers ends a device, waits, or is told to the operator")
  func answers() async throws {
    let codes: [(Int, String, String?)] = [
      (404, "NOT_FOUND", "UNREGISTERED"), (403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
      (429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), (503, "UNAVAILABLE", "UNAVAILABLE"),
      (500, "INTERNAL", "INTERNAL"), (401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
      (400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED", nil),
    ]
    let answers = codes.enumerated().map { number, code in
      (PushServers.fcmToken(number), Self.error(code.0, code.1, code.2))
    }
    let servers = try await PushServers(Dictionary(uniqueKeysWithValues: answers))
    defer { servers.stop() }
    try await servers.withService { service in
      var outcomes: [PushOutcome] = []
      for number in codes.indices {
        outcomes.append(await service.outcome(try Self.message(), try PushServers.fcm(number)))
      }
      #expect(outcomes[0] == .forget(reason: "FCM answered 404, UNREGISTERED", since: nil))
      #expect(outcomes[1] == .forget(reason: "FCM answered 403, SENDER_ID_MISMATCH", since: nil))
      #expect(outcomes[2] == .later(afterSeconds: 60, reason: "FCM answered 429, QUOTA_EXCEEDED"))
      #expect(outcomes[3] == .later(afterSeconds: nil, reason: "FCM answered 503, UNAVAILABLE"))
      #expect(outcomes[4] == .later(afterSeconds: nil, reason: "FCM answered 500, INTERNAL"))
      for outcome in outcomes[5...] {
        guard case .refused(let said) = outcome else {
          Issue.record("\(outcome)")
          continue
        }
        #expect(said.hasPrefix("FCM answered"))
      }
    }
    #expect(servers.broken == [] && servers.requests(of: "token").count == 1)
  }

  @Test("An access token that counts no more is fetched anew, and one that is new is not fetched again and again")
  func revoked() async throws {
    var revoking = Self.error(401, "UNAUTHENTICATED", nil)
    revoking.revoke = true
    let servers = try await PushServers([PushServers.fcmToken(1): revoking])
    defer { servers.stop() }
    let clock = PushClock(behind: 300)
    try await servers.withService(clock: clock) { service in
      func outcome(_ number: Int) async throws -> PushOutcome {
        await service.outcome(try Self.message(), try PushServers.fcm(number))
      }
      guard case .taken = try await outcome(2) else {
        Issue.record("the first was not taken")
        return
      }
      clock.advance(100)
      #expect(try await outcome(1) == .later(afterSeconds: 1, reason: "FCM answered 401, UNAUTHENTICATED"))
      guard case .taken = try await outcome(2) else {
        Issue.record("no new token was fetched")
        return
      }
      #expect(servers.requests(of: "token").count == 2)
      guard case .refused(let said) = try await outcome(1) else {
        Issue.record("a new token is fetched anew")
        return
      }
      #expect(said.contains("push.fcm"))
      #expect(try await outcome(2) == .refused(said))
      #expect(servers.requests(of: "token").count == 2)
      clock.advance(60)
      guard case .taken = try await outcome(2) else {
        Issue.record("it is not tried again")
        return
      }
    }
  }

  @Test("A service account whose key was deleted is told to the operator, and Google is not asked for each message")
  func deletedKey() async throws {
    let servers = try await PushServers()
    defer { servers.stop() }
    let other = try TestCertificate.openssl(["genpkey", "-algorithm", "RSA", "-quiet"])
    try await servers.withService(servers.configuration(accountKey: other)) { service in
      for _ in 0..<3 {
        guard case .refused(let said) = await service.outcome(try Self.message(), try PushServers.fcm(1)) else {
          Issue.record("another key is taken")
          return
        }
        #expect(said.contains("invalid_grant") && said.contains("push.fcm.service_account_file"))
      }
    }
    #expect(servers.requests.count == 1 && servers.requests(of: "fcm").isEmpty)
  }
}
