/// The publish command in the plain form in which clients send it, read without the table of all keys: it is what most
/// messages hold.
///
/// Plain means: an id and a publish request, with known keys, each once and with a value of its own type, and no
/// escapes in a string. Any other command, wrong or merely unusual, is left to the general decoder
/// (``JSONCommandDecoder``), so that the two never differ.
enum JSONPublish {
  /// Reads a plain publish.
  ///
  /// - Returns: false where the command is none; nothing was read or appended then.
  static func read(_ cursor: inout JSONCursor, into commands: inout [ClientCommand]) -> Bool {
    let start = cursor.index
    var id: UInt32?
    var publish: ClientCommand.Publish?
    guard members(of: &cursor, id: &id, &publish), let publish else {
      cursor.rewind(to: start)
      return false
    }
    commands.append(ClientCommand(id: id ?? 0, body: .publish(publish)))
    return true
  }

  @inline(__always)
  private static func members(
    of cursor: inout JSONCursor, id: inout UInt32?, _ publish: inout ClientCommand.Publish?
  ) -> Bool {
    guard cursor.consume(UInt8(ascii: "{")) else { return false }
    repeat {
      cursor.skipWhitespace()
      if id == nil, cursor.consume("\"id\"") {
        guard colon(&cursor), let number = identifier(&cursor) else { return false }
        id = number
      } else if publish == nil, cursor.consume("\"publish\"") {
        guard colon(&cursor) else { return false }
        publish = request(&cursor)
        if publish == nil { return false }
      } else {
        return false
      }
      cursor.skipWhitespace()
    } while cursor.consume(UInt8(ascii: ","))
    return cursor.consume(UInt8(ascii: "}"))
  }

  @inline(__always)
  private static func request(_ cursor: inout JSONCursor) -> ClientCommand.Publish? {
    guard cursor.consume(UInt8(ascii: "{")) else { return nil }
    var channel, key: String?
    var data: [UInt8]?
    repeat {
      cursor.skipWhitespace()
      if channel == nil, cursor.consume("\"channel\"") {
        guard colon(&cursor), let text = text(&cursor) else { return nil }
        channel = text
      } else if data == nil, cursor.consume("\"data\"") {
        guard colon(&cursor), let value = value(&cursor) else { return nil }
        data = value
      } else if key == nil, cursor.consume("\"idempotency_key\"") {
        guard colon(&cursor), let text = text(&cursor), !text.isEmpty else { return nil }
        key = text
      } else {
        return nil
      }
      cursor.skipWhitespace()
    } while cursor.consume(UInt8(ascii: ","))
    guard cursor.consume(UInt8(ascii: "}")) else { return nil }
    var publish = ClientCommand.Publish()
    if let channel { publish.channel = channel }
    if let data { publish.data = data }
    publish.idempotencyKey = key
    return publish
  }

  // MARK: Values

  @inline(__always)
  private static func colon(_ cursor: inout JSONCursor) -> Bool {
    cursor.skipWhitespace()
    guard cursor.consume(UInt8(ascii: ":")) else { return false }
    cursor.skipWhitespace()
    return true
  }

  /// Reads up to nine digits, which fit whatever they are. The caller looks for the comma after them.
  @inline(__always)
  private static func identifier(_ cursor: inout JSONCursor) -> UInt32? {
    var value: UInt32 = 0
    var digits = 0
    while digits < 9, let byte = cursor.next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
      value = value &* 10 &+ UInt32(byte &- UInt8(ascii: "0"))
      digits += 1
      _ = cursor.consume(byte)
      // No digit may follow a leading zero: 0 stands alone, which nobody sends.
      if value == 0 { return nil }
    }
    return digits > 0 ? value : nil
  }

  @inline(__always)
  private static func text(_ cursor: inout JSONCursor) -> String? {
    guard cursor.next == UInt8(ascii: "\"") else { return nil }
    let start = cursor.index + 1
    guard let hasEscapes = try? cursor.skipString(), !hasEscapes else { return nil }
    return cursor.text(from: start, droppingLast: 1)
  }

  /// Reads a payload as the bytes that came; nil for null, which counts as left out and is not plain.
  private static func value(_ cursor: inout JSONCursor) -> [UInt8]? {
    guard let first = cursor.next, first != UInt8(ascii: "n") else { return nil }
    let start = cursor.index
    guard (try? cursor.skipValue(depth: 0)) != nil else { return nil }
    return cursor.bytes(from: start)
  }
}
