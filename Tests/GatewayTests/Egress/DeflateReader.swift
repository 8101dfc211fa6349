import CZlib
import Wire

@testable import Gateway

/// What a client does with compressed messages, on zlib alone: nothing of the server's reads what the server wrote.
enum DeflateReader {
  /// - Parameter windowBits: what the client remembers; zlib finds it out where a message points back further.
  /// - Returns: nil where the payload makes no sense.
  static func inflate(_ payload: [UInt8], windowBits: Int = 15) -> [UInt8]? {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    let size = Int32(MemoryLayout<z_stream>.size)
    guard inflateInit2_(stream, Int32(-windowBits), ZLIB_VERSION, size) == Z_OK else { return nil }
    defer { inflateEnd(stream) }
    var input = payload + [0x00, 0x00, 0xFF, 0xFF]
    // Pieces smaller than the window, so that zlib has to remember: a single large one would serve as its window.
    var (output, piece) = ([UInt8](), [UInt8](repeating: 0, count: 100))
    let count = input.count
    return input.withUnsafeMutableBufferPointer { input -> [UInt8]? in
      stream.pointee.next_in = input.baseAddress
      stream.pointee.avail_in = UInt32(count)
      while true {
        let result = piece.withUnsafeMutableBufferPointer { piece -> Int32 in
          stream.pointee.next_out = piece.baseAddress
          stream.pointee.avail_out = UInt32(piece.count)
          return CZlib.inflate(stream, Z_SYNC_FLUSH)
        }
        output += piece[..<(piece.count - Int(stream.pointee.avail_out))]
        if result != Z_OK && result != Z_BUF_ERROR { return nil }
        if stream.pointee.avail_out > 0 { return stream.pointee.avail_in == 0 ? output : nil }
      }
    }
  }

  /// The payload of one whole frame of the server's, decompressed where it says that it is compressed.
  static func payload(of frame: [UInt8], windowBits: Int = 15) -> [UInt8]? {
    let payload = Array(frame[ServerFrame.headerBytes(of: frame)...])
    return frame[0] & 0x40 == 0 ? payload : inflate(payload, windowBits: windowBits)
  }

  /// A payload as a client compresses it.
  static func deflate(_ message: [UInt8], windowBits: Int = 15, level: Int32 = 6) -> [UInt8] {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    let size = Int32(MemoryLayout<z_stream>.size)
    guard
      deflateInit2_(
        stream, level, Z_DEFLATED, Int32(-windowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
    else { return [] }
    defer { deflateEnd(stream) }
    var (input, output) = (message, [UInt8](repeating: 0, count: message.count + message.count / 8 + 64))
    input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        (stream.pointee.next_in, stream.pointee.avail_in) = (input.baseAddress, UInt32(input.count))
        (stream.pointee.next_out, stream.pointee.avail_out) = (output.baseAddress, UInt32(output.count))
        _ = CZlib.deflate(stream, Z_SYNC_FLUSH)
      }
    }
    return Array(output[..<(output.count - Int(stream.pointee.avail_out))].dropLast(4))
  }
}
