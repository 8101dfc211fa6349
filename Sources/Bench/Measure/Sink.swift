/// Where a dialect puts what it read for one connection: its ledger's line, or, in tests, a list.
///
/// Made anew for each reading of a socket. What it counts goes to the ledger when the reading is over (``finish()``).
@safe struct Sink {
  private(set) var confirmed = 0
  private(set) var acknowledged = 0
  private(set) var refused = 0
  /// Contents in full, where there is no ledger.
  private(set) var captured: [[UInt8]] = []
  private(set) var strays = 0

  private let line: UnsafeMutablePointer<LedgerLine>?
  private let table: UnsafeMutablePointer<LedgerTable>?
  private let ledger: Unmanaged<Ledger>?
  /// When the socket was read, when the kernel had what was read (0: it does not say), and from which intended time on
  /// deliveries are measured.
  private let now: UInt64
  private let stamp: UInt64
  private let measureFrom: UInt64
  private let isInTime: Bool
  /// Latency does not begin before this: in a resume run, the beginning of the return.
  private let origin: UInt64
  private var arrived = 0
  private var delivered = 0

  /// A sink without a ledger keeps what is delivered.
  init() {
    unsafe (line, table, ledger) = (nil, nil, nil)
    (now, stamp, measureFrom, origin, isInTime) = (0, 0, 0, 0, false)
  }

  /// - Parameter line: nil for connections whose deliveries do not count: publishers, who may have had to subscribe.
  @inline(__always)
  init(
    _ ledger: Unmanaged<Ledger>, _ table: UnsafeMutablePointer<LedgerTable>, _ line: UnsafeMutablePointer<LedgerLine>?,
    now: UInt64, stamp: UInt64 = 0, measureFrom: UInt64, measureTo: UInt64 = .max, origin: UInt64
  ) {
    unsafe self.ledger = unsafe ledger
    unsafe self.table = unsafe table
    unsafe self.line = unsafe line
    self.now = now
    self.stamp = stamp
    self.measureFrom = measureFrom
    isInTime = now >= measureFrom && now < measureTo
    self.origin = origin
  }

  /// One publication's content, from its ``Marker`` on (a quotation mark before it is skipped by the dialect). What
  /// stands behind it does not matter.
  @inline(__always)
  mutating func deliver(_ content: UnsafeRawBufferPointer) {
    guard let line = unsafe line, let table = unsafe table, let place = content.baseAddress,
      content.count >= Marker.length,
      unsafe place.loadUnaligned(as: UInt32.self) == Marker.magicWord
    else { return unsafe deliverElsewhere(content) }
    let (group, sequence, due) = unsafe (Marker.group(place), Marker.sequence(place), Marker.due(place))
    if unsafe sequence == line.pointee.next && group == line.pointee.group {
      unsafe line.pointee.next = sequence &+ 1
    } else {
      guard unsafe isFirst(line, group, sequence) else { return }
    }
    arrived &+= 1
    guard due >= measureFrom else { return }
    delivered &+= 1
    let begin = max(due, origin)
    let latency = now > begin ? now &- begin : 0
    unsafe FlatHistogram.record(latency, in: table.pointee.latency)
    if stamp > 0 { unsafe FlatHistogram.record(stamp > begin ? stamp &- begin : 0, in: table.pointee.kernel) }
    let channel = unsafe Int(truncatingIfNeeded: line.pointee.channel)
    let reach =
      unsafe table.pointee.reach
      + (channel &<< Int(truncatingIfNeeded: table.pointee.windowShift)
        &+ Int(truncatingIfNeeded: sequence & table.pointee.windowMask))
    let mark = UInt32(truncatingIfNeeded: sequence) &+ 1
    let count = unsafe reach.pointee.mark == mark ? reach.pointee.count &+ 1 : 1
    unsafe reach.pointee = PublicationReach(mark: mark, count: count)
    let members = unsafe table.pointee.members[channel]
    if count == 1 { unsafe FlatHistogram.record(latency, in: table.pointee.first) }
    if count == (members &+ 1) / 2 { unsafe FlatHistogram.record(latency, in: table.pointee.median) }
    if count == members { unsafe FlatHistogram.record(latency, in: table.pointee.last) }
  }

  @inline(never)
  private func isFirst(_ line: UnsafeMutablePointer<LedgerLine>, _ group: UInt16, _ sequence: UInt64) -> Bool {
    unsafe ledger?._withUnsafeGuaranteedRef { unsafe $0.noteUnexpected(line, group: group, sequence: sequence) }
      ?? false
  }

  @inline(never)
  private mutating func deliverElsewhere(_ content: UnsafeRawBufferPointer) {
    if unsafe ledger == nil {
      unsafe captured.append(Array(content))
    } else if unsafe line != nil {
      strays += 1
    }
  }

  /// One subscription of a subscriber, or a publisher's leave to publish.
  mutating func confirm() { confirmed += 1 }

  mutating func acknowledge(refused isRefused: Bool) {
    acknowledged += 1
    if isRefused { refused += 1 }
  }

  /// Adds what came to the ledger's counts.
  @inline(__always)
  func finish() {
    guard let table = unsafe table else { return }
    unsafe table.pointee.arrived &+= arrived
    unsafe table.pointee.delivered &+= delivered
    // All that one reading of a socket gave came at the same time.
    if isInTime { unsafe table.pointee.arrivedInTime &+= arrived }
    if strays > 0 { unsafe ledger?._withUnsafeGuaranteedRef { $0.strays += strays } }
  }
}
