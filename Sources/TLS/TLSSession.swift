import COpenSSL
import NIOCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One connection's OpenSSL state between two memory BIOs: bytes from and for the network go in and out by hand, so
/// that OpenSSL never touches the socket.
///
/// Bound to its connection's event loop.
@safe final class TLSSession {
  enum Step: Equatable {
    case done
    /// More bytes from the peer are needed.
    case needsInput
    /// The peer said goodbye.
    case closed
    case failed(TLSError)
  }

  /// Of one TLS record.
  private static let largestPlaintextBytes = 16_384
  /// An empty BIO keeps so much, which is enough for most messages.
  static let keptBytes = 4_096

  private let ssl: OpaquePointer
  /// Owned by `ssl`.
  private let fromNetwork: OpaquePointer
  private let toNetwork: OpaquePointer

  init(context: OpaquePointer, isServer: Bool) throws(TLSError) {
    OpenSSLErrors.clear()
    guard let ssl = unsafe SSL_new(context) else { throw .failed(detail: OpenSSLErrors.take() ?? "out of memory") }
    guard let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem()) else {
      // A BIO that was made is lost when memory is out; there is nothing better to do then.
      unsafe SSL_free(ssl)
      throw .failed(detail: "out of memory")
    }
    unsafe copenssl_set_retry_when_empty(input)
    unsafe copenssl_set_retry_when_empty(output)
    unsafe SSL_set_bio(ssl, input, output)
    if isServer { unsafe SSL_set_accept_state(ssl) } else { unsafe SSL_set_connect_state(ssl) }
    unsafe self.ssl = ssl
    unsafe fromNetwork = input
    unsafe toNetwork = output
  }

  deinit { unsafe SSL_free(ssl) }

  /// Names the server to the server (SNI) and, where `isVerified`, to the check of its certificate.
  func expect(serverName: String, isVerified: Bool) throws(TLSError) {
    OpenSSLErrors.clear()
    guard !serverName.isEmpty, !serverName.utf8.contains(0) else { throw .badServerName(serverName) }
    if Self.isIPAddress(serverName) {
      // RFC 6066, section 3: no SNI for addresses.
      if isVerified, unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName) != 1 {
        throw .badServerName(serverName)
      }
      return
    }
    guard unsafe copenssl_set_server_name(ssl, serverName) == 1 else { throw .badServerName(serverName) }
    guard isVerified else { return }
    unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    guard unsafe SSL_set1_host(ssl, serverName) == 1 else { throw .badServerName(serverName) }
  }

  private static func isIPAddress(_ name: String) -> Bool {
    var room = in6_addr()  // Large enough for both.
    return unsafe inet_pton(AF_INET, name, &room) == 1 || inet_pton(AF_INET6, name, &room) == 1
  }

  // MARK: Network side

  /// Takes all of the buffer's bytes.
  func receive(_ bytes: inout ByteBuffer) -> Bool {
    unsafe bytes.readWithUnsafeReadableBytes { source in
      var taken = 0
      let fine = unsafe BIO_write_ex(fromNetwork, source.baseAddress, source.count, &taken) == 1
      return unsafe (source.count, source.isEmpty || (fine && taken == source.count))
    }
  }

  /// What is to be sent to the network, or nil where there is nothing.
  func takeOutput(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
    let pending = unsafe copenssl_pending(toNetwork)
    if pending == 0 { return nil }
    var output = allocator.buffer(capacity: pending)
    unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: pending) { room in
      var taken = 0
      return unsafe BIO_read_ex(toNetwork, room.baseAddress, room.count, &taken) == 1 ? taken : 0
    }
    unsafe giveBack(toNetwork)
    return output.readableBytes > 0 ? output : nil
  }

  /// Memory that the two BIOs hold between messages; OpenSSL gives its own back by itself (`SSL_MODE_RELEASE_BUFFERS`).
  var heldBytes: Int { unsafe copenssl_capacity(fromNetwork) + copenssl_capacity(toNetwork) }

  /// One large message would else cost its connection that memory for as long as it lives.
  private func giveBack(_ bio: OpaquePointer) {
    if unsafe copenssl_capacity(bio) > Self.keptBytes { unsafe copenssl_shrink(bio) }
  }

  // MARK: Plain side

  func handshake() -> Step {
    OpenSSLErrors.clear()
    let result = unsafe SSL_do_handshake(ssl)
    if result == 1 { return .done }
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .needsInput
    case SSL_ERROR_ZERO_RETURN: return .closed
    default:
      let detail = OpenSSLErrors.take() ?? "the peer broke off"
      let verdict = unsafe SSL_get_verify_result(ssl)
      guard verdict == Int(X509_V_OK) else {
        let reason = unsafe X509_verify_cert_error_string(verdict).map { unsafe String(cString: $0) }
        return .failed(.untrustedPeer(detail: reason ?? detail))
      }
      return .failed(.handshakeFailed(detail: detail))
    }
  }

  /// Decrypts what is there, up to one record.
  func read(_ allocator: ByteBufferAllocator) -> (Step, ByteBuffer?) {
    OpenSSLErrors.clear()
    // Plaintext is never longer than its ciphertext: small records take small buffers.
    let waiting = unsafe Int(SSL_pending(ssl)) + copenssl_pending(fromNetwork)
    if waiting == 0, unsafe SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN == 0 {
      // All of a burst was read.
      unsafe giveBack(fromNetwork)
      return (.needsInput, nil)
    }
    var plain = allocator.buffer(capacity: min(max(waiting, 64), Self.largestPlaintextBytes))
    var error: Int32 = SSL_ERROR_NONE
    unsafe plain.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { room in
      var count = 0
      let result = unsafe SSL_read_ex(ssl, room.baseAddress, room.count, &count)
      if result != 1 { error = unsafe SSL_get_error(ssl, result) }
      return result == 1 ? count : 0
    }
    switch error {
    case SSL_ERROR_NONE: return (.done, plain)
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
      unsafe giveBack(fromNetwork)
      return (.needsInput, nil)
    case SSL_ERROR_ZERO_RETURN: return (.closed, nil)
    default: return (.failed(.failed(detail: OpenSSLErrors.take() ?? "the peer broke off")), nil)
    }
  }

  /// Encrypts all of the bytes; a memory BIO takes any number.
  func write(_ bytes: ByteBuffer) -> Step {
    if bytes.readableBytes == 0 { return .done }
    OpenSSLErrors.clear()
    return unsafe bytes.withUnsafeReadableBytes { source in
      var count = 0
      let result = unsafe SSL_write_ex(ssl, source.baseAddress, source.count, &count)
      if result == 1 && count == source.count { return .done }
      return .failed(.failed(detail: OpenSSLErrors.take() ?? "the connection does not take data"))
    }
  }

  /// Puts the goodbye (close_notify) into the output. Nothing can be written after it.
  func sayGoodbye() {
    OpenSSLErrors.clear()
    _ = unsafe SSL_shutdown(ssl)
    OpenSSLErrors.clear()
  }

  /// What was agreed on; nil for nothing.
  var applicationProtocol: String? {
    var bytes: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    unsafe SSL_get0_alpn_selected(ssl, &bytes, &length)
    guard let bytes = unsafe bytes, length > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(length)), as: UTF8.self)
  }
}
