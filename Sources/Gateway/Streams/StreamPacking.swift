import Wire

/// Messages in the body of an answer that does not end: server-sent events, or replies one after another. What one
/// plain WebSocket frame would carry is one chunk of HTTP/1.1 (RFC 9112, section 7.1):
///
///     events:  3A␍␊ data: {"push":…}␊␊ data: {"id":4}␊␊ ␍␊
///     lines:   2E␍␊ {"push":…}␊{"id":4}␊ ␍␊
///
/// In Protobuf each reply has its length before it, and nothing stands between them.
enum StreamPacking {
  /// The end of a body in chunks.
  static let lastChunk = Array("0\r\n\r\n".utf8)

  /// The payload's replies as events, in one chunk.
  ///
  /// - Parameter payload: JSON, with a newline between two replies and nowhere else.
  static func events(_ payload: ArraySlice<UInt8>) -> [UInt8] {
    let replies = payload.split(separator: newline)
    var body: [UInt8] = []
    body.reserveCapacity(payload.count + replies.count * 8)
    for reply in replies {
      body.append(contentsOf: "data: ".utf8)
      body.append(contentsOf: reply)
      body.append(newline)
      body.append(newline)
    }
    return chunk(body[...])
  }

  /// The payload as it is, in one chunk; in JSON with a newline behind it, as behind each reply before.
  static func lines(_ payload: ArraySlice<UInt8>, _ format: WireFormat) -> [UInt8] {
    chunk(payload, endsLine: format == .json)
  }

  /// The length in bytes of the first whole chunk; all of them where they do not begin with a chunk's length.
  static func length(of bytes: UnsafeRawBufferPointer) -> Int {
    var size = 0
    var index = 0
    // Nobody writes a chunk here whose length has more digits.
    while index < min(bytes.count, 8), let digit = unsafe hexadecimal(bytes[index]) {
      size = size << 4 | digit
      index += 1
    }
    guard index > 0, index < bytes.count, unsafe bytes[index] == carriageReturn else { return bytes.count }
    return index + 2 + size + 2
  }

  /// A chunk of nothing would end the body, so that nothing makes no chunk.
  private static func chunk(_ payload: ArraySlice<UInt8>, endsLine: Bool = false) -> [UInt8] {
    let size = payload.count + (endsLine ? 1 : 0)
    if size == 0 { return [] }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + 12)
    bytes.append(contentsOf: String(size, radix: 16).utf8)
    bytes.append(contentsOf: [carriageReturn, newline])
    bytes.append(contentsOf: payload)
    if endsLine { bytes.append(newline) }
    bytes.append(contentsOf: [carriageReturn, newline])
    return bytes
  }

  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private static func hexadecimal(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    default: nil
    }
  }
}
