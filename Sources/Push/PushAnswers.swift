import HTTPClient
import Wire

/// What an answer of a service means.
enum PushVerdict: Equatable {
  case outcome(PushOutcome)
  /// The token that the call was authorised with counts no more; with the service's word for it.
  case tokenExpired(String)
}

/// The answers of push services for browsers: RFC 8030, sections 5 and 8.4, and what the known ones document.
enum WebPushAnswer {
  static func verdict(_ reply: HTTPReply, host: String) -> PushOutcome {
    let said = "the push service \(host) answered \(reply.status)\(ServiceText.suffix(reply.body))"
    switch reply.status {
    case 200...299: return .taken(id: nil)
    case 404, 410: return .forget(reason: said, since: nil)
    case 413: return .tooLarge(reason: said)
    // 406: how Microsoft's says that it has had too many.
    case 406, 429, 500...599: return .later(reply.retryAfterSeconds, said)
    case 408: return .failed(reason: said)
    case 401, 403:
      return .refused(
        "\(said); check the VAPID key and the subject in push.web: browsers subscribe for one key, and are reached with that one only"
      )
    case 300...399: return .refused("\(said), a redirect, which is not followed")
    default: return .refused(said)
    }
  }
}

/// The answers of APNs, by the table of errors in Apple's documentation.
enum APNsAnswer {
  static func verdict(_ reply: HTTPReply, id: String) -> PushVerdict {
    if reply.status == 200 { return .outcome(.taken(id: id)) }
    let object = (try? JSONValue(parsing: reply.body))?.object
    let reason = object?["reason"]?.string.map(ServiceText.printable) ?? "no reason"
    let said = "APNs answered \(reply.status), \(reason)"
    let time = object?["timestamp"].flatMap { Int64($0.text) }
    switch reason {
    case "Unregistered", "ExpiredToken": return .outcome(.forget(reason: said, since: time))
    case "BadDeviceToken", "DeviceTokenNotForTopic": return .outcome(.forget(reason: said, since: nil))
    case "PayloadTooLarge": return .outcome(.tooLarge(reason: said))
    case "ExpiredProviderToken": return .tokenExpired(said)
    // The next token may come 20 minutes after the last.
    case "TooManyProviderTokenUpdates":
      return .outcome(.later(reply.retryAfterSeconds ?? APNsTokenState.leastSeconds, said))
    case "TooManyRequests": return .outcome(.later(reply.retryAfterSeconds ?? 60, said))
    case "IdleTimeout": return .outcome(.failed(reason: said))
    default: break
    }
    switch reply.status {
    case 410: return .outcome(.forget(reason: said, since: time))
    case 413: return .outcome(.tooLarge(reason: said))
    case 429, 500...599: return .outcome(.later(reply.retryAfterSeconds, said))
    default: return .outcome(.refused("\(said); \(advice(reason))"))
    }
  }

  private static func advice(_ reason: String) -> String {
    switch reason {
    case "InvalidProviderToken":
      "check push.apns: the key file, the key's id and the team's id must belong together, and this machine's clock be right"
    case "BadEnvironmentKeyIdInToken", "BadCertificateEnvironment":
      "the key in push.apns is not for this environment; make one for both in Apple's developer account"
    case "BadTopic", "MissingTopic", "TopicDisallowed", "UnrelatedKeyIdInToken":
      "check that the key in push.apns may send to the topics that are configured there"
    case "Forbidden", "MissingProviderToken", "BadCertificate":
      "check that the key in push.apns was not revoked"
    case "BadPath", "MethodNotAllowed": "check the addresses in push.apns"
    default: "the notification was dropped"
    }
  }
}

/// The answers of FCM's HTTP v1 API: its `ErrorCode`, or where there is none the status of Google's APIs.
enum FCMAnswer {
  static func verdict(_ reply: HTTPReply) -> PushVerdict {
    let object = (try? JSONValue(parsing: reply.body))?.object
    if reply.status == 200 { return .outcome(.taken(id: object?["name"]?.string.map(ServiceText.printable))) }
    let error = object?["error"]?.object
    let details = error?["details"]?.array?.compactMap(\.object) ?? []
    let code = details.compactMap { $0["errorCode"]?.string }.first ?? error?["status"]?.string ?? "no code"
    let text = error?["message"]?.string ?? ""
    let said = "FCM answered \(reply.status), \(ServiceText.printable(code))"
    switch code {
    case "UNREGISTERED", "SENDER_ID_MISMATCH": return .outcome(.forget(reason: said, since: nil))
    case "INVALID_ARGUMENT": return .outcome(invalid(details, text, said))
    case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED":
      // FCM's documentation asks for a minute at least.
      return .outcome(.later(max(reply.retryAfterSeconds ?? 60, 1), said))
    case "UNAVAILABLE", "INTERNAL": return .outcome(.later(reply.retryAfterSeconds, said))
    case "THIRD_PARTY_AUTH_ERROR":
      return .outcome(
        .refused("\(said); check the APNs key and the web push key that are stored in the Firebase project"))
    case "UNAUTHENTICATED": return .tokenExpired(said)
    case "PERMISSION_DENIED":
      return .outcome(
        .refused(
          "\(said); give the service account in push.fcm the role of Firebase Cloud Messaging, and switch that API on"))
    default: break
    }
    switch reply.status {
    case 401: return .tokenExpired(said)
    case 413: return .outcome(.tooLarge(reason: said))
    case 408: return .outcome(.failed(reason: said))
    case 429, 500...599: return .outcome(.later(reply.retryAfterSeconds, said))
    default:
      return .outcome(.refused("\(said)\(ServiceText.suffix(reply.body)); check the service account in push.fcm"))
    }
  }

  /// FCM says the same of a token that is none and of a message that is none; the field tells them apart.
  private static func invalid(_ details: [JSONObject], _ text: String, _ said: String) -> PushOutcome {
    let fields = details.flatMap { $0["fieldViolations"]?.array ?? [] }.compactMap { $0.object?["field"]?.string }
    if fields.contains("message.token") || text.contains("not a valid FCM registration token") {
      return .forget(reason: said, since: nil)
    }
    if text.lowercased().contains("too big") { return .tooLarge(reason: said) }
    return .refused("\(said), \(ServiceText.printable(text)); the notification was dropped")
  }
}

/// The answers of the endpoint that gives out access tokens (RFC 6749, section 5; RFC 7523).
enum AccessTokenAnswer {
  struct Grant: Equatable {
    var token: String
    /// Seconds.
    var lifetime: Int64
  }

  enum Verdict: Equatable {
    case grant(Grant)
    case outcome(PushOutcome)
  }

  static func verdict(_ reply: HTTPReply) -> Verdict {
    let object = (try? JSONValue(parsing: reply.body))?.object
    if reply.status == 200 {
      guard let token = object?["access_token"]?.string, (1...4096).contains(token.utf8.count),
        token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { return .outcome(.failed(reason: "Google's token endpoint gave no token")) }
      let lifetime = object?["expires_in"].flatMap { Int64($0.text) } ?? 3600
      return .grant(Grant(token: token, lifetime: min(max(lifetime, 0), 86_400)))
    }
    let said = "Google's token endpoint answered \(reply.status)\(ServiceText.suffix(reply.body))"
    switch reply.status {
    case 429, 500...599: return .outcome(.later(reply.retryAfterSeconds, said))
    case 408: return .outcome(.failed(reason: said))
    default:
      return .outcome(
        .refused(
          "\(said); check that the key in push.fcm.service_account_file was not deleted, and this machine's clock"))
    }
  }
}

/// Texts of services, for a log: they may say anything.
enum ServiceText {
  private static let mostBytes = 160

  static func printable(_ text: String) -> String {
    let characters = text.beginning(bytes: mostBytes).unicodeScalars.map { scalar -> Character in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: Character(scalar)
      }
    }
    return String(characters)
  }

  /// The beginning of a body in brackets, with a space before them; empty where there is none.
  static func suffix(_ body: [UInt8]) -> String {
    let text = printable(String(decoding: body.prefix(mostBytes), as: UTF8.self))
    return text.isEmpty ? "" : " (\(text))"
  }
}
