import COpenSSL

/// OpenSSL's errors are a queue of the thread, not of the connection: it is cleared before each call and read right
/// after, or one connection would be told of another's.
enum OpenSSLErrors {
  static func clear() { ERR_clear_error() }

  /// Whether the oldest error has this reason, one of `SSL_R_…`; it stays in the queue.
  static func isNext(_ reason: Int32) -> Bool {
    let code = ERR_peek_error()
    return code != 0 && ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == reason
  }

  /// Returns the oldest error and empties the queue; nil where the queue was empty already.
  static func take() -> String? {
    let code = ERR_get_error()
    ERR_clear_error()
    if code == 0 { return nil }
    if let reason = unsafe ERR_reason_error_string(code) { return unsafe String(cString: reason) }
    return "OpenSSL error \(code)"
  }
}
