public import Wire

/// A service that may use the endpoints over tcp: one text of `broker.services.keys`.
///
///     billing  FORTY-CHARACTERS-OF-Z85  publish=news publish=chat:* tap=chat:* disconnect
public struct ServiceKey: Sendable, Equatable {
  public struct Invalid: Error, Equatable {
    /// What is wrong with the entry, as it follows "holds an entry that …".
    public var why: String
  }

  /// The service's name: for logs, and to tell services apart.
  public var name: String
  /// The service's CURVE public key: 40 characters of Z85.
  public var publicKey: String
  public var grant: ServiceGrant

  public init(_ text: String) throws(Invalid) {
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard words.count >= 2 else {
      throw Invalid(why: "is not a name, a key and what it may do, such as \"billing KEY publish=news\"")
    }
    name = words[0]
    publicKey = words[1]
    grant = ServiceGrant()
    guard name.utf8.count <= 64, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw Invalid(why: "begins with a name that is not 1 to 64 ASCII characters")
    }
    guard SettingFaults.isCurveKey(publicKey) else {
      throw Invalid(
        why: "has no CURVE public key after the name \(SettingKey.quote(name)); write its 40 characters of Z85")
    }
    for word in words.dropFirst(2) { try grant(word) }
  }

  private mutating func grant(_ word: String) throws(Invalid) {
    switch word {
    case "disconnect": return grant.mayDisconnect = true
    case "revoke": return grant.mayRevoke = true
    case "webhooks": return grant.mayUseWebhooks = true
    case "push": return grant.mayPush = true
    default: break
    }
    guard let equals = word.firstIndex(of: "="), word.index(after: equals) < word.endIndex else {
      throw unknown(word)
    }
    let pattern = NamePattern(String(word[word.index(after: equals)...]))
    switch word[..<equals] {
    case "publish": grant.publish.append(pattern)
    case "read": grant.read.append(pattern)
    case "tap": grant.tap.append(pattern)
    case "subscribe": grant.subscribe.append(pattern)
    case "call": grant.call.append(pattern)
    case "privacy": grant.privacy.append(pattern)
    default: throw unknown(word)
    }
  }

  private func unknown(_ word: String) -> Invalid {
    Invalid(
      why:
        "says \(SettingKey.quote(word)) of \(SettingKey.quote(name)); write publish=, read=, tap=, subscribe=, call= or "
        + "privacy= with a name or a beginning and *, disconnect, revoke, webhooks, or push")
  }
}

extension Settings.Broker.Services {
  /// The folder of the endpoints' sockets, within the data folder, where the endpoints are not set.
  public static let folder = "services"

  /// The services that ``keys`` names. All of them can be read: settings with one that cannot are refused.
  public var serviceKeys: [ServiceKey] { keys.compactMap { text in try? ServiceKey(text) } }

  public static func isTCP(_ endpoint: String) -> Bool { endpoint.hasPrefix("tcp://") }

  /// The path of the endpoint's socket; nil for an endpoint that is no file.
  public static func path(of endpoint: String) -> String? {
    endpoint.hasPrefix("ipc://") ? String(endpoint.dropFirst(6)) : nil
  }
}
