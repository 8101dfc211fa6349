import Cryptography

/// The keys of hours, as a file holds them.
///
///     FSK1 | for each: hour, 8 bytes big-endian; key, 32 bytes | SHA-256 of all before
///
/// The checksum finds a file that was cut off or changed by accident, before its keys are used.
struct HourKeys: Equatable {
  static let magic = Array("FSK1".utf8)
  static let keyBytes = 32
  private static let entryBytes = 8 + keyBytes
  private static let sumBytes = 32

  /// The keys by hour, in hours since 1970.
  private(set) var keys: [Int64: [UInt8]] = [:]

  init() {}

  /// Reads a file; nil where these are not the bytes of one.
  init?(_ bytes: [UInt8]) {
    let content = bytes.count - Self.magic.count - Self.sumBytes
    guard content >= 0, content.isMultiple(of: Self.entryBytes), bytes.starts(with: Self.magic) else { return nil }
    let body = bytes[..<(bytes.count - Self.sumBytes)]
    guard Digest.sha256.hash(Array(body)).elementsEqual(bytes[(bytes.count - Self.sumBytes)...]) else { return nil }
    var start = Self.magic.count
    while start < body.endIndex {
      let hour = body[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      keys[Int64(bitPattern: hour)] = Array(body[(start + 8)..<(start + Self.entryBytes)])
      start += Self.entryBytes
    }
  }

  var encoded: [UInt8] {
    var bytes = Self.magic
    for (hour, key) in keys.sorted(by: { $0.key < $1.key }) {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: UInt64(bitPattern: hour) >> UInt64(shift)))
      }
      bytes += key
    }
    bytes += Digest.sha256.hash(bytes)
    return bytes
  }

  subscript(hour: Int64) -> [UInt8]? {
    get { keys[hour] }
    set { keys[hour] = newValue }
  }

  /// Removes the keys of hours before this one.
  ///
  /// - Returns: how many were removed.
  mutating func destroy(before hour: Int64) -> Int {
    let old = keys.keys.filter { $0 < hour }
    for hour in old { keys[hour] = nil }
    return old.count
  }

  /// Removes the keys of hours before this one, and writes zeros over them in memory.
  mutating func forget(before hour: Int64) {
    for old in keys.keys where old < hour { overwrite(old) }
    _ = destroy(before: hour)
  }

  /// Writes zeros over a key in memory. Removing it from the dictionary would leave its bytes there.
  mutating func overwrite(_ hour: Int64) {
    guard let index = keys.index(forKey: hour) else { return }
    for place in keys.values[index].indices { keys.values[index][place] = 0 }
  }
}
