/// The fields of a command's JSON object, read in one pass.
///
/// Not Foundation's decoder: this stands in the way of each message. It takes the contract's word that the bytes are
/// valid JSON for what they mean, but not for its own safety: whatever the bytes, it ends, and with an error at worst.
public struct CommandFields {
  /// A string as it stands between its quotes.
  public struct Text {
    public var raw: ArraySlice<UInt8>
    var hasEscapes: Bool

    public var string: String {
      hasEscapes ? JSONEscapes.resolved(raw) : String(decoding: raw, as: UTF8.self)
    }

    /// Unicode code points.
    public var characters: Int {
      if hasEscapes { return string.unicodeScalars.count }
      return raw.reduce(into: 0) { count, byte in if byte & 0xC0 != 0x80 { count += 1 } }
    }
  }

  /// Where such a string stands. Not a slice: fields are looked through for every name, and a slice counts references.
  fileprivate struct Place {
    var start: Int
    var end: Int
    var hasEscapes: Bool
  }

  fileprivate enum Value {
    case text(Place)
    case number(Int64)
    case boolean(Bool)
    /// What stands at these places of ``elements``.
    case list(Range<Int>)
    case null
    case other
  }

  private let bytes: [UInt8]
  private var fields: [(name: Place, value: Value)] = []
  private var elements: [Place] = []

  /// More than any command has; what a client sends beyond is a mistake.
  private static let maximumFields = 16
  private static let maximumElements = 1000

  /// - Throws: error 107 with a sentence.
  public init(_ data: [UInt8]) throws(ClientError) {
    bytes = data
    if data.isEmpty { return }
    var reader = Reader(bytes: data)
    reader.skipWhitespace()
    guard reader.consume(UInt8(ascii: "{")) else {
      throw ClientError.badRequest.saying(
        "the data of a clique command is a JSON object, for example {\"text\":\"hi\"}")
    }
    reader.skipWhitespace()
    if reader.consume(UInt8(ascii: "}")) { return }
    fields.reserveCapacity(4)
    repeat {
      reader.skipWhitespace()
      guard let name = reader.text() else { throw Self.malformed }
      reader.skipWhitespace()
      guard reader.consume(UInt8(ascii: ":")) else { throw Self.malformed }
      reader.skipWhitespace()
      guard let value = reader.value(appendingTo: &elements, maximum: Self.maximumElements) else {
        throw Self.malformed
      }
      if fields.count == Self.maximumFields {
        throw ClientError.badRequest.saying("the data has more than \(Self.maximumFields) fields; leave some out")
      }
      if fields.indices.contains(where: { areSame(fields[$0].name, name) }) {
        throw ClientError.badRequest.saying("a field stands twice in the data; send each once")
      }
      fields.append((name, value))
      reader.skipWhitespace()
    } while reader.consume(UInt8(ascii: ","))
    guard reader.consume(UInt8(ascii: "}")) else { throw Self.malformed }
  }

  private static let malformed = ClientError.badRequest.saying("the data is not valid JSON")

  private func text(_ place: Place) -> Text { Text(raw: bytes[place.start..<place.end], hasEscapes: place.hasEscapes) }

  private func areSame(_ a: Place, _ b: Place) -> Bool {
    if a.hasEscapes || b.hasEscapes { return text(a).string.hasSameBytes(as: text(b).string) }
    return a.end - a.start == b.end - b.start && bytes[a.start..<a.end].elementsEqual(bytes[b.start..<b.end])
  }

  // MARK: Fields

  /// Nil where it is left out or null.
  private func value(_ name: StaticString) -> Value? {
    for index in fields.indices {
      guard stands(name, at: fields[index].name) else { continue }
      if case .null = fields[index].value { return nil }
      return fields[index].value
    }
    return nil
  }

  /// By places, not by slices: each would count a reference, for every name and every field.
  private func stands(_ name: StaticString, at place: Place) -> Bool {
    if place.hasEscapes || place.end - place.start != name.utf8CodeUnitCount { return false }
    return name.withUTF8Buffer { wanted in
      for offset in wanted.indices where unsafe wanted[offset] != bytes[place.start + offset] { return false }
      return true
    }
  }

  func holds(_ name: StaticString) -> Bool { value(name) != nil }

  public func text(_ name: StaticString) throws(ClientError) -> Text? {
    guard let value = value(name) else { return nil }
    guard case .text(let place) = value else { throw ClientError.badRequest.saying("`\(name)` must be a string") }
    return text(place)
  }

  public func string(_ name: StaticString) throws(ClientError) -> String? { try text(name)?.string }

  /// From 0.
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

  func strings(_ name: StaticString) throws(ClientError) -> [String]? {
    guard let value = value(name) else { return nil }
    guard case .list(let places) = value else {
      throw ClientError.badRequest.saying("`\(name)` must be a list of at most \(Self.maximumElements) strings")
    }
    return elements[places].map { text($0).string }
  }
}

extension CommandFields {
  /// A cursor that never leaves the bytes. Nil: they are no JSON.
  fileprivate struct Reader {
    let bytes: [UInt8]
    private var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func skipWhitespace() {
      while index < bytes.count {
        switch bytes[index] {
        case 0x20, 0x0A, 0x0D, 0x09: index += 1
        default: return
        }
      }
    }

    mutating func consume(_ byte: UInt8) -> Bool {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func text() -> Place? {
      guard consume(UInt8(ascii: "\"")) else { return nil }
      let start = index
      guard let found = JSONSyntax.endOfString(in: bytes, from: start) else { return nil }
      index = found.end + 1
      return Place(start: start, end: found.end, hasEscapes: found.hasEscapes)
    }

    mutating func value(appendingTo elements: inout [Place], maximum: Int) -> Value? {
      guard index < bytes.count else { return nil }
      switch bytes[index] {
      case UInt8(ascii: "\""): return text().map(Value.text)
      case UInt8(ascii: "t"): return literal("true", .boolean(true))
      case UInt8(ascii: "f"): return literal("false", .boolean(false))
      case UInt8(ascii: "n"): return literal("null", .null)
      case UInt8(ascii: "["): return list(appendingTo: &elements, maximum: maximum)
      case UInt8(ascii: "{"): return skipNested() ? .other : nil
      default: return number()
      }
    }

    private mutating func literal(_ word: StaticString, _ value: Value) -> Value? {
      let matches = word.withUTF8Buffer { unsafe bytes[index...].starts(with: $0) }
      guard matches else { return nil }
      index += word.utf8CodeUnitCount
      return value
    }

    /// Anything but strings in it makes it something else.
    private mutating func list(appendingTo elements: inout [Place], maximum: Int) -> Value? {
      let start = index
      let first = elements.count
      index += 1
      skipWhitespace()
      if consume(UInt8(ascii: "]")) { return .list(first..<first) }
      repeat {
        skipWhitespace()
        guard elements.count - first < maximum, let element = text() else {
          index = start
          return skipNested() ? .other : nil
        }
        elements.append(element)
        skipWhitespace()
      } while consume(UInt8(ascii: ","))
      return consume(UInt8(ascii: "]")) ? .list(first..<elements.count) : nil
    }

    /// Without recursion, so that nesting costs nothing.
    private mutating func skipNested() -> Bool {
      var depth = 0
      while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          depth += 1
          index += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          index += 1
          if depth == 0 { return true }
        case UInt8(ascii: "\""): if text() == nil { return false }
        default: index += 1
        }
      }
      return false
    }

    private mutating func number() -> Value? {
      let start = index
      let isNegative = consume(UInt8(ascii: "-"))
      var value: Int64 = 0
      var isWhole = true
      while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
          let (tens, tooLarge) = value.multipliedReportingOverflow(by: 10)
          let (sum, over) = tens.addingReportingOverflow(Int64(bytes[index] - UInt8(ascii: "0")))
          if tooLarge || over { isWhole = false } else { value = sum }
        case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"):
          isWhole = false
        default: return finished(start, isWhole, isNegative ? -value : value)
        }
        index += 1
      }
      return finished(start, isWhole, isNegative ? -value : value)
    }

    private func finished(_ start: Int, _ isWhole: Bool, _ value: Int64) -> Value? {
      if index == start { return nil }
      if isWhole { return .number(value) }
      // `1.0` and `1e3` are whole, too.
      let exact = Double(String(decoding: bytes[start..<index], as: UTF8.self)).flatMap(Int64.init(exactly:))
      return exact.map(Value.number) ?? .other
    }
  }
}
