import COpenSSL
import NIOCore

/// What the TLS connections of one event loop share, so that one at rest needs none of it: memory to encrypt into, and
/// ciphers.
///
/// The ciphers are keyed anew for each record. That costs less than a cipher for each connection would: with thousands
/// of connections theirs are in nobody's cache, and this one always is.
///
/// Bound to the event loop, and deliberately not Sendable. Whoever encrypts takes the output before anybody else does.
@safe public final class TLSLoop {
  /// More than this is given back when it has been used.
  static let keptBytes = 262_144

  /// OpenSSL's end of it, for handshakes and for connections that it goes on with.
  let port: UnsafeMutablePointer<copenssl_port>
  private var ciphers: [RecordCipher.Suite: RecordCipher] = [:]

  public init() {
    unsafe port = .allocate(capacity: 1)
    unsafe port.initialize(to: copenssl_port())
  }

  deinit {
    unsafe copenssl_port_release(port)
    unsafe port.deallocate()
  }

  /// Nil where OpenSSL does not have it.
  func cipher(_ suite: RecordCipher.Suite) -> RecordCipher? {
    if let cipher = ciphers[suite] { return cipher }
    let cipher = RecordCipher(suite)
    ciphers[suite] = cipher
    return cipher
  }

  // MARK: Output

  /// Memory that it has, used or not.
  var heldBytes: Int { unsafe port.pointee.output_capacity }

  /// What was encrypted and not taken yet.
  var output: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: port.pointee.output, count: port.pointee.output_count)
  }

  /// Room for so many bytes behind what is there; nil where memory is out.
  func room(_ count: Int) -> UnsafeMutablePointer<UInt8>? { unsafe copenssl_port_room(port, count) }

  /// So many bytes of the room were used.
  func wrote(_ count: Int) { unsafe port.pointee.output_count += count }

  /// A copy of what is there behind the first bytes, or nil where that is nothing. There is no output then.
  func takeOutput(_ allocator: ByteBufferAllocator, after first: Int = 0) -> ByteBuffer? {
    defer { dropOutput() }
    let output = unsafe output
    guard first < output.count else { return nil }
    return unsafe allocator.buffer(bytes: UnsafeRawBufferPointer(rebasing: output[first...]))
  }

  func dropOutput() {
    unsafe port.pointee.output_count = 0
    if unsafe port.pointee.output_capacity > Self.keptBytes { unsafe copenssl_port_release(port) }
  }
}

@available(*, unavailable)
extension TLSLoop: Sendable {}

/// An AEAD of TLS 1.3 that belongs to nobody: the keys come with each record.
@safe final class RecordCipher {
  /// By their numbers in the protocol (RFC 8446, appendix B.4).
  enum Suite: UInt16 {
    case aes128GCM = 0x1301
    case aes256GCM = 0x1302
    case chaCha20Poly1305 = 0x1303

    fileprivate var name: String {
      switch self {
      case .aes128GCM: "AES-128-GCM"
      case .aes256GCM: "AES-256-GCM"
      case .chaCha20Poly1305: "ChaCha20-Poly1305"
      }
    }

    var keyBytes: UInt8 { self == .aes128GCM ? 16 : 32 }
    /// Of the digest, and so of the secrets.
    var secretBytes: UInt8 { self == .aes256GCM ? 48 : 32 }
  }

  let suite: Suite
  let sealing: OpaquePointer
  let opening: OpaquePointer

  init?(_ suite: Suite) {
    self.suite = suite
    OpenSSLErrors.clear()
    guard let cipher = unsafe EVP_CIPHER_fetch(nil, suite.name, nil) else { return nil }
    defer { unsafe EVP_CIPHER_free(cipher) }
    guard let sealing = unsafe EVP_CIPHER_CTX_new() else { return nil }
    guard let opening = unsafe EVP_CIPHER_CTX_new() else {
      unsafe EVP_CIPHER_CTX_free(sealing)
      return nil
    }
    unsafe self.sealing = sealing
    unsafe self.opening = opening
    guard unsafe EVP_EncryptInit_ex2(sealing, cipher, nil, nil, nil) == 1,
      unsafe EVP_DecryptInit_ex2(opening, cipher, nil, nil, nil) == 1
    else { return nil }
  }

  deinit {
    unsafe EVP_CIPHER_CTX_free(sealing)
    unsafe EVP_CIPHER_CTX_free(opening)
  }
}
