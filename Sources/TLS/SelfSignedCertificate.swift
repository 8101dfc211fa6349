import COpenSSL

/// A certificate that has signed itself, with its key: for development, where nobody else signs one for `localhost`. It
/// is for this machine's own names alone, and can sign no other certificate, so whoever trusts it trusts nothing more.
public struct SelfSignedCertificate: Sendable {
  /// The names that it is for, as OpenSSL writes them.
  private static let names = "DNS:localhost,IP:127.0.0.1,IP:::1"

  /// The certificate in PEM.
  public let certificate: [UInt8]
  /// Its private key in PEM, without a pass phrase.
  public let key: [UInt8]

  /// Makes another one, with a key of its own.
  ///
  /// - Parameter seconds: how long it holds.
  public init(for seconds: Int) throws(TLSError) {
    OpenSSLErrors.clear()
    guard let certificate = unsafe BIO_new(BIO_s_mem()) else { throw .failed(detail: "out of memory") }
    defer { unsafe BIO_free(certificate) }
    // The key's memory is wiped when it is freed.
    guard let key = unsafe BIO_new(BIO_s_secmem()) else { throw .failed(detail: "out of memory") }
    defer { unsafe BIO_free(key) }
    guard unsafe copenssl_sign_oneself("Fanfare development", Self.names, seconds, certificate, key) == 1 else {
      throw .failed(detail: OpenSSLErrors.take() ?? "no certificate could be made")
    }
    self.certificate = unsafe Self.written(certificate)
    self.key = unsafe Self.written(key)
  }

  private static func written(_ bio: OpaquePointer) -> [UInt8] {
    var count = 0
    guard let bytes = unsafe copenssl_written(bio, &count) else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  }
}

/// What people compare of a certificate, and when it ends.
public struct CertificateFacts: Sendable, Equatable {
  /// SHA-256 of the certificate in DER, as browsers show it: `AB:CD:…`.
  public var fingerprint: String
  /// Seconds since 1970.
  public var endsAt: Int64
}

extension OpenSSLContext {
  /// Nil on a client.
  var facts: CertificateFacts? {
    guard let certificate = unsafe SSL_CTX_get0_certificate(pointer) else { return nil }
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    guard unsafe X509_digest(certificate, EVP_sha256(), &digest, &count) == 1 else { return nil }
    let digits = Array("0123456789ABCDEF")
    return CertificateFacts(
      fingerprint: digest.map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined(separator: ":"),
      endsAt: unsafe copenssl_seconds(X509_get0_notAfter(certificate)))
  }
}
