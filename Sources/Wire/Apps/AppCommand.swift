/// A command for an app, read and checked as far as the command alone tells.
///
/// A command is read where it comes in: on the event loop that decoded the frame, or from a service's frames. So the
/// broker's turn neither looks at JSON nor counts characters, and a command without sense never gets there. What
/// depends on the broker's records or settings, limits among it, the broker decides. In memory the command is handed
/// over as it is; its form in bytes is in `LinkCoding+Calls.swift`.
public enum AppCommand: Sendable, Equatable {
  case clique(CliqueCommand)
  case state(StateCommand)
  case push(PushCommand)
  /// A command of an app that reads its data itself.
  indirect case other(Other)

  public struct Other: Sendable, Equatable {
    public var method: String
    /// Valid JSON, or nothing.
    public var data: [UInt8]

    public init(method: String, data: [UInt8]) {
      self.method = method
      self.data = data
    }
  }

  /// Reads a command of a client or a service.
  ///
  /// - Parameters:
  ///   - method: begins with an app's name.
  ///   - data: valid JSON, or nothing. Whatever the bytes are, they are read or refused.
  ///   - user: whose command it is.
  /// - Throws: the error that the caller is told.
  public init(_ method: String, _ data: [UInt8], by user: String) throws(ClientError) {
    if user.isEmpty { throw Self.refusal(ofNobody: method) }
    if method.utf8.starts(with: "clique.".utf8) {
      self = .clique(try CliqueCommand(method, data, by: user))
    } else if method.utf8.starts(with: "state.".utf8) {
      self = .state(try StateCommand(method, data, by: user))
    } else if method.utf8.starts(with: "push.".utf8) {
      self = .push(try PushCommand(method, data, by: user))
    } else {
      self = .other(Other(method: method, data: data))
    }
  }

  public static func refusal(ofNobody method: String) -> ClientError {
    .permissionDenied.saying("\(method) is for people; connect with a token that names a user")
  }

  /// The method with the app's name: `clique.send`.
  public var method: String {
    switch self {
    case .clique(let command): command.method.name
    case .state(let command): command.method.name
    case .push(let command): command.method.name
    case .other(let other): other.method
    }
  }

  /// Whether the command is a search, or another whose answer may be long.
  public var isSearch: Bool {
    switch self {
    case .clique(.search), .clique(.people), .clique(.profiles): true
    case .other(let other): other.method.utf8.suffix(7).elementsEqual(".search".utf8)
    case .clique, .state, .push: false
    }
  }

  /// Whether a gateway says that a picture has come, or has begun to.
  public var addsPicture: Bool {
    switch self {
    case .state(.addPicture), .clique(.picture(.add)): true
    case .state, .clique, .push, .other: false
    }
  }

  /// Bytes of what the command carries, about, as they count for windows and rate limits.
  public var payloadBytes: Int {
    switch self {
    case .clique(let command): command.payloadBytes
    case .state(let command): command.payloadBytes
    case .push(let command): command.payloadBytes
    case .other(let other): other.data.count
    }
  }
}
