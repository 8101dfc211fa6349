public import Wire

/// What a key of the server API may do: which methods, and on which channels.
///
/// `*` never means the apps' channels: a grant has to name them (`clique.*`), as a ``ServiceGrant`` has to.
public struct APIGrant: Sendable, Equatable {
  /// Why a grant cannot be read. The description is a sentence for whoever wrote it.
  public enum Invalid: Error, Sendable, Equatable, CustomStringConvertible {
    case unknownMethod(String)
    case badPattern(String)
    case tooMuch

    public var description: String {
      switch self {
      case .unknownMethod(let word):
        "\(quoted(word)) is no method of the server API; write for example publish or presence, or one of the "
          + "groups \(APIMethod.Group.allCases.map(\.rawValue).joined(separator: ", "))"
      case .badPattern(let text):
        "\(quoted(text)) is neither a channel nor a beginning of channels; write for example news, chat:* or *"
      case .tooMuch:
        "a key has at most \(maximumWords) methods and groups, and at most \(maximumPatterns) patterns of channels; "
          + "write a group in place of methods, and a beginning with * in place of channels"
      }
    }
  }

  /// Most methods and groups in ``allow``.
  public static let maximumWords = 64
  /// Most patterns in ``channels``.
  public static let maximumPatterns = 256

  /// Methods and groups of methods as they were written: a group means what it holds in the version that reads it.
  public let allow: [String]
  public let channels: [NamePattern]
  /// What ``allow`` means.
  private let methods: Set<APIMethod>

  /// Every method, on every channel but the apps'.
  static let everything = APIGrant(
    allow: [APIMethod.Group.all.rawValue], channels: [NamePattern("*")], methods: Set(APIMethod.allCases))

  private init(allow: [String], channels: [NamePattern], methods: Set<APIMethod>) {
    self.allow = allow
    self.channels = channels
    self.methods = methods
  }

  /// Reads a grant. Without any word, or without a channel where the methods need one, it allows nothing.
  ///
  /// - Parameters:
  ///   - allow: methods (``APIMethod``) and groups of them.
  ///   - channels: patterns, each a channel or a beginning of channels and `*`.
  public init(allow: [String], channels: [String]) throws(Invalid) {
    guard allow.count <= Self.maximumWords, channels.count <= Self.maximumPatterns else { throw .tooMuch }
    var methods: Set<APIMethod> = []
    for word in allow {
      let meant = APIMethod.methods(of: word)
      if meant.isEmpty { throw .unknownMethod(word) }
      methods.formUnion(meant)
    }
    var patterns: [NamePattern] = []
    for text in channels { patterns.append(try Self.pattern(text)) }
    self.init(allow: allow, channels: patterns, methods: methods)
  }

  /// The methods, by name.
  public var allowedMethods: [String] { methods.map(\.rawValue).sorted() }

  /// Whether one of the methods is about channels, so that the grant needs some.
  public var needsChannels: Bool { methods.contains { $0.subject != .noChannel } }

  /// What the key lacks for a call, such as `allow publish` or `channels chat:42`; nil where the call is allowed.
  ///
  /// - Parameters:
  ///   - method: by the name that the API has for it; an unknown one is refused.
  ///   - channel: the channel that the call is about, one at a time for calls that name several. A method that is about
  ///     a channel is refused without one. `channels` names none: leave out of its answer what the key must not
  ///     know of (``mayUse(_:)``).
  public func refusal(of method: String, channel: ChannelName?) -> String? {
    guard let known = APIMethod(rawValue: method), methods.contains(known) else {
      return "allow \(method.prefix(64))"
    }
    switch known.subject {
    case .noChannel: return nil
    case .everyChannel: return channels.isEmpty ? "channels *" : nil
    case .channel:
      guard let channel else { return "a channel that the call names" }
      return mayUse(channel) ? nil : "channels \(channel.string.prefix(64))"
    }
  }

  /// Whether the channel is one of those that the key may use.
  public func mayUse(_ channel: ChannelName) -> Bool { channels.match(channel) }

  /// A `*` in the middle would be a character like others to a pattern, and so a grant of nothing: it is refused.
  private static func pattern(_ text: String) throws(Invalid) -> NamePattern {
    let pattern = NamePattern(text)
    if pattern.isPrefix && pattern.text.isEmpty { return pattern }
    guard (try? ChannelName(pattern.text)) != nil, !pattern.text.utf8.contains(UInt8(ascii: "*")) else {
      throw .badPattern(text)
    }
    return pattern
  }

  private static func quoted(_ text: String) -> String { text.prefix(64).debugDescription }
}
