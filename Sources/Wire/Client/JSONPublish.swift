/// The publish command in the plain form in which clients send it, read without the table of all keys: it is what most
/// messages hold.
///
/// Plain means: an id and a publish request, with the keys that we know, each once and with a value of its own type, and
/// no escapes in what becomes a string. Whatever is otherwise, wrong or merely unusual, is the general decoder's to
/// judge, so that both never differ.
enum JSONPublish {
  /// - Returns: false where the command is no plain publish; nothing was read or appended then.
  static func read(_ scanner: inout JSONScanner, into commands: inout [ClientCommand]) -> Bool {
    let start = scanner.index
    var id: UInt32?
    var publish: ClientCommand.Publish?
    guard members(of: &scanner, id: &id, &publish), let publish else {
      scanner.rewind(to: start)
      return false
    }
    commands.append(ClientCommand(id: id ?? 0, body: .publish(publish)))
    return true
  }

  @inline(__always)
  private static func members(
    of scanner: inout JSONScanner, id: inout UInt32?, _ publish: inout ClientCommand.Publish?
  ) -> Bool {
    guard scanner.consume(UInt8(ascii: "{")) else { return false }
    repeat {
      scanner.skipWhitespace()
      if id == nil, scanner.consume("\"id\"") {
        guard colon(&scanner), let number = identifier(&scanner) else { return false }
        id = number
      } else if publish == nil, scanner.consume("\"publish\"") {
        guard colon(&scanner) else { return false }
        publish = request(&scanner)
        if publish == nil { return false }
      } else {
        return false
      }
      scanner.skipWhitespace()
    } while scanner.consume(UInt8(ascii: ","))
    return scanner.consume(UInt8(ascii: "}"))
  }

  @inline(__always)
  private static func request(_ scanner: inout JSONScanner) -> ClientCommand.Publish? {
    guard scanner.consume(UInt8(ascii: "{")) else { return nil }
    var channel, key: String?
    var data: [UInt8]?
    repeat {
      scanner.skipWhitespace()
      if channel == nil, scanner.consume("\"channel\"") {
        guard colon(&scanner), let text = text(&scanner) else { return nil }
        channel = text
      } else if data == nil, scanner.consume("\"data\"") {
        guard colon(&scanner), let value = value(&scanner) else { return nil }
        data = value
      } else if key == nil, scanner.consume("\"idempotency_key\"") {
        guard colon(&scanner), let text = text(&scanner), !text.isEmpty else { return nil }
        key = text
      } else {
        return nil
      }
      scanner.skipWhitespace()
    } while scanner.consume(UInt8(ascii: ","))
    guard scanner.consume(UInt8(ascii: "}")) else { return nil }
    var publish = ClientCommand.Publish()
    if let channel { publish.channel = channel }
    if let data { publish.data = data }
    publish.idempotencyKey = key
    return publish
  }

  // MARK: Values

  @inline(__always)
  private static func colon(_ scanner: inout JSONScanner) -> Bool {
    scanner.skipWhitespace()
    guard scanner.consume(UInt8(ascii: ":")) else { return false }
    scanner.skipWhitespace()
    return true
  }

  /// Up to nine digits fit whatever they are. What follows them is judged by whoever looks for the comma.
  @inline(__always)
  private static func identifier(_ scanner: inout JSONScanner) -> UInt32? {
    var value: UInt32 = 0
    var digits = 0
    while digits < 9, let byte = scanner.next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
      value = value &* 10 &+ UInt32(byte &- UInt8(ascii: "0"))
      digits += 1
      _ = scanner.consume(byte)
      // No digit may follow a leading zero: 0 stands alone, which nobody sends.
      if value == 0 { return nil }
    }
    return digits > 0 ? value : nil
  }

  @inline(__always)
  private static func text(_ scanner: inout JSONScanner) -> String? {
    guard scanner.next == UInt8(ascii: "\"") else { return nil }
    let start = scanner.index + 1
    guard let hasEscapes = try? scanner.skipString(), !hasEscapes else { return nil }
    return scanner.text(from: start, droppingLast: 1)
  }

  /// A payload as the bytes that came; null counts as left out, which is not plain.
  private static func value(_ scanner: inout JSONScanner) -> [UInt8]? {
    guard let first = scanner.next, first != UInt8(ascii: "n") else { return nil }
    let start = scanner.index
    guard (try? scanner.skipValue(depth: 0)) != nil else { return nil }
    return scanner.bytes(from: start)
  }
}
