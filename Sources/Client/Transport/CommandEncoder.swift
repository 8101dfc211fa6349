internal import NIOCore
internal import Wire
enum CommandEncoder {
  static func encode(_ command: ClientCommand, allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: 0) }
}
struct ReplyDecoder {
  init(_ buffer: ByteBuffer) {}
  mutating func next() throws -> ClientReply? { nil }
}
