import Cryptography
import Wire

/// A service account of Google's, from the JSON file that its console gives out.
public struct ServiceAccount: Sendable {
  let projectID: String
  let email: String
  let keyID: String
  let key: PrivateKey
  /// Where access tokens are given out.
  let tokenURL: String
  /// The key's text, of which the names of what may be replaced are derived.
  let secret: SecretKey

  /// The text is no such file. The description goes on after the file's name: "is …", "has …".
  public struct Invalid: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
  }

  public init(_ json: String) throws(Invalid) {
    let advice = "download the account's key as JSON from the Firebase console again"
    guard let object = (try? JSONValue(parsing: Array(json.utf8)))?.object else {
      throw Invalid("is no JSON object; \(advice)")
    }
    func text(_ name: String) throws(Invalid) -> String {
      guard let text = object[name]?.string, !text.isEmpty else { throw Invalid("has no \(name); \(advice)") }
      return text
    }
    guard try text("type") == "service_account" else {
      throw Invalid("is not of type service_account, but another kind of credentials; \(advice)")
    }
    projectID = try text("project_id")
    // It becomes part of a path.
    guard projectID.utf8.count <= 100, projectID.utf8.allSatisfy({ $0.isLetterOrDigit || "-.:".utf8.contains($0) })
    else { throw Invalid("has a project_id that is none; \(advice)") }
    email = try text("client_email")
    keyID = try text("private_key_id")
    let pem = try text("private_key")
    guard let key = try? PrivateKey(pem: pem), key.publicKey.kind == .rsa else {
      throw Invalid("has a private_key that is no RSA key of at least \(PublicKey.leastRSABits) bits; \(advice)")
    }
    self.key = key
    secret = SecretKey(Array(pem.utf8))
    tokenURL = try text("token_uri")
    guard tokenURL.hasPrefix("https://"), tokenURL.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw Invalid("has a token_uri that does not begin with https://; \(advice)")
    }
  }
}
