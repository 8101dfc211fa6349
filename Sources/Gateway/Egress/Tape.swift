import Wire

/// A busy channel's frames, one after another, and everybody who gets them: a subscriber is a cursor.
///
///       base          a cursor       flushed          end
///        v               v              v              v
///     ---+-------+-------+------+-------+------+-------+
///        | frame | frame | ...  | frame | ...  | frame |
///     ---+-------+-------+------+-------+------+-------+
///         \ kept for those who lag     / \ for this lap /
///
/// What waits for a subscriber goes out in one send from here: no copy and no queue of its own, however many frames
/// came meanwhile. A lap visits every seat once; the next begins one seat further, so that nobody is always last.
///
/// One tape belongs to an event loop, a channel, a form and a lane. Bytes that all subscribers have had are
/// dropped, and so is the memory when nothing is left: a channel at rest costs its seats only. Positions count bytes
/// since the tape began.
@safe final class Tape {
  /// One subscriber.
  struct Seat {
    /// Everything before it was handed to the subscriber's connection.
    var cursor: UInt64
    /// The connection's place in the ``OutletDirectory``.
    let outlet: UInt32
    var state: SeatState
  }

  struct SeatState: OptionSet {
    let rawValue: UInt8
    /// The seat's session still waits for its connect result: nothing may go out before that.
    static let held = SeatState(rawValue: 1)
    /// The seat stands in its outlet's list of tapes that it lags on.
    static let lagging = SeatState(rawValue: 2)
    /// The seat's session is told where the channel loses a publication.
    static let positioned = SeatState(rawValue: 4)

    /// States that keep a seat from being sent to without a closer look.
    static let detained: SeatState = [.held, .lagging]
  }

  let form: TapeForm
  let lane: Lane
  /// What is counted of the channel's namespace; nil: nothing is.
  let tally: DeliveryTally?
  private(set) var seats: ContiguousArray<Seat> = []
  /// The sessions on the seats, place by place; each keeps its outlet alive.
  private(set) var sessions: ContiguousArray<SessionDriver> = []
  private var places: [UInt64: Int] = [:]
  /// On a conflated tape, which version of the table each seat has had.
  private var versions: ContiguousArray<UInt64> = []
  private unowned let directory: OutletDirectory
  private let kept: KeptBytes
  /// What this tape has added to ``kept``.
  private var keptBytes = 0

  /// Position of the first byte that is kept.
  private(set) var base: UInt64 = 0
  private(set) var end: UInt64 = 0
  /// Every subscriber that does not lag has had everything before this position.
  private(set) var flushed: UInt64 = 0
  private var memory: UnsafeMutableRawPointer?
  private var capacity = 0
  private(set) var laggards = 0
  /// The number of the newest publication on the tape, in its channel; 0: none came since it began, or it is no tape of
  /// publications.
  var newest: UInt64 = 0
  /// Publications may be left out: the numbers of those on the tape have gaps.
  var isFiltered = false
  /// Where the tape ended when somebody looked at its rate last.
  private var lookedAt: UInt64 = 0
  /// When so many bytes stand on the tape, it is worth looking whether the slowest subscriber has moved on.
  private var trimThreshold = Tape.smallestTrim
  /// The newest frame of each key, on a conflated tape.
  var conflated: ConflationTable

  // The lap.
  private(set) var isDirty = false
  var isQueued = false
  private var position = 0
  private var left = 0
  private var lapTarget: UInt64 = 0

  private static let smallestTrim = 65_536

  init(
    form: TapeForm = TapeForm(format: .json), lane: Lane, conflationLimitBytes: Int, directory: OutletDirectory,
    tally: DeliveryTally? = nil
  ) {
    self.form = form
    self.lane = lane
    self.tally = tally
    self.directory = directory
    kept = directory.kept
    conflated = ConflationTable(limitBytes: conflationLimitBytes)
  }

  deinit {
    kept.change(by: -keptBytes)
    unsafe memory?.deallocate()
  }

  var isConflated: Bool { lane.isConflated }

  var isEmpty: Bool { seats.isEmpty }

  // MARK: Seats

  func place(of id: UInt64) -> Int? { places[id] }

  /// Gives the session a seat at the end, which gets what is appended from now on.
  func sit(_ session: SessionDriver, held: Bool, positioned: Bool) {
    let outlet = session.outlet
    precondition(places[outlet.id] == nil, "a session sits once on a tape")
    outlet.sat(in: directory)
    places[outlet.id] = seats.count
    sessions.append(session)
    var state: SeatState = held ? .held : []
    if positioned { state.insert(.positioned) }
    seats.append(Seat(cursor: end, outlet: outlet.place, state: state))
    if isConflated { versions.append(conflated.latestVersion) }
    if isDirty { left += 1 }
  }

  /// Takes the connection's seat away. The last seat takes its place.
  func leave(_ outlet: Outlet) {
    guard let place = places.removeValue(forKey: outlet.id) else { return }
    if !outlet.stops.isEmpty { outlet.stops.removeAll { $0.tape === self } }
    endLag(at: place, outlet)
    let last = seats.count - 1
    if place < last {
      seats.swapAt(place, last)
      sessions.swapAt(place, last)
      if isConflated { versions.swapAt(place, last) }
      places[sessions[place].id] = place
    }
    seats.removeLast()
    sessions.removeLast()
    if isConflated { versions.removeLast() }
    outlet.stoodUp()
    // The seat that moved may have been ahead of the lap and be behind it now: visit everybody.
    if isDirty { left = seats.count }
  }

  func setHeld(_ place: Int, _ isHeld: Bool) {
    if isHeld { seats[place].state.insert(.held) } else { seats[place].state.remove(.held) }
  }

  var positionedSessions: [SessionDriver] {
    seats.indices.filter { seats[$0].state.contains(.positioned) }.map { sessions[$0] }
  }

  // MARK: Bytes

  /// Bytes that were appended since this was asked last.
  func takeNewBytes() -> UInt64 {
    defer { lookedAt = end }
    return end - lookedAt
  }

  /// - Parameter key: what the frame replaces, for those who lag on a conflated tape.
  func append(_ frame: [UInt8], key: ConflationKey) {
    if isConflated {
      conflated.put(key, frame)
      // Laps are too slow for these bytes: a seat that is visited later gets the newest frame of each key instead.
      if Int(end - base) > conflated.limitBytes { dropBytes(before: end) }
    }
    reserve(frame.count)
    unsafe frame.withUnsafeBytes { source in
      guard let start = source.baseAddress, let memory = unsafe memory else { return }
      unsafe (memory + Int(end - base)).copyMemory(from: start, byteCount: source.count)
    }
    end += UInt64(frame.count)
    if !isDirty { beginLap() }
  }

  /// `count` bytes from `start`, all of which must lie between base and end.
  func bytes(_ start: UInt64, _ count: Int) -> UnsafeRawBufferPointer {
    precondition(start >= base && start + UInt64(count) <= end)
    guard let memory = unsafe memory else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
    return unsafe UnsafeRawBufferPointer(start: memory + Int(start - base), count: count)
  }

  /// The end of the frame that holds the byte at `position`, or that begins there.
  func frameEnd(from start: UInt64, holding position: UInt64) -> UInt64 {
    var place = start
    while place < end {
      let rest = unsafe bytes(place, Int(end - place))
      let length = unsafe form.packing.length(of: rest)
      place += UInt64(length)
      if place > position { return min(place, end) }
    }
    return end
  }

  private func reserve(_ count: Int) {
    let used = Int(end - base)
    guard used + count > capacity else { return }
    let wanted = max(used + count, used == 0 ? 0 : max(2 * capacity, 4096))
    let grown = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    if let memory = unsafe memory {
      unsafe grown.copyMemory(from: memory, byteCount: used)
      unsafe memory.deallocate()
    }
    unsafe memory = grown
    capacity = wanted
  }

  private func dropBytes(before position: UInt64) {
    guard position > base else { return }
    let kept = Int(end - position)
    if kept == 0 {
      unsafe memory?.deallocate()
      unsafe memory = nil
      capacity = 0
    } else if let memory = unsafe memory {
      unsafe memory.copyMemory(from: memory + Int(position - base), byteCount: kept)
    }
    base = position
  }

  // MARK: The lap

  private func beginLap() {
    isDirty = true
    left = seats.count
    position += 1
    lapTarget = end
  }

  /// The next seat to visit; nil when the lap is over.
  func next() -> Int? {
    guard left > 0, !seats.isEmpty else { return nil }
    left -= 1
    if position >= seats.count { position = 0 }
    defer { position += 1 }
    return position
  }

  /// All seats were visited, and nothing of the lap is in a batch any more. Drops what all have had, and begins the
  /// next lap where something came meanwhile.
  ///
  /// - Returns: how many bytes are flushed that were not before.
  func endLap() -> Int {
    precondition(isDirty && (left == 0 || seats.isEmpty))
    let before = flushed
    flushed = seats.isEmpty ? end : lapTarget
    isDirty = false
    if laggards == 0 {
      dropBytes(before: flushed)
      trimThreshold = Self.smallestTrim
      if isConflated && flushed == end { conflated.removeAll() }
    } else {
      trimToSlowest()
    }
    countKept()
    if flushed < end { beginLap() }
    return Int(flushed - before)
  }

  /// A laggard has caught up, or left: where it was the last, everything on the tape is dropped.
  func trimAfterCatchUp() {
    guard laggards == 0, !isDirty else { return }
    dropBytes(before: end)
    conflated.removeAll()
    countKept()
  }

  private func countKept() {
    let bytes = laggards > 0 ? capacity : 0
    guard bytes != keptBytes else { return }
    kept.change(by: bytes - keptBytes)
    keptBytes = bytes
  }

  private func trimToSlowest() {
    guard Int(end - base) > trimThreshold else { return }
    var slowest = flushed
    if !isConflated { for seat in seats where seat.cursor < slowest { slowest = seat.cursor } }
    dropBytes(before: slowest)
    trimThreshold = max(Self.smallestTrim, 2 * Int(end - base))
  }

  // MARK: Progress and lag

  /// Copies what the seat's connection has not been handed yet.
  func pending(at place: Int) -> [UInt8] {
    let seat = seats[place]
    if isConflated && (seat.state.contains(.lagging) || seat.cursor < base) {
      return conflated.newest(after: versions[place]).flatMap(\.frame)
    }
    return unsafe Array(bytes(seat.cursor, Int(end - seat.cursor)))
  }

  /// The seat's connection took everything up to the position, or keeps it.
  func advance(_ place: Int, to position: UInt64) {
    seats[place].cursor = position
    if isConflated { versions[place] = conflated.latestVersion }
  }

  /// Which version of the table the seat has had.
  func version(_ place: Int) -> UInt64 { versions[place] }

  /// Counts what the seat's connection is behind with.
  func lag(_ place: Int, _ outlet: Outlet) {
    if !seats[place].state.contains(.lagging) {
      seats[place].state.insert(.lagging)
      outlet.lags.append(Lag(tape: self, counted: seats[place].cursor))
      laggards += 1
    }
    if isConflated {
      // Nothing waits on the tape for this seat: the table keeps the newest of each key since its version.
      seats[place].cursor = end
    } else if let index = outlet.lags.firstIndex(where: { $0.tape === self }) {
      outlet.laggingBytes += Int(end - outlet.lags[index].counted)
      outlet.lags[index].counted = end
    }
  }

  /// The seat lags no more, or what it lags by no longer counts.
  func endLag(at place: Int, _ outlet: Outlet) {
    guard seats[place].state.contains(.lagging) else { return }
    seats[place].state.remove(.lagging)
    laggards -= 1
    guard let index = outlet.lags.firstIndex(where: { $0.tape === self }) else { return }
    if !isConflated { outlet.laggingBytes -= Int(outlet.lags[index].counted - seats[place].cursor) }
    outlet.lags.remove(at: index)
  }

  /// Drops what the seat's connection is behind with.
  func skip(_ place: Int, _ outlet: Outlet) {
    noteStop(at: place, outlet)
    endLag(at: place, outlet)
    advance(place, to: end)
  }
}
