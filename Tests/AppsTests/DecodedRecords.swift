import Apps
import Foundation

/// Records as they are read back from what was stored: each is decoded once, until other bytes stand under its key.
///
/// A random walk asks for the same records thousands of times, and decoding them was most of what it did.
struct DecodedRecords {
  private var known: [String: (data: Data, record: any AppRecord)] = [:]

  /// The record that `data` holds, which is what stands under `key` now.
  ///
  /// - Throws: where the record does not survive being stored.
  mutating func decode<Record: AppRecord>(_ type: Record.Type, _ key: String, from data: Data) throws -> Record {
    if let before = known[key], before.data == data, let record = before.record as? Record { return record }
    let record = try JSONDecoder().decode(type, from: data)
    known[key] = (data, record)
    return record
  }
}
