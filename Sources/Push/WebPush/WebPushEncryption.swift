import Cryptography

/// The content encoding aes128gcm (RFC 8188) with the keys of Web Push (RFC 8291): one record, which the browser alone
/// can open.
///
///      0        16      20   21              86                         86 + text + 17
///     +--------+-------+----+---------------+----------------------------+
///     | salt   | 4096  | 65 | our point     | text, 2, tag               |
///     +--------+-------+----+---------------+----------------------------+
enum WebPushEncryption {
  /// Bytes of a record, all of which the text with its end and its tag may have.
  static let recordBytes = 4096
  private static let saltBytes = 16

  /// - Parameters:
  ///   - own: a key that is used for this message only.
  ///   - salt: likewise.
  /// - Throws: where the text is longer than ``PushPayload/webPushBytes``, or OpenSSL fails.
  static func encrypt(
    _ text: [UInt8], for subscription: WebPushSubscription, own: PrivateKey, salt: [UInt8]
  ) throws(UnusableKey) -> [UInt8] {
    let point = own.publicKey.point
    guard text.count <= PushPayload.webPushBytes, salt.count == saltBytes, point.count == 65 else {
      throw UnusableKey()
    }
    let shared = try own.agree(with: try PublicKey(.p256, point: subscription.publicKey))
    let keyInfo = Array("WebPush: info\0".utf8) + subscription.publicKey + point
    let secret = shared.derived(salt: subscription.secret, info: keyInfo, count: 32)
    return try record(text, secret: secret, salt: salt, keyID: point)
  }

  /// A whole encoded text of one record (RFC 8188, section 2).
  ///
  /// - Parameter keyID: at most 255 bytes by which the reader finds the secret.
  static func record(
    _ text: [UInt8], secret: SecretKey, salt: [UInt8], keyID: [UInt8]
  ) throws(UnusableKey) -> [UInt8] {
    let key = secret.derived(salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16)
    let nonce = secret.derived(salt: salt, info: Array("Content-Encoding: nonce\0".utf8), count: AESGCM.nonceBytes)
    // 2 ends the text of the last record; what would follow it is padding.
    guard keyID.count <= 255, let sealed = try? AESGCM.seal(text + [2], with: key, nonce: nonce.bytes) else {
      throw UnusableKey()
    }
    let size = (0..<4).map { UInt8(truncatingIfNeeded: recordBytes >> (24 - 8 * $0)) }
    return salt + size + [UInt8(keyID.count)] + keyID + sealed.dropFirst(AESGCM.nonceBytes)
  }

  static func encrypt(_ text: [UInt8], for subscription: WebPushSubscription) throws(UnusableKey) -> [UInt8] {
    try encrypt(text, for: subscription, own: try PrivateKey(on: .p256), salt: Randomness.bytes(saltBytes))
  }
}
