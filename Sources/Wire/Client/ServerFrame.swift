/// Frames as a server sends them: never masked, never fragmented.
///
///      0               1               2 … (0, 2 or 8 bytes)   …
///     +-+-+-+-+-------+-+-------------+-----------------------+---------+
///     |F|0|0|0|opcode |0|   length    | length, if 126 or 127 | payload |
///     +-+-+-+-+-------+-+-------------+-----------------------+---------+
///
/// Source: RFC 6455, section 5.2.
public enum ServerFrame {
  /// The longest header that ``appendHeader(payloadBytes:format:to:)`` writes.
  public static let maximumHeaderBytes = 10

  /// A message as one frame: of text for JSON, binary for Protobuf.
  public static func message(_ payload: [UInt8], format: WireFormat) -> [UInt8] {
    var frame: [UInt8] = []
    frame.reserveCapacity(payload.count + maximumHeaderBytes)
    appendHeader(payloadBytes: payload.count, format: format, to: &frame)
    frame.append(contentsOf: payload)
    return frame
  }

  /// Appends the header alone, for callers that write the payload behind it themselves.
  public static func appendHeader(payloadBytes: Int, format: WireFormat, to frame: inout [UInt8]) {
    writeHeader(payloadBytes: payloadBytes, format: format, to: &frame)
  }

  /// The length in bytes of a whole frame, header included, as its header tells.
  ///
  /// - Parameter bytes: begins with a frame that a server wrote; more may follow behind the frame.
  public static func length(of bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count >= 2 else { return bytes.count }
    switch unsafe bytes[1] & 0x7F {
    case 126 where bytes.count >= 4: return unsafe 4 + (Int(bytes[2]) << 8 | Int(bytes[3]))
    case 127 where bytes.count >= 10:
      var length = 0
      for place in 2..<10 { length = unsafe length << 8 | Int(bytes[place]) }
      return 10 + length
    case let length: return 2 + Int(length)
    }
  }

  /// What stands in a whole frame that a server wrote.
  public static func payload(of frame: [UInt8]) -> ArraySlice<UInt8> { frame.dropFirst(headerBytes(of: frame)) }

  /// Bytes of the header of a whole frame that a server wrote.
  public static func headerBytes(of frame: [UInt8]) -> Int {
    guard frame.count >= 2 else { return frame.count }
    let bytes =
      switch frame[1] & 0x7F {
      case 126: 4
      case 127: 10
      default: 2
      }
    return min(bytes, frame.count)
  }

  /// The bit of a frame's first byte that says that its message is compressed (RFC 7692, section 6).
  public static let compressedBit: UInt8 = 0x40

  /// A message whose payload is compressed already, as one frame.
  public static func compressedMessage(_ payload: UnsafeRawBufferPointer, format: WireFormat) -> [UInt8] {
    var frame: [UInt8] = []
    frame.reserveCapacity(payload.count + maximumHeaderBytes)
    appendHeader(payloadBytes: payload.count, format: format, to: &frame)
    frame[0] |= compressedBit
    unsafe frame.append(contentsOf: payload)
    return frame
  }

  static func headerBytes(payloadBytes: Int) -> Int { payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10 }

  static func writeHeader(payloadBytes: Int, format: WireFormat, to sink: inout some ByteSink) {
    writeHeader(opcode: format == .json ? Opcode.text : Opcode.binary, payloadBytes: payloadBytes, to: &sink)
  }

  private static func writeHeader(opcode: UInt8, payloadBytes: Int, to sink: inout some ByteSink) {
    sink.put(0x80 | opcode)
    let count = UInt64(payloadBytes)
    switch payloadBytes {
    case ..<126: sink.put(UInt8(truncatingIfNeeded: count))
    case ..<65_536:
      sink.put(126)
      unsafe withUnsafeBytes(of: UInt16(truncatingIfNeeded: count).bigEndian) { unsafe sink.put($0) }
    default:
      sink.put(127)
      unsafe withUnsafeBytes(of: count.bigEndian) { unsafe sink.put($0) }
    }
  }

  public static func pong(_ payload: [UInt8]) -> [UInt8] { control(Opcode.pong, payload.prefix(125)) }

  /// A Close frame. Without a code, the payload is empty. A reason that is too long is cut at a character's end.
  public static func close(code: UInt16?, reason: String = "") -> [UInt8] {
    guard let code else { return control(Opcode.close, []) }
    var payload: [UInt8] = [UInt8(code >> 8), UInt8(code & 0xFF)]
    for character in reason {
      let bytes = Array(character.utf8)
      if payload.count + bytes.count > 125 { break }
      payload += bytes
    }
    return control(Opcode.close, payload[...])
  }

  private static func control(_ opcode: UInt8, _ payload: ArraySlice<UInt8>) -> [UInt8] {
    var frame: [UInt8] = []
    writeHeader(opcode: opcode, payloadBytes: payload.count, to: &frame)
    frame += payload
    return frame
  }
}

/// The opcodes of frames (RFC 6455, section 5.2).
public enum Opcode {
  public static let continuation: UInt8 = 0x0
  public static let text: UInt8 = 0x1
  public static let binary: UInt8 = 0x2
  public static let close: UInt8 = 0x8
  public static let ping: UInt8 = 0x9
  public static let pong: UInt8 = 0xA
}
