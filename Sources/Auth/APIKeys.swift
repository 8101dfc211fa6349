import Cryptography
import Foundation
import Wire

/// A key of the server API, as the server knows it: what it may do, and its digest in place of the key itself.
public struct APIKey: Sendable, Equatable {
  /// 1 to 64 ASCII characters without spaces: for logs, and to tell keys apart.
  public let name: String
  public let grant: APIGrant
  /// When it was made, such as `2026-03-02T09:30:00Z`; nil for the key of the configuration.
  public let createdAt: String?
  /// SHA-256 of the key's text, as lower-case hexadecimal digits.
  let digest: [UInt8]

  /// The caller behind the web console, by the name that logs show. No text stands for it.
  public static func console(_ grant: APIGrant) -> APIKey {
    APIKey(name: APIKeys.consoleName, grant: grant, createdAt: nil, digest: [])
  }
}

/// The keys that the server API takes: those of the file in the data folder, and the one that is configured.
///
/// A key is 32 random bytes, so a plain digest of it is enough: nobody can try as many, and a look at the file gives
/// nothing that could be used as a key.
public struct APIKeys: Sendable, Equatable {
  /// What each key begins with, so that programs which look for secrets in texts find it.
  public static let prefix = "ff_"
  /// Random bytes of a new key, which follow the prefix as 43 characters of URL-safe Base64.
  static let keyBytes = 32
  /// Most keys in the file.
  public static let maximumKeys = 1000
  /// The name of the key that the configuration holds. No key of the file may have it.
  public static let configuredName = "configured"
  /// The name of the web console where it calls the server API. No new key may have it.
  public static let consoleName = "console"

  /// The keys of the file, in the order in which they were made.
  public private(set) var keys: [APIKey] = []
  private var configured: APIKey?

  public init() {}

  public var isEmpty: Bool { keys.isEmpty && configured == nil }

  /// The key with this text; nil where there is none. The text is compared with all keys, whichever it is.
  public func key(for text: String) -> APIKey? {
    let digest = Self.digest(of: text)
    var found: APIKey?
    for key in keys where Digest.areSame(key.digest, digest) { found = key }
    if let configured, Digest.areSame(configured.digest, digest) { found = configured }
    return found
  }

  /// The keys with one more, which the configuration holds: it may do everything, but nothing with the apps' channels.
  ///
  /// - Parameter text: the key; empty: there is none.
  public func adding(configured text: String) -> APIKeys {
    if text.isEmpty { return self }
    var keys = self
    keys.configured = APIKey(
      name: Self.configuredName, grant: .everything, createdAt: nil, digest: Self.digest(of: text))
    return keys
  }

  /// Makes a key.
  ///
  /// - Parameter now: seconds since 1970.
  /// - Returns: the key's text. It is nowhere else: whoever loses it makes another.
  public mutating func create(name: String, grant: APIGrant, at now: Int64) throws(APIKeyFault) -> String {
    if name == Self.consoleName { throw .reservedName(name) }
    let text = Self.prefix + Base64.url.text(Randomness.bytes(Self.keyBytes))
    let time = Date(timeIntervalSince1970: Double(now)).ISO8601Format()
    try add(APIKey(name: name, grant: grant, createdAt: time, digest: Self.digest(of: text)))
    return text
  }

  /// Takes a key as it is.
  mutating func add(_ key: APIKey) throws(APIKeyFault) {
    let name = key.name
    guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw .badName(name)
    }
    if name == Self.configuredName { throw .reservedName(name) }
    if keys.contains(where: { $0.name == name }) { throw .taken(name) }
    if keys.count == Self.maximumKeys { throw .tooMany }
    keys.append(key)
  }

  public mutating func delete(_ name: String) throws(APIKeyFault) {
    guard let index = keys.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { throw .unknown(name) }
    keys.remove(at: index)
  }

  private static func digest(of text: String) -> [UInt8] {
    Array(Digest.sha256.hash(Array(text.utf8)).hexadecimal.utf8)
  }
}

/// Why keys of the server API cannot be read or changed. The description is a sentence for the operator.
public enum APIKeyFault: Error, Sendable, Equatable, CustomStringConvertible {
  case badName(String)
  case reservedName(String)
  case taken(String)
  case tooMany
  case unknown(String)
  /// The file is there, and what it holds is not a list of keys.
  case damaged(path: String, why: String)
  case tooLarge(path: String)
  case file(SecretFile.Fault)

  public var description: String {
    switch self {
    case .badName(let name):
      "\(name.prefix(64).debugDescription) is no name for a key; write 1 to 64 ASCII characters without spaces"
    case .reservedName(let name):
      "the name \(name) is kept for the \(name == APIKeys.consoleName ? "web console" : "key of the configuration"); "
        + "choose another one"
    case .taken(let name):
      "there is a key \(name) already; choose another name, or delete that one first with: fanfare keys delete \(name)"
    case .tooMany:
      "there are \(APIKeys.maximumKeys) keys already, the most that are kept; delete those that nobody uses with: "
        + "fanfare keys delete NAME"
    case .unknown(let name):
      "there is no key \(name.prefix(64).debugDescription); see which there are with: fanfare keys list"
    case .damaged(let path, let why):
      "\(path) is no list of API keys: \(why); mend it, or remove it and make new keys with: fanfare keys create"
    case .tooLarge(let path):
      "\(path) holds more than \(APIKeys.maximumBytes) bytes, or would with this key; take out keys that nobody uses, "
        + "or write beginnings such as chat:* in place of channels"
    case .file(let fault): fault.description
    }
  }
}
