/// How many bytes the messages take that stand within each other (`client.proto`): a length goes before each.
struct ProtobufSizes {
  private(set) var info = 0
  private(set) var publication = 0
  private(set) var push = 0
  private(set) var reply = 0

  init() {}

  init(_ message: PublicationPush) {
    if let info = message.info { self.info = Self.size(info) }
    publication = unsafe Self.field(message.data.count)
    if message.info != nil { publication += Self.message(info) }
    if message.offset > 0 { publication += 1 + Varint.size(message.offset) }
    if !message.tags.isEmpty {
      for (key, value) in message.tags { publication += Self.message(Self.entry(key, value)) }
    }
    if message.isPatch { publication += 2 }
    if message.time != 0 { publication += 1 + Varint.size(UInt64(bitPattern: message.time)) }
    push = unsafe Self.field(message.channel.count) + Self.message(publication)
    reply = Self.message(push)
  }

  private static func size(_ info: PublicationPush.Info) -> Int {
    unsafe field(info.user.count) + field(info.client.count) + field(info.connection?.count ?? 0)
      + field(info.channel?.count ?? 0)
  }

  /// Key and value are always written, empty or not.
  static func entry(_ key: String, _ value: String) -> Int { message(key.utf8.count) + message(value.utf8.count) }

  /// A field that is left out where it is empty.
  private static func field(_ count: Int) -> Int { count == 0 ? 0 : message(count) }

  /// Tag, length and content.
  private static func message(_ count: Int) -> Int { 1 + Varint.size(UInt64(count)) + count }
}

/// The same bytes as the generated messages would give: a test compares the two. Tags are written in the order of their
/// keys.
extension PublicationPush {
  func writeProtobuf(_ sizes: ProtobufSizes, to sink: inout some ByteSink) {
    sink.put(varint: UInt64(sizes.reply))
    sink.put(tag: 4, length: sizes.push)
    unsafe sink.put(field: 2, channel)
    sink.put(tag: 4, length: sizes.publication)
    unsafe sink.put(field: 4, data)
    if let info {
      sink.put(tag: 5, length: sizes.info)
      unsafe sink.put(field: 1, info.user)
      unsafe sink.put(field: 2, info.client)
      if let connection = unsafe info.connection { unsafe sink.put(field: 3, connection) }
      if let channel = unsafe info.channel { unsafe sink.put(field: 4, channel) }
    }
    if offset > 0 {
      sink.put(6 << 3)
      sink.put(varint: offset)
    }
    if !tags.isEmpty { write(tags, to: &sink) }
    if isPatch {
      sink.put(8 << 3)
      sink.put(1)
    }
    if time != 0 {
      sink.put(9 << 3)
      sink.put(varint: UInt64(bitPattern: time))
    }
  }

  private func write(_ tags: [String: String], to sink: inout some ByteSink) {
    for (key, value) in tags.sorted(by: { $0.key < $1.key }) {
      sink.put(tag: 7, length: ProtobufSizes.entry(key, value))
      sink.put(tag: 1, length: key.utf8.count)
      sink.put(key)
      sink.put(tag: 2, length: value.utf8.count)
      sink.put(value)
    }
  }
}

/// Fields of a Protobuf message; their numbers are below 16 here.
extension ByteSink {
  /// Of a field with a length before it.
  @inline(__always)
  fileprivate mutating func put(tag: UInt8, length: Int) {
    put(tag << 3 | 2)
    put(varint: UInt64(length))
  }

  /// Left out where it is empty.
  @inline(__always)
  fileprivate mutating func put(field tag: UInt8, _ bytes: UnsafeRawBufferPointer) {
    if unsafe bytes.isEmpty { return }
    put(tag: tag, length: bytes.count)
    unsafe put(bytes)
  }
}
