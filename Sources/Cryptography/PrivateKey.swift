internal import COpenSSL

/// A key that makes signatures and, on an elliptic curve, agrees with others on secrets.
public final class PrivateKey: Sendable {
  /// The key's public half.
  public let publicKey: PublicKey
  var handle: KeyHandle { publicKey.handle }

  init(_ handle: KeyHandle) throws(UnusableKey) { publicKey = try PublicKey(handle) }

  /// A new ECDSA key, drawn at random.
  public convenience init(on curve: Curve) throws(UnusableKey) {
    try self.init(unsafe KeyHandle(copenssl_new_ec_key(curve.rawValue)))
  }

  /// A new Ed25519 key, drawn at random.
  public convenience init() throws(UnusableKey) { try self.init(unsafe KeyHandle(copenssl_new_ed25519_key())) }

  /// An RSA key from its numbers, all big-endian.
  public convenience init(
    rsaModulus modulus: [UInt8], exponent: [UInt8], privateExponent: [UInt8]
  ) throws(UnusableKey) {
    try self.init(
      unsafe KeyHandle(
        copenssl_rsa_key(
          modulus, modulus.count, exponent, exponent.count, privateExponent, privateExponent.count)))
  }

  /// Signs a message.
  ///
  /// - Parameter digest: for RSA keys; the other kinds have one of their own.
  /// - Throws: where OpenSSL fails, which it does only if the key is not whole or memory is out.
  public func sign(_ message: [UInt8], digest: Digest = .sha256) throws(UnusableKey) -> [UInt8] {
    defer { ERR_clear_error() }
    switch publicKey.kind {
    case .rsa: if let signature = handle.sign(message, digest) { return signature }
    case .ed25519: if let signature = handle.sign(message, nil) { return signature }
    case .ecdsa(let curve):
      var raw = [UInt8](repeating: 0, count: 2 * curve.coordinateBytes)
      if let der = handle.sign(message, curve.digest),
        unsafe copenssl_ecdsa_raw(der, der.count, &raw, raw.count) == 1
      {
        return raw
      }
    }
    throw UnusableKey()
  }
}
