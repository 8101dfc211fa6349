import HTTPClient
import Testing

@testable import Push

/// What an outcome is, without its texts.
enum OutcomeKind: Equatable {
  case taken
  case forget(since: Int64?)
  case later(Int64?)
  case tooLarge
  case refused
  case failed
  case unanswered
  case tokenExpired

  init(_ outcome: PushOutcome) {
    switch outcome {
    case .taken: self = .taken
    case .forget(_, let since): self = .forget(since: since)
    case .later(let seconds, _): self = .later(seconds)
    case .tooLarge: self = .tooLarge
    case .refused: self = .refused
    case .failed: self = .failed
    case .unanswered: self = .unanswered
    }
  }

  init(_ verdict: PushVerdict) {
    switch verdict {
    case .outcome(let outcome): self.init(outcome)
    case .tokenExpired: self = .tokenExpired
    }
  }
}

@Suite("What services answer, and what it means")
struct AnswerTests {
  private static func reply(_ status: Int, _ body: String = "", retryAfter: Int64? = nil) -> HTTPReply {
    var reply = HTTPReply(status: status, body: Array(body.utf8))
    reply.retryAfterSeconds = retryAfter
    return reply
  }

  // MARK: Web Push

  @Test(
    "A push service for browsers",
    arguments: [
      (200, nil, .taken), (201, nil, .taken), (202, nil, .taken), (204, nil, .taken),
      (301, nil, .refused), (307, nil, .refused),
      (400, nil, .refused), (401, nil, .refused), (403, nil, .refused), (405, nil, .refused), (415, nil, .refused),
      (404, nil, .forget(since: nil)), (410, nil, .forget(since: nil)),
      (406, nil, .later(nil)), (408, nil, .failed), (413, nil, .tooLarge),
      (429, nil, .later(nil)), (429, 17, .later(17)), (429, 10_000_000, .later(86_400)),
      (500, nil, .later(nil)), (502, nil, .later(nil)), (503, 120, .later(120)), (504, nil, .later(nil)),
    ] as [(Int, Int64?, OutcomeKind)])
  func webPush(_ status: Int, _ retryAfter: Int64?, _ expected: OutcomeKind) {
    let outcome = WebPushAnswer.verdict(Self.reply(status, retryAfter: retryAfter), host: "push.example.net")
    #expect(OutcomeKind(outcome) == expected)
  }

  @Test("A reason names the push service and what it said, on one line that somebody else cannot break")
  func webPushReason() {
    let body = "VapidPkHashMismatch\n\u{1B}[31m\u{202E}" + String(repeating: "x", count: 5000)
    guard case .refused(let said) = WebPushAnswer.verdict(Self.reply(403, body), host: "push.example.net") else {
      Issue.record("403 is not a refusal")
      return
    }
    #expect(said.hasPrefix("the push service push.example.net answered 403 (VapidPkHashMismatch  [31m"))
    #expect(said.contains("push.web") && said.utf8.count < 500)
    #expect(said.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
  }

  // MARK: APNs

  /// The table of reasons in Apple's documentation.
  @Test(
    "APNs",
    arguments: [
      (400, "BadCollapseId", .refused), (400, "BadDeviceToken", .forget(since: nil)),
      (400, "BadExpirationDate", .refused), (400, "BadMessageId", .refused), (400, "BadPriority", .refused),
      (400, "BadTopic", .refused), (400, "DeviceTokenNotForTopic", .forget(since: nil)),
      (400, "DuplicateHeaders", .refused), (400, "IdleTimeout", .failed), (400, "InvalidPushType", .refused),
      (400, "MissingDeviceToken", .refused), (400, "MissingTopic", .refused), (400, "PayloadEmpty", .refused),
      (400, "TopicDisallowed", .refused), (403, "BadCertificate", .refused),
      (403, "BadCertificateEnvironment", .refused), (403, "BadEnvironmentKeyIdInToken", .refused),
      (403, "ExpiredProviderToken", .tokenExpired), (403, "Forbidden", .refused),
      (403, "InvalidProviderToken", .refused), (403, "MissingProviderToken", .refused),
      (403, "UnrelatedKeyIdInToken", .refused), (404, "BadPath", .refused), (405, "MethodNotAllowed", .refused),
      (410, "ExpiredToken", .forget(since: 1_700_000_000_123)),
      (410, "Unregistered", .forget(since: 1_700_000_000_123)), (413, "PayloadTooLarge", .tooLarge),
      (429, "TooManyProviderTokenUpdates", .later(1200)), (429, "TooManyRequests", .later(60)),
      (500, "InternalServerError", .later(nil)), (503, "ServiceUnavailable", .later(nil)),
      (503, "Shutdown", .later(nil)), (400, "SomethingNew", .refused),
      (410, "SomethingNew", .forget(since: 1_700_000_000_123)),
      (413, "SomethingNew", .tooLarge), (429, "SomethingNew", .later(nil)), (502, "SomethingNew", .later(nil)),
    ] as [(Int, String, OutcomeKind)])
  func apns(_ status: Int, _ reason: String, _ expected: OutcomeKind) {
    let body = #"{"reason":"\#(reason)","timestamp":1700000000123}"#
    #expect(OutcomeKind(APNsAnswer.verdict(Self.reply(status, body), id: "id")) == expected)
  }

  @Test("What APNs takes has the name that we gave it, and an answer without a body is one too")
  func apnsOthers() {
    #expect(APNsAnswer.verdict(Self.reply(200), id: "id") == .outcome(.taken(id: "id")))
    for (status, kind) in [(403, OutcomeKind.refused), (410, .forget(since: nil)), (503, .later(nil))] {
      for body in ["", "[]", "<html>", #"{"reason":7}"#] {
        #expect(OutcomeKind(APNsAnswer.verdict(Self.reply(status, body), id: "id")) == kind)
      }
    }
    let busy = Self.reply(429, #"{"reason":"TooManyRequests"}"#, retryAfter: 7)
    #expect(OutcomeKind(APNsAnswer.verdict(busy, id: "id")) == .later(7))
  }

  // MARK: FCM

  private static func fcmBody(_ status: String, _ code: String?, _ message: String, field: String? = nil) -> String {
    var details: [String] = []
    if let code {
      details.append(#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
    }
    if let field {
      details.append(
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#)
    }
    let list = details.joined(separator: ",")
    return #"{"error":{"code":1,"message":"\#(message)","status":"\#(status)","details":[\#(list)]}}"#
  }

  /// The error codes of FCM v1, and the statuses of Google's APIs where there is none.
  @Test(
    "FCM",
    arguments: [
      (400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", .refused),
      (401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", .refused), (401, "UNAUTHENTICATED", nil, .tokenExpired),
      (403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", .forget(since: nil)), (403, "PERMISSION_DENIED", nil, .refused),
      (404, "NOT_FOUND", "UNREGISTERED", .forget(since: nil)), (404, "NOT_FOUND", nil, .refused),
      (429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .later(60)), (429, "RESOURCE_EXHAUSTED", nil, .later(60)),
      (500, "INTERNAL", "INTERNAL", .later(nil)), (503, "UNAVAILABLE", "UNAVAILABLE", .later(nil)),
      (503, "UNAVAILABLE", "UNSPECIFIED_ERROR", .later(nil)), (413, "OUT_OF_RANGE", nil, .tooLarge),
      (408, "CANCELLED", nil, .failed), (502, "ABORTED", nil, .later(nil)),
    ] as [(Int, String, String?, OutcomeKind)])
  func fcm(_ status: Int, _ name: String, _ code: String?, _ expected: OutcomeKind) {
    let verdict = FCMAnswer.verdict(Self.reply(status, Self.fcmBody(name, code, "words")))
    #expect(OutcomeKind(verdict) == expected)
  }

  @Test("FCM says one thing of a token that is none, of a message that is too large and of a wrong one")
  func fcmArguments() {
    let invalid = "INVALID_ARGUMENT"
    let cases: [(String, OutcomeKind)] = [
      (Self.fcmBody(invalid, invalid, "x", field: "message.token"), .forget(since: nil)),
      (
        Self.fcmBody(invalid, invalid, "The registration token is not a valid FCM registration token"),
        .forget(since: nil)
      ),
      (Self.fcmBody(invalid, invalid, "Android message is too big"), .tooLarge),
      (Self.fcmBody(invalid, invalid, "x", field: "message.data"), .refused),
    ]
    for (body, kind) in cases { #expect(OutcomeKind(FCMAnswer.verdict(Self.reply(400, body))) == kind) }
  }

  @Test("What FCM takes has a name, its Retry-After counts, and an answer that is no JSON is one by its status")
  func fcmOthers() {
    let name = "projects/an-app-1/messages/0:1"
    #expect(FCMAnswer.verdict(Self.reply(200, #"{"name":"\#(name)"}"#)) == .outcome(.taken(id: name)))
    #expect(FCMAnswer.verdict(Self.reply(200, "")) == .outcome(.taken(id: nil)))
    let busy = Self.reply(429, Self.fcmBody("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "x"), retryAfter: 7)
    #expect(OutcomeKind(FCMAnswer.verdict(busy)) == .later(7))
    for (status, kind) in [(401, OutcomeKind.tokenExpired), (403, .refused), (429, .later(nil)), (503, .later(nil))] {
      for body in ["", "<html>", #"{"error":"words"}"#] {
        #expect(OutcomeKind(FCMAnswer.verdict(Self.reply(status, body))) == kind)
      }
    }
  }

  // MARK: Access tokens

  @Test("The endpoint of access tokens gives one with its lifetime, or a reason")
  func accessTokens() {
    let granted = AccessTokenAnswer.verdict(Self.reply(200, #"{"access_token":"ya29.a","expires_in":3599}"#))
    #expect(granted == .grant(.init(token: "ya29.a", lifetime: 3599)))
    func kind(_ status: Int, _ body: String, _ retryAfter: Int64? = nil) -> OutcomeKind? {
      guard case .outcome(let outcome) = AccessTokenAnswer.verdict(Self.reply(status, body, retryAfter: retryAfter))
      else { return nil }
      return OutcomeKind(outcome)
    }
    #expect(kind(400, #"{"error":"invalid_grant"}"#) == .refused && kind(401, "") == .refused)
    #expect(kind(429, "", 9) == .later(9) && kind(503, "") == .later(nil) && kind(408, "") == .failed)
    for body in ["", "{}", #"{"access_token":7}"#, #"{"access_token":"two words"}"#] {
      #expect(kind(200, body) == .failed)
    }
  }
}
