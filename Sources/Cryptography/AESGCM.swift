internal import COpenSSL

/// AES in Galois/Counter Mode (NIST SP 800-38D), with a key of 16 or 32 bytes: nobody reads what is sealed, and nobody
/// changes it, or what was sealed along with it, unnoticed.
public enum AESGCM {
  public static let nonceBytes = 12
  public static let tagBytes = 16

  /// The bytes were not sealed with this key and these authenticated bytes, or the key has neither 16 nor 32 bytes.
  public struct Refusal: Error, Equatable {
    public init() {}
  }

  /// Seals bytes.
  ///
  /// - Parameters:
  ///   - authenticated: bytes that are not part of the result, and that ``open(_:with:authenticating:)`` has to be
  ///     given.
  ///   - nonce: 12 bytes that the key was never used with; nil: drawn at random, which is safe for 2^32 uses of a key.
  /// - Returns: the nonce, the ciphertext, and the tag.
  /// - Throws: where the key or the nonce has a wrong length.
  public static func seal(
    _ bytes: [UInt8], with key: SecretKey, authenticating authenticated: [UInt8] = [], nonce: [UInt8]? = nil
  ) throws(Refusal) -> [UInt8] {
    let nonce = nonce ?? Randomness.bytes(nonceBytes)
    var sealed = [UInt8](repeating: 0, count: nonceBytes + bytes.count + tagBytes)
    let isDone = unsafe with(key, nonce, authenticated, isSealing: true) { context in
      var count: Int32 = 0
      return unsafe sealed.withUnsafeMutableBytes { sealed in
        guard let start = unsafe sealed.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        let body = unsafe start + nonceBytes
        guard
          unsafe bytes.isEmpty || EVP_CipherUpdate(context, body, &count, bytes, Int32(bytes.count)) == 1,
          unsafe EVP_CipherFinal_ex(context, body + bytes.count, &count) == 1
        else { return false }
        return unsafe copenssl_gcm_take_tag(context, body + bytes.count) == 1
      }
    }
    if !isDone { throw Refusal() }
    for index in nonce.indices { sealed[index] = nonce[index] }
    return sealed
  }

  /// Opens what ``seal(_:with:authenticating:nonce:)`` returned.
  ///
  /// - Throws: where it was changed, or sealed with another key or other authenticated bytes.
  public static func open(
    _ sealed: [UInt8], with key: SecretKey, authenticating authenticated: [UInt8] = []
  ) throws(Refusal) -> [UInt8] {
    guard sealed.count >= nonceBytes + tagBytes else { throw Refusal() }
    return try open(
      sealed[nonceBytes...], nonce: Array(sealed[..<nonceBytes]), with: key, authenticating: authenticated)
  }

  /// Opens sealed bytes whose nonce stands elsewhere.
  ///
  /// - Parameter sealed: the ciphertext and the tag.
  public static func open(
    _ sealed: ArraySlice<UInt8>, nonce: [UInt8], with key: SecretKey, authenticating authenticated: [UInt8] = []
  ) throws(Refusal) -> [UInt8] {
    guard sealed.count >= tagBytes else { throw Refusal() }
    let size = sealed.count - tagBytes
    var opened = [UInt8](repeating: 0, count: max(size, 1))
    let isDone = unsafe with(key, nonce, authenticated, isSealing: false) { context in
      var count: Int32 = 0
      return unsafe sealed.withUnsafeBytes { sealed in
        guard let start = unsafe sealed.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        var end: [UInt8] = Array(repeating: 0, count: 16)
        return unsafe (size == 0 || EVP_CipherUpdate(context, &opened, &count, start, Int32(size)) == 1)
          && copenssl_gcm_give_tag(context, start + size) == 1
          && EVP_CipherFinal_ex(context, &end, &count) == 1
      }
    }
    if !isDone { throw Refusal() }
    opened.removeLast(opened.count - size)
    return opened
  }

  private static func cipher(ofKeyBytes count: Int) -> OpaquePointer? {
    switch count {
    case 16: unsafe EVP_aes_128_gcm()
    case 32: unsafe EVP_aes_256_gcm()
    default: nil
    }
  }

  /// Runs `body` with a context that has the key, the nonce and the authenticated bytes.
  ///
  /// - Returns: false where OpenSSL refused any of it, or `body` returned false.
  private static func with(
    _ key: SecretKey, _ nonce: [UInt8], _ authenticated: [UInt8], isSealing: Bool, _ body: (OpaquePointer) -> Bool
  ) -> Bool {
    guard nonce.count == nonceBytes, let context = unsafe EVP_CIPHER_CTX_new() else { return false }
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    guard let cipher = unsafe cipher(ofKeyBytes: key.count) else { return false }
    let isReady = unsafe key.withBytes { key in
      unsafe EVP_CipherInit_ex(
        context, cipher, nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce, isSealing ? 1 : 0) == 1
    }
    var count: Int32 = 0
    let isDone =
      unsafe isReady
      && (authenticated.isEmpty
        || EVP_CipherUpdate(context, nil, &count, authenticated, Int32(authenticated.count)) == 1)
      && body(context)
    ERR_clear_error()
    return isDone
  }
}
