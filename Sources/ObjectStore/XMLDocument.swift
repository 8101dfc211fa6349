/// An element of a small XML document: its name as it is written, the elements in it, and the text directly in it.
struct XMLElement: Sendable, Equatable {
  var name: String
  var children: [XMLElement] = []
  var text = ""

  /// The text of the only child of that name; nil: there is none.
  ///
  /// - Throws: ``XMLFault`` where there are several: each reader would believe another.
  func text(of name: String) throws(XMLFault) -> String? {
    let found = children.filter { $0.name == name }
    guard found.count <= 1 else { throw XMLFault("has \(name) several times in one element") }
    return found.first?.text
  }
}

/// A document that is not read. The text follows "the answer".
struct XMLFault: Error, Equatable {
  var why: String
  init(_ why: String) { self.why = why }
}

/// Reads the XML of a store's answers, and no more of XML than stands in them: elements, attributes (which are passed over),
/// text, and the entities that XML itself has.
///
/// Whatever else there is (document types, further entities, comments, CDATA, instructions) is refused rather than passed
/// over, so that nothing is expanded, fetched, or read in two ways. Bounded: depth, elements, and nothing is copied twice.
struct XMLReader {
  static let mostDepth = 8
  static let mostElements = 32_768

  private let bytes: [UInt8]
  private var place = 0
  private var elements = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The root element.
  static func read(_ bytes: [UInt8]) throws(XMLFault) -> XMLElement {
    var reader = XMLReader(bytes)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.place = 3 }
    if reader.take("<?xml") {
      while !reader.take("?>") { _ = try reader.next() }
    }
    reader.skipSpace()
    guard reader.take("<") else { throw XMLFault("does not begin with an element") }
    let root = try reader.element(depth: 1)
    reader.skipSpace()
    guard reader.place == bytes.count else { throw XMLFault("goes on behind its end") }
    return root
  }

  // MARK: Bytes

  private mutating func next() throws(XMLFault) -> UInt8 {
    guard place < bytes.count else { throw XMLFault("is cut off") }
    defer { place += 1 }
    return bytes[place]
  }

  private mutating func take(_ text: String) -> Bool {
    guard bytes[place...].starts(with: text.utf8) else { return false }
    place += text.utf8.count
    return true
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  @discardableResult
  private mutating func skipSpace() -> Bool {
    let start = place
    while place < bytes.count, Self.isSpace(bytes[place]) { place += 1 }
    return place > start
  }

  // MARK: Elements

  /// Reads an element from behind its `<` on.
  private mutating func element(depth: Int) throws(XMLFault) -> XMLElement {
    guard depth <= Self.mostDepth else { throw XMLFault("is deeper than \(Self.mostDepth) elements") }
    elements += 1
    guard elements <= Self.mostElements else { throw XMLFault("has more than \(Self.mostElements) elements") }
    var element = XMLElement(name: try name())
    if try isClosedByItself() { return element }
    var text: [UInt8] = []
    while true {
      let byte = try next()
      switch byte {
      case UInt8(ascii: "<"):
        if take("/") {
          guard try name() == element.name else { throw XMLFault("closes an element that is not open") }
          skipSpace()
          guard take(">") else { throw XMLFault("has an end of an element that does not end") }
          guard let whole = String(validating: text, as: UTF8.self) else { throw XMLFault("is not UTF-8") }
          element.text = whole
          return element
        }
        element.children.append(try self.element(depth: depth + 1))
      case UInt8(ascii: "&"): text += try entity()
      case 0..<0x20 where !Self.isSpace(byte): throw XMLFault("has control characters")
      default: text.append(byte)
      }
    }
  }

  private mutating func name() throws(XMLFault) -> String {
    let start = place
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
        place += 1
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
        guard place > start else { throw XMLFault("has an element or attribute without a name") }
        place += 1
      default:
        guard place > start else { throw XMLFault("has something that is no element") }
        return String(decoding: bytes[start..<place], as: UTF8.self)
      }
    }
    throw XMLFault("is cut off")
  }

  /// Passes over attributes, to the end of the tag.
  private mutating func isClosedByItself() throws(XMLFault) -> Bool {
    while true {
      let hasSpace = skipSpace()
      if take("/>") { return true }
      if take(">") { return false }
      guard hasSpace else { throw XMLFault("has an attribute that nothing separates") }
      _ = try name()
      guard take("=") else { throw XMLFault("has an attribute without a value") }
      let quote = try next()
      guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
        throw XMLFault("has a value without quotes")
      }
      while true {
        let byte = try next()
        if byte == quote { break }
        guard byte != UInt8(ascii: "<") else { throw XMLFault("has a value that does not end") }
      }
    }
  }

  /// Reads an entity from behind its `&` on.
  private mutating func entity() throws(XMLFault) -> [UInt8] {
    var name: [UInt8] = []
    while true {
      let byte = try next()
      if byte == UInt8(ascii: ";") { break }
      guard name.count < 8 else { throw XMLFault("has an entity that does not end") }
      name.append(byte)
    }
    switch String(decoding: name, as: UTF8.self) {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    case let text: return try Self.character(text)
    }
  }

  /// `#10` or `#xA`: a character that XML allows.
  private static func character(_ text: String) throws(XMLFault) -> [UInt8] {
    let isHexadecimal = text.hasPrefix("#x")
    let digits = text.dropFirst(isHexadecimal ? 2 : 1)
    let isDigits = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || isHexadecimal && $0 > 0x40 }
    guard text.hasPrefix("#"), isDigits, let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
      number >= 0x20 || number == 0x09 || number == 0x0A || number == 0x0D, number != 0xFFFE, number != 0xFFFF,
      let scalar = Unicode.Scalar(number)
    else { throw XMLFault("has an entity that XML does not have") }
    return Array(String(Character(scalar)).utf8)
  }
}
