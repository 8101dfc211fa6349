import CLinuxIO
import COpenSSL
import Glibc

extension EventLoop {
  /// Reads what the socket has, and everything in it.
  func read(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    // After so many readings the other sockets come first, however much this one still has.
    for _ in 0..<16 {
      let kept = unsafe connection.pointee.tail.count
      if kept > bufferCapacity / 2 { enlargeBuffer() }
      if let tail = unsafe connection.pointee.tail.base { unsafe buffer.copyMemory(from: tail, byteCount: kept) }
      let room = bufferCapacity - kept
      var stamp: UInt64 = 0
      let count = unsafe receive(connection, into: buffer + kept, room, &stamp)
      now = linuxio_now()
      if let stamps, stamp > 0 {
        stamp = stamps.arrival(stamp, readAt: now)
        if run.isMeasuring(at: now) { stamps.reading.record(now - stamp) }
      }
      if unsafe count > 0 && connection.pointee.line != nil && run.isMeasuring(at: now) { received &+= count }
      guard count > 0 else {
        if count == 0 { unsafe try lose(connection, "the server closed the connection") }
        return
      }
      unsafe try take(connection, UnsafeRawBufferPointer(start: buffer, count: kept + count), stamp)
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

  /// - Parameter stamp: the kernel's, where it stamps.
  /// - Returns: bytes; 0 at the end; -1 where nothing is there.
  @inline(__always)
  private func receive(
    _ connection: UnsafeMutablePointer<Connection>, into place: UnsafeMutableRawPointer, _ room: Int,
    _ stamp: inout UInt64
  ) -> Int {
    if let tls = unsafe connection.pointee.tls { return unsafe receive(tls, into: place, room) }
    let descriptor = unsafe connection.pointee.descriptor
    let count =
      unsafe stamps == nil
      ? linuxio_receive(descriptor, place, room) : linuxio_receive_stamped(descriptor, place, room, &stamp)
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

  /// Parses what a socket gave behind what had waited, keeps the rest, and does what follows from it.
  ///
  /// - Parameter stamp: when the kernel had it; 0: it does not say.
  private func take(
    _ connection: UnsafeMutablePointer<Connection>, _ bytes: UnsafeRawBufferPointer, _ stamp: UInt64
  ) throws(BenchError) {
    var sink = unsafe Sink(
      Unmanaged.passUnretained(ledger), connection.pointee.table, connection.pointee.line, now: now,
      stamp: stamp, measureFrom: run.measureFrom, measureTo: run.measureTo, origin: run.origin)
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

  /// - Returns: how many of the bytes were parsed; the others wait for their rest.
  private func parse(
    _ connection: UnsafeMutablePointer<Connection>, _ bytes: UnsafeRawBufferPointer, _ sink: inout Sink,
    _ out: inout Outgoing
  ) throws(BenchError) -> Int {
    guard unsafe connection.pointee.stage == .upgrading else {
      return unsafe connection.pointee.isWebSocket
        ? try readFrames(connection, bytes, &sink, &out)
        : try dialect.receive(bytes, &connection.pointee.state, &sink, into: &out)
    }
    guard
      let head = unsafe try WebSocketCodec.readUpgrade(
        bytes, key: connection.pointee.key, compresses: asksForCompression(connection))
    else { return 0 }
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
    try unsafe connection.pointee.frames.read(
      bytes, dialect, &connection.pointee.state, &sink, &out, inflater, pongs: &connection.pointee.out, mask: mask())
  }

  func mask() -> UInt32 { UInt32(truncatingIfNeeded: nextRandom() >> 16) }
}
