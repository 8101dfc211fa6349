import CZlib
import NIOCore

/// Decompresses clients' messages (permessage-deflate, RFC 7692, section 7.2.2), one after another, each by itself. One
/// for each event loop: a connection keeps nothing of it.
///
/// Bound to its event loop, and deliberately not Sendable.
@safe final class Inflater {
  /// Bytes that are decompressed at a time: so much more than the limit is in memory at most.
  static let pieceBytes = 16_384

  private let stream: UnsafeMutablePointer<z_stream>
  private let piece: UnsafeMutableRawBufferPointer

  /// - Returns: nil where memory is out.
  init?() {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    unsafe piece = .allocate(byteCount: Self.pieceBytes, alignment: 16)
    guard unsafe czlib_inflate_begin(stream) == Z_OK else { return nil }
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
    unsafe piece.deallocate()
  }

  /// Bytes that were made of the message that came last.
  var madeBytes: Int { unsafe Int(stream.pointee.total_out) }

  /// A message whose payload is whole.
  ///
  /// - Parameters:
  ///   - limitBytes: of the message, decompressed: what is beyond it is never made.
  ///   - isText: it must be UTF-8; the first wrong piece ends it.
  func inflate(_ payload: ByteBuffer, limitBytes: Int, isText: Bool) throws(FrameViolation) -> ByteBuffer {
    guard unsafe inflateReset(stream) == Z_OK else { throw .corruptMessage }
    var message = Message(limitBytes: limitBytes, isText: isText)
    var isWhole = false
    // The sender took the tail away, which ends the last block (section 7.2.1).
    for input in [payload, ByteBuffer(bytes: Deflater.tail)] {
      isWhole = try inflate(input, into: &message)
    }
    guard isWhole else { throw .corruptMessage }
    return try message.finish()
  }

  /// - Returns: whether the bytes end where a block does.
  private func inflate(_ input: ByteBuffer, into message: inout Message) throws(FrameViolation) -> Bool {
    let (failure, isWhole) = unsafe input.withUnsafeReadableBytes { bytes -> (FrameViolation?, Bool) in
      do throws(FrameViolation) {
        return (nil, unsafe try inflate(bytes, into: &message))
      } catch {
        return (error, false)
      }
    }
    if let failure { throw failure }
    return isWhole
  }

  private func inflate(_ input: UnsafeRawBufferPointer, into message: inout Message) throws(FrameViolation) -> Bool {
    // The pointers are valid within this call alone.
    defer {
      unsafe stream.pointee.next_in = nil
      unsafe stream.pointee.avail_in = 0
    }
    unsafe stream.pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?
      .assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
    while true {
      unsafe stream.pointee.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
      unsafe stream.pointee.avail_out = UInt32(piece.count)
      let result = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
      let count = unsafe piece.count - Int(stream.pointee.avail_out)
      if count > 0 { unsafe try message.append(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
      switch result {
      case Z_OK, Z_BUF_ERROR:
        // A piece that is not full is the last of this input.
        if unsafe count < piece.count { return isAtBlockEnd }
      case Z_STREAM_END:
        // A sender may mark a block as the last; others follow it none the less (section 7.2.3.4).
        guard unsafe inflateReset(stream) == Z_OK else { throw .corruptMessage }
        if unsafe stream.pointee.avail_in == 0 { return true }
      default: throw .corruptMessage
      }
    }
  }

  /// zlib says in `data_type` how many bits of the last byte it has not used, and whether a block has just ended.
  private var isAtBlockEnd: Bool { unsafe stream.pointee.avail_in == 0 && stream.pointee.data_type & 0xBF == 0x80 }

  /// What has come out of a payload.
  private struct Message {
    let limitBytes: Int
    let isText: Bool
    private var bytes = ByteBuffer()
    private var utf8 = UTF8Validator()

    init(limitBytes: Int, isText: Bool) {
      self.limitBytes = limitBytes
      self.isText = isText
    }

    mutating func append(_ piece: UnsafeRawBufferPointer) throws(FrameViolation) {
      if piece.count > limitBytes - bytes.readableBytes { throw .tooLarge(limit: limitBytes) }
      if isText, unsafe !utf8.accept(piece) { throw .invalidUTF8 }
      unsafe bytes.writeBytes(piece)
    }

    func finish() throws(FrameViolation) -> ByteBuffer {
      if isText && !utf8.isAtBoundary { throw .invalidUTF8 }
      return bytes
    }
  }
}
