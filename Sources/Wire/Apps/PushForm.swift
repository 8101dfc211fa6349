/// What services take of a notification, whoever has it sent: checked where it comes in, so that nothing is taken that
/// no service would.
public enum PushForm {
  /// Bytes of the longest address that a notification opens.
  public static let linkBytes = 512

  public static func isLink(_ text: String) -> Bool {
    text.utf8.count <= linkBytes && text.hasPrefix("https://") && text.utf8.count > 8
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  }

  /// Whether a name in the data for the app is made of what FCM takes.
  public static func isName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  private static let reserved: Set<String> = [
    "from", "message_type", "notification", "collapse_key", "withdraw", "badge", "update", "update_title",
    "update_body",
  ]

  /// Whether a name in the data is one of FCM's, or one by which apps are told what to do with a message.
  public static func isReserved(_ name: String) -> Bool {
    let lower = name.lowercased()
    return reserved.contains(lower) || lower.hasPrefix("google") || lower.hasPrefix("gcm")
  }

  /// Bytes of data as JSON.
  public static func bytes(of data: [String: String]) -> Int {
    data.reduce(2) { $0 + bytes($1.key, $1.value) } - (data.isEmpty ? 0 : 1)
  }

  /// Bytes of a name and a value in an object of JSON, with the comma behind them.
  public static func bytes(_ name: String, _ value: String) -> Int {
    JSONText.quoted(name).utf8.count + JSONText.quoted(value).utf8.count + 2
  }
}
