/// How many bytes the messages take that stand within each other (`client.proto`): a length goes before each.
struct ProtobufSizes {
  let info: Int
  let publication: Int
  let push: Int
  let reply: Int

  init(_ message: PublicationPush) {
    let publication = message.publication
    info = publication.info.map(Self.size) ?? 0
    var size = Self.field(publication.data.count)
    if publication.info != nil { size += Self.message(info) }
    if publication.offset > 0 { size += 1 + varintBytes(publication.offset) }
    for (key, value) in publication.tags { size += Self.message(Self.entry(key, value)) }
    if publication.time != 0 { size += 1 + varintBytes(UInt64(bitPattern: publication.time)) }
    self.publication = size
    push = Self.field(message.channel.utf8.count) + Self.message(size)
    reply = Self.message(push)
  }

  private static func size(_ info: ClientInfo) -> Int {
    field(info.user.utf8.count) + field(info.client.utf8.count) + field(info.connectionInfo?.count ?? 0)
      + field(info.channelInfo?.count ?? 0)
  }

  /// Key and value are always written, empty or not.
  static func entry(_ key: String, _ value: String) -> Int { message(key.utf8.count) + message(value.utf8.count) }

  /// A field that is left out where it is empty.
  private static func field(_ count: Int) -> Int { count == 0 ? 0 : message(count) }

  /// Tag, length and content.
  private static func message(_ count: Int) -> Int { 1 + varintBytes(UInt64(count)) + count }
}

/// Bytes of a LEB128 varint.
@inline(__always)
func varintBytes(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }

/// The same bytes as the generated messages would give: a test compares the two. Tags are written in the order of their
/// keys.
extension PublicationPush {
  func writeProtobuf(_ sizes: ProtobufSizes, to memory: inout MemoryWriter) {
    memory.put(varint: UInt64(sizes.reply))
    memory.put(tag: 4, length: sizes.push)
    memory.put(field: 2, channel)
    memory.put(tag: 4, length: sizes.publication)
    memory.put(field: 4, publication.data)
    if let info = publication.info {
      memory.put(tag: 5, length: sizes.info)
      memory.put(field: 1, info.user)
      memory.put(field: 2, info.client)
      if let connection = info.connectionInfo { memory.put(field: 3, connection) }
      if let channel = info.channelInfo { memory.put(field: 4, channel) }
    }
    if publication.offset > 0 {
      memory.put(6 << 3)
      memory.put(varint: publication.offset)
    }
    if !publication.tags.isEmpty { write(publication.tags, to: &memory) }
    if publication.time != 0 {
      memory.put(9 << 3)
      memory.put(varint: UInt64(bitPattern: publication.time))
    }
  }

  private func write(_ tags: [String: String], to memory: inout MemoryWriter) {
    for (key, value) in tags.sorted(by: { $0.key < $1.key }) {
      memory.put(tag: 7, length: ProtobufSizes.entry(key, value))
      memory.put(tag: 1, length: key.utf8.count)
      memory.put(key)
      memory.put(tag: 2, length: value.utf8.count)
      memory.put(value)
    }
  }
}

extension MemoryWriter {
  @inline(__always)
  mutating func put(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(truncatingIfNeeded: rest))
  }

  /// Of a field with a length before it; numbers are below 16 here.
  @inline(__always)
  mutating func put(tag: UInt8, length: Int) {
    put(tag << 3 | 2)
    put(varint: UInt64(length))
  }

  mutating func put(_ text: String) {
    var text = text
    text.withUTF8 { unsafe put(UnsafeRawBufferPointer($0)) }
  }

  /// Left out where it is empty.
  mutating func put(field tag: UInt8, _ text: String) {
    if text.isEmpty { return }
    put(tag: tag, length: text.utf8.count)
    put(text)
  }

  /// Left out where it is empty.
  mutating func put(field tag: UInt8, _ bytes: [UInt8]) {
    if bytes.isEmpty { return }
    put(tag: tag, length: bytes.count)
    unsafe bytes.withUnsafeBytes { unsafe put($0) }
  }
}
