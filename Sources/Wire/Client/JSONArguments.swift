/// The fields of one JSON object, each by its name: what a remote procedure call says.
///
/// Values stay the bytes that came until somebody asks for one. A field of the wrong type is an error that names it; an
/// unknown one is passed over, a `null` is as good as none.
public struct JSONArguments: Sendable {
  private var fields: [(name: String, value: [UInt8])] = []

  /// Most fields of an object.
  public static let maximumFields = 64

  /// - Parameter bytes: an object, or nothing for an empty one.
  /// - Throws: error 107 with a sentence.
  public init(_ bytes: [UInt8]) throws(ClientError) {
    if bytes.isEmpty { return }
    do throws(CommandError) {
      fields = try Self.read(bytes)
    } catch {
      throw .badRequest.saying("the data of the call cannot be read: \(error.description)")
    }
  }

  private static func read(_ bytes: [UInt8]) throws(CommandError) -> [(String, [UInt8])] {
    var failure: CommandError?
    var fields: [(String, [UInt8])] = []
    unsafe bytes.withUnsafeBytes { bytes in
      var scanner = unsafe JSONScanner(bytes)
      do throws(CommandError) { try read(&scanner, into: &fields) } catch { failure = error }
    }
    if let failure { throw failure }
    return fields
  }

  private static func read(
    _ scanner: inout JSONScanner, into fields: inout [(String, [UInt8])]
  ) throws(CommandError) {
    scanner.skipWhitespace()
    try scanner.expect(UInt8(ascii: "{"), "an object")
    scanner.skipWhitespace()
    if !scanner.consume(UInt8(ascii: "}")) {
      repeat {
        scanner.skipWhitespace()
        guard scanner.next == UInt8(ascii: "\"") else { throw CommandError("a key in quotes expected") }
        let name = try scanner.readString()
        if fields.contains(where: { $0.0.hasSameBytes(as: name) }) {
          throw CommandError("key \"\(name.prefix(64))\" stands twice")
        }
        if fields.count == maximumFields { throw CommandError("more than \(maximumFields) fields") }
        scanner.skipWhitespace()
        try scanner.expect(UInt8(ascii: ":"), "a colon")
        scanner.skipWhitespace()
        let start = scanner.index
        try scanner.skipValue(depth: 0)
        fields.append((name, scanner.bytes(from: start)))
        scanner.skipWhitespace()
      } while scanner.consume(UInt8(ascii: ","))
      try scanner.expect(UInt8(ascii: "}"), "a comma or a closing brace")
    }
    scanner.skipWhitespace()
    if !scanner.isAtEnd { throw CommandError("something follows the object") }
  }

  /// The bytes of a value; nil where it is missing or null.
  public func raw(_ name: String) -> [UInt8]? {
    guard let field = fields.first(where: { $0.name.hasSameBytes(as: name) }), field.value != Array("null".utf8) else {
      return nil
    }
    return field.value
  }

  public func string(_ name: String) throws(ClientError) -> String? {
    guard let value = raw(name) else { return nil }
    guard let text = Self.text(value) else { throw .badRequest.saying("\(name) must be a string") }
    return text
  }

  public func strings(_ name: String) throws(ClientError) -> [String]? {
    guard let value = raw(name) else { return nil }
    guard let elements = Self.elements(value) else { throw .badRequest.saying("\(name) must be a list of strings") }
    var strings: [String] = []
    for element in elements {
      guard let text = Self.text(element) else { throw .badRequest.saying("\(name) must be a list of strings") }
      strings.append(text)
    }
    return strings
  }

  /// A whole number that the type can hold.
  public func number<Number: FixedWidthInteger>(
    _ name: String, as type: Number.Type = Number.self
  ) throws(ClientError) -> Number? {
    guard let value = raw(name) else { return nil }
    guard let number = Number(String(decoding: value, as: UTF8.self)) else {
      throw .badRequest.saying("\(name) must be a whole number from \(Number.min) to \(Number.max)")
    }
    return number
  }

  public func flag(_ name: String) throws(ClientError) -> Bool? {
    switch raw(name).map({ String(decoding: $0, as: UTF8.self) }) {
    case nil: return nil
    case "true": return true
    case "false": return false
    default: throw .badRequest.saying("\(name) must be true or false")
    }
  }

  private static func text(_ value: [UInt8]) -> String? {
    guard value.first == UInt8(ascii: "\"") else { return nil }
    return unsafe value.withUnsafeBytes { bytes in
      var scanner = unsafe JSONScanner(bytes)
      return try? scanner.readString()
    }
  }

  private static func elements(_ value: [UInt8]) -> [[UInt8]]? {
    unsafe value.withUnsafeBytes { bytes -> [[UInt8]]? in
      var scanner = unsafe JSONScanner(bytes)
      guard scanner.consume(UInt8(ascii: "[")) else { return nil }
      var elements: [[UInt8]] = []
      scanner.skipWhitespace()
      if scanner.consume(UInt8(ascii: "]")) { return [] }
      repeat {
        scanner.skipWhitespace()
        let start = scanner.index
        guard (try? scanner.skipValue(depth: 0)) != nil else { return nil }
        elements.append(scanner.bytes(from: start))
        scanner.skipWhitespace()
      } while scanner.consume(UInt8(ascii: ","))
      return elements
    }
  }
}

/// A page of a map channel, as a call answers it.
public enum MapPageJSON {
  public static func bytes(of page: MapPage, binaryData: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("epoch", page.position.epoch)
      writer.write("offset", page.position.offset)
      writer.list("entries") { writer in
        for entry in page.entries { writer.object { $0.write(entry, binary: binaryData) } }
      }
      if !page.cursor.isEmpty { writer.write("cursor", page.cursor) }
    }
    return writer.bytes
  }
}
