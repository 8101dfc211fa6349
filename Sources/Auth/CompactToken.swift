import Wire

/// A token taken apart (RFC 7515, compact serialisation): its header is checked, its signature is not yet.
struct CompactToken {
  /// Bytes of the longest token that is looked at.
  static let maximumLength = 16 * 1024
  /// Bytes of the longest `kid` that is looked up.
  static let maximumKeyIDLength = 256

  /// Header fields by which a token would bring its own key, or ask for rules we do not know.
  static let refusedHeaders = ["crit", "jku", "jwk", "x5u", "x5c"]

  let algorithm: TokenAlgorithm
  /// The token's `kid`, which is looked up in the configured key sets and used for nothing else: never as a path, never
  /// as an address.
  let keyID: String?
  let signedBytes: ArraySlice<UInt8>
  let signature: [UInt8]
  private let encodedPayload: ArraySlice<UInt8>

  init(_ token: String) throws(TokenError) {
    guard token.utf8.count <= Self.maximumLength else {
      throw .invalid(reason: "the token is longer than \(Self.maximumLength) bytes")
    }
    let bytes = Array(token.utf8)
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .invalid(reason: "the token has \(parts.count) parts instead of 3") }
    let header = try Self.object(parts[0], part: "header")
    self.algorithm = try Self.algorithm(of: header)
    for name in Self.refusedHeaders where header.has(name) {
      throw .invalid(reason: "the token's header holds \(name), which is never accepted")
    }
    self.keyID = try Self.keyID(of: header)
    guard let signature = Base64.url.bytes(parts[2]) else {
      throw .invalid(reason: "the token's signature is not base64url")
    }
    guard !signature.isEmpty else { throw .invalid(reason: "the token has no signature") }
    self.signature = signature
    self.signedBytes = bytes[..<parts[1].endIndex]
    self.encodedPayload = parts[1]
  }

  func isSigned(with key: VerificationKey) -> Bool {
    key.isSignature(signature, of: Array(signedBytes), algorithm)
  }

  /// The claims. Call it only once the signature is checked.
  func claims() throws(TokenError) -> JSONObject { try Self.object(encodedPayload, part: "payload") }

  private static func algorithm(of header: JSONObject) throws(TokenError) -> TokenAlgorithm {
    guard let name = header["alg"]?.string else { throw .invalid(reason: "the token names no algorithm (alg)") }
    if name.lowercased() == "none" { throw .invalid(reason: "the token is unsigned (alg none)") }
    guard let algorithm = TokenAlgorithm(rawValue: name) else {
      throw .invalid(reason: "the token's algorithm is not one that is supported")
    }
    return algorithm
  }

  private static func keyID(of header: JSONObject) throws(TokenError) -> String? {
    guard header.has("kid") else { return nil }
    guard let keyID = header["kid"]?.string, keyID.utf8.count <= maximumKeyIDLength else {
      throw .invalid(reason: "the token's kid is not a string of at most \(maximumKeyIDLength) bytes")
    }
    return keyID
  }

  private static func object(_ encoded: ArraySlice<UInt8>, part: String) throws(TokenError) -> JSONObject {
    guard let bytes = Base64.url.bytes(encoded) else {
      throw .invalid(reason: "the token's \(part) is not base64url")
    }
    do throws(MalformedInput) {
      if let object = try JSONValue(parsing: bytes, equalKeys: .refused).object() { return object }
    } catch {
      // The error may hold a part of the token, which goes into no log.
      throw .invalid(
        reason:
          "the token's \(part) is not JSON, is nested deeper than \(JSONCursor.maximumDepth) levels or has a key twice")
    }
    throw .invalid(reason: "the token's \(part) is not a JSON object")
  }
}
