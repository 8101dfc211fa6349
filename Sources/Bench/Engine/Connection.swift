import CLinuxIO
import COpenSSL

/// One connection of a worker. Stands in plain memory, reached by pointer alone.
@safe struct Connection {
  enum Stage: UInt8 { case idle, connecting, securing, upgrading, open, closed }

  var descriptor: Int32 = -1
  var stage = Stage.idle
  /// A slow reader: it stops reading once it is subscribed.
  var isSlow = false
  /// All subscriptions of this connection were confirmed. Stays true when the connection is lost later.
  var isReady = false
  var isWebSocket = false
  var opcode: UInt8 = 1
  var awaitsRoom = false
  var confirmed = 0
  var startedAt: UInt64 = 0
  var line: UnsafeMutablePointer<LedgerLine>?
  let table: UnsafeMutablePointer<LedgerTable>
  /// The beginning of a message whose rest the socket has not given yet.
  var tail = ByteStore()
  var out = ByteStore()
  var frames = WebSocketReader()
  var tls: OpaquePointer?
  var key = ""
  /// A publisher's place in ``Publishing/publishers``; -1: a subscriber.
  var publisher = -1
  var state: DialectState

  init(state: DialectState, table: UnsafeMutablePointer<LedgerTable>) {
    self.state = state
    unsafe self.table = unsafe table
  }

  /// Ends the connection without a Close frame and without close_notify, and frees what waits in it.
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
