import Foundation
import Wire

/// How apps write what they send each other between partitions, and answers and entries that are no more than a value. Two
/// that are equal are the same bytes.
enum AppJSON {
  static func decode<Value: Decodable>(_ type: Value.Type, _ data: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(data))
  }

  static func encode(_ value: some Encodable) throws(ClientError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return Array(try encoder.encode(value))
    } catch {
      throw .internalError
    }
  }
}
