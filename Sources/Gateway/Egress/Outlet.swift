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
  /// Where to write straight to; -1: not now (something waits before it), or never (TLS, where the connection encrypts, or it has ended).
  private(set) var descriptor: Int32 {
    didSet { directory?.set(place, descriptor) }
  }
  /// False from the moment at which either side began to close: whatever is handed in then is dropped.
  private(set) var isOpen = true
  /// Bytes that the connection accepted and the kernel has not.
  private(set) var queuedBytes = 0
  /// Of ``queuedBytes``, what the client asked for, pings among it. It does not make the client slow.
  private(set) var askedBytes = 0
  /// So much of ``askedBytes`` waits that the client should ask for more only later. Set by the connection.
  var isFull = false
  /// Bytes that wait on tapes for this connection to take more.
  var laggingBytes = 0
  /// The tapes on which it lags.
  var lags: [Lag] = []
  /// Seats on tapes.
  private(set) var seats = 0
  private unowned var directory: OutletDirectory?
  private(set) var place: UInt32 = 0

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

  /// What waits here and on tapes that nobody asked for: beyond a limit the reader is too slow.
  var unaskedBytes: Int { laggingBytes + queuedBytes - askedBytes }

  /// Whether the next byte would go out at once.
  var isClear: Bool { isOpen && queuedBytes == 0 }

  // MARK: From the connection

  func queued(_ bytes: Int, isAsked: Bool = false) {
    queuedBytes += bytes
    if isAsked { askedBytes += bytes }
    descriptor = -1
  }

  func dequeued(_ bytes: Int, isAsked: Bool = false) {
    queuedBytes -= bytes
    if isAsked { askedBytes -= bytes }
    if isClear { descriptor = directDescriptor }
  }

  /// Nothing is sent from here on but what closes it.
  func end() {
    isOpen = false
    descriptor = -1
  }

  // MARK: From the fan-out

  func sat(in directory: OutletDirectory) {
    seats += 1
    guard seats == 1 else { return }
    place = directory.enter(self, descriptor)
    self.directory = directory
  }

  func stoodUp() {
    seats -= 1
    guard seats == 0 else { return }
    directory?.leave(place)
    directory = nil
  }

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

/// What a connection is behind with on one tape.
struct Lag {
  let tape: Tape
  /// Up to where it has been counted.
  var counted: UInt64
}

/// Bytes that the tapes of an event loop hold only because some readers lag: what is there for all of them alike goes out
/// with the next lap.
final class KeptBytes {
  private(set) var count = 0

  func change(by bytes: Int) { count += bytes }
}

/// Where the connections that sit on an event loop's tapes may be written to, side by side.
///
/// The fan-out looks at this for every delivery. The kernel's work for one send turns over most of a core's cache, so
/// that to look at an object for each would cost a miss or two each time; here sixteen stand in one line of it.
@safe final class OutletDirectory {
  /// In a batch, not sent yet: the descriptor is `inBatch - value`.
  static let inBatch: Int32 = -2

  private var descriptors: UnsafeMutablePointer<Int32>
  private var outlets: ContiguousArray<Outlet?> = []
  private var free: [UInt32] = []
  private var capacity = 64
  /// Of the tapes on which they sit.
  let kept = KeptBytes()

  init() { unsafe descriptors = .allocate(capacity: capacity) }

  deinit { unsafe descriptors.deallocate() }

  func enter(_ outlet: Outlet, _ descriptor: Int32) -> UInt32 {
    let place = free.popLast() ?? UInt32(outlets.count)
    if Int(place) == outlets.count {
      outlets.append(outlet)
      if outlets.count > capacity { grow() }
    } else {
      outlets[Int(place)] = outlet
    }
    unsafe descriptors[Int(place)] = descriptor
    return place
  }

  func leave(_ place: UInt32) {
    outlets[Int(place)] = nil
    unsafe descriptors[Int(place)] = -1
    free.append(place)
  }

  func set(_ place: UInt32, _ descriptor: Int32) { unsafe descriptors[Int(place)] = descriptor }

  /// - Parameter place: of an outlet that sits on a tape.
  @inline(__always)
  func descriptor(_ place: UInt32) -> Int32 { unsafe descriptors[Int(place)] }

  func outlet(_ place: UInt32) -> Outlet {
    guard let outlet = outlets[Int(place)] else { preconditionFailure("a seat's outlet is in the directory") }
    return outlet
  }

  private func grow() {
    let grown = UnsafeMutablePointer<Int32>.allocate(capacity: 2 * capacity)
    unsafe grown.update(from: descriptors, count: capacity)
    unsafe descriptors.deallocate()
    unsafe descriptors = grown
    capacity *= 2
  }
}
