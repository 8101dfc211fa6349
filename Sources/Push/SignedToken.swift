import Cryptography
import Wire

/// Tokens that we sign (RFC 7515, compact serialisation).
enum SignedToken {
  /// - Parameters:
  ///   - keyID: the header `kid`; nil: none.
  ///   - claims: writes the members of the payload.
  /// - Throws: where the key is of another kind than P-256 and RSA, or cannot sign.
  static func make(
    with key: PrivateKey, keyID: String? = nil, claims: (inout JSONWriter) -> Void
  ) throws(UnusableKey) -> String {
    let algorithm: String
    switch key.publicKey.kind {
    case .ecdsa(.p256): algorithm = "ES256"
    case .rsa: algorithm = "RS256"
    default: throw UnusableKey()
    }
    let header = PushPayload.encoded { writer in
      writer.write("alg", algorithm)
      writer.write("typ", "JWT")
      if let keyID { writer.write("kid", keyID) }
    }
    let signed = Base64.url.text(header) + "." + Base64.url.text(PushPayload.encoded(claims))
    return signed + "." + Base64.url.text(try key.sign(Array(signed.utf8)))
  }
}

/// Names under which services and devices know what may be replaced by a newer message.
struct CollapseTags: Sendable {
  private let secret: SecretKey

  /// - Parameter secret: of the service's own credentials, so that each of them has others.
  init(secret: SecretKey) { self.secret = secret.derived(info: Array("fanfare push tag".utf8), count: 32) }

  /// 32 characters of base64url, which are as many as a Topic may have (RFC 8030, section 5.4).
  func tag(_ key: String, for device: PushDevice) -> String {
    let message = Array("\(device.id)\0\(key)".utf8)
    return Base64.url.text(Digest.sha256.authenticate(message, with: secret).prefix(24))
  }
}
