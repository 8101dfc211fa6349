import Wire

/// How a publication's sender and tags stand in their columns.
///
///     field  = 4 bytes little-endian n, then n - 1 bytes; n = 0 is nil
///     info   = user client connectionInfo channelInfo
///     tags   = (key value)*
///     change = key, then one byte: removed, and 8 bytes little-endian each: score, expires
enum RowCodec {
  static func encode(_ info: ClientInfo) -> [UInt8] {
    var bytes: [UInt8] = []
    append(info.user.utf8, to: &bytes)
    append(info.client.utf8, to: &bytes)
    append(info.connectionInfo, to: &bytes)
    append(info.channelInfo, to: &bytes)
    return bytes
  }

  /// Bytes of what ``encode(_:)-(ClientInfo)`` makes, without making it; so with the two that follow.
  static func size(of info: ClientInfo) -> Int {
    16 + info.user.utf8.count + info.client.utf8.count + (info.connectionInfo?.count ?? 0)
      + (info.channelInfo?.count ?? 0)
  }

  static func size(of tags: [String: String]) -> Int {
    tags.reduce(0) { $0 + 8 + $1.key.utf8.count + $1.value.utf8.count }
  }

  static func size(ofKey key: String) -> Int { 4 + key.utf8.count + 17 }

  /// Nil where the bytes are not whole.
  static func decodeInfo(_ bytes: [UInt8]) -> ClientInfo? {
    var fields = Fields(bytes)
    guard case .some(.some(let user)) = fields.next(), case .some(.some(let client)) = fields.next(),
      case .some(let connectionInfo) = fields.next(), case .some(let channelInfo) = fields.next()
    else { return nil }
    return ClientInfo(
      user: String(decoding: user, as: UTF8.self), client: String(decoding: client, as: UTF8.self),
      connectionInfo: connectionInfo.map { Array($0) }, channelInfo: channelInfo.map { Array($0) })
  }

  static func encode(_ tags: [String: String]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (key, value) in tags {
      append(key.utf8, to: &bytes)
      append(value.utf8, to: &bytes)
    }
    return bytes
  }

  static func decodeTags(_ bytes: [UInt8]) -> [String: String] {
    var fields = Fields(bytes)
    var tags: [String: String] = [:]
    while case .some(.some(let key)) = fields.next(), case .some(.some(let value)) = fields.next() {
      tags[String(decoding: key, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
    }
    return tags
  }

  static func encode(_ change: KeyChange) -> [UInt8] {
    var bytes: [UInt8] = []
    append(change.key.utf8, to: &bytes)
    bytes.append(change.removed ? 1 : 0)
    for value in [change.score, change.expires] {
      let bits = UInt64(bitPattern: value)
      for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
    }
    return bytes
  }

  /// Nil where the bytes are not whole.
  static func decodeChange(_ bytes: [UInt8]) -> KeyChange? {
    var fields = Fields(bytes)
    guard case .some(.some(let key)) = fields.next(), fields.rest.count == 17 else { return nil }
    let numbers = fields.rest.dropFirst()
    return KeyChange(
      key: String(decoding: key, as: UTF8.self), removed: fields.rest.first == 1, score: number(numbers.prefix(8)),
      expires: number(numbers.suffix(8)))
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    Int64(bitPattern: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  static func append(_ field: (some Collection<UInt8>)?, to bytes: inout [UInt8]) {
    let length = field.map { UInt32(clamping: $0.count) + 1 } ?? 0
    for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
    if let field { bytes.append(contentsOf: field) }
  }

  private struct Fields {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next field: `.some(nil)` is a field that is nil, nil is the end or a field cut short.
    mutating func next() -> ArraySlice<UInt8>?? {
      guard rest.count >= 4 else { return nil }
      let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard length > 0 else { return .some(nil) }
      guard rest.count >= length - 1 else { return nil }
      defer { rest = rest.dropFirst(length - 1) }
      return .some(rest.prefix(length - 1))
    }
  }
}
