import COpenSSL
import NIOCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One connection's side of TLS, between bytes from and for the network: nothing in here touches the socket. What is to
/// be sent stands in the loop's output after each call, and is to be taken before the next connection writes.
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

  @safe private enum Engine {
    /// In the handshake; and after it for clients and for TLS 1.2. Can transition to: records.
    case openSSL(OpaquePointer)
    /// Final.
    case records(TLSRecords)
  }

  private var engine: Engine
  let loop: TLSLoop
  /// Bytes that came and were not worked off yet: after each burst, at most the beginning of a record.
  private var input: ByteBuffer?
  /// The secrets that a server's handshake has told so far; nil on a client, and after the handshake.
  private var keys: TrafficKeys?
  /// What the server's files held when the connection began; nil on a client, and after the handshake. OpenSSL's
  /// callbacks look into it.
  private var loaded: LoadedContext?
  /// Which of the server's certificates the client gets.
  private var certificate = 0
  /// What was agreed on in the handshake; nil for nothing.
  private(set) var applicationProtocol: String?

  init(_ loaded: LoadedContext, _ context: OpenSSLContext, isServer: Bool, loop: TLSLoop) throws(TLSError) {
    OpenSSLErrors.clear()
    guard let ssl = unsafe SSL_new(context.pointer) else {
      throw .failed(detail: OpenSSLErrors.take() ?? "out of memory")
    }
    guard let method = unsafe portMethod.pointer, let bio = unsafe BIO_new(method) else {
      unsafe SSL_free(ssl)
      throw .failed(detail: "out of memory")
    }
    unsafe BIO_set_data(bio, loop.port)
    unsafe SSL_set_bio(ssl, bio, bio)
    if isServer { unsafe SSL_set_accept_state(ssl) } else { unsafe SSL_set_connect_state(ssl) }
    self.loop = loop
    engine = unsafe .openSSL(ssl)
    guard isServer else { return }
    self.loaded = loaded
    keys = TrafficKeys()
    _ = unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
  }

  /// A session whose keys everybody knows: see ``TLSHandler/init(countingOn:)``.
  init(countingOn loop: TLSLoop) {
    let keys = TrafficKeys()
    keys.sending.secret_bytes = RecordCipher.Suite.aes256GCM.secretBytes
    keys.receiving.secret_bytes = RecordCipher.Suite.aes256GCM.secretBytes
    guard let cipher = loop.cipher(.aes256GCM), let records = TLSRecords(keys, cipher, sealedRecords: 0, loop: loop)
    else { preconditionFailure("OpenSSL has no AES-GCM; give it its default provider") }
    self.loop = loop
    engine = .records(records)
  }

  deinit {
    if case .openSSL(let ssl) = engine { unsafe SSL_free(ssl) }
  }

  /// Names the server to the server (SNI) and, where `isVerified`, to the check of its certificate.
  func expect(serverName: String, isVerified: Bool) throws(TLSError) {
    guard case .openSSL(let ssl) = engine else { return }
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

  func receive(_ bytes: inout ByteBuffer) {
    if input == nil { input = bytes } else { input?.writeBuffer(&bytes) }
  }

  /// Bytes of memory held between bursts, for the beginning of a record.
  var heldBytes: Int { input?.storageCapacity ?? 0 }

  /// Whether the connection goes on in ``TLSRecords``, and OpenSSL's state was freed.
  var isTakenOver: Bool { if case .records = engine { true } else { false } }

  /// Runs a call of OpenSSL that may read the input, and keeps what it leaves.
  private func feeding(_ body: () -> Int32) -> Int32 {
    guard var bytes = input else { return body() }
    input = nil
    var result: Int32 = 0
    let left = unsafe bytes.withUnsafeReadableBytes { source in
      unsafe loop.port.pointee.input = source.bindMemory(to: UInt8.self).baseAddress
      unsafe loop.port.pointee.input_count = source.count
      result = body()
      defer {
        unsafe loop.port.pointee.input = nil
        unsafe loop.port.pointee.input_count = 0
      }
      return unsafe loop.port.pointee.input_count
    }
    bytes.moveReaderIndex(forwardBy: bytes.readableBytes - left)
    if left > 0 { input = bytes }
    return result
  }

  /// Keeps the beginning of a record as input. The channel's buffers are large, so it goes into a small one.
  private func keepRest(_ rest: ByteBuffer, _ allocator: ByteBufferAllocator) {
    guard rest.readableBytes > 0 else { return }
    if rest.readerIndex == 0 && rest.storageCapacity <= 2 * TLSRecords.largestTextBytes { return input = rest }
    var small = allocator.buffer(capacity: rest.readableBytes)
    small.writeImmutableBuffer(rest)
    input = small
  }

  // MARK: Plain side

  func handshake() -> Step {
    guard case .openSSL(let ssl) = engine else { return .done }
    OpenSSLErrors.clear()
    let before = unsafe loop.output.count
    let result = feeding { unsafe SSL_do_handshake(ssl) }
    if result == 1 {
      applicationProtocol = unsafe Self.applicationProtocol(ssl)
      unsafe takeOver(ssl, outputBefore: before)
      loaded = nil
      return .done
    }
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .needsInput
    case SSL_ERROR_ZERO_RETURN: return .closed
    default:
      return .failed(unsafe handshakeError(ssl))
    }
  }

  /// Why OpenSSL has given up the handshake.
  private func handshakeError(_ ssl: OpaquePointer) -> TLSError {
    let isWithoutCertificate = OpenSSLErrors.isNext(SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    let detail = OpenSSLErrors.take() ?? "the peer broke off"
    if isWithoutCertificate { return .clientWithoutCertificate }
    let verdict = unsafe SSL_get_verify_result(ssl)
    guard verdict != Int(X509_V_OK) else { return .handshakeFailed(detail: detail) }
    let reason = unsafe X509_verify_cert_error_string(verdict).map { unsafe String(cString: $0) } ?? detail
    return loaded == nil ? .untrustedPeer(detail: reason) : .untrustedClient(detail: reason)
  }

  /// Decrypts what is there, up to one record.
  func read(_ allocator: ByteBufferAllocator) -> (Step, ByteBuffer?) {
    switch engine {
    case .openSSL(let ssl): return unsafe read(ssl, allocator)
    case .records(let records):
      guard var bytes = input else { return (.needsInput, nil) }
      input = nil
      switch records.next(&bytes, allocator) {
      case .data(let text):
        if bytes.readableBytes > 0 { input = bytes }
        return (.done, text)
      case .needsInput:
        keepRest(bytes, allocator)
        return (.needsInput, nil)
      case .closed: return (.closed, nil)
      case .failed(let error): return (.failed(error), nil)
      }
    }
  }

  private func read(_ ssl: OpaquePointer, _ allocator: ByteBufferAllocator) -> (Step, ByteBuffer?) {
    OpenSSLErrors.clear()
    // Plaintext is never longer than its ciphertext: small records take small buffers.
    let waiting = unsafe Int(SSL_pending(ssl)) + (input?.readableBytes ?? 0)
    if waiting == 0, unsafe SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN == 0 { return (.needsInput, nil) }
    var plain = allocator.buffer(capacity: min(max(waiting, 64), TLSRecords.largestTextBytes))
    var error: Int32 = SSL_ERROR_NONE
    unsafe plain.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { room in
      var count = 0
      let result = feeding { unsafe SSL_read_ex(ssl, room.baseAddress, room.count, &count) }
      if result != 1 { error = unsafe SSL_get_error(ssl, result) }
      return result == 1 ? count : 0
    }
    switch error {
    case SSL_ERROR_NONE: return (.done, plain)
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return (.needsInput, nil)
    case SSL_ERROR_ZERO_RETURN: return (.closed, nil)
    default: return (.failed(.failed(detail: OpenSSLErrors.take() ?? "the peer broke off")), nil)
    }
  }

  /// Encrypts all of the bytes into the loop's output.
  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    if unsafe bytes.isEmpty { return .done }
    switch engine {
    case .records(let records):
      if unsafe records.write(bytes) { return .done }
      return .failed(.failed(detail: OpenSSLErrors.take() ?? "out of memory"))
    case .openSSL(let ssl):
      OpenSSLErrors.clear()
      var count = 0
      let result = unsafe SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
      if result == 1 && count == bytes.count { return .done }
      return .failed(.failed(detail: OpenSSLErrors.take() ?? "the connection does not take data"))
    }
  }

  /// Puts the goodbye (close_notify) into the output. Nothing can be written after it.
  func sayGoodbye() {
    switch engine {
    case .records(let records): records.sayGoodbye()
    case .openSSL(let ssl):
      OpenSSLErrors.clear()
      _ = unsafe SSL_shutdown(ssl)
      OpenSSLErrors.clear()
    }
  }

  private static func applicationProtocol(_ ssl: OpaquePointer) -> String? {
    var bytes: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    unsafe SSL_get0_alpn_selected(ssl, &bytes, &length)
    guard let bytes = unsafe bytes, length > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(length)), as: UTF8.self)
  }
}

// MARK: What OpenSSL asks a server

extension TLSSession {
  /// Chooses the certificate for the name.
  ///
  /// - Returns: its context; nil where the first certificate stays.
  func choose(_ name: String) -> OpenSSLContext? {
    guard let loaded, let index = loaded.index(for: name) else { return nil }
    certificate = index
    return loaded.certificates[index].context
  }

  /// What is stapled to the chosen certificate now; nil for nothing.
  var response: [UInt8]? { loaded.flatMap { $0.certificates[certificate].response?.bytes(at: $0.clock.wall()) } }

  var tickets: TicketKeys? { loaded?.tickets }

  /// Whether a client that comes with a ticket gets another. In TLS 1.3 each ticket is for one use, in TLS 1.2 one is
  /// good until its key is forgotten. A client that was asked for a certificate gets none: with a chain of tickets it
  /// could stay for ever without showing its certificate again, which may have expired.
  func renewsTicket(_ ssl: OpaquePointer?, isKeySealing: Bool) -> Bool {
    guard let ssl = unsafe ssl, unsafe SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE else { return false }
    return unsafe !isKeySealing || SSL_version(ssl) == TLS1_3_VERSION
  }
}

// MARK: Taking over from OpenSSL

extension TLSSession {
  /// Takes the secrets from one line of OpenSSL's key log. OpenSSL offers the log so that tools can decrypt a
  /// recording; here it is how the keys come over to ``TLSRecords``, and the line goes nowhere else.
  func learn(_ line: UnsafePointer<CChar>) {
    guard let keys else { return }
    _ = unsafe copenssl_take_secret(&keys.sending, line, "SERVER_TRAFFIC_SECRET_0")
    _ = unsafe copenssl_take_secret(&keys.receiving, line, "CLIENT_TRAFFIC_SECRET_0")
  }

  /// Goes over to ``TLSRecords``, which needs OpenSSL's ciphers and no more of its state. Where anything is not as it
  /// must be (TLS 1.2, bytes that OpenSSL still holds, records that cannot be counted), the connection stays with
  /// OpenSSL.
  private func takeOver(_ ssl: OpaquePointer, outputBefore before: Int) {
    defer { keys = nil }
    guard let keys, unsafe SSL_version(ssl) == TLS1_3_VERSION, unsafe SSL_has_pending(ssl) == 0,
      keys.sending.secret_bytes > 0, keys.receiving.secret_bytes > 0,
      let number = unsafe SSL_get_current_cipher(ssl).map({ unsafe SSL_CIPHER_get_protocol_id($0) }),
      let cipher = RecordCipher.Suite(rawValue: number).flatMap(loop.cipher),
      let sealed = unsafe Self.records(in: UnsafeRawBufferPointer(rebasing: loop.output[before...])),
      let records = TLSRecords(keys, cipher, sealedRecords: UInt64(sealed), loop: loop)
    else { return }
    engine = .records(records)
    unsafe SSL_free(ssl)
  }

  /// How many records OpenSSL has sealed with the keys of the open connection: all that it put out in the step that
  /// ended the handshake. Those keys are used for nothing before the client's last message, which that step read. Nil
  /// where the output has anything but encrypted records.
  private static func records(in output: UnsafeRawBufferPointer) -> Int? {
    var (count, place) = (0, 0)
    while place < output.count {
      guard place + 5 <= output.count, unsafe output[place] == 23 else { return nil }
      place += unsafe 5 + Int(output[place + 3]) << 8 + Int(output[place + 4])
      count += 1
    }
    return place == output.count ? count : nil
  }
}

/// How OpenSSL reaches a ``TLSLoop``; made once, never freed, and never changed.
@safe private struct PortMethod: @unchecked Sendable {
  let pointer = unsafe copenssl_port_method()
}

private let portMethod = PortMethod()
