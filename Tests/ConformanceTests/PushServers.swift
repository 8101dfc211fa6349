import Cryptography
import Foundation
import Push
import Synchronization
import TestSupport
import Testing

/// The services of notifications in `push_services.py`, for one test, and what they are to take us for.
final class PushServers {
  static let browserKeys = (
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg", privateKey: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
  )
  static let topics = ["com.example.app", "com.example.other"]
  static let email = "push@an-app-1.iam.gserviceaccount.com"
  /// An RSA key for all tests, since making one takes a while.
  private static let rsaKey: String = (try? TestCertificate.openssl(["genpkey", "-algorithm", "RSA", "-quiet"])) ?? ""

  /// A request as it was noted.
  struct Request {
    let fields: [String: Any]

    var service: String? { fields["service"] as? String }
    var device: String? { fields["device"] as? String }
    /// The rule that it broke.
    var broken: String? { fields["broken"] as? String }
    var size: Int? { fields["size"] as? Int }
    /// When it came, in seconds since 1970.
    var at: Double { fields["at"] as? Double ?? 0 }
    var text: [String: Any] { fields["text"] as? [String: Any] ?? [:] }
    var headers: [String: String] { fields["headers"] as? [String: String] ?? [:] }

    /// A value of the payload, such as that of `aps.alert.title`.
    func value(_ path: String) -> String? {
      var value: Any? = text
      for name in path.split(separator: ".") { value = (value as? [String: Any])?[String(name)] }
      return value.map { "\($0)" }
    }
  }

  /// How a device is answered, whatever the request.
  struct Answer: Encodable {
    var status: Int
    var headers: [String: String] = [:]
    var body = ""
    /// How often the body stands in the answer.
    var times = 1
    /// Whether no access token counts any more.
    var revoke = false
    /// How many requests are answered so, after which they are taken; nil: all.
    var only: Int?
    /// Whether there is no answer, on a connection that stays.
    var hang = false
  }

  private let process: ChildProcess
  private let folder: TemporaryFolder
  private let certificate: TestCertificate
  let origin: String
  let vapidKey: VAPIDKey
  let apnsKey: PrivateKey
  private let apnsPEM: String

  /// - Parameter answers: by the path of an endpoint, or by a token.
  init(_ answers: [String: Answer] = [:]) async throws {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    (folder, certificate) = (try TemporaryFolder(), try TestCertificate())
    apnsPEM = try TestCertificate.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
    (vapidKey, apnsKey) = (try VAPIDKey(), try PrivateKey(pem: apnsPEM))
    let file = { [folder] (name: String) in folder.url.appendingPathComponent(name) }
    let configuration: [String: Any] = [
      "certificate": certificate.chainPath, "key": certificate.keyPath, "vapid_public_key": vapidKey.publicText,
      "browser": ["private_key": Self.browserKeys.privateKey, "auth": Self.browserKeys.auth],
      "apns": [
        "public_key": apnsKey.publicKey.pem, "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "topics": Self.topics,
      ],
      "fcm": [
        "project": "an-app-1", "public_key": try PrivateKey(pem: Self.rsaKey).publicKey.pem, "key_id": "0a1b2c",
        "email": Self.email,
      ],
      "answers": try JSONSerialization.jsonObject(with: try JSONEncoder().encode(answers)),
    ]
    try JSONSerialization.data(withJSONObject: configuration).write(to: file("configuration.json"))
    let script = PythonEnvironment.shared.scripts.appendingPathComponent("push_services.py")
    let process = try ChildProcess(
      interpreter, [script.path, file("configuration.json").path, file("requests.jsonl").path],
      environment: ProcessInfo.processInfo.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
      output: file("port.txt"), errors: file("errors.txt"))
    var port: UInt16?
    _ = await eventually {
      let text = (try? String(contentsOf: file("port.txt"), encoding: .utf8)) ?? ""
      port = text.hasSuffix("\n") ? UInt16(text.dropLast()) : nil
      return port != nil || !process.isRunning
    }
    let said = (try? String(contentsOf: file("errors.txt"), encoding: .utf8)) ?? ""
    origin = "https://localhost:\(try #require(port, "the services did not start: \(said)"))"
    self.process = process
  }

  func stop() { process.signal(SIGKILL) }

  /// What came, in order.
  var requests: [Request] {
    let text = (try? String(contentsOf: folder.url.appendingPathComponent("requests.jsonl"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      let fields = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return fields.map { Request(fields: $0) }
    }
  }

  /// The rules that were broken.
  var broken: [String] { requests.compactMap(\.broken) }

  func requests(of service: String) -> [Request] { requests.filter { $0.service == service } }
  func requests(to device: String) -> [Request] { requests.filter { $0.device == device } }

  // MARK: Who is sent to, and by whom

  func browser(_ path: String = "/push/a") throws -> PushDevice {
    .webPush(
      try WebPushSubscription(
        endpoint: origin + path, p256dh: Self.browserKeys.p256dh, auth: Self.browserKeys.auth))
  }

  /// A token of which the number is a part.
  static func apnsToken(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  static func apns(_ number: Int, topic: String? = nil) throws -> PushDevice {
    .apns(try APNsDevice(token: apnsToken(number), topic: topic))
  }

  static func fcmToken(_ number: Int) -> String { "app-\(number):APA91b" + String(repeating: "x", count: 140) }

  static func fcm(_ number: Int) throws -> PushDevice { .fcm(try FCMDevice(token: fcmToken(number))) }

  /// - Parameters:
  ///   - vapidKey: nil: the right one.
  ///   - apnsKey: likewise.
  ///   - accountKey: in PEM, likewise.
  func configuration(
    vapidKey: VAPIDKey? = nil, apnsKey: PrivateKey? = nil, accountKey: String? = nil
  ) throws -> PushConfiguration {
    let account = try account(accountKey)
    return PushConfiguration(
      webPush: .init(
        key: vapidKey ?? self.vapidKey, subject: "mailto:push@example.com", allowsPrivateAddresses: true,
        link: "https://example.com/chat"),
      apns: .init(
        key: apnsKey ?? self.apnsKey, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topics: Self.topics,
        productionURL: origin, sandboxURL: origin),
      fcm: .init(account: try ServiceAccount(String(decoding: account, as: UTF8.self)), url: origin),
      limits: .init(timeoutMilliseconds: 60_000), certificateAuthorities: certificate.chainPath)
  }

  private func account(_ key: String?) throws -> Data {
    try JSONEncoder().encode([
      "type": "service_account", "project_id": "an-app-1", "private_key_id": "0a1b2c",
      "private_key": key ?? Self.rsaKey, "client_email": Self.email, "token_uri": origin + "/token",
    ])
  }

  /// The section `push` of a server's settings, for browsers and for FCM where that is asked for; their keys' files are
  /// written beside those of these services.
  ///
  /// - Parameter kinds: of `web`, `apns` and `fcm`.
  func settings(_ kinds: Set<String> = ["web", "apns", "fcm"]) throws -> String {
    func secret(_ name: String, _ text: String) throws -> String {
      let file = folder.url.appendingPathComponent(name)
      try text.write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      return file.path
    }
    let sections: [String: [String: Any]] = [
      "web": [
        "vapid_private_key_file": try secret("vapid.key", try vapidKey.privateText()),
        "subject": "mailto:push@example.com", "page": "https://example.com/chat", "allow_private_addresses": true,
      ],
      "apns": [
        "key_file": try secret("apns.p8", apnsPEM), "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ",
        "topics": Self.topics, "url": origin, "sandbox_url": origin,
      ],
      "fcm": [
        "service_account_file": try secret("account.json", String(decoding: try account(nil), as: UTF8.self)),
        "url": origin,
      ],
    ]
    var push: [String: Any] = sections.filter { kinds.contains($0.key) }
    push["certificate_authorities"] = certificate.chainPath
    return String(decoding: try JSONSerialization.data(withJSONObject: push), as: UTF8.self)
  }

  /// A service for these, which ends with the body.
  func withService<Result>(
    _ configuration: PushConfiguration? = nil, clock: PushClock = PushClock(),
    _ body: (PushService) async throws -> Result
  ) async throws -> Result {
    let service = try PushService(
      configuration ?? self.configuration(), userAgent: "Fanfare/test", now: { clock.now }, age: { clock.age })
    defer { service.close() }
    return try await body(service)
  }
}

/// The clocks of a service of notifications: some seconds behind the machine's, and as many further as a test says.
final class PushClock: Sendable {
  private let start: Int64
  private let passed = Mutex<Int64>(0)

  init(behind seconds: Int64 = 0) { start = Int64(Date().timeIntervalSince1970) - seconds }

  var now: Int64 { start + age }
  var age: Int64 { passed.withLock { $0 } }
  func advance(_ seconds: Int64) { passed.withLock { $0 += seconds } }
}

extension PushService {
  func outcome(_ message: PushMessage, _ device: PushDevice) async -> PushOutcome {
    await withCheckedContinuation { waiting in send(message, to: device) { waiting.resume(returning: $0) } }
  }

  /// The outcomes of messages that are sent at the same time.
  func outcomes(_ messages: [(PushMessage, PushDevice)]) async -> [PushOutcome] {
    await withTaskGroup(of: PushOutcome.self) { group in
      for (message, device) in messages { group.addTask { await self.outcome(message, device) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
