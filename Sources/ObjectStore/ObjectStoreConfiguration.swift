public import Cryptography

/// Where an S3-compatible store is, and what of it is used.
public struct ObjectStoreConfiguration: Sendable {
  /// Scheme, name and port: `https://s3.eu-central-1.amazonaws.com`, `http://10.0.0.7:9000`. Buckets stand in its path.
  public var endpoint: String
  public var bucket: String
  /// That signatures are for.
  public var region: String
  /// What all names begin with: empty, or letters, digits, `-`, `_` and `/`.
  public var prefix: String
  public var accessKeyID: String
  public var secretAccessKey: SecretKey
  /// For a whole call.
  public var timeoutMilliseconds = 20_000
  /// Calls under way at once; others wait.
  public var connections = 16
  /// Of a page of a list. Stores give no more than a thousand.
  var namesPerPage = 1000
  /// A file with certificates in PEM that are trusted in place of the system's; nil: the system's.
  public var certificateAuthorities: String?

  public init(
    endpoint: String, bucket: String, region: String, prefix: String, accessKeyID: String, secretAccessKey: SecretKey
  ) {
    self.endpoint = endpoint
    self.bucket = bucket
    self.region = region
    self.prefix = prefix
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
  }
}

/// An endpoint as it stands in addresses, and in the header `Host`, which is signed.
struct StoreEndpoint: Sendable, Equatable {
  /// Without a `/` behind it.
  var address: String
  /// As libcurl writes it: without the port that the scheme has anyway.
  var host: String

  /// - Throws: ``ObjectStoreFault/invalid(_:)``.
  init(_ text: String) throws(ObjectStoreFault) {
    let refusal = ObjectStoreFault.invalid(
      "the endpoint of the store of pictures is \"\(text)\"; write scheme, name and port alone, for example \"https://s3.example.com\" or \"http://10.0.0.7:9000\""
    )
    let lower = text.lowercased()
    let isSecure = lower.hasPrefix("https://")
    guard isSecure || lower.hasPrefix("http://") else { throw refusal }
    var authority = lower.dropFirst(isSecure ? 8 : 7)
    if authority.hasSuffix("/") { authority.removeLast() }
    let colon = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":")
    let name = authority[..<(colon ?? authority.endIndex)]
    let isName = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"):
        true
      default: false
      }
    }
    guard isName, !name.isEmpty, name.hasPrefix("[") || !name.contains(where: { "[]:".contains($0) }) else {
      throw refusal
    }
    var port: UInt16?
    if let colon {
      guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { throw refusal }
      port = number == (isSecure ? 443 : 80) ? nil : number
    }
    host = name + (port.map { ":\($0)" } ?? "")
    address = (isSecure ? "https://" : "http://") + host
  }
}
