import CZlib

/// Decompresses messages of servers that were asked for permessage-deflate without a context that is taken over (RFC 7692).
@safe final class MessageInflater {
  private let stream: UnsafeMutablePointer<z_stream>
  private var room: UnsafeMutableRawBufferPointer
  /// What the sender takes away of each message's end.
  private static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

  init() throws(BenchError) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    unsafe room = .allocate(byteCount: 1 << 20, alignment: 64)
    guard unsafe czlib_inflate_begin(stream) == Z_OK else { throw BenchError("zlib has no memory") }
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
    unsafe room.deallocate()
  }

  /// - Returns: the message, valid until the next call.
  func inflate(_ payload: UnsafeRawBufferPointer) throws(BenchError) -> UnsafeRawBufferPointer {
    unsafe inflateReset(stream)
    unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_out = UInt32(room.count)
    var isRead = unsafe feed(payload)
    if isRead { isRead = unsafe Self.tail.withUnsafeBytes { unsafe feed($0) } }
    let left = unsafe Int(stream.pointee.avail_out)
    guard isRead, left > 0 else {
      throw unsafe BenchError("a message of the server's is no deflate, or more than \(room.count) bytes long")
    }
    return unsafe UnsafeRawBufferPointer(rebasing: room[..<(room.count - left)])
  }

  private func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    unsafe stream.pointee.next_in = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?
      .assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_in = UInt32(bytes.count)
    let result = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
    return unsafe (result == Z_OK || result == Z_BUF_ERROR) && stream.pointee.avail_in == 0
  }
}
