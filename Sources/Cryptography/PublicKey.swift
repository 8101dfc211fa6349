internal import COpenSSL

/// A curve of ECDSA (FIPS 186-4).
public enum Curve: String, Sendable, CaseIterable {
  case p256 = "P-256"
  case p384 = "P-384"
  case p521 = "P-521"

  /// Bytes of a point's coordinate, and of each of a signature's two numbers.
  public var coordinateBytes: Int {
    switch self {
    case .p256: 32
    case .p384: 48
    case .p521: 66
    }
  }

  /// The digest for signatures, as tokens use it (RFC 7518, section 3.4).
  public var digest: Digest {
    switch self {
    case .p256: .sha256
    case .p384: .sha384
    case .p521: .sha512
    }
  }
}

/// The kind of signatures that a key makes or checks.
public enum KeyKind: Sendable, Equatable {
  /// RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2).
  case rsa
  /// ECDSA. A signature is its two numbers, one after the other, as tokens write it (RFC 7518, section 3.4).
  case ecdsa(Curve)
  /// Ed25519 (RFC 8032).
  case ed25519
}

/// The given parts or text are no key, or a key of a kind or size that is not used here.
public struct UnusableKey: Error, Equatable {
  public init() {}
}

/// A key that checks signatures.
public final class PublicKey: Sendable {
  /// Least bits of an RSA key: with fewer it protects no more.
  public static let leastRSABits = 2048
  /// Most bits of an RSA key, so that a key set cannot make each check of a token take seconds.
  public static let mostRSABits = 8192

  public let kind: KeyKind
  let handle: KeyHandle

  init(_ handle: KeyHandle) throws(UnusableKey) {
    kind = try handle.kind()
    self.handle = handle
  }

  /// - Parameter pem: text that begins with `-----BEGIN PUBLIC KEY-----`. A private key is refused: it has no business
  ///   in a server's configuration.
  public convenience init(pem: String) throws(UnusableKey) {
    guard pem.contains("PUBLIC KEY-----") else { throw UnusableKey() }
    let text = Array(pem.utf8)
    try self.init(unsafe KeyHandle(copenssl_pem_public_key(text, text.count)))
  }

  /// An RSA key from its numbers, both big-endian.
  public convenience init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(UnusableKey) {
    guard modulus.count <= Self.mostRSABits / 8 + 1, exponent.count <= 8, !exponent.isEmpty else { throw UnusableKey() }
    try self.init(
      unsafe KeyHandle(copenssl_rsa_key(modulus, modulus.count, exponent, exponent.count, nil, 0)))
  }

  /// An ECDSA key from the coordinates of its point, each of ``Curve/coordinateBytes``.
  public convenience init(_ curve: Curve, x: [UInt8], y: [UInt8]) throws(UnusableKey) {
    guard x.count == curve.coordinateBytes, y.count == curve.coordinateBytes else { throw UnusableKey() }
    let point = [4] + x + y
    try self.init(unsafe KeyHandle(copenssl_ec_public_key(curve.rawValue, point, point.count)))
  }

  public convenience init(ed25519 bytes: [UInt8]) throws(UnusableKey) {
    guard bytes.count == 32 else { throw UnusableKey() }
    try self.init(
      unsafe KeyHandle(EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count)))
  }

  /// Whether the signature was made for the message with this key's private half.
  ///
  /// - Parameter digest: for RSA keys; the other kinds have one of their own.
  public func isSignature(_ signature: [UInt8], of message: [UInt8], digest: Digest = .sha256) -> Bool {
    defer { ERR_clear_error() }
    guard case .ecdsa(let curve) = kind else {
      return handle.verify(signature, message, kind == .ed25519 ? nil : digest)
    }
    guard signature.count == 2 * curve.coordinateBytes, let der = Self.der(signature) else { return false }
    return handle.verify(der, message, curve.digest)
  }

  private static func der(_ raw: [UInt8]) -> [UInt8]? {
    var der: UnsafeMutablePointer<UInt8>?
    let count = unsafe copenssl_ecdsa_der(raw, raw.count, &der)
    defer { unsafe copenssl_free(der) }
    guard count > 0, let der = unsafe der else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: der, count: Int(count)))
  }

  /// The key as PEM text, which begins with `-----BEGIN PUBLIC KEY-----`.
  public var pem: String {
    var text = [UInt8](repeating: 0, count: 4096)
    let count = unsafe copenssl_write_public_pem(handle.key, &text, text.count)
    precondition(count > 0, "a public key of at most \(Self.mostRSABits) bits fits into 4 KiB of PEM")
    return String(decoding: text.prefix(Int(count)), as: UTF8.self)
  }

  /// The key's bytes: for ECDSA a 4, x and y; for Ed25519 its 32 bytes; empty for RSA.
  public var point: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 + 2 * Curve.p521.coordinateBytes)
    var count = bytes.count
    switch kind {
    case .rsa: return []
    case .ecdsa: unsafe count = copenssl_ec_point(handle.key, &bytes, bytes.count)
    case .ed25519: if unsafe EVP_PKEY_get_raw_public_key(handle.key, &bytes, &count) != 1 { count = 0 }
    }
    return Array(bytes.prefix(count))
  }
}

/// OpenSSL's key. It is never changed after it was made, and OpenSSL lets several threads use such a key at a time.
@safe final class KeyHandle: @unchecked Sendable {
  let key: OpaquePointer

  init(_ key: OpaquePointer?) throws(UnusableKey) {
    guard let key = unsafe key else {
      ERR_clear_error()
      throw UnusableKey()
    }
    unsafe self.key = key
  }

  deinit { unsafe EVP_PKEY_free(key) }

  func kind() throws(UnusableKey) -> KeyKind {
    if unsafe EVP_PKEY_is_a(key, "ED25519") == 1 { return .ed25519 }
    let bits = Int(unsafe EVP_PKEY_get_bits(key))
    if unsafe EVP_PKEY_is_a(key, "RSA") == 1 {
      guard (PublicKey.leastRSABits...PublicKey.mostRSABits).contains(bits) else { throw UnusableKey() }
      return .rsa
    }
    var name = [CChar](repeating: 0, count: 32)
    var count = 0
    guard unsafe EVP_PKEY_is_a(key, "EC") == 1,
      unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1
    else { throw UnusableKey() }
    switch String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) {
    case "prime256v1", "P-256": return .ecdsa(.p256)
    case "secp384r1", "P-384": return .ecdsa(.p384)
    case "secp521r1", "P-521": return .ecdsa(.p521)
    default: throw UnusableKey()
    }
  }

  /// Whether the signature is the message's, in OpenSSL's form.
  ///
  /// - Parameter digest: nil for keys that have one of their own.
  func verify(_ signature: [UInt8], _ message: [UInt8], _ digest: Digest?) -> Bool {
    guard let context = unsafe EVP_MD_CTX_new() else { return false }
    defer { unsafe EVP_MD_CTX_free(context) }
    return unsafe EVP_DigestVerifyInit(context, nil, digest?.algorithm, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  func sign(_ message: [UInt8], _ digest: Digest?) -> [UInt8]? {
    guard let context = unsafe EVP_MD_CTX_new() else { return nil }
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key)))
    var count = signature.count
    guard unsafe EVP_DigestSignInit(context, nil, digest?.algorithm, nil, key) == 1,
      unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1
    else { return nil }
    return Array(signature.prefix(count))
  }
}
