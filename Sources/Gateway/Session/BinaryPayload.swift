import Wire

/// Bytes in JSON: what a client sends on a channel of a binary namespace.
enum BinaryPayload {
  /// Nil where `json` is no string of base64 (RFC 4648 section 4, padded).
  static func bytes(ofJSON json: [UInt8]) -> [UInt8]? {
    let quote = UInt8(ascii: "\"")
    guard json.count >= 2, json.first == quote, json.last == quote else { return nil }
    let text = json[1..<json.count - 1]
    // `\/` is the escape that encoders use in it.
    if text.contains(UInt8(ascii: "\\")) { return Base64.standard.bytes(JSONEscapes.resolved(text)) }
    return Base64.standard.bytes(text)
  }
}
