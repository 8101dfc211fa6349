/// The fields of a command's JSON object, read in one pass.
///
/// Not Foundation's decoder, because every command passes through here. Bytes after the object are not looked at: all
/// of them are known to be one JSON value, and whatever they are, reading ends, with an error at worst.
public struct CommandFields {
  /// A string as it stands between its quotes.
  public struct Text {
    public var raw: ArraySlice<UInt8>
    var hasEscapes: Bool

    public var string: String {
      hasEscapes ? JSONEscapes.resolved(raw) : String(decoding: raw, as: UTF8.self)
    }

    /// The number of Unicode code points.
    public var characters: Int {
      if hasEscapes { return string.unicodeScalars.count }
      return raw.reduce(into: 0) { count, byte in if byte & 0xC0 != 0x80 { count += 1 } }
    }
  }

  /// Where a string stands, without its quotes. Not a slice: fields are looked through for every name, and a slice
  /// counts references.
  fileprivate struct Place {
    var start: Int
    var end: Int
    var hasEscapes: Bool
  }

  fileprivate enum Value {
    case text(Place)
    case number(Int64)
    case boolean(Bool)
    /// A list of strings, which stand at these indexes of ``elements``.
    case list(Range<Int>)
    case null
    /// An object, whose bytes stand there.
    case object(Range<Int>)
    case other
  }

  private let bytes: [UInt8]
  private var fields: [(name: Place, value: Value)] = []
  private var elements: [Place] = []

  /// Fields of an object: more than any command has.
  private static let maximumFields = 16
  /// Elements of all lists together.
  private static let maximumElements = 1000

  /// - Throws: error 107 with a sentence.
  public init(_ data: [UInt8]) throws(ClientError) {
    bytes = data
    if data.isEmpty { return }
    var failure: ClientError?
    unsafe data.withUnsafeBytes { memory in
      var cursor = unsafe JSONCursor(memory)
      do throws(ClientError) { try read(&cursor) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private mutating func read(_ cursor: inout JSONCursor) throws(ClientError) {
    cursor.skipWhitespace()
    guard cursor.consume(UInt8(ascii: "{")) else {
      throw ClientError.badRequest.saying(
        "the data of a clique command is a JSON object, for example {\"text\":\"hi\"}")
    }
    cursor.skipWhitespace()
    if cursor.consume(UInt8(ascii: "}")) { return }
    fields.reserveCapacity(4)
    repeat {
      cursor.skipWhitespace()
      guard let name = Self.text(&cursor) else { throw Self.malformed }
      cursor.skipWhitespace()
      guard cursor.consume(UInt8(ascii: ":")) else { throw Self.malformed }
      cursor.skipWhitespace()
      guard let value = value(&cursor) else { throw Self.malformed }
      if fields.count == Self.maximumFields {
        throw ClientError.badRequest.saying("the data has more than \(Self.maximumFields) fields; leave some out")
      }
      if fields.indices.contains(where: { areSame(fields[$0].name, name) }) {
        throw ClientError.badRequest.saying("a field stands twice in the data; send each once")
      }
      fields.append((name, value))
      cursor.skipWhitespace()
    } while cursor.consume(UInt8(ascii: ","))
    guard cursor.consume(UInt8(ascii: "}")) else { throw Self.malformed }
  }

  private static let malformed = ClientError.badRequest.saying("the data is not valid JSON")

  private func text(_ place: Place) -> Text { Text(raw: bytes[place.start..<place.end], hasEscapes: place.hasEscapes) }

  private func areSame(_ a: Place, _ b: Place) -> Bool {
    if a.hasEscapes || b.hasEscapes { return text(a).string.hasSameBytes(as: text(b).string) }
    return a.end - a.start == b.end - b.start && bytes[a.start..<a.end].elementsEqual(bytes[b.start..<b.end])
  }

  // MARK: Fields

  /// The value of a field; nil where it is left out or null.
  private func value(_ name: StaticString) -> Value? {
    for index in fields.indices {
      guard stands(name, at: fields[index].name) else { continue }
      if case .null = fields[index].value { return nil }
      return fields[index].value
    }
    return nil
  }

  /// Whether a name stands at a place. Compared without slices, each of which would count a reference, for every name
  /// and every field.
  private func stands(_ name: StaticString, at place: Place) -> Bool {
    if place.hasEscapes || place.end - place.start != name.utf8CodeUnitCount { return false }
    return name.withUTF8Buffer { wanted in
      for offset in wanted.indices where unsafe wanted[offset] != bytes[place.start + offset] { return false }
      return true
    }
  }

  var count: Int { fields.count }

  public func has(_ name: StaticString) -> Bool { value(name) != nil }

  public func text(_ name: StaticString) throws(ClientError) -> Text? {
    guard let value = value(name) else { return nil }
    guard case .text(let place) = value else { throw ClientError.badRequest.saying("`\(name)` must be a string") }
    return text(place)
  }

  public func string(_ name: StaticString) throws(ClientError) -> String? { try text(name)?.string }

  /// A whole number from 0; nil where the field is left out or null.
  public func number(_ name: StaticString) throws(ClientError) -> Int64? {
    guard let value = value(name) else { return nil }
    guard case .number(let number) = value, number >= 0 else {
      throw ClientError.badRequest.saying("`\(name)` must be a whole number from 0")
    }
    return number
  }

  func wholeNumber(_ name: StaticString) throws(ClientError) -> Int64? {
    guard let value = value(name) else { return nil }
    guard case .number(let number) = value else {
      throw ClientError.badRequest.saying("`\(name)` must be a whole number")
    }
    return number
  }

  func boolean(_ name: StaticString) throws(ClientError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .boolean(let boolean) = value else {
      throw ClientError.badRequest.saying("`\(name)` must be true or false")
    }
    return boolean
  }

  /// The fields of an object; nil where the field is left out or null.
  public func object(_ name: StaticString) throws(ClientError) -> CommandFields? {
    guard let value = value(name) else { return nil }
    guard case .object(let place) = value else { throw ClientError.badRequest.saying("`\(name)` must be an object") }
    return try CommandFields(Array(bytes[place]))
  }

  /// An object as it stands there; nil where the field is none.
  public func raw(object name: StaticString) -> [UInt8]? {
    if case .object(let place) = value(name) { Array(bytes[place]) } else { nil }
  }

  func strings(_ name: StaticString) throws(ClientError) -> [String]? {
    guard let value = value(name) else { return nil }
    guard case .list(let places) = value else {
      throw ClientError.badRequest.saying("`\(name)` must be a list of at most \(Self.maximumElements) strings")
    }
    return elements[places].map { text($0).string }
  }
}

// MARK: Values

extension CommandFields {
  /// Reads the string at which the cursor stands; nil where there is none.
  private static func text(_ cursor: inout JSONCursor) -> Place? {
    guard cursor.next == UInt8(ascii: "\"") else { return nil }
    let start = cursor.index + 1
    guard let hasEscapes = try? cursor.skipString() else { return nil }
    return Place(start: start, end: cursor.index - 1, hasEscapes: hasEscapes)
  }

  private mutating func value(_ cursor: inout JSONCursor) -> Value? {
    switch cursor.next {
    case UInt8(ascii: "\""): return Self.text(&cursor).map(Value.text)
    case UInt8(ascii: "t"): return cursor.consume("true") ? .boolean(true) : nil
    case UInt8(ascii: "f"): return cursor.consume("false") ? .boolean(false) : nil
    case UInt8(ascii: "n"): return cursor.consume("null") ? .null : nil
    case UInt8(ascii: "["): return list(&cursor)
    case UInt8(ascii: "{"): return Self.object(&cursor)
    default: return Self.number(&cursor)
    }
  }

  private static func object(_ cursor: inout JSONCursor) -> Value? {
    let start = cursor.index
    return other(&cursor).map { _ in .object(start..<cursor.index) }
  }

  private static func other(_ cursor: inout JSONCursor) -> Value? {
    do throws(MalformedInput) { try cursor.skipValue(depth: 0) } catch { return nil }
    return .other
  }

  /// Reads a list of strings; one with anything else in it is ``Value/other``.
  private mutating func list(_ cursor: inout JSONCursor) -> Value? {
    let start = cursor.index
    let first = elements.count
    _ = cursor.consume(UInt8(ascii: "["))
    cursor.skipWhitespace()
    if cursor.consume(UInt8(ascii: "]")) { return .list(first..<first) }
    repeat {
      cursor.skipWhitespace()
      guard elements.count < Self.maximumElements, let element = Self.text(&cursor) else {
        cursor.rewind(to: start)
        elements.removeSubrange(first...)
        return Self.other(&cursor)
      }
      elements.append(element)
      cursor.skipWhitespace()
    } while cursor.consume(UInt8(ascii: ","))
    return cursor.consume(UInt8(ascii: "]")) ? .list(first..<elements.count) : nil
  }

  private static func number(_ cursor: inout JSONCursor) -> Value? {
    let start = cursor.index
    do throws(MalformedInput) { try cursor.skipNumber() } catch { return nil }
    let text = cursor.text(from: start, droppingLast: 0)
    if let whole = Int64(text) { return .number(whole) }
    // `1.0` and `1e3` are whole numbers, too.
    return Double(text).flatMap(Int64.init(exactly:)).map(Value.number) ?? .other
  }
}
