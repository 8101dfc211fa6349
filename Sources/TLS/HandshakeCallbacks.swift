import COpenSSL

// What OpenSSL asks a server in a handshake. Each callback belongs to all of a server's contexts, and finds its
// connection by the pointer that `TLSSession` has left in the SSL object.

extension TLSSession {
  /// The session of an SSL object of a server.
  static func of(_ ssl: OpaquePointer?) -> TLSSession? {
    // The session owns the SSL object, so it is there.
    guard let ssl = unsafe ssl, let place = unsafe SSL_get_ex_data(ssl, 0) else { return nil }
    return unsafe Unmanaged<TLSSession>.fromOpaque(place).takeUnretainedValue()
  }
}

/// OpenSSL's key log callback: gives each line to the session of its connection.
let learnKeys: SSL_CTX_keylog_cb_func = { ssl, line in
  guard let line = unsafe line else { return }
  unsafe TLSSession.of(ssl)?.learn(line)
}

/// Chooses `http/1.1` where the client offers it. A client that offers others alone is refused with the alert
/// `no_application_protocol` (RFC 7301, section 3.2): what it would say next is not for us. One that offers nothing is
/// not asked.
let selectHTTP11: SSL_CTX_alpn_select_cb_func = { _, out, outLength, offered, offeredLength, _ in
  guard let out = unsafe out, let outLength = unsafe outLength, let offered = unsafe offered else {
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
  let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredLength))
  var index = 0
  while index < list.count {
    let length = unsafe Int(list[index])
    guard index + 1 + length <= list.count else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let name = unsafe UnsafeBufferPointer(rebasing: list[(index + 1)..<(index + 1 + length)])
    if unsafe name.elementsEqual("http/1.1".utf8) {
      unsafe out.pointee = name.baseAddress
      unsafe outLength.pointee = UInt8(length)
      return SSL_TLSEXT_ERR_OK
    }
    index += 1 + length
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Goes over to the certificate for the name that the client asks for. Where no certificate is for it, the first
/// serves, and the client decides.
let chooseCertificate:
  @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 = {
    ssl, _, _ in
    guard let ssl = unsafe ssl, let session = unsafe TLSSession.of(ssl), let asked = unsafe copenssl_asked_name(ssl),
      let context = unsafe session.choose(String(cString: asked))
    else { return SSL_TLSEXT_ERR_NOACK }
    return unsafe SSL_set_SSL_CTX(ssl, context.pointer) == nil ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_OK
  }

/// Staples what the certificate's file holds, where the client asks for it and it is one to give out.
let stapleResponse: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { ssl, _ in
  guard let ssl = unsafe ssl, let bytes = unsafe TLSSession.of(ssl)?.response,
    unsafe copenssl_staple(ssl, bytes, bytes.count) == 1
  else { return SSL_TLSEXT_ERR_NOACK }
  return SSL_TLSEXT_ERR_OK
}

/// Keys the ciphers of a ticket. To seal one: 0 means that there is to be none. To open one: 0 means that the handshake
/// is done in full, 2 that the client gets a new ticket as well, -1 that something failed.
let keyTicket: copenssl_ticket_callback = { ssl, name, iv, cipher, mac, seals in
  guard let name = unsafe name, let iv = unsafe iv, let cipher = unsafe cipher, let mac = unsafe mac,
    let session = unsafe TLSSession.of(ssl), let keys = session.tickets
  else { return 0 }
  if seals == 1 {
    guard let key = keys.sealing() else { return 0 }
    return unsafe key.seal(name, iv, cipher, mac) ? 1 : -1
  }
  guard let (key, isSealing) = unsafe keys.opening(name) else { return 0 }
  guard unsafe key.open(iv, cipher, mac) else { return -1 }
  return unsafe session.renewsTicket(ssl, isKeySealing: isSealing) ? 2 : 1
}
