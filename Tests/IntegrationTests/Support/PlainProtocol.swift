import Foundation
import Wire

/// The client protocol as far as fan-out shows in it, read and written by hand: a mistake that the server's own codec
/// makes both ways would not be seen with that codec.
enum PlainProtocol {
  struct Publication: Equatable {
    /// The publication's offset; 0 where it has none.
    var offset: UInt64 = 0
    /// The payload, a JSON string, without its quotes.
    var text = ""
  }

  struct Incoming {
    enum Body {
      case ping
      case connected
      case subscribed(offset: UInt64, epoch: String, recovered: Bool, [Publication])
      /// The answer to another command.
      case answered
      case failed(code: Int)
      case publication(channel: String, Publication)
      /// Another push.
      case pushed
    }
    /// The id of the command that is answered; 0 for what is no answer.
    var id: UInt32 = 0
    var body = Body.answered
  }

  // MARK: Commands

  static func connect(id: UInt32, _ format: WireFormat) -> [UInt8] { command(id, 4, "connect", [], format) }

  static func subscribe(
    id: UInt32, _ channel: String, since: StreamPosition? = nil, _ format: WireFormat
  ) -> [UInt8] {
    var fields: [Field] = [.init(1, "channel", .text(channel))]
    if let since {
      fields += [
        .init(3, "recover", .flag), .init(6, "epoch", .text(since.epoch)), .init(7, "offset", .number(since.offset)),
      ]
    }
    return command(id, 5, "subscribe", fields, format)
  }

  /// - Parameter text: goes out as a JSON string; without anything to escape.
  static func publish(id: UInt32, _ text: String, to channel: String, _ format: WireFormat) -> [UInt8] {
    command(id, 7, "publish", [.init(1, "channel", .text(channel)), .init(2, "data", .json("\"\(text)\""))], format)
  }

  static func presence(id: UInt32, _ channel: String, _ format: WireFormat) -> [UInt8] {
    command(id, 8, "presence", [.init(1, "channel", .text(channel))], format)
  }

  static func history(id: UInt32, _ channel: String, _ format: WireFormat) -> [UInt8] {
    command(id, 10, "history", [.init(1, "channel", .text(channel))], format)
  }

  static func ping(id: UInt32, _ format: WireFormat) -> [UInt8] { command(id, 11, "ping", [], format) }

  /// Several commands in one message.
  static func joined(_ commands: [[UInt8]], _ format: WireFormat) -> [UInt8] {
    format == .json ? Array(commands.joined(separator: [0x0A])) : commands.flatMap { $0 }
  }

  private struct Field {
    enum Value { case text(String), json(String), number(UInt64), flag }
    var number: UInt8
    var name: String
    var value: Value

    init(_ number: UInt8, _ name: String, _ value: Value) {
      (self.number, self.name, self.value) = (number, name, value)
    }
  }

  private static func command(
    _ id: UInt32, _ number: UInt8, _ name: String, _ fields: [Field], _ format: WireFormat
  ) -> [UInt8] {
    if format == .json {
      let body = fields.map { field in
        switch field.value {
        case .text(let text): "\(quoted(field.name)):\(quoted(text))"
        case .json(let json): "\(quoted(field.name)):\(json)"
        case .number(let number): "\(quoted(field.name)):\(number)"
        case .flag: "\(quoted(field.name)):true"
        }
      }
      return Array(#"{"id":\#(id),"\#(name)":{\#(body.joined(separator: ","))}}"#.utf8)
    }
    var body: [UInt8] = []
    for field in fields {
      switch field.value {
      case .text(let text), .json(let text): append(Array(text.utf8), as: field.number, to: &body)
      case .number(let number):
        body.append(field.number << 3)
        append(number, to: &body)
      case .flag: body += [field.number << 3, 1]
      }
    }
    var message: [UInt8] = [1 << 3]
    append(UInt64(id), to: &message)
    append(body, as: number, to: &message)
    var bytes: [UInt8] = []
    append(UInt64(message.count), to: &bytes)
    return bytes + message
  }

  private static func append(_ bytes: [UInt8], as field: UInt8, to message: inout [UInt8]) {
    message.append(field << 3 | 2)
    append(UInt64(bytes.count), to: &message)
    message += bytes
  }

  private static func append(_ number: UInt64, to message: inout [UInt8]) {
    var rest = number
    while rest > 127 {
      message.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    message.append(UInt8(rest))
  }

  // MARK: Replies

  /// All that one message from the server holds.
  static func read(_ payload: [UInt8], _ format: WireFormat) throws -> [Incoming] {
    if format == .json { return try lines(payload).map { try readJSON($0) } }
    var replies: [Incoming] = []
    var reader = FieldReader(payload[...])
    while !reader.isAtEnd { replies.append(try readProtobuf(try reader.delimited())) }
    return replies
  }

  /// The lines of a message, found by the C library: a loop over bytes costs too much in a build for debugging.
  private static func lines(_ payload: [UInt8]) -> [ArraySlice<UInt8>] {
    payload.withUnsafeBytes { bytes in
      var lines: [ArraySlice<UInt8>] = []
      var start = 0
      while start < bytes.count, let base = bytes.baseAddress {
        let end = memchr(base + start, 0x0A, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
        lines.append(payload[start..<end])
        start = end + 1
      }
      return lines
    }
  }

  private static func readJSON(_ line: ArraySlice<UInt8>) throws -> Incoming {
    guard let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] else {
      throw ByteClient.Violation(description: "no JSON: \(ByteClient.excerpt(Array(line)))")
    }
    if object.isEmpty { return Incoming(body: .ping) }
    if let push = object["push"] as? [String: Any] {
      guard let channel = push["channel"] as? String, let publication = push["pub"] as? [String: Any] else {
        return Incoming(body: .pushed)
      }
      return Incoming(body: .publication(channel: channel, self.publication(publication)))
    }
    var incoming = Incoming(id: (object["id"] as? NSNumber)?.uint32Value ?? 0)
    if let error = object["error"] as? [String: Any] {
      incoming.body = .failed(code: (error["code"] as? NSNumber)?.intValue ?? 0)
    } else if object["connect"] != nil {
      incoming.body = .connected
    } else if let result = object["subscribe"] as? [String: Any] {
      incoming.body = .subscribed(
        offset: (result["offset"] as? NSNumber)?.uint64Value ?? 0, epoch: result["epoch"] as? String ?? "",
        recovered: (result["recovered"] as? NSNumber)?.boolValue ?? false,
        (result["publications"] as? [[String: Any]] ?? []).map(publication))
    }
    return incoming
  }

  private static func publication(_ object: [String: Any]) -> Publication {
    Publication(
      offset: (object["offset"] as? NSNumber)?.uint64Value ?? 0, text: object["data"] as? String ?? "no string")
  }

  private static func readProtobuf(_ bytes: ArraySlice<UInt8>) throws -> Incoming {
    if bytes.isEmpty { return Incoming(body: .ping) }
    var incoming = Incoming()
    var reader = FieldReader(bytes)
    while let (field, value) = try reader.next() {
      switch field {
      case 1: incoming.id = UInt32(clamping: value.number)
      case 2: incoming.body = .failed(code: Int(clamping: try find(1, in: value.bytes).number))
      case 4:
        let publication = try find(4, in: value.bytes).bytes
        let channel = String(decoding: try find(2, in: value.bytes).bytes, as: UTF8.self)
        incoming.body =
          publication.isEmpty ? .pushed : .publication(channel: channel, try self.publication(publication))
      case 5: incoming.body = .connected
      case 6: incoming.body = try subscribed(value.bytes)
      default: break
      }
    }
    return incoming
  }

  private static func subscribed(_ bytes: ArraySlice<UInt8>) throws -> Incoming.Body {
    var publications: [Publication] = []
    var reader = FieldReader(bytes)
    while let (field, value) = try reader.next() {
      if field == 7 { publications.append(try publication(value.bytes)) }
    }
    return .subscribed(
      offset: try find(9, in: bytes).number, epoch: String(decoding: try find(6, in: bytes).bytes, as: UTF8.self),
      recovered: try find(8, in: bytes).number == 1, publications)
  }

  private static func publication(_ bytes: ArraySlice<UInt8>) throws -> Publication {
    let text = String(decoding: try find(4, in: bytes).bytes, as: UTF8.self)
    guard text.hasPrefix("\""), text.hasSuffix("\""), text.utf8.count >= 2 else {
      throw ByteClient.Violation(description: "no JSON string: \(text.prefix(80))")
    }
    return Publication(offset: try find(6, in: bytes).number, text: String(text.dropFirst().dropLast()))
  }

  private static func find(_ wanted: UInt64, in bytes: ArraySlice<UInt8>) throws -> FieldReader.Value {
    var reader = FieldReader(bytes)
    while let (field, value) = try reader.next() {
      if field == wanted { return value }
    }
    return .init()
  }

  /// Protobuf's wire format, as much as replies need.
  private struct FieldReader {
    struct Value {
      var number: UInt64 = 0
      var bytes: ArraySlice<UInt8> = []
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func next() throws -> (UInt64, Value)? {
      if rest.isEmpty { return nil }
      let key = try varint()
      switch key & 7 {
      case 0: return (key >> 3, Value(number: try varint()))
      case 2: return (key >> 3, Value(bytes: try delimited()))
      default: throw ByteClient.Violation(description: "no Protobuf: wire type \(key & 7)")
      }
    }

    mutating func delimited() throws -> ArraySlice<UInt8> {
      let length = Int(clamping: try varint())
      guard length <= rest.count else { throw ByteClient.Violation(description: "a cut Protobuf message") }
      defer { rest = rest.dropFirst(length) }
      return rest.prefix(length)
    }

    private mutating func varint() throws -> UInt64 {
      var (number, shift): (UInt64, UInt64) = (0, 0)
      while let byte = rest.popFirst(), shift < 64 {
        number |= UInt64(byte & 127) << shift
        if byte < 128 { return number }
        shift += 7
      }
      throw ByteClient.Violation(description: "a cut Protobuf number")
    }
  }
}
