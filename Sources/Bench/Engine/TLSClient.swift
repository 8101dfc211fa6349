import COpenSSL

/// What all of a worker's TLS connections share, by the system's OpenSSL.
@safe final class TLSClient {
  private let context: OpaquePointer

  /// - Parameter trust: a PEM file of certificates; nil: the system's.
  init(trust: String?) throws(BenchError) {
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
      throw BenchError("OpenSSL gives no TLS context")
    }
    unsafe self.context = unsafe context
    unsafe copenssl_set_modes(context)
    _ = unsafe copenssl_set_minimum_tls12(context)
    // SSL_MODE_ENABLE_PARTIAL_WRITE, whose macro Swift cannot call.
    _ = unsafe SSL_CTX_ctrl(context, 33, 1, nil)
    unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    let isTrusting =
      if let trust { unsafe SSL_CTX_load_verify_locations(context, trust, nil) } else {
        unsafe SSL_CTX_set_default_verify_paths(context)
      }
    guard isTrusting == 1 else {
      throw BenchError("\(trust ?? "the system's store") holds no certificates to trust: name a PEM file")
    }
  }

  deinit { unsafe SSL_CTX_free(context) }

  /// A connection on this socket, before its handshake.
  func open(_ descriptor: Int32, host: String) throws(BenchError) -> OpaquePointer {
    guard let connection = unsafe SSL_new(context), unsafe SSL_set_fd(connection, descriptor) == 1 else {
      throw BenchError("OpenSSL gives no TLS connection")
    }
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host) != 1 {
      _ = unsafe SSL_set1_host(connection, host)
      _ = unsafe copenssl_set_server_name(connection, host)
    }
    unsafe SSL_set_connect_state(connection)
    return unsafe connection
  }

  /// What to do after a call that did not succeed.
  enum Outcome { case wantsRead, wantsWrite, ended, failed(String) }

  static func outcome(_ connection: OpaquePointer, _ result: Int32) -> Outcome {
    switch unsafe SSL_get_error(connection, result) {
    case SSL_ERROR_WANT_READ: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    case SSL_ERROR_ZERO_RETURN: return .ended
    default:
      let verification = unsafe SSL_get_verify_result(connection)
      ERR_clear_error()
      guard verification == 0 else {
        let reason = unsafe X509_verify_cert_error_string(verification).map { unsafe String(cString: $0) } ?? "unknown"
        return .failed("the server's certificate is not trusted (\(reason)): name its issuer's file with --trust")
      }
      return .failed("TLS ended in an error")
    }
  }
}
