/// A client's connection as the fan-out sees it: what it may write to, and what the connection is behind with.
///
/// Bound to its event loop, and deliberately not Sendable. The superclass of ``Connection``, and of what tests put in
/// its place: the fan-out knows no more of a connection than this, and a connection needs no second object for it.
class Outlet {
  /// Unique in this process.
  final let id: UInt64
  /// Where to write straight to; -1: not now (something waits in the connection's queue), or never (TLS, where the
  /// connection encrypts, or it has ended).
  final private(set) var descriptor: Int32 {
    didSet { directory?.set(place, descriptor) }
  }
  /// False from the moment at which either side began to close: whatever is handed in then is dropped.
  final private(set) var isOpen = true
  /// Bytes that the connection accepted and the kernel has not. At most the answer limit and one frame.
  final private(set) var queuedBytes = 0
  /// Of ``queuedBytes``, those of answers that the client asked for, and of pings. They do not make the client slow.
  final private(set) var askedBytes = 0
  /// So much of ``askedBytes`` waits that the client should ask for more only later. Set by the connection.
  final var isFull = false
  /// Bytes that wait on tapes for this connection to take more.
  final var laggingBytes = 0
  /// The tapes on which the connection lags.
  final var lags: [Lag] = []
  /// Where tapes were left, once the connection was closed: what came behind is dropped.
  final var stops: [TapeStop] = []
  /// Bytes that the connection had accepted and gave back when it broke: nobody can tell how many of them the peer got.
  final var brokenBytes = 0
  /// How many seats on tapes the connection has.
  final private(set) var seats = 0
  private unowned var directory: OutletDirectory?
  final private(set) var place: UInt32 = 0
  private let directDescriptor: Int32

  /// - Parameter descriptor: -1 where the connection must always be asked, as with TLS.
  init(id: UInt64, descriptor: Int32) {
    self.id = id
    self.descriptor = descriptor
    directDescriptor = descriptor
  }

  // MARK: What a connection does for the fan-out

  /// Sends the bytes behind everything that was sent before, in whatever way, and keeps what the kernel does not take.
  /// Does nothing once the connection is not open any more.
  func transmit(_ bytes: UnsafeRawBufferPointer) { preconditionFailure("a connection says how it sends") }

  /// Closes the connection with 3008, because its reader is too slow. Calls nobody back before it returns.
  func closeSlow() { preconditionFailure("a connection says how it closes") }

  /// A write failed: the connection is gone. Calls nobody back before it returns.
  func abandon() { preconditionFailure("a connection says how it ends") }

  // MARK: What waits

  /// Bytes that wait here and on tapes and that the client did not ask for: beyond a limit its reader is too slow.
  final var unaskedBytes: Int { laggingBytes + queuedBytes - askedBytes }

  /// Whether the next byte would go out at once.
  final var isClear: Bool { isOpen && queuedBytes == 0 }

  final func queued(_ bytes: Int, isAsked: Bool = false) {
    queuedBytes += bytes
    if isAsked { askedBytes += bytes }
    descriptor = -1
  }

  final func dequeued(_ bytes: Int, isAsked: Bool = false) {
    queuedBytes -= bytes
    if isAsked { askedBytes -= bytes }
    if isClear { descriptor = directDescriptor }
  }

  /// From here on nothing is sent but what closes the connection.
  final func end() {
    isOpen = false
    descriptor = -1
  }

  // MARK: Seats

  final func sat(in directory: OutletDirectory) {
    seats += 1
    guard seats == 1 else { return }
    place = directory.enter(self, descriptor)
    self.directory = directory
  }

  final func stoodUp() {
    seats -= 1
    guard seats == 0 else { return }
    directory?.leave(place)
    directory = nil
  }
}

/// What a connection is behind with on one tape.
struct Lag {
  let tape: Tape
  /// The position on the tape up to which the lag stands in ``Outlet/laggingBytes``.
  var counted: UInt64
}

/// Bytes that the tapes of an event loop hold only because some readers lag. What stands there for all readers alike
/// goes out with the next lap, and is not counted.
final class KeptBytes {
  private(set) var count = 0

  func change(by bytes: Int) { count += bytes }
}

/// Where the connections that sit on an event loop's tapes may be written to, side by side.
///
/// The fan-out looks at this for every delivery. The kernel's work for one send turns over most of a core's cache, so
/// that to look at an object for each would cost a miss or two each time; here sixteen stand in one line of it.
@safe final class OutletDirectory {
  /// Values from here down say that bytes for the connection are in a batch, not sent yet: its descriptor is `inBatch -
  /// value`.
  static let inBatch: Int32 = -2

  private var descriptors: UnsafeMutablePointer<Int32>
  private var outlets: ContiguousArray<Outlet?> = []
  private var free: [UInt32] = []
  private var capacity = 64
  /// What the tapes on which these connections sit keep for those that lag.
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

  /// - Parameter place: the place of an outlet that sits on a tape.
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
