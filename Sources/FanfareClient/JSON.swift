internal import Foundation
internal import Wire

/// Values as JSON, with errors that say what does not fit.
enum JSON {
  static func encode(_ value: some Encodable) throws(RealtimeError) -> [UInt8] {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.withoutEscapingSlashes]
      return Array(try encoder.encode(value))
    } catch {
      throw .unencodable(sentence(for: error))
    }
  }

  static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws(RealtimeError) -> Value {
    do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch { throw .undecodable(sentence(for: error)) }
  }

  private static func sentence(for error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      "\"\(key.stringValue)\" is missing\(place(context.codingPath))"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      "\(context.debugDescription)\(place(context.codingPath))"
    case EncodingError.invalidValue(_, let context): "\(context.debugDescription)\(place(context.codingPath))"
    default: "\(error)"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : " at \(path.map(\.stringValue).joined(separator: "."))"
  }
}

extension Publication {
  /// The payload as a value of a type that JSON can be read into.
  ///
  /// - Throws: ``RealtimeError/undecodable(_:)``.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws(RealtimeError) -> Value {
    try JSON.decode(type, data)
  }
}
