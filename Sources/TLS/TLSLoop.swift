import COpenSSL
import NIOCore

/// What the TLS connections of one event loop share, so that a connection at rest holds none of it: memory to encrypt
/// into (the output), and ciphers.
///
/// The ciphers are keyed anew for each record. That costs less than a cipher for each connection would: with thousands
/// of connections, a cipher of one's own has left the processor's cache by the time of its next record, and the shared
/// one has not.
///
/// Bound to the event loop, and deliberately not Sendable. A connection that has encrypted something takes the output
/// before another connection encrypts.
@safe public final class TLSLoop {
  /// Memory for output beyond this is freed when the output has been taken.
  static let keptBytes = 262_144

  /// Input and output as OpenSSL reaches them, in handshakes and on connections that stay with OpenSSL.
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

  /// The event loop's cipher for the suite; nil where OpenSSL does not have the suite.
  func cipher(_ suite: RecordCipher.Suite) -> RecordCipher? {
    if let cipher = ciphers[suite] { return cipher }
    let cipher = RecordCipher(suite)
    ciphers[suite] = cipher
    return cipher
  }

  // MARK: Output

  /// Bytes of memory allocated for output, used or not.
  var heldBytes: Int { unsafe port.pointee.output_capacity }

  /// What was encrypted and not taken yet.
  var output: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: port.pointee.output, count: port.pointee.output_count)
  }

  /// Room for `count` bytes behind the output that is there; nil where memory is out.
  func room(_ count: Int) -> UnsafeMutablePointer<UInt8>? { unsafe copenssl_port_room(port, count) }

  /// Counts `count` bytes that were written into the room as output.
  func wrote(_ count: Int) { unsafe port.pointee.output_count += count }

  /// Returns a copy of the output without its first `first` bytes, nil where nothing is left, and empties the output.
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
  /// Cipher suites, by their numbers in the protocol (RFC 8446, appendix B.4).
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
    /// Length of the suite's digest, which is also that of its traffic secrets.
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
