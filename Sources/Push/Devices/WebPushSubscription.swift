import Cryptography
import Wire

/// A browser's push subscription.
public struct WebPushSubscription: Sendable, Hashable {
  /// The address of the push service for this browser, with `https`.
  public let endpoint: String
  /// The browser's public key, `p256dh`: a point on P-256, of 65 bytes.
  let publicKey: [UInt8]
  /// The secret that it shares with us, `auth`: 16 bytes.
  let secret: [UInt8]
  let address: EndpointAddress

  /// Bytes of the longest endpoint. Those of today have at most about 700.
  static let endpointBytes = 2048

  /// - Parameters:
  ///   - p256dh: as `PushSubscription.toJSON()` gives it, in base64url.
  ///   - auth: likewise.
  public init(endpoint: String, p256dh: String, auth: String) throws(InvalidPushDevice) {
    address = try EndpointAddress(endpoint)
    self.endpoint = endpoint
    guard let point = Self.bytes(p256dh), (try? PublicKey(.p256, point: point)) != nil else {
      throw InvalidPushDevice("p256dh is no key of a browser; give keys.p256dh of the subscription in base64url")
    }
    guard let secret = Self.bytes(auth), secret.count == 16 else {
      throw InvalidPushDevice("auth is not 16 bytes; give keys.auth of the subscription in base64url")
    }
    publicKey = point
    self.secret = secret
  }

  public var p256dh: String { Base64.url.text(publicKey) }
  public var auth: String { Base64.url.text(secret) }

  /// Browsers write no padding; some libraries between do.
  private static func bytes(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= 128 else { return nil }
    var digits = Array(text.utf8)[...]
    while digits.last == UInt8(ascii: "="), text.utf8.count - digits.count < 2 { digits = digits.dropLast() }
    return Base64.url.bytes(digits)
  }
}

/// The part of an endpoint that says who is called.
///
/// Of all that a URL may have before its path only a name and a port are let through, so that libcurl, which calls it,
/// cannot find another host in it than the one that was checked here: no user, no brackets, no escapes, no backslash.
struct EndpointAddress: Sendable, Hashable {
  /// In lower case.
  let host: String
  /// As tokens name whom they are for (RFC 6454, section 6.2): `https://push.example.net`, a port only where it is not
  /// 443.
  let origin: String

  init(_ url: String) throws(InvalidPushDevice) {
    guard url.utf8.count <= WebPushSubscription.endpointBytes else {
      throw InvalidPushDevice("the endpoint has more than \(WebPushSubscription.endpointBytes) bytes")
    }
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\\#\"<>".utf8.contains($0) }) else {
      throw InvalidPushDevice("the endpoint is no address; give it as the browser's subscription has it")
    }
    guard url.lowercased().hasPrefix("https://") else {
      throw InvalidPushDevice("the endpoint does not begin with https://; give it as the browser's subscription has it")
    }
    let authority = url.dropFirst(8).prefix { $0 != "/" && $0 != "?" }
    let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first.map({ $0.lowercased() }), Self.isName(name) else {
      throw InvalidPushDevice(
        "the endpoint names no host, or more than a host; give it as the browser's subscription has it")
    }
    host = name
    guard parts.count == 2 else {
      origin = "https://\(name)"
      return
    }
    guard parts[1].utf8.count <= 5, parts[1].utf8.allSatisfy(\.isDigit), let port = UInt16(parts[1]), port > 0 else {
      throw InvalidPushDevice("the endpoint's port is none; give it as the browser's subscription has it")
    }
    origin = port == 443 ? "https://\(name)" : "https://\(name):\(port)"
  }

  /// Whether a text in lower case is a name of labels, none of them empty.
  static func isName(_ text: String) -> Bool {
    (1...253).contains(text.utf8.count)
      && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
        (1...63).contains(label.utf8.count) && label.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
      }
  }
}

/// The hosts that endpoints may lead to: each name stands for itself and for all names below it.
struct HostList: Sendable {
  private let names: [String]

  /// - Parameter names: such as `push.services.mozilla.com`; empty: all hosts.
  init(_ names: [String]) { self.names = names.map { $0.lowercased() } }

  func allows(_ host: String) -> Bool { names.isEmpty || names.contains { host == $0 || host.hasSuffix(".\($0)") } }
}
