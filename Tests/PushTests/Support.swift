import HTTPClient
import Cryptography
import Synchronization
import TestSupport
import Wire

@testable import Push

/// The browser of RFC 8291, appendix A.
enum ExampleBrowser {
  static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
  static let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

  static func subscription(
    _ endpoint: String = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"
  ) throws -> WebPushSubscription {
    try WebPushSubscription(endpoint: endpoint, p256dh: p256dh, auth: auth)
  }

  static func device(_ endpoint: String = "https://push.example.net/a") throws -> PushDevice {
    .webPush(try subscription(endpoint))
  }
}

/// Devices that are none, in their form.
enum ExampleDevice {
  static func apns(_ token: String = String(repeating: "0a", count: 32), topic: String? = nil) throws -> APNsDevice {
    try APNsDevice(token: token, topic: topic)
  }

  static func fcm(_ token: String = "fid-of-an-app:APA91b" + String(repeating: "x", count: 140)) throws -> FCMDevice {
    try FCMDevice(token: token)
  }
}

/// A JSON text as nested values, for comparisons.
func object(_ bytes: [UInt8]) throws -> JSONObject {
  guard let object = try JSONValue(parsing: bytes, equalKeys: .refused).object else { throw NoObject() }
  return object
}

struct NoObject: Error {}

extension JSONObject {
  /// The value at a path such as `aps.alert.title`, as it was written; nil where it is missing.
  func text(_ path: String) -> String? {
    let names = path.split(separator: ".").map(String.init)
    var object = self
    for name in names.dropLast() {
      guard let inner = object[name]?.object else { return nil }
      object = inner
    }
    guard let last = names.last, let value = object[last] else { return nil }
    return value.string ?? value.text
  }
}

/// A clock that a test sets, in seconds.
final class TestClock: Sendable {
  private let time: Mutex<Int64>

  init(_ time: Int64 = 1_700_000_000) { self.time = Mutex(time) }

  var now: Int64 { time.withLock { $0 } }
  func advance(_ seconds: Int64) { time.withLock { $0 += seconds } }
}

/// The header and the claims of a token, and whether a key signed it.
struct ReadToken {
  let header: JSONObject
  let claims: JSONObject
  let isSigned: Bool

  init(_ text: String, _ key: PublicKey) throws {
    let parts = text.split(separator: ".").map(String.init)
    guard parts.count == 3, let signature = Base64.url.bytes(parts[2]), let head = Base64.url.bytes(parts[0]),
      let payload = Base64.url.bytes(parts[1])
    else { throw NoObject() }
    header = try object(head)
    claims = try object(payload)
    isSigned = key.isSignature(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
  }
}

/// A service account with a key of its own, made once: an RSA key takes a while.
enum ExampleAccount {
  static let pem: String = (try? TestCertificate.openssl(["genpkey", "-algorithm", "RSA", "-quiet"])) ?? ""

  static func json(_ changes: [String: String?] = [:]) -> String {
    let fields: [String: String?] = [
      "type": "service_account", "project_id": "an-app-1", "private_key_id": "0a1b2c", "private_key": pem,
      "client_email": "push@an-app-1.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
    ]
    var writer = JSONWriter(capacity: 4096)
    writer.object { writer in
      for (name, value) in fields.merging(changes, uniquingKeysWith: { $1 }) {
        if let value { writer.write(named: name, value) }
      }
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
