import COpenSSL

/// The one digest that the WebSocket handshake needs. SHA-1 is no protection there, only proof that the server has read
/// the request (RFC 6455, section 1.3).
public enum Digest {
  /// The answer to a client's `Sec-WebSocket-Key`.
  public static func webSocketAccept(key: String) -> String {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    var base64 = [UInt8](repeating: 0, count: 29)  // 28 characters and a NUL.
    unsafe SHA1(text, text.count, &digest)
    unsafe EVP_EncodeBlock(&base64, digest, 20)
    return String(decoding: base64.prefix(28), as: UTF8.self)
  }
}
