/// What an ``Outlet`` needs of its connection where the short way ends. Everything happens on its event loop.
protocol OutletOwner: AnyObject {
  /// Sends the bytes behind everything that was sent before, in whatever way; keeps what the kernel does not take.
  func transmit(_ bytes: UnsafeRawBufferPointer)
  /// The reader is too slow: it is told 3008. Calls nobody back before it returns.
  func closeSlow()
  /// A write failed: the connection is gone. Calls nobody back before it returns.
  func abandon()
}

/// One connection's way out as the fan-out sees it: what it may write to, and what the connection is behind with.
///
/// Bound to its event loop, and deliberately not Sendable. A class of its own and not a part of the connection's
/// interface, because the fan-out looks at nothing else of a connection, once for every delivery.
final class Outlet {
  /// The connection's.
  let id: UInt64
  /// Where to write straight to; -1: not now (something waits before it), or never (TLS, or the connection has ended).
  private(set) var descriptor: Int32
  /// Set while a batch of sends holds one of ours: a second must not overtake the rest of the first.
  var isInBatch = false
  /// False from the moment at which either side began to close: whatever is handed in then is dropped.
  private(set) var isOpen = true
  /// Bytes that the connection accepted and the kernel has not.
  private(set) var queuedBytes = 0
  /// Bytes that wait on tapes for this connection to take more.
  var laggingBytes = 0
  /// The tapes on which it lags.
  var laggingOn: [Tape] = []

  private let directDescriptor: Int32
  /// Ends us before it goes; from then on it is not asked again.
  private unowned var owner: (any OutletOwner)?

  /// - Parameter descriptor: -1 where the connection must always be asked, as with TLS.
  init(id: UInt64, descriptor: Int32) {
    self.id = id
    self.descriptor = descriptor
    directDescriptor = descriptor
  }

  func attach(_ owner: any OutletOwner) { self.owner = owner }

  /// Whether the next byte would go out at once.
  var isClear: Bool { isOpen && queuedBytes == 0 }

  // MARK: From the connection

  func queued(_ bytes: Int) {
    queuedBytes += bytes
    descriptor = -1
  }

  func dequeued(_ bytes: Int) {
    queuedBytes -= bytes
    if isClear { descriptor = directDescriptor }
  }

  /// Nothing is sent from here on but what closes it.
  func end() {
    isOpen = false
    descriptor = -1
  }

  // MARK: From the fan-out

  /// The ordinary way, which keeps what the kernel does not take.
  func transmit(_ bytes: UnsafeRawBufferPointer) {
    guard isOpen else { return }
    unsafe owner?.transmit(bytes)
  }

  func closeSlow() {
    if isOpen { owner?.closeSlow() }
  }

  func abandon() {
    if isOpen { owner?.abandon() }
  }
}
