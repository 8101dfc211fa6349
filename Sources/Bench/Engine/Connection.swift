import CLinuxIO
import COpenSSL

/// One connection of a worker. Stands in plain memory, reached by pointer alone.
@safe struct Connection {
  enum Stage: UInt8 { case idle, connecting, securing, upgrading, open, closed }

  var descriptor: Int32 = -1
  var stage = Stage.idle
  /// Subscribes and stops reading then.
  var isSlow = false
  /// Confirmed in everything it asked for. Stays true when it is lost later.
  var isReady = false
  var isWebSocket = false
  var opcode: UInt8 = 1
  var awaitsRoom = false
  var confirmed = 0
  var startedAt: UInt64 = 0
  var line: UnsafeMutablePointer<LedgerLine>?
  let table: UnsafeMutablePointer<LedgerTable>
  /// What of the socket's bytes waits for its rest.
  var tail = ByteStore()
  var out = ByteStore()
  var frames = WebSocketReader()
  var tls: OpaquePointer?
  var key = ""
  /// Of a publisher: its place in the loop's list of those.
  var publisher = -1
  var state: DialectState

  init(state: DialectState, table: UnsafeMutablePointer<LedgerTable>) {
    self.state = state
    unsafe self.table = unsafe table
  }

  /// Ends it without a word: no Close frame, no close_notify.
  mutating func drop() {
    if let tls = unsafe tls { unsafe SSL_free(tls) }
    unsafe tls = nil
    if descriptor >= 0 { linuxio_close(descriptor) }
    descriptor = -1
    stage = .closed
    tail.free()
    out.free()
    frames = WebSocketReader()
    awaitsRoom = false
    confirmed = 0
  }
}
