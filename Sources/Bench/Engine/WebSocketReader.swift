/// Reads a server's WebSocket messages and hands their payloads to the dialect; answers pings.
struct WebSocketReader {
  /// Payload that waits for its rest: of a fragmented message, or of a byte stream.
  private var carry: [UInt8] = []
  private var isInFragment = false

  /// - Parameters:
  ///   - inflater: nil: compression was not asked for.
  ///   - pongs: where answers to pings go, as whole frames.
  ///   - mask: with which the pongs are masked.
  /// - Returns: bytes that are done with; the rest is to be handed in again with more behind it.
  /// - Throws: a sentence where the server closes, or breaks RFC 6455.
  @inline(__always)
  mutating func read<D: Dialect>(
    _ bytes: UnsafeRawBufferPointer, _ dialect: D, _ state: inout DialectState, _ sink: inout Sink,
    _ out: inout Outgoing, _ inflater: MessageInflater? = nil, pongs: inout ByteStore, mask: UInt32
  ) throws(BenchError) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var place = 0
    let count = bytes.count
    while let head = unsafe try WebSocketCodec.readHead(base + place, count &- place) {
      let end = place &+ head.length &+ head.payload
      guard end <= count else { break }
      let payload = unsafe UnsafeRawBufferPointer(start: base + (place &+ head.length), count: head.payload)
      place = end
      if head.isCompressed {
        unsafe try readCompressed(head, payload, dialect, &state, &sink, &out, inflater)
      } else if head.isFinal && (head.opcode == 1 || head.opcode == 2) && carry.isEmpty && !isInFragment {
        let consumed = unsafe try dialect.receive(payload, &state, &sink, into: &out)
        if consumed < payload.count { unsafe carry.append(contentsOf: payload[consumed...]) }
      } else {
        unsafe try readSpecial(head, payload, dialect, &state, &sink, &out, &pongs, mask)
      }
    }
    return place
  }

  @inline(never)
  private mutating func readCompressed<D: Dialect>(
    _ head: WebSocketCodec.Head, _ payload: UnsafeRawBufferPointer, _ dialect: D, _ state: inout DialectState,
    _ sink: inout Sink, _ out: inout Outgoing, _ inflater: MessageInflater?
  ) throws(BenchError) {
    guard let inflater else { throw BenchError("the server compresses, and was not asked to") }
    guard head.isFinal, !isInFragment, head.opcode == 1 || head.opcode == 2, carry.isEmpty else {
      throw BenchError(
        "the server compresses fragments, control frames or a byte stream, which the bench does not read")
    }
    let message = unsafe try inflater.inflate(payload)
    guard unsafe try dialect.receive(message, &state, &sink, into: &out) == message.count else {
      throw BenchError("a compressed message of the server's is not whole")
    }
  }

  /// Fragments, what follows an unfinished payload, and control frames.
  @inline(never)
  private mutating func readSpecial<D: Dialect>(
    _ head: WebSocketCodec.Head, _ payload: UnsafeRawBufferPointer, _ dialect: D, _ state: inout DialectState,
    _ sink: inout Sink, _ out: inout Outgoing, _ pongs: inout ByteStore, _ mask: UInt32
  ) throws(BenchError) {
    switch head.opcode {
    case 0, 1, 2:
      guard (head.opcode == 0) == isInFragment else { throw BenchError("the server's fragments are out of order") }
      isInFragment = !head.isFinal
      unsafe carry.append(contentsOf: payload)
      guard UInt64(carry.count) <= WebSocketCodec.largestFrame else {
        throw BenchError("the server sends a message without an end")
      }
      if head.isFinal { try consumeCarry(dialect, &state, &sink, &out) }
    case 8: throw unsafe BenchError(Self.closing(payload))
    case 9: unsafe WebSocketCodec.append(opcode: 10, payload, mask: mask, to: &pongs)
    case 10: break
    default: throw BenchError("the server sends a frame of the unknown kind \(head.opcode)")
    }
  }

  private mutating func consumeCarry<D: Dialect>(
    _ dialect: D, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    let bytes = carry
    var consumed = 0
    var failure: BenchError?
    unsafe bytes.withUnsafeBytes { raw in
      do throws(BenchError) {
        consumed = unsafe try dialect.receive(raw, &state, &sink, into: &out)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    carry = Array(bytes[consumed...])
  }

  private static func closing(_ payload: UnsafeRawBufferPointer) -> String {
    guard payload.count >= 2 else { return "the server closed the connection without a code" }
    let code = unsafe Int(payload[0]) << 8 | Int(payload[1])
    let reason = unsafe String(decoding: payload[2...].prefix(123), as: UTF8.self)
    return "the server closed the connection with code \(code)\(reason.isEmpty ? "" : ", \(reason)")"
  }
}
