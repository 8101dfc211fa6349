/// The publish command in the plain form in which clients send it, read without the generated messages: those make an
/// object for each message that stands in another.
///
/// Plain means: an id and a publish request, each once, with fields of their own types and each of them once. Whatever is
/// otherwise, wrong or merely unusual, is the general decoder's to judge, so that both never differ.
enum ProtobufPublish {
  /// Numbers of the fields: `client.proto`.
  private enum Tag {
    static let id: UInt64 = 1 << 3
    static let publish: UInt64 = 7 << 3 | 2
    static let channel: UInt64 = 1 << 3 | 2
    static let data: UInt64 = 2 << 3 | 2
    static let idempotencyKey: UInt64 = 100 << 3 | 2
  }

  static func read(_ bytes: [UInt8], _ range: Range<Int>) -> ClientCommand? {
    unsafe bytes.withUnsafeBytes { unsafe read($0, range) }
  }

  /// - Returns: nil where the message is no plain publish command.
  static func read(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> ClientCommand? {
    var cursor = unsafe Cursor(bytes: bytes, index: range.lowerBound, end: range.upperBound)
    var id: UInt64 = 0
    var request: Range<Int>?
    while !cursor.isAtEnd {
      switch cursor.varint() {
      case Tag.id where id == 0:
        guard let value = cursor.varint(), value > 0, value <= UInt64(UInt32.max) else { return nil }
        id = value
      case Tag.publish where request == nil:
        guard let content = cursor.content() else { return nil }
        request = content
      default: return nil
      }
    }
    guard let request, let publish = unsafe read(bytes, request: request) else { return nil }
    return ClientCommand(id: UInt32(truncatingIfNeeded: id), body: .publish(publish))
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, request: Range<Int>) -> ClientCommand.Publish? {
    var cursor = unsafe Cursor(bytes: bytes, index: request.lowerBound, end: request.upperBound)
    var channel, data, key: Range<Int>?
    while !cursor.isAtEnd {
      switch cursor.varint() {
      case Tag.channel where channel == nil: channel = cursor.content()
      case Tag.data where data == nil: data = cursor.content()
      case Tag.idempotencyKey where key == nil: key = cursor.content()
      default: return nil
      }
      if cursor.isBroken { return nil }
    }
    var publish = ClientCommand.Publish()
    if let channel {
      guard let text = unsafe text(bytes, channel) else { return nil }
      publish.channel = text
    }
    if let data { publish.data = unsafe Array(UnsafeRawBufferPointer(rebasing: bytes[data])) }
    if let key, !key.isEmpty {
      guard let text = unsafe text(bytes, key) else { return nil }
      publish.idempotencyKey = text
    }
    return publish
  }

  /// Nil where the bytes are no UTF-8.
  private static func text(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    let content = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
    let text = unsafe String(bytes: content)
    // Whatever is no UTF-8 was replaced, and then the bytes are others.
    let isSame = unsafe text.utf8.withContiguousStorageIfAvailable {
      unsafe $0.count == content.count && UnsafeRawBufferPointer($0).hasSameBytes(as: content)
    }
    return isSame == true ? text : nil
  }

  @safe private struct Cursor {
    let bytes: UnsafeRawBufferPointer
    var index: Int
    let end: Int
    var isBroken = false

    var isAtEnd: Bool { index == end }

    /// Nil where there is no whole number below 2³⁵.
    mutating func varint() -> UInt64? {
      let value = Varint.read(bits: 35) {
        guard index < end else { return nil }
        defer { index += 1 }
        return unsafe bytes[index]
      }
      if value == nil { isBroken = true }
      return value
    }

    /// Where a field's content stands, behind its length.
    mutating func content() -> Range<Int>? {
      guard let count = varint(), count <= UInt64(end - index) else {
        isBroken = true
        return nil
      }
      let start = index
      index += Int(count)
      return start..<index
    }
  }
}
