public import Cryptography
import Synchronization
import Wire

/// The key by which push services know us (RFC 8292). Browsers are given its public half when they subscribe, so that a
/// subscription is of use to nobody else; with another key all of them have to subscribe anew.
public struct VAPIDKey: Sendable {
  let key: PrivateKey
  /// For browsers: `applicationServerKey` of `PushManager.subscribe()`, 65 bytes in base64url.
  public let publicText: String

  /// The text is no such key.
  public struct Invalid: Error, Sendable, Equatable, CustomStringConvertible {
    public var description: String {
      "is no key on P-256; write its 32 bytes in base64url, or PEM, for example from `fanfare push keys`"
    }
  }

  /// A new key, drawn at random.
  public init() throws(UnusableKey) { self.init(key: try PrivateKey(on: .p256)) }

  private init(key: PrivateKey) {
    self.key = key
    publicText = Base64.url.text(key.publicKey.point)
  }

  /// - Parameter text: the private key's 32 bytes in base64url, as web push libraries write it, or PEM.
  public init(_ text: String) throws(Invalid) {
    if let key = try? PrivateKey(pem: text), key.publicKey.kind == .ecdsa(.p256) {
      self.init(key: key)
    } else if let scalar = Base64.url.bytes(text), let key = try? PrivateKey(.p256, scalar: scalar) {
      self.init(key: key)
    } else {
      throw Invalid()
    }
  }

  /// The private key as ``init(_:)`` reads it.
  public func privateText() throws(UnusableKey) -> String { Base64.url.text(try key.scalar().bytes) }
}

/// The tokens that say to each push service who we are: one for each origin, made when it is first needed and renewed
/// before its end.
final class VAPIDTokens: Sendable {
  private struct Entry {
    var token: String
    /// Seconds since 1970.
    var madeAt: Int64
  }

  /// Seconds for which a token holds. The RFC allows a day; half of it leaves room for clocks that differ.
  static let lifetime: Int64 = 12 * 3600
  /// Seconds after which a new one is made.
  static let renewal: Int64 = 11 * 3600
  /// Origins whose tokens are kept. There are few push services; somebody who registers endpoints of their own making
  /// can name any number.
  static let mostOrigins = 256

  private let key: VAPIDKey
  private let subject: String
  private let entries = Mutex<[String: Entry]>([:])

  init(_ key: VAPIDKey, subject: String) {
    self.key = key
    self.subject = subject
  }

  /// The header `Authorization` for a push service.
  ///
  /// - Parameter now: seconds since 1970.
  func authorization(for origin: String, now: Int64) throws(UnusableKey) -> String {
    "vapid t=\(try token(for: origin, now: now)), k=\(key.publicText)"
  }

  private func token(for origin: String, now: Int64) throws(UnusableKey) -> String {
    // A token from the future was made before the clock was set back.
    if let entry = entries.withLock({ $0[origin] }), (0..<Self.renewal).contains(now - entry.madeAt) {
      return entry.token
    }
    let token = try SignedToken.make(with: key.key) { claims in
      claims.write("aud", origin)
      claims.write("exp", now + Self.lifetime)
      claims.write("sub", subject)
    }
    entries.withLock { entries in
      if entries.count >= Self.mostOrigins, entries[origin] == nil,
        let oldest = entries.min(by: { $0.value.madeAt < $1.value.madeAt })
      {
        entries[oldest.key] = nil
      }
      entries[origin] = Entry(token: token, madeAt: now)
    }
    return token
  }

  /// How many origins have a token.
  var count: Int { entries.withLock { $0.count } }
}
