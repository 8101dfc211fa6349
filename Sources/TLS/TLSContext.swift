import COpenSSL
import Synchronization

/// The certificates and rules that connections of one side share: TLS 1.2 and later, no renegotiation, ALPN `http/1.1`.
///
/// A server's certificate can be replaced while it serves (``reload()``): connections that exist keep what they began
/// with, later ones get the new one.
public final class TLSContext: Sendable {
  /// Where a server's certificate comes from. Both are PEM files; the chain begins with the server's own.
  public struct CertificateFiles: Sendable, Equatable {
    public var chainPath: String
    public var keyPath: String

    public init(chainPath: String, keyPath: String) {
      self.chainPath = chainPath
      self.keyPath = keyPath
    }
  }

  /// How a client makes sure who the server is.
  public enum Trust: Sendable, Equatable {
    /// The authorities that the system trusts.
    case system
    /// The certificates in this PEM file, and no others.
    case authorities(path: String)
    /// Anybody. For tests.
    case insecure
  }

  enum Side: Sendable, Equatable {
    case server(CertificateFiles)
    case client(Trust)
  }

  private let side: Side
  private let current: Mutex<LoadedContext>

  /// The context of a server, with the certificate that the files hold now.
  ///
  /// - Throws: where the files cannot be read, or do not belong together.
  public static func server(_ files: CertificateFiles) throws(TLSError) -> TLSContext {
    try TLSContext(.server(files))
  }

  public static func client(trust: Trust = .system) throws(TLSError) -> TLSContext {
    try TLSContext(.client(trust))
  }

  private init(_ side: Side) throws(TLSError) {
    self.side = side
    current = Mutex(try LoadedContext(side))
  }

  /// The files of a server, nil on a client.
  public var certificateFiles: CertificateFiles? {
    if case .server(let files) = side { files } else { nil }
  }

  /// Reads the files again. Where it throws, the old certificate stays.
  public func reload() throws(TLSError) {
    let new = try LoadedContext(side)
    current.withLock { $0 = new }
  }

  /// A handler for one connection that was accepted. Place it first in the pipeline.
  ///
  /// - Parameter loop: the `TLSLoop` of the connection's event loop; all connections of one event loop should share it.
  public func makeServerHandler(_ loop: TLSLoop = TLSLoop()) throws(TLSError) -> TLSHandler {
    guard case .server = side else { preconditionFailure("a client's context cannot serve; use TLSContext.server") }
    return TLSHandler(try current.withLock(\.self).makeSession(isServer: true, loop))
  }

  /// A handler for one connection that we open. Place it first in the pipeline.
  ///
  /// - Parameter serverName: the host name or IP address that the certificate must be for.
  public func makeClientHandler(serverName: String) throws(TLSError) -> TLSHandler {
    guard case .client(let trust) = side else {
      preconditionFailure("a server's context cannot connect; use TLSContext.client")
    }
    let session = try current.withLock(\.self).makeSession(isServer: false, TLSLoop())
    try session.expect(serverName: serverName, isVerified: trust != .insecure)
    return TLSHandler(session)
  }
}

/// One OpenSSL context, immutable once it is loaded; freed with its last reference.
///
/// Safety of the unchecked conformance: after `init` nothing changes the context, and OpenSSL's reference counts, with
/// which `SSL_new` takes it, are atomic.
@safe final class LoadedContext: @unchecked Sendable {
  private let context: OpaquePointer

  init(_ side: TLSContext.Side) throws(TLSError) {
    OpenSSLErrors.clear()
    let method = unsafe side.isServer ? TLS_server_method() : TLS_client_method()
    guard let context = unsafe SSL_CTX_new(method) else {
      throw .failed(detail: OpenSSLErrors.take() ?? "out of memory")
    }
    unsafe self.context = context
    guard unsafe copenssl_set_minimum_tls12(context) == 1 else {
      throw .failed(detail: OpenSSLErrors.take() ?? "TLS 1.2 is not available")
    }
    unsafe copenssl_set_modes(context)
    unsafe copenssl_set_options(context)
    switch side {
    case .server(let files): try loadCertificate(files)
    case .client(let trust): try loadTrust(trust)
    }
  }

  deinit { unsafe SSL_CTX_free(context) }

  private func loadCertificate(_ files: TLSContext.CertificateFiles) throws(TLSError) {
    // Without this, OpenSSL asks for a pass phrase on the terminal, and a server would wait there for ever.
    unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
    guard unsafe SSL_CTX_use_certificate_chain_file(context, files.chainPath) == 1 else {
      throw .cannotReadCertificate(path: files.chainPath, detail: OpenSSLErrors.take() ?? "no certificate")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(context, files.keyPath, SSL_FILETYPE_PEM) == 1 else {
      let detail = OpenSSLErrors.take() ?? "no key"
      if detail.contains("mismatch") {
        throw .keyDoesNotMatch(certificatePath: files.chainPath, keyPath: files.keyPath)
      }
      throw .cannotReadKey(path: files.keyPath, detail: detail)
    }
    guard unsafe SSL_CTX_check_private_key(context) == 1 else {
      _ = OpenSSLErrors.take()
      throw .keyDoesNotMatch(certificatePath: files.chainPath, keyPath: files.keyPath)
    }
    unsafe SSL_CTX_set_alpn_select_cb(context, selectHTTP11, nil)
    unsafe SSL_CTX_set_keylog_callback(context, learnKeys)
    unsafe copenssl_keep_no_sessions(context)
  }

  private func loadTrust(_ trust: TLSContext.Trust) throws(TLSError) {
    let offered = httpOverTLS
    _ = unsafe SSL_CTX_set_alpn_protos(context, offered, UInt32(offered.count))
    switch trust {
    case .insecure: return unsafe SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
    case .system:
      guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else {
        throw .cannotReadTrust(detail: OpenSSLErrors.take() ?? "none found")
      }
    case .authorities(let path):
      guard unsafe SSL_CTX_load_verify_locations(context, path, nil) == 1 else {
        throw .cannotReadTrust(detail: "\(path): \(OpenSSLErrors.take() ?? "no certificate")")
      }
    }
    unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
  }

  func makeSession(isServer: Bool, _ loop: TLSLoop) throws(TLSError) -> TLSSession {
    try unsafe TLSSession(context: context, isServer: isServer, loop: loop)
  }
}

extension TLSContext.Side {
  fileprivate var isServer: Bool { if case .server = self { true } else { false } }
}

/// A list with one name, as ALPN writes it: its length, then its bytes.
private let httpOverTLS: [UInt8] = [8] + Array("http/1.1".utf8)

/// Chooses `http/1.1` where the client offers it. A client that offers only others gets no ALPN answer rather than an
/// alert: it can still speak HTTP/1.1, and it sees that nothing else was agreed on.
private let selectHTTP11: SSL_CTX_alpn_select_cb_func = { _, out, outLength, offered, offeredLength, _ in
  guard let out = unsafe out, let outLength = unsafe outLength, let offered = unsafe offered else {
    return SSL_TLSEXT_ERR_NOACK
  }
  let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredLength))
  var index = 0
  while index < list.count {
    let length = unsafe Int(list[index])
    guard index + 1 + length <= list.count else { return SSL_TLSEXT_ERR_NOACK }
    let name = unsafe UnsafeBufferPointer(rebasing: list[(index + 1)..<(index + 1 + length)])
    if unsafe name.elementsEqual("http/1.1".utf8) {
      unsafe out.pointee = name.baseAddress
      unsafe outLength.pointee = UInt8(length)
      return SSL_TLSEXT_ERR_OK
    }
    index += 1 + length
  }
  return SSL_TLSEXT_ERR_NOACK
}
