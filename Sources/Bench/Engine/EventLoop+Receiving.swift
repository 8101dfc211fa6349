import CLinuxIO
import COpenSSL
import Glibc

extension EventLoop {
  /// Reads what the socket has, and everything in it.
  func read(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    // A socket with more than this must let others come to their turn.
    for _ in 0..<16 {
      let kept = unsafe connection.pointee.tail.count
      if kept > bufferCapacity / 2 { enlargeBuffer() }
      if let tail = unsafe connection.pointee.tail.base { unsafe buffer.copyMemory(from: tail, byteCount: kept) }
      let room = bufferCapacity - kept
      let count = unsafe receive(connection, into: buffer + kept, room)
      now = linuxio_now()
      guard count > 0 else {
        if count == 0 { unsafe try lose(connection, "the server closed the connection") }
        return
      }
      unsafe try take(connection, UnsafeRawBufferPointer(start: buffer, count: kept + count))
      guard unsafe connection.pointee.stage == .open || connection.pointee.stage == .upgrading else { return }
      let hasMore = unsafe connection.pointee.tls.map { unsafe SSL_pending($0) > 0 } ?? (count == room)
      guard hasMore else { return }
    }
  }

  private func enlargeBuffer() {
    unsafe buffer.deallocate()
    bufferCapacity *= 2
    unsafe buffer = .allocate(byteCount: bufferCapacity, alignment: 64)
  }

  /// - Returns: bytes; 0 at the end; -1 where nothing is there.
  @inline(__always)
  private func receive(
    _ connection: UnsafeMutablePointer<Connection>, into place: UnsafeMutableRawPointer, _ room: Int
  ) -> Int {
    if let tls = unsafe connection.pointee.tls { return unsafe receive(tls, into: place, room) }
    let count = unsafe linuxio_receive(connection.pointee.descriptor, place, room)
    if count >= 0 { return count }
    return count == -Int(EAGAIN) || count == -Int(EINTR) ? -1 : 0
  }

  private func receive(_ tls: OpaquePointer, into place: UnsafeMutableRawPointer, _ room: Int) -> Int {
    let count = unsafe SSL_read(tls, place, Int32(min(room, 1 << 20)))
    if count > 0 { return Int(count) }
    switch unsafe TLSClient.outcome(tls, count) {
    case .wantsRead, .wantsWrite: return -1
    case .ended, .failed: return 0
    }
  }

  /// Parses what came with what had waited, keeps the rest, and does what follows from it.
  private func take(_ connection: UnsafeMutablePointer<Connection>, _ bytes: UnsafeRawBufferPointer) throws(BenchError)
  {
    var sink = unsafe Sink(
      Unmanaged.passUnretained(ledger), connection.pointee.table, connection.pointee.line, now: now,
      measureFrom: run.measureFrom, origin: run.origin)
    let before = unsafe connection.pointee.line?.pointee.next
    let consumed: Int
    do throws(BenchError) {
      consumed = unsafe try parse(connection, bytes, &sink, &outgoing)
    } catch {
      sink.finish()
      outgoing.removeAll()
      return unsafe try lose(connection, error.description)
    }
    unsafe connection.pointee.tail.removeAll()
    if consumed < bytes.count {
      unsafe connection.pointee.tail.append(UnsafeRawBufferPointer(rebasing: bytes[consumed...]))
    }
    sink.finish()
    if run.isReturning, let line = unsafe connection.pointee.line, unsafe line.pointee.next != before {
      unsafe line.pointee.lastArrival = now
    }
    if unsafe !outgoing.isEmpty || !connection.pointee.out.isEmpty { unsafe try sendOutgoing(connection) }
    if sink.acknowledged > 0 { unsafe acknowledge(connection, sink.acknowledged, refused: sink.refused) }
    if sink.confirmed > 0 { unsafe try confirm(connection, sink.confirmed) }
  }

  /// - Returns: bytes that are done with.
  private func parse(
    _ connection: UnsafeMutablePointer<Connection>, _ bytes: UnsafeRawBufferPointer, _ sink: inout Sink,
    _ out: inout Outgoing
  ) throws(BenchError) -> Int {
    guard unsafe connection.pointee.stage == .upgrading else {
      return unsafe connection.pointee.isWebSocket
        ? try readFrames(connection, bytes, &sink, &out)
        : try dialect.receive(bytes, &connection.pointee.state, &sink, into: &out)
    }
    guard let head = unsafe try WebSocketCodec.readUpgrade(bytes, key: connection.pointee.key) else { return 0 }
    unsafe connection.pointee.key = ""
    unsafe connection.pointee.stage = .open
    unsafe dialect.open(&connection.pointee.state, into: &out)
    if unsafe connection.pointee.state.isConfirmed {
      for _ in unsafe 0..<max(1, connection.pointee.state.channels.count) { sink.confirm() }
    }
    return unsafe try head + readFrames(connection, UnsafeRawBufferPointer(rebasing: bytes[head...]), &sink, &out)
  }

  private func readFrames(
    _ connection: UnsafeMutablePointer<Connection>, _ bytes: UnsafeRawBufferPointer, _ sink: inout Sink,
    _ out: inout Outgoing
  ) throws(BenchError) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var place = 0
    let count = bytes.count
    let dialect = dialect
    while let head = unsafe try WebSocketCodec.readHead(base + place, count &- place) {
      let end = place &+ head.length &+ head.payload
      guard end <= count else { break }
      let payload = unsafe UnsafeRawBufferPointer(start: base + (place &+ head.length), count: head.payload)
      place = end
      if unsafe head.isFinal && (head.opcode == 1 || head.opcode == 2) && connection.pointee.carry.isEmpty {
        let consumed = unsafe try dialect.receive(payload, &connection.pointee.state, &sink, into: &out)
        if consumed < payload.count { unsafe connection.pointee.carry.append(contentsOf: payload[consumed...]) }
      } else {
        unsafe try readSpecial(connection, head, payload, &sink, &out)
      }
    }
    return place
  }

  /// Fragments, what follows an unfinished payload, and control frames.
  @inline(never)
  private func readSpecial(
    _ connection: UnsafeMutablePointer<Connection>, _ head: WebSocketCodec.Head, _ payload: UnsafeRawBufferPointer,
    _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    switch head.opcode {
    case 0, 1, 2:
      guard unsafe (head.opcode == 0) == connection.pointee.isInFragment else {
        throw BenchError("the server's fragments are out of order")
      }
      unsafe connection.pointee.isInFragment = !head.isFinal
      var carry = unsafe connection.pointee.carry
      unsafe connection.pointee.carry = []
      unsafe carry.append(contentsOf: payload)
      guard UInt64(carry.count) <= WebSocketCodec.largestFrame else {
        throw BenchError("the server sends a message without an end")
      }
      if head.isFinal {
        let consumed = unsafe try consume(carry, &connection.pointee.state, &sink, &out)
        carry.removeFirst(consumed)
      }
      unsafe connection.pointee.carry = carry
    case 8:
      throw unsafe BenchError(Self.closing(payload))
    case 9:
      unsafe WebSocketCodec.append(opcode: 10, payload, mask: mask(), to: &connection.pointee.out)
    case 10: break
    default: throw BenchError("the server sends a frame of the unknown kind \(head.opcode)")
    }
  }

  private func consume(
    _ bytes: [UInt8], _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) -> Int {
    var failure: BenchError?
    let consumed = unsafe bytes.withUnsafeBytes { raw in
      do throws(BenchError) {
        return unsafe try dialect.receive(raw, &state, &sink, into: &out)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    return consumed
  }

  private static func closing(_ payload: UnsafeRawBufferPointer) -> String {
    guard payload.count >= 2 else { return "the server closed the connection without a code" }
    let code = unsafe Int(payload[0]) << 8 | Int(payload[1])
    let reason = unsafe String(decoding: payload[2...].prefix(123), as: UTF8.self)
    return "the server closed the connection with code \(code)\(reason.isEmpty ? "" : ", \(reason)")"
  }

  func mask() -> UInt32 { UInt32(truncatingIfNeeded: nextRandom() >> 16) }
}
