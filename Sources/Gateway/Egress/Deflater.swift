import CZlib

/// A stream of raw deflate (RFC 1951) that compresses messages one by one, each by itself: what it knew of one is
/// forgotten before the next.
///
/// Unchecked: a stream belongs to no thread, and ``DeflaterPool`` gives it to one caller at a time.
@safe final class Deflater: @unchecked Sendable {
  /// Larger messages are not compressed: 64 KiB take an event loop as long as a slice of the fan-out (``FanOut``), in which
  /// it does nothing else.
  static let mostBytes = 65_536
  /// With a flush (RFC 7692, section 7.2.1) a message ends in these bytes, which are not sent.
  static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

  private let stream: UnsafeMutablePointer<z_stream>
  /// Room for the longest message that is worth sending, and for the tail.
  private let room: UnsafeMutableRawBufferPointer

  /// - Parameter window: what the reader has to remember.
  /// - Returns: nil where memory is out.
  init?(_ window: DeflateWindow) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    unsafe room = .allocate(byteCount: Self.mostBytes + Self.tail.count, alignment: 16)
    // The fastest level: on messages of a few kilobytes, slower ones save next to nothing.
    guard unsafe czlib_deflate_begin(stream, Z_BEST_SPEED, window.bits, window.memoryLevel) == Z_OK else {
      // Where `deinit` ends the stream again, zlib sees that there is none.
      return nil
    }
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
    unsafe room.deallocate()
  }

  /// - Parameter message: at most ``mostBytes``.
  /// - Returns: what is to be sent of the message, valid until the next call; nil where that would not be shorter.
  func deflate(_ message: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard let bytes = message.baseAddress, message.count <= Self.mostBytes else { return nil }
    defer { unsafe deflateReset(stream) }
    unsafe stream.pointee.next_in = UnsafeMutableRawPointer(mutating: bytes).assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_in = UInt32(message.count)
    unsafe stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    // What fills this is not shorter than the message.
    let most = message.count + Self.tail.count
    unsafe stream.pointee.avail_out = UInt32(most)
    // With the module's name: this method has the same one.
    guard unsafe CZlib.deflate(stream, Z_SYNC_FLUSH) == Z_OK, unsafe stream.pointee.avail_in == 0,
      unsafe stream.pointee.avail_out > 0
    else { return nil }
    let count = unsafe most - Int(stream.pointee.avail_out) - Self.tail.count
    guard count > 0, count < message.count else { return nil }
    return unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
  }
}

/// How far back a compressed message may point, which is what its reader has to remember of it. A client names a limit
/// of 9 to 15 bits; three are made of them, so that a publication is compressed three times at most, whatever clients
/// ask for.
enum DeflateWindow: Int, CaseIterable, Sendable {
  case small = 9
  case medium = 12
  case large = 15

  /// The largest that the client has room for; nil where it has not enough for any: zlib writes no raw stream for 8
  /// bits.
  init?(within bits: Int) {
    guard let window = Self.allCases.last(where: { $0.rawValue <= bits }) else { return nil }
    self = window
  }

  var bits: Int32 { Int32(rawValue) }

  /// zlib's tables are cleared before each message: small ones take a tenth of the time of large ones, for which short
  /// messages have no use.
  var memoryLevel: Int32 { self == .large ? 8 : 5 }

  /// What a message of so many bytes needs, at most this.
  func fitting(_ bytes: Int) -> DeflateWindow { self == .large && bytes <= 4096 ? .medium : self }
}
