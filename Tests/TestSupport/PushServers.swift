public import Cryptography
public import Foundation
public import Push
import Testing
import Wire

/// The services of notifications in `Tests/push/services.py`, for one test, and what they are to take us for.
///
/// The environment of the script is made where it is missing, so only tests of one process of `.ci/test` may use them.
public final class PushServers: Sendable {
  public static let browserKeys = (
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg", privateKey: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
  )
  public static let topics = ["com.example.app", "com.example.other"]
  public static let email = "push@an-app-1.iam.gserviceaccount.com"
  /// An RSA key for all tests, since making one takes a while.
  private static let rsaKey: String = (try? TestCertificate.openssl(["genpkey", "-algorithm", "RSA", "-quiet"])) ?? ""
  private static let python = PythonEnvironment(
    scripts: ServerProcess.repository.appendingPathComponent("Tests/push"), name: "push-venv")

  /// A request as it was noted.
  public struct Request {
    public let fields: [String: Any]

    public var service: String? { fields["service"] as? String }
    public var device: String? { fields["device"] as? String }
    /// The rule that it broke.
    public var broken: String? { fields["broken"] as? String }
    public var size: Int? { fields["size"] as? Int }
    /// When it came, in seconds since 1970.
    public var at: Double { fields["at"] as? Double ?? 0 }
    public var text: [String: Any] { fields["text"] as? [String: Any] ?? [:] }
    public var headers: [String: String] { fields["headers"] as? [String: String] ?? [:] }

    /// A value of the payload, such as that of `aps.alert.title`.
    public func value(_ path: String) -> String? {
      var value: Any? = text
      for name in path.split(separator: ".") { value = (value as? [String: Any])?[String(name)] }
      return value.map { "\($0)" }
    }
  }

  /// How a device is answered, whatever the request.
  public struct Answer: Encodable, Sendable {
    var status: Int
    var headers: [String: String]
    var body: String
    var times: Int
    public var revoke: Bool
    var only: Int?
    var hang: Bool
    var cut: Bool

    /// - Parameters:
    ///   - times: how often the body stands in the answer.
    ///   - revoke: whether no access token counts any more.
    ///   - only: how many requests are answered so, after which they are taken; nil: all.
    ///   - hang: whether there is no answer, on a connection that stays.
    ///   - cut: whether there is no answer, and the connection ends.
    public init(
      status: Int = 200, headers: [String: String] = [:], body: String = "", times: Int = 1, revoke: Bool = false,
      only: Int? = nil, hang: Bool = false, cut: Bool = false
    ) {
      (self.status, self.headers, self.body, self.times) = (status, headers, body, times)
      (self.revoke, self.only, self.hang, self.cut) = (revoke, only, hang, cut)
    }
  }

  private let process: ChildProcess
  private let folder: TemporaryFolder
  private let certificate: TestCertificate
  public let origin: String
  public let vapidKey: VAPIDKey
  public let apnsKey: PrivateKey
  private let apnsPEM: String

  /// The file in which each request is noted as a line of JSON, whose fields are a ``Request``'s. One that was right has
  /// besides, in `life`, the number of the process that has sent it: of two processes the later one has the higher number.
  public let log: URL
  /// The file of the certificate that the services have, in PEM.
  public var certificatePath: String { certificate.chainPath }

  /// - Parameters:
  ///   - answers: by the path of an endpoint, or by a token.
  ///   - areSendersKilled: so that each has a token for APNs, with 20 minutes between two of one connection alone.
  public init(_ answers: [String: Answer] = [:], areSendersKilled: Bool = false) async throws {
    let interpreter = try await Self.python.interpreter()
    (folder, certificate) = (try TemporaryFolder(), try TestCertificate())
    apnsPEM = try TestCertificate.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
    (vapidKey, apnsKey) = (try VAPIDKey(), try PrivateKey(pem: apnsPEM))
    let file = { [folder] (name: String) in folder.url.appendingPathComponent(name) }
    log = file("requests.jsonl")
    let configuration: [String: Any] = [
      "certificate": certificate.chainPath, "key": certificate.keyPath, "vapid_public_key": vapidKey.publicText,
      "browser": ["private_key": Self.browserKeys.privateKey, "auth": Self.browserKeys.auth],
      "apns": [
        "public_key": apnsKey.publicKey.pem, "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "topics": Self.topics,
        "restarts": areSendersKilled,
      ] as [String: Any],
      "fcm": [
        "project": "an-app-1", "public_key": try PrivateKey(pem: Self.rsaKey).publicKey.pem, "key_id": "0a1b2c",
        "email": Self.email,
      ],
      "answers": try JSONSerialization.jsonObject(with: try JSONEncoder().encode(answers)),
    ]
    try JSONSerialization.data(withJSONObject: configuration).write(to: file("configuration.json"))
    let script = Self.python.scripts.appendingPathComponent("services.py")
    let process = try ChildProcess(
      interpreter, [script.path, file("configuration.json").path, log.path],
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

  public func stop() { process.signal(SIGKILL) }

  /// What came, in order.
  public var requests: [Request] {
    let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      let fields = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return fields.map { Request(fields: $0) }
    }
  }

  /// The rules that were broken.
  public var broken: [String] { requests.compactMap(\.broken) }

  public func requests(of service: String) -> [Request] { requests.filter { $0.service == service } }
  public func requests(to device: String) -> [Request] { requests.filter { $0.device == device } }

  // MARK: Who is sent to

  public func browser(_ path: String = "/push/a") throws -> PushDevice {
    .webPush(
      try WebPushSubscription(
        endpoint: origin + path, p256dh: Self.browserKeys.p256dh, auth: Self.browserKeys.auth))
  }

  /// A token of which the number is a part.
  public static func apnsToken(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  public static func apns(_ number: Int, topic: String? = nil) throws -> PushDevice {
    .apns(try APNsDevice(token: apnsToken(number), topic: topic))
  }

  public static func fcmToken(_ number: Int) -> String { "app-\(number):APA91b" + String(repeating: "x", count: 140) }

  public static func fcm(_ number: Int) throws -> PushDevice { .fcm(try FCMDevice(token: fcmToken(number))) }

  /// A device as people register it.
  public struct Device: Sendable {
    /// As requests name it.
    public var name: String
    public var kind: String
    public var json: String
  }

  /// A device by its number, of the three services in turn. Each browser has keys of its own, so that what is encrypted
  /// for one can be read by no other.
  public func device(_ number: Int) throws -> Device {
    let kinds = PushDevice.Kind.allCases
    let (name, device) =
      switch kinds[number % kinds.count] {
      case .web: try ownBrowser(number)
      case .apns: (Self.apnsToken(number), try Self.apns(number))
      case .fcm: (Self.fcmToken(number), try Self.fcm(number))
      }
    return Device(name: name, kind: device.kind.rawValue, json: String(decoding: device.json, as: UTF8.self))
  }

  /// A browser whose endpoint has its keys, for the service to read by them what it is sent.
  private func ownBrowser(_ number: Int) throws -> (path: String, PushDevice) {
    let (key, auth) = (try PrivateKey(on: .p256), Base64.url.text(Randomness.bytes(16)))
    let path = "/push/\(number)/\(Base64.url.text(try key.scalar().bytes))/\(auth)"
    let p256dh = Base64.url.text(key.publicKey.point)
    return (path, .webPush(try WebPushSubscription(endpoint: origin + path, p256dh: p256dh, auth: auth)))
  }

  // MARK: Who sends

  /// The key file of a service account in JSON.
  ///
  /// - Parameter key: in PEM; nil: the right one.
  public func account(_ key: String? = nil) throws -> Data {
    try JSONEncoder().encode([
      "type": "service_account", "project_id": "an-app-1", "private_key_id": "0a1b2c",
      "private_key": key ?? Self.rsaKey, "client_email": Self.email, "token_uri": origin + "/token",
    ])
  }

  /// The section `push` of a server's settings for the services of these kinds; their keys' files are written beside
  /// those of these services.
  ///
  /// - Parameter kinds: of `web`, `apns` and `fcm`.
  public func settings(_ kinds: Set<String> = ["web", "apns", "fcm"]) throws -> String {
    var push: [String: Any] = try sections().filter { kinds.contains($0.key) }
    push["certificate_authorities"] = certificate.chainPath
    return String(decoding: try JSONSerialization.data(withJSONObject: push), as: UTF8.self)
  }

  /// The same for all services as `key=value`, for the command line.
  public func assignments() throws -> [String] {
    let all = try sections().sorted { $0.key < $1.key }.flatMap { kind, members in
      members.sorted { $0.key < $1.key }.map { name, value in
        "push.\(kind).\(name)=\((value as? [String])?.joined(separator: ",") ?? "\(value)")"
      }
    }
    return all + ["push.certificate_authorities=\(certificate.chainPath)"]
  }

  private func sections() throws -> [String: [String: Any]] {
    func secret(_ name: String, _ text: String) throws -> String {
      let file = folder.url.appendingPathComponent(name)
      try text.write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      return file.path
    }
    return [
      "web": [
        "vapid_private_key_file": try secret("vapid.key", try vapidKey.privateText()),
        "subject": "mailto:push@example.com", "page": "https://example.com/chat", "allow_private_addresses": true,
      ],
      "apns": [
        "key_file": try secret("apns.p8", apnsPEM), "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ",
        "topics": Self.topics, "url": origin, "sandbox_url": origin,
      ],
      "fcm": [
        "service_account_file": try secret("account.json", String(decoding: try account(), as: UTF8.self)),
        "url": origin,
      ],
    ]
  }
}
