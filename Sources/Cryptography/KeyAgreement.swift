internal import COpenSSL

extension PrivateKey {
  /// A key from PEM text without a password, such as one that begins with `-----BEGIN PRIVATE KEY-----` (PKCS #8).
  public convenience init(pem: String) throws(UnusableKey) {
    guard pem.contains("PRIVATE KEY-----") else { throw UnusableKey() }
    let text = Array(pem.utf8)
    try self.init(unsafe KeyHandle(copenssl_pem_private_key(text, text.count)))
  }

  /// A key on a curve from its number.
  ///
  /// - Parameter scalar: big-endian, of ``Curve/coordinateBytes``.
  /// - Throws: where it has another length, is zero, or is not below the curve's order.
  public convenience init(_ curve: Curve, scalar: [UInt8]) throws(UnusableKey) {
    guard scalar.count == curve.coordinateBytes else { throw UnusableKey() }
    try self.init(unsafe KeyHandle(copenssl_ec_private_key(curve.rawValue, scalar, scalar.count)))
  }

  /// The number of a key on a curve, big-endian.
  ///
  /// - Throws: where the key is on no curve.
  public func scalar() throws(UnusableKey) -> SecretKey {
    guard case .ecdsa(let curve) = publicKey.kind else { throw UnusableKey() }
    return try Self.secret(of: curve.coordinateBytes) { unsafe copenssl_ec_scalar(handle.key, &$0, $0.count) == 1 }
  }

  /// The secret that this key and somebody else's public key on the same curve share: ECDH, the x coordinate of the
  /// shared point (NIST SP 800-56A, section 5.7.1.2). It is no key yet; derive one from it.
  ///
  /// - Throws: where the keys are not on one curve.
  public func agree(with peer: PublicKey) throws(UnusableKey) -> SecretKey {
    guard case .ecdsa(let curve) = publicKey.kind, peer.kind == publicKey.kind else { throw UnusableKey() }
    return try Self.secret(of: curve.coordinateBytes) {
      unsafe copenssl_agree(handle.key, peer.handle.key, &$0, $0.count) == 1
    }
  }

  /// The bytes that `write` makes, which are overwritten outside of the result.
  private static func secret(of count: Int, _ write: (inout [UInt8]) -> Bool) throws(UnusableKey) -> SecretKey {
    var bytes = [UInt8](repeating: 0, count: count)
    defer {
      unsafe OPENSSL_cleanse(&bytes, count)
      ERR_clear_error()
    }
    guard write(&bytes) else { throw UnusableKey() }
    return SecretKey(bytes)
  }
}

extension PublicKey {
  /// An ECDSA key from its point: a 4, then x and y. As ``point`` gives it.
  public convenience init(_ curve: Curve, point: [UInt8]) throws(UnusableKey) {
    let half = curve.coordinateBytes
    guard point.count == 1 + 2 * half, point[0] == 4 else { throw UnusableKey() }
    try self.init(curve, x: Array(point[1...half]), y: Array(point[(half + 1)...]))
  }
}
