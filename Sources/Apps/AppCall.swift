public import Wire

/// One command, with its caller.
public struct AppCall: Sendable, Equatable {
  public enum Source: Sendable, Equatable {
    case client
    /// The gateway itself, for commands that no client may use: for example, that it has taken in a picture.
    case gateway
    /// A service on behalf of a user, which is believed.
    case service
  }

  /// Tells commands apart. The text is made when it is asked for, because nearly no command needs it.
  public enum Key: Sendable, Equatable, CustomStringConvertible {
    case gateway(UInt64, request: UInt64)
    case text(String)

    public var description: String {
      switch self {
      case .gateway(let gateway, let request): "\(gateway)-\(request)"
      case .text(let text): text
      }
    }

    /// Whether a text is this key's, without making the text: a conversation compares with each message of its request
    /// for minutes after that was accepted.
    public func isWritten(_ text: String) -> Bool {
      guard case .gateway(let gateway, let request) = self else { return text.hasSameBytes(as: description) }
      var text = text
      return text.withUTF8 { bytes in
        var end = bytes.count
        guard unsafe Self.take(request, from: bytes, &end), end > 0, unsafe bytes[end - 1] == UInt8(ascii: "-") else {
          return false
        }
        end -= 1
        return unsafe Self.take(gateway, from: bytes, &end) && end == 0
      }
    }

    /// Whether a number's digits stand before `end`, which is set to where they begin.
    private static func take(_ number: UInt64, from bytes: UnsafeBufferPointer<UInt8>, _ end: inout Int) -> Bool {
      var left = number
      repeat {
        guard end > 0, unsafe bytes[end - 1] == UInt8(ascii: "0") + UInt8(left % 10) else { return false }
        end -= 1
        left /= 10
      } while left > 0
      return true
    }
  }

  public var command: AppCommand
  /// The caller, whose user is never empty.
  public var caller: ClientInfo
  public var source: Source
  /// The place that the caller is in according to a signed token, which the gateway has checked; nil: there was none.
  public var attestedPlace: String?
  /// The same when a command is repeated, and different for every other, over restarts too.
  public var key: Key

  public init(
    _ command: AppCommand, caller: ClientInfo, source: Source = .client, attestedPlace: String? = nil, key: Key
  ) {
    self.command = command
    self.caller = caller
    self.source = source
    self.attestedPlace = attestedPlace
    self.key = key
  }

  public var user: String { caller.user }
}
