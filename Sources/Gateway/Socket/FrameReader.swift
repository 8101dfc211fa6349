import NIOCore
import Wire

/// Reads a client's frames, in pieces of any size, and gives out whole messages.
///
///      0               1               2 … (0, 2 or 8 bytes)   4 bytes   …
///     +-+-+-+-+-------+-+-------------+-----------------------+---------+---------+
///     |F|R|R|R|opcode |M|   length    | length, if 126 or 127 |  mask   | payload |
///     +-+-+-+-+-------+-+-------------+-----------------------+---------+---------+
///
/// NIO's framer delivers a frame when its last byte is there; a wrong first byte would then be answered a whole
/// message too late. This reader judges each byte when it comes, unmasks while it copies into the message, and holds
/// nothing at all between messages: an idle connection costs no buffer. Memory grows with the bytes that came, never
/// with the length that a header declares.
///
/// The first frame of a compressed message has the first R set, where that was agreed on. What comes of such a message is
/// kept as it is until the last of it is there, and then decompressed in one go: between two reads a connection holds no
/// more than its peer has sent, however much it stands for.
///
/// Source of the rules: RFC 6455, sections 5 and 8.1; RFC 7692, section 6.
struct FrameReader {
  enum Event: Equatable {
    case message(ByteBuffer)
    case ping([UInt8])
    case pong
    /// Nil: the peer gave no code.
    case close(code: UInt16?)
  }

  private enum Stage {
    case firstByte
    case secondByte
    case length(bytesLeft: UInt8)
    case mask(bytesLeft: UInt8)
    case payload
  }

  private let maxMessageBytes: Int
  private var stage = Stage.firstByte
  private var opcode: UInt8 = 0
  private var isFinal = false
  /// Bytes of payload that the frame declared and that are not seen yet. Checked against the limits before any payload
  /// is taken.
  private var payloadLeft: UInt64 = 0
  /// The four mask bytes; the one for the next payload byte is the lowest.
  private var mask: UInt32 = 0
  /// The message under way, or nil between messages and before its first byte.
  private var message: ByteBuffer?
  private var isInMessage = false
  /// Whether the message under way, or the last one, is text.
  private(set) var isText = false
  private var utf8 = UTF8Validator()
  /// Nil: compression was not agreed on.
  private let inflater: Inflater?
  /// Whether the message under way is compressed.
  private var isCompressed = false
  private var control: [UInt8] = []

  /// Memory held for the message under way.
  var reservedBytes: Int { message?.storageCapacity ?? 0 }

  /// - Parameters:
  ///   - maxMessageBytes: of a message as it is given out.
  ///   - inflater: the event loop's; nil: no message may be compressed.
  init(maxMessageBytes: Int, inflater: Inflater? = nil) {
    self.maxMessageBytes = maxMessageBytes
    self.inflater = inflater
  }

  /// The next event, or nil where more bytes are needed: `input` is then empty.
  mutating func next(_ input: inout ByteBuffer) throws(FrameViolation) -> Event? {
    while true {
      switch stage {
      case .payload:
        try takePayload(&input)
        if payloadLeft > 0 { return nil }
        stage = .firstByte
        if let event = try finishFrame() { return event }
      case .firstByte, .secondByte, .length, .mask:
        guard let byte = input.readInteger(as: UInt8.self) else { return nil }
        try takeHeaderByte(byte)
      }
    }
  }

  private mutating func takeHeaderByte(_ byte: UInt8) throws(FrameViolation) {
    switch stage {
    case .firstByte:
      try takeFirstByte(byte)
      stage = .secondByte
    case .secondByte:
      try takeSecondByte(byte)
    case .length(let left):
      payloadLeft = payloadLeft << 8 | UInt64(byte)
      if left > 1 {
        stage = .length(bytesLeft: left - 1)
      } else {
        try checkLength()
        stage = .mask(bytesLeft: 4)
      }
    case .mask(let left):
      mask = mask >> 8 | UInt32(byte) << 24
      stage = left > 1 ? .mask(bytesLeft: left - 1) : .payload
    case .payload: break
    }
  }

  private mutating func takeFirstByte(_ byte: UInt8) throws(FrameViolation) {
    opcode = byte & 0x0F
    let startsMessage = opcode == Opcode.text || opcode == Opcode.binary
    if byte & (inflater != nil && startsMessage ? 0x30 : 0x70) != 0 { throw .reservedBits }
    isFinal = byte & 0x80 != 0
    switch opcode {
    case Opcode.continuation:
      if !isInMessage { throw .strayContinuation }
    case Opcode.text, Opcode.binary:
      if isInMessage { throw .interleavedMessage }
      isInMessage = true
      isText = opcode == Opcode.text
      isCompressed = byte & ServerFrame.compressedBit != 0
      utf8 = UTF8Validator()
    case Opcode.close, Opcode.ping, Opcode.pong:
      if !isFinal { throw .fragmentedControl }
    default: throw .reservedOpcode
    }
  }

  private mutating func takeSecondByte(_ byte: UInt8) throws(FrameViolation) {
    if byte & 0x80 == 0 { throw .unmasked }
    let length = byte & 0x7F
    if opcode >= Opcode.close && length > 125 { throw .longControl }
    payloadLeft = 0
    switch length {
    case 126: stage = .length(bytesLeft: 2)
    case 127: stage = .length(bytesLeft: 8)
    default:
      payloadLeft = UInt64(length)
      try checkLength()
      stage = .mask(bytesLeft: 4)
    }
  }

  /// Called before any payload is taken, so that `payloadLeft` fits an Int from here on.
  private func checkLength() throws(FrameViolation) {
    if opcode >= Opcode.close { return }
    let most = isCompressed ? Self.compressedBytes(maxMessageBytes) : maxMessageBytes
    let room = max(0, most - (message?.readableBytes ?? 0))
    if payloadLeft > UInt64(room) { throw .tooLarge(limit: maxMessageBytes) }
  }

  /// What cannot be compressed becomes a little longer.
  private static func compressedBytes(_ bytes: Int) -> Int { bytes + min(bytes / 8 + 64, .max - bytes) }

  private mutating func takePayload(_ input: inout ByteBuffer) throws(FrameViolation) {
    let count = Int(min(payloadLeft, UInt64(input.readableBytes)))
    if count == 0 { return }
    payloadLeft -= UInt64(count)
    if opcode >= Opcode.close {
      for _ in 0..<count { control.append((input.readInteger() ?? 0) ^ nextMaskByte()) }
      return
    }
    var target = message ?? ByteBuffer()
    message = nil  // So that the growing buffer has one owner and is not copied.
    let start = target.writerIndex
    unsafe input.readWithUnsafeReadableBytes { source in
      unsafe target.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
        unsafe unmask(UnsafeRawBufferPointer(rebasing: source[..<count]), into: room)
        return count
      }
    }
    if isText && !isCompressed {
      let valid = unsafe target.withUnsafeReadableBytes {
        unsafe utf8.accept(UnsafeRawBufferPointer(rebasing: $0[(start - target.readerIndex)...]))
      }
      if !valid { throw .invalidUTF8 }
    }
    message = target
  }

  private mutating func nextMaskByte() -> UInt8 {
    defer { mask = mask >> 8 | mask << 24 }
    return UInt8(truncatingIfNeeded: mask)
  }

  /// `room` holds at least as many bytes as `source`.
  private mutating func unmask(_ source: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) {
    var index = 0
    let pair = UInt64(mask) << 32 | UInt64(mask)
    while source.count - index >= 8 {
      let word = unsafe UInt64(littleEndian: source.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      unsafe room.storeBytes(of: (word ^ pair).littleEndian, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < source.count {
      unsafe room[index] = source[index] ^ nextMaskByte()
      index += 1
    }
  }

  private mutating func finishFrame() throws(FrameViolation) -> Event? {
    switch opcode {
    case Opcode.ping:
      defer { control = [] }
      return .ping(control)
    case Opcode.pong:
      control = []
      return .pong
    case Opcode.close:
      defer { control = [] }
      return try finishClose()
    default:
      guard isFinal else { return nil }
      let whole = message ?? ByteBuffer()
      message = nil
      isInMessage = false
      if isCompressed, let inflater {
        return .message(try inflater.inflate(whole, limitBytes: maxMessageBytes, isText: isText))
      }
      if isText && !utf8.isAtBoundary { throw .invalidUTF8 }
      return .message(whole)
    }
  }

  private func finishClose() throws(FrameViolation) -> Event {
    if control.isEmpty { return .close(code: nil) }
    if control.count == 1 { throw .invalidClose }
    let code = UInt16(control[0]) << 8 | UInt16(control[1])
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: break
    default: throw .invalidClose
    }
    var reason = UTF8Validator()
    let valid = unsafe control.withUnsafeBytes { unsafe reason.accept(UnsafeRawBufferPointer(rebasing: $0[2...])) }
    if !valid || !reason.isAtBoundary { throw .invalidUTF8 }
    return .close(code: code)
  }
}

/// What a peer did that ends its connection, with the close code that says so (RFC 6455, section 7.4.1).
enum FrameViolation: Error, Equatable, CustomStringConvertible {
  case unmasked
  case reservedBits
  case reservedOpcode
  case fragmentedControl
  case longControl
  case strayContinuation
  case interleavedMessage
  case invalidClose
  case invalidUTF8
  case corruptMessage
  case tooLarge(limit: Int)

  var closeCode: UInt16 {
    switch self {
    // RFC 7692, section 7.2.2, leaves the code open: it is the payload that makes no sense, and not its frame.
    case .invalidUTF8, .corruptMessage: 1007
    case .tooLarge: 1009
    default: 1002
    }
  }

  var description: String {
    switch self {
    case .unmasked: "frames from a client must be masked"
    case .reservedBits: "a reserved bit is set for which nothing was agreed on"
    case .reservedOpcode: "the opcode is reserved"
    case .fragmentedControl: "a control frame must not be fragmented"
    case .longControl: "a control frame holds at most 125 bytes"
    case .strayContinuation: "a continuation frame came without a message to continue"
    case .interleavedMessage: "a new message began inside a fragmented one"
    case .invalidClose: "the close frame's payload is not valid"
    case .invalidUTF8: "text must be valid UTF-8"
    case .corruptMessage: "the message cannot be decompressed"
    case .tooLarge(let limit): "a message holds at most \(limit) bytes"
    }
  }
}
