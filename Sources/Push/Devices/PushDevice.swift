import Cryptography

/// Where notifications for one device go, and what they are made for.
///
/// It is whole when it exists: the initializers of its three kinds refuse what cannot be a device, with a sentence. It
/// holds secrets (whoever knows an endpoint or a token can annoy its owner), so logs name a device by its ``id``.
public enum PushDevice: Sendable, Hashable, CustomStringConvertible {
  /// A browser, by its push service (RFC 8030).
  case webPush(WebPushSubscription)
  /// An app on one of Apple's systems.
  case apns(APNsDevice)
  /// An app with Firebase Cloud Messaging.
  case fcm(FCMDevice)

  /// A name of the device that gives nothing away: the same for the same endpoint or token, whatever its keys.
  public var id: String {
    let (kind, identity) =
      switch self {
      case .webPush(let subscription): ("web", subscription.endpoint)
      case .apns(let device): ("apns", device.token)
      case .fcm(let device): ("fcm", device.token)
      }
    return Digest.sha256.hash(Array("\(kind)\0\(identity)".utf8)).prefix(16).hexadecimal
  }

  /// Kind and ``id``, so that no line of a log tells more.
  public var description: String { "\(kind.rawValue) \(id)" }

  /// The service behind it, in a word: `web`, `apns` or `fcm`.
  public var kind: Kind {
    switch self {
    case .webPush: .web
    case .apns: .apns
    case .fcm: .fcm
    }
  }

  public enum Kind: String, Sendable, CaseIterable {
    case web
    case apns
    case fcm
  }
}

/// What was given is no device. The description is a sentence for whoever registers it, without the secret parts.
public struct InvalidPushDevice: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// An app on a device of Apple's.
public struct APNsDevice: Sendable, Hashable {
  public enum Environment: String, Sendable, CaseIterable {
    case production
    /// Builds from Xcode.
    case sandbox
  }

  /// The device token in lower-case hexadecimal digits.
  public let token: String
  /// The app's bundle identifier; nil: the first that is configured.
  public let topic: String?
  public let environment: Environment

  /// Apple says that tokens may become longer than the 32 bytes that they have; these are the bounds that are taken.
  static let tokenBytes = 16...128

  public init(
    token: String, topic: String? = nil, environment: Environment = .production
  ) throws(InvalidPushDevice) {
    let digits = token.lowercased()
    guard digits.utf8.allSatisfy(\.isHexadecimalDigit), digits.utf8.count % 2 == 0,
      Self.tokenBytes.contains(digits.utf8.count / 2)
    else {
      throw InvalidPushDevice("the device token is not one of APNs; write its bytes as hexadecimal digits")
    }
    if let topic, !Self.isTopic(topic) {
      throw InvalidPushDevice("the topic is no bundle identifier; write one such as com.example.app")
    }
    self.token = digits
    self.topic = topic
    self.environment = environment
  }

  /// Whether a text can be a bundle identifier.
  public static func isTopic(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isLetterOrDigit || ".-_".utf8.contains($0) }
  }
}

/// An app with Firebase Cloud Messaging.
public struct FCMDevice: Sendable, Hashable {
  /// The registration token.
  public let token: String

  /// Those of today have about 160 characters; their form is not documented.
  static let tokenBytes = 16...4096

  public init(token: String) throws(InvalidPushDevice) {
    guard Self.tokenBytes.contains(token.utf8.count),
      token.utf8.allSatisfy({ $0.isLetterOrDigit || "-_:.%".utf8.contains($0) })
    else {
      throw InvalidPushDevice("the registration token is not one of FCM; give what the app's FCM library returned")
    }
    self.token = token
  }
}

extension UInt8 {
  var isDigit: Bool { (0x30...0x39).contains(self) }
  var isLetterOrDigit: Bool { isDigit || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
  var isHexadecimalDigit: Bool { isDigit || (0x61...0x66).contains(self) || (0x41...0x46).contains(self) }
}
