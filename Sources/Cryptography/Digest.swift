internal import COpenSSL

/// Digests (FIPS 180-4).
public enum Digest: Sendable, CaseIterable {
  /// SHA-1, which is broken for signatures. The WebSocket handshake requires it (RFC 6455, section 1.3), where it
  /// protects nothing.
  case sha1
  case sha256
  case sha384
  case sha512

  /// Bytes of a result.
  public var count: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }

  public func hash(_ message: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: count)
    let isDone = unsafe EVP_Digest(message, message.count, &result, nil, algorithm, nil) == 1
    precondition(isDone, "OpenSSL lacks a digest that it must have, or memory is out")
    return result
  }

  /// The keyed digest of a message: HMAC (RFC 2104).
  public func authenticate(_ message: [UInt8], with key: SecretKey) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: count)
    let isDone = unsafe key.withBytes { key in
      unsafe HMAC(
        algorithm, key.baseAddress, Int32(key.count), message, message.count, &result, nil) != nil
    }
    precondition(isDone, "OpenSSL lacks a digest that it must have, or memory is out")
    return result
  }

  /// Whether `tag` is the message's keyed digest. The comparison takes the same time for any wrong tag of the right
  /// length.
  public func isAuthentic(_ message: [UInt8], _ tag: [UInt8], with key: SecretKey) -> Bool {
    Self.areSame(tag, authenticate(message, with: key))
  }

  /// Whether two digests are the same. The comparison takes the same time wherever two of one length differ, so that it
  /// tells nobody how much of a guess was right.
  public static func areSame(_ digest: [UInt8], _ other: [UInt8]) -> Bool {
    unsafe digest.count == other.count && CRYPTO_memcmp(digest, other, other.count) == 0
  }

  /// The digest as OpenSSL's parameters name it.
  var name: String {
    switch self {
    case .sha1: "SHA1"
    case .sha256: "SHA256"
    case .sha384: "SHA384"
    case .sha512: "SHA512"
    }
  }

  var algorithm: OpaquePointer? {
    switch self {
    case .sha1: unsafe EVP_sha1()
    case .sha256: unsafe EVP_sha256()
    case .sha384: unsafe EVP_sha384()
    case .sha512: unsafe EVP_sha512()
    }
  }
}
