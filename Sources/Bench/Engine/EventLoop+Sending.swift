import CLinuxIO
import COpenSSL

extension EventLoop {
  /// Frames what the dialect said and sends it.
  func sendOutgoing(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    unsafe frameOutgoing(connection)
    unsafe try flush(connection)
  }

  /// Moves the dialect's messages behind what the connection already has to send.
  func frameOutgoing(_ connection: UnsafeMutablePointer<Connection>) {
    let (isWebSocket, opcode) = unsafe (connection.pointee.isWebSocket, connection.pointee.opcode)
    let ends = outgoing.ends
    unsafe outgoing.bytes.withUnsafeBytes { bytes in
      guard isWebSocket else { return unsafe connection.pointee.out.append(bytes) }
      var start = 0
      for end in ends {
        let payload = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        unsafe WebSocketCodec.append(opcode: opcode, payload, mask: mask(), to: &connection.pointee.out)
        start = end
      }
      guard start < bytes.count else { return }
      let payload = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
      unsafe WebSocketCodec.append(opcode: opcode, payload, mask: mask(), to: &connection.pointee.out)
    }
    outgoing.removeAll()
  }

  /// Sends what the socket takes; the rest goes when there is room.
  func flush(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    while let base = unsafe connection.pointee.out.base, unsafe !connection.pointee.out.isEmpty {
      let sent: Int
      if let tls = unsafe connection.pointee.tls {
        let result = unsafe SSL_write(tls, base, Int32(clamping: connection.pointee.out.count))
        if result > 0 {
          sent = Int(result)
        } else {
          switch unsafe TLSClient.outcome(tls, result) {
          case .wantsRead: return unsafe awaitRoom(connection, false)
          case .wantsWrite: return unsafe awaitRoom(connection, true)
          case .ended, .failed: return unsafe try lose(connection, "the connection broke while sending")
          }
        }
      } else {
        sent = unsafe linuxio_send(connection.pointee.descriptor, base, connection.pointee.out.count)
        guard sent >= 0 else { return unsafe try lose(connection, "sending failed with errno \(-sent)") }
      }
      guard sent > 0 else { return unsafe awaitRoom(connection, true) }
      unsafe connection.pointee.out.removeFirst(sent)
    }
    unsafe awaitRoom(connection, false)
  }
}
