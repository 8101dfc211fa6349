/// The rules for one text whatever the other settings are. Each gives what is wrong, as it follows the key in a message; nil:
/// nothing is.
enum SettingFaults {
  static func ofHost(_ text: String) -> String? {
    text.isEmpty ? "is empty; write an address, \"0.0.0.0\" for all of this machine's" : nil
  }

  /// - Parameter text: an entry of a list.
  static func ofOrigin(_ text: String) -> String? {
    if isOrigin(text) { return nil }
    return
      "holds \(SettingKey.quote(text)); write scheme and host as browsers send them, for example \"https://app.example.com\", or \"*\""
  }

  /// - Parameter text: an entry of a list.
  static func ofMetricsAddress(_ text: String) -> String? {
    let rest = text.hasPrefix("http://") ? text.dropFirst(7) : text.hasPrefix("https://") ? text.dropFirst(8) : ""
    if let first = rest.first, first != "/", !text.contains(" ") { return nil }
    return "holds \(SettingKey.quote(text)); write an address such as \"http://10.0.0.7:9000/metrics\""
  }

  /// The message never shows the secret.
  static func ofSecret(_ text: String) -> String? {
    if text.contains("-----BEGIN") {
      return "is a PEM key; put a public key into token.rsa_public_key or its like"
    }
    if text.isEmpty || text.utf8.count >= 32 { return nil }
    return
      "has \(text.utf8.count) bytes; write at least 32 random ones, for example from `openssl rand -hex 32`"
  }

  static func ofPublicKey(_ text: String) -> String? {
    guard text.contains("PRIVATE KEY") else { return nil }
    return "is a private key; write the public key here and keep the private one where tokens are made"
  }

  static func ofKeySetAddress(_ text: String) -> String? {
    if text.isEmpty || isKeySetAddress(text) { return nil }
    return
      "does not begin with https://; whoever can change the answer can sign tokens (http:// is accepted for this machine only)"
  }

  static func ofCurveKey(_ text: String) -> String? {
    text.isEmpty || isCurveKey(text) ? nil : "is not a CURVE key; write the 40 characters of its Z85 form"
  }

  /// - Parameter text: an entry of a list.
  static func ofCurveKeyInList(_ text: String) -> String? {
    isCurveKey(text) ? nil : "holds a text that is not a CURVE key; write the 40 characters of its Z85 form"
  }

  private static func isOrigin(_ text: String) -> Bool {
    if text == "*" { return true }
    for scheme in ["https://", "http://"] where text.hasPrefix(scheme) {
      let host = text.dropFirst(scheme.count)
      return !host.isEmpty && !host.contains { $0 == "/" || $0 == "?" || $0 == "#" || $0 == "@" || $0.isWhitespace }
    }
    return false
  }

  private static func isKeySetAddress(_ text: String) -> Bool {
    if text.hasPrefix("https://") { return text.utf8.count > 8 }
    guard text.hasPrefix("http://") else { return false }
    let authority = text.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if authority.contains("@") { return false }
    if authority.hasPrefix("[::1]") { return true }
    return ["127.0.0.1", "localhost"].contains(authority.prefix { $0 != ":" })
  }

  /// Whether a text is a CURVE key in Z85 (ZeroMQ RFC 32), which writes 32 bytes as 40 characters.
  static func isCurveKey(_ text: String) -> Bool {
    let punctuation = ".-:+=^!/*?&<>()[]{}@%$#"
    return text.utf8.count == 40
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || punctuation.contains($0)) }
  }
}
