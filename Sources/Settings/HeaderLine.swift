/// A header of HTTP as settings hold it, in one text: its name, a colon and its value.
public struct HeaderLine: Sendable, Equatable {
  public var name: String
  /// Without spaces and tabs at its ends.
  public var value: String

  /// Takes a text apart; nil where it has no colon. Whether the name and the value may be sent, the setting's rule has
  /// said before (``fault(of:)``).
  public init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    var value = text[text.index(after: colon)...]
    while value.first == " " || value.first == "\t" { value.removeFirst() }
    while value.last == " " || value.last == "\t" { value.removeLast() }
    (name, self.value) = (String(text[..<colon]), String(value))
  }

  // MARK: What is wrong with it

  /// What HTTP itself says, or this server; somebody else's word on it would end the call or mislead its receiver.
  private static let reserved: Set<String> = [
    "connection", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// What is wrong with an entry of a list of headers; nil: nothing. The sentence does not show the value, which may be
  /// a password.
  static func fault(of text: String) -> String? {
    guard let line = HeaderLine(text), isName(line.name) else {
      return "holds an entry that is not a header; write a name, a colon and a value"
    }
    guard line.value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      return "holds a value of \(line.name) that is not plain ASCII"
    }
    return reservation(of: line.name)
  }

  /// What is wrong with an entry of a list of headers' names; nil: nothing.
  static func fault(ofName text: String) -> String? {
    guard isName(text) else { return "holds \(SettingKey.quote(text)), which is no name of a header" }
    return reservation(of: text)
  }

  private static func reservation(of name: String) -> String? {
    let lower = name.lowercased()
    guard reserved.contains(lower) || lower.hasPrefix("sec-websocket-") else { return nil }
    return "holds \(SettingKey.quote(name)), which belongs to the connection itself; take it out"
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 128
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}
