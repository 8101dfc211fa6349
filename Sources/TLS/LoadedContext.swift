import COpenSSL

/// What the files of a ``TLSContext`` held when they were read; a reload makes another one.
final class LoadedContext: Sendable {
  /// A certificate of a server, and what is stapled to it.
  struct Certificate: Sendable {
    let context: OpenSSLContext
    let response: StapledResponse?
  }

  /// The first is for who asks for no name of the others. Empty on a client.
  let certificates: [Certificate]
  /// The keys of a server's tickets.
  let tickets: TicketKeys
  let clock: TLSClock
  private let names: ServerNames
  private let first: OpenSSLContext

  init(_ side: TLSContext.Side, _ clock: TLSClock) throws(TLSError) {
    self.clock = clock
    tickets = TicketKeys(uptime: clock.uptime)
    var names = ServerNames()
    switch side {
    case .client(let trust):
      first = try OpenSSLContext(trust)
      certificates = []
    case .server(let server):
      var loaded: [Certificate] = []
      for (index, files) in server.certificates.enumerated() {
        let context = try OpenSSLContext(files, server.clients)
        let counts = names.add(context.dnsNames, certificate: index)
        guard counts || index == 0 else { throw .namelessCertificate(path: files.chainPath) }
        loaded.append(Certificate(context: context, response: files.responsePath.map(StapledResponse.init(path:))))
      }
      first = loaded[0].context  // `TLSContext.server` makes sure of one.
      certificates = loaded
    }
    self.names = names
    readResponses()
  }

  func readResponses() {
    for certificate in certificates { certificate.response?.read(for: certificate.context) }
  }

  /// The certificate for the name that a client asks for.
  func index(for name: String) -> Int? { certificates.count > 1 ? names.certificate(for: name) : nil }

  func makeSession(isServer: Bool, _ loop: TLSLoop) throws(TLSError) -> TLSSession {
    try TLSSession(self, first, isServer: isServer, loop: loop)
  }
}

/// One OpenSSL context, immutable once it is loaded; freed with its last reference.
///
/// Safety of the unchecked conformance: after `init` nothing changes the context, and OpenSSL's reference counts, with
/// which `SSL_new` takes it, are atomic.
@safe final class OpenSSLContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// That of a client.
  convenience init(_ trust: TLSContext.Trust) throws(TLSError) {
    try self.init(isServer: false)
    let offered = httpOverTLS
    _ = unsafe SSL_CTX_set_alpn_protos(pointer, offered, UInt32(offered.count))
    switch trust {
    case .insecure:
      unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_NONE, nil)
      return
    case .system:
      guard unsafe SSL_CTX_set_default_verify_paths(pointer) == 1 else {
        throw .cannotReadTrust(detail: OpenSSLErrors.take() ?? "none found")
      }
    case .authorities(let path):
      guard unsafe SSL_CTX_load_verify_locations(pointer, path, nil) == 1 else {
        throw .cannotReadTrust(detail: "\(path): \(OpenSSLErrors.take() ?? "no certificate")")
      }
    }
    unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
  }

  /// That of a server with one certificate. Where a server has several, a handshake goes over from the first to the one
  /// for the client's name, so they are alike in all else.
  convenience init(
    _ files: TLSContext.CertificateFiles, _ clients: TLSContext.ClientCertificates?
  ) throws(TLSError) {
    try self.init(isServer: true)
    try load(files)
    if let clients {
      guard unsafe copenssl_ask_clients(pointer, clients.authoritiesPath, clients.isRequired ? 1 : 0) == 1 else {
        throw .cannotReadTrust(detail: "\(clients.authoritiesPath): \(OpenSSLErrors.take() ?? "no certificate")")
      }
    }
    guard unsafe copenssl_set_strong_ciphers(pointer) == 1,
      unsafe copenssl_keep_no_sessions(pointer, Int(TicketKeys.lifetimeSeconds)) == 1
    else {
      throw .failed(detail: OpenSSLErrors.take() ?? "the ciphers are not available")
    }
    unsafe SSL_CTX_set_alpn_select_cb(pointer, selectHTTP11, nil)
    unsafe SSL_CTX_set_keylog_callback(pointer, learnKeys)
    unsafe copenssl_set_ticket_callback(pointer, keyTicket)
    unsafe copenssl_set_name_callback(pointer, chooseCertificate)
    unsafe copenssl_set_status_callback(pointer, stapleResponse)
  }

  private init(isServer: Bool) throws(TLSError) {
    OpenSSLErrors.clear()
    let method = unsafe isServer ? TLS_server_method() : TLS_client_method()
    guard let context = unsafe SSL_CTX_new(method) else {
      throw .failed(detail: OpenSSLErrors.take() ?? "out of memory")
    }
    unsafe pointer = context
    guard unsafe copenssl_set_minimum_tls12(context) == 1 else {
      throw .failed(detail: OpenSSLErrors.take() ?? "TLS 1.2 is not available")
    }
    unsafe copenssl_set_modes(context)
    unsafe copenssl_set_options(context)
  }

  deinit { unsafe SSL_CTX_free(pointer) }

  private func load(_ files: TLSContext.CertificateFiles) throws(TLSError) {
    // Without this, OpenSSL asks for a pass phrase on the terminal, and a server would wait there for ever.
    unsafe SSL_CTX_set_default_passwd_cb(pointer) { _, _, _, _ in -1 }
    guard unsafe SSL_CTX_use_certificate_chain_file(pointer, files.chainPath) == 1 else {
      throw .cannotReadCertificate(path: files.chainPath, detail: OpenSSLErrors.take() ?? "no certificate")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(pointer, files.keyPath, SSL_FILETYPE_PEM) == 1 else {
      let detail = OpenSSLErrors.take() ?? "no key"
      if detail.contains("mismatch") {
        throw .keyDoesNotMatch(certificatePath: files.chainPath, keyPath: files.keyPath)
      }
      throw .cannotReadKey(path: files.keyPath, detail: detail)
    }
    guard unsafe SSL_CTX_check_private_key(pointer) == 1 else {
      _ = OpenSSLErrors.take()
      throw .keyDoesNotMatch(certificatePath: files.chainPath, keyPath: files.keyPath)
    }
  }

  /// The DNS names that the certificate is for. A name that is no text is left out.
  var dnsNames: [String] {
    guard let certificate = unsafe SSL_CTX_get0_certificate(pointer), let names = unsafe copenssl_names(certificate)
    else { return [] }
    defer { unsafe copenssl_free_names(names) }
    return unsafe (0..<max(copenssl_name_count(names), 0)).compactMap { index in
      var count = 0
      guard let bytes = unsafe copenssl_dns_name(names, index, &count) else { return nil }
      return unsafe String(validating: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
  }
}

/// A list with one name, as ALPN writes it: its length, then its bytes.
private let httpOverTLS: [UInt8] = [8] + Array("http/1.1".utf8)
