/// The arguments of a remote procedure call: the fields of one JSON object, each by its name.
///
/// Values stay the bytes that came until somebody asks for one. A field of the wrong type is an error that names it; an
/// unknown field is passed over, and a `null` counts as left out.
public struct JSONArguments: Sendable {
  private let fields: JSONObject

  /// The most fields that an object may have.
  public static let maximumFields = 64

  /// - Parameters:
  ///   - bytes: an object, or nothing for an empty one.
  ///   - what: what the sentences of errors call the object.
  /// - Throws: error 107 with a sentence.
  public init(_ bytes: [UInt8], called what: StaticString = "the data of the call") throws(ClientError) {
    guard !bytes.isEmpty else {
      self.init(fields: JSONObject(members: []))
      return
    }
    let value: JSONValue
    do throws(MalformedInput) { value = try JSONValue(parsing: bytes) } catch {
      throw .badRequest.saying("\(what) cannot be read: \(error.description)")
    }
    try self.init(value, called: what)
  }

  /// As the other initializer, of a part of a document that was parsed.
  public init(_ value: JSONValue, called what: StaticString) throws(ClientError) {
    do throws(MalformedInput) {
      guard let object = try value.object(limit: Self.maximumFields) else {
        throw MalformedInput("an object expected")
      }
      fields = object
    } catch {
      throw .badRequest.saying("\(what) cannot be read: \(error.description)")
    }
  }

  private init(fields: JSONObject) { self.fields = fields }

  /// The value of a field as it came; nil where it is missing or null.
  public subscript(_ name: String) -> JSONValue? { fields[name] }

  public func string(_ name: String) throws(ClientError) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = Self.text(value) else { throw .badRequest.saying("\(name) must be a string") }
    return text
  }

  public func strings(_ name: String) throws(ClientError) -> [String]? {
    guard let value = self[name] else { return nil }
    guard let elements = value.array else { throw .badRequest.saying("\(name) must be a list of strings") }
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
    guard let value = self[name] else { return nil }
    guard value.isNumber, let number = Number(value.text) else {
      throw .badRequest.saying("\(name) must be a whole number from \(Number.min) to \(Number.max)")
    }
    return number
  }

  public func flag(_ name: String) throws(ClientError) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else { throw .badRequest.saying("\(name) must be true or false") }
    return flag
  }

  /// A field that is an object of strings.
  public func stringMap(_ name: String) throws(ClientError) -> [String: String]? {
    guard let value = self[name] else { return nil }
    guard let members = value.object?.members else { throw .badRequest.saying("\(name) must be an object of strings") }
    var map: [String: String] = [:]
    for member in members {
      guard let text = Self.text(member.value) else { throw .badRequest.saying("\(name) must be an object of strings") }
      map[member.key] = text
    }
    return map
  }

  /// The text of a string, read as clients' texts are: half of a surrogate pair becomes U+FFFD.
  private static func text(_ value: JSONValue) -> String? {
    guard value.bytes.first == UInt8(ascii: "\"") else { return nil }
    return JSONEscapes.resolved(value.bytes.dropFirst().dropLast())
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
