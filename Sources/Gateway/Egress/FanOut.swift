import CLinuxIO
import DequeModule
import Wire
import ZeroMQ

/// Carries what stands on an event loop's tapes to the subscribers' connections, in slices.
///
/// **Slices.** After at most about 0.3 ms of sends the event loop gets to look at its sockets. A tape is visited until
/// its quota is used up and then queues behind the others, so that a two-person channel's message waits for a part of
/// one slice at most, however many subscribers somebody else's channel has.
///
/// **Lanes.** Publications go first, receipts only when none of them waits, typing and presence last. Replies and pings
/// do not come here at all: they go out at once.
final class FanOut {
  struct Limits {
    /// Bytes that nobody asked for and that may wait for one connection, on tapes and behind them together; beyond it
    /// the reader is too slow.
    var queueBytes: Int
    /// Nanoseconds of sends before other work gets its turn.
    var slice: UInt64 = 250_000
    /// Slices that may follow one another where no other work is seen to wait: a timer that is due is not seen.
    var slicesInARow = 8
    /// Seats with something to send that are visited before another tape gets its turn.
    var quota = 32
    /// Bytes that are handed at once to a connection that encrypts, rounded up to whole frames.
    var pieceBytes: UInt64 = 65_536
    /// Tapes with at most so many seats go before larger ones, for half of a slice.
    var smallTape = 32
  }

  private let limits: Limits
  private let clock: () -> UInt64
  /// Asks for ``runSlice()`` after the event loop has looked at its sockets.
  var requestTurn: () -> Void = {}
  /// Whether the event loop has anything else to do just now.
  var isOtherWorkWaiting: () -> Bool = { true }

  let directory = OutletDirectory()
  /// Bytes on tapes that only those who lag still need.
  var keptBytes: Int { directory.kept.count }
  private var ring: SendRing?
  /// Measured frames on the tapes.
  var watches = HopWatches()
  /// Tapes whose lap is over, but for what is still in the batch.
  private var finished: [Tape] = []
  private var queues = Array(repeating: LaneQueue(), count: Lane.allCases.count)
  /// Bytes on tapes that some subscribers are still to be visited for.
  private(set) var backlogBytes = 0
  private(set) var conflations = 0
  /// ``runSlice()`` will be called once the event loop has looked at its sockets.
  private(set) var awaitsTurn = false

  private struct LaneQueue {
    var small: Deque<Tape> = []
    var large: Deque<Tape> = []
  }

  #if MUTATIONS
    var mutation: GatewayMutation?
  #endif

  init(limits: Limits, ring: SendRing?, clock: @escaping () -> UInt64 = { MonotonicClock.now() }) {
    self.limits = limits
    self.ring = ring
    self.clock = clock
  }

  /// Whether batches of sends go through io_uring.
  var usesRing: Bool { ring != nil }

  // MARK: In

  func append(_ frame: [UInt8], key: ConflationKey, to tape: Tape) {
    guard !tape.isEmpty else { return }
    tape.append(frame, key: key)
    tape.tally?.delivered(bytes: frame.count, to: tape.seats.count)
    backlogBytes += frame.count
    enqueue(tape)
  }

  private func enqueue(_ tape: Tape) {
    guard !tape.isQueued else { return }
    tape.isQueued = true
    let lane = Int(tape.lane.rawValue)
    if tape.seats.count <= limits.smallTape {
      queues[lane].small.append(tape)
    } else {
      queues[lane].large.append(tape)
    }
  }

  // MARK: Slices

  /// Sends for at most a slice, or for some in a row while nobody else has work. Where something is left, it asks for
  /// another turn.
  func runSlice() {
    awaitsTurn = false
    for _ in 0..<limits.slicesInARow {
      sendForASlice()
      guard queues.contains(where: { !$0.small.isEmpty || !$0.large.isEmpty }) else { return }
      if isOtherWorkWaiting() { break }
    }
    awaitsTurn = true
    requestTurn()
  }

  private func sendForASlice() {
    let start = clock()
    var now = start
    while let tape = nextTape(past: now &- start) {
      tape.isQueued = false
      if !runLap(of: tape) { enqueue(tape) }
      now = clock()
      if now &- start >= limits.slice { break }
    }
    submit()
  }

  private func nextTape(past elapsed: UInt64) -> Tape? {
    for lane in queues.indices {
      let prefersSmall = elapsed < limits.slice / 2
      if prefersSmall, let tape = queues[lane].small.popFirst() { return tape }
      if let tape = queues[lane].large.popFirst() ?? queues[lane].small.popFirst() { return tape }
    }
    return nil
  }

  /// Visits seats until the lap is over, or the quota used up.
  ///
  /// - Returns: whether the tape is done for now.
  private func runLap(of tape: Tape) -> Bool {
    var quota = limits.quota
    if !watches.isEmpty { sendFirst(of: tape) }
    while quota > 0 {
      guard let place = tape.next() else {
        finish(tape)
        return !tape.isDirty || tape.isQueued
      }
      if visit(place, of: tape) { quota -= 1 }
    }
    return false
  }

  /// Sends what stands on the tape to one seat, where a measured frame is among it that nobody was sent yet.
  private func sendFirst(of tape: Tape) {
    guard watches.awaitsFirst(tape) else { return }
    while let place = tape.next() {
      guard visit(place, of: tape) else { continue }
      submit()
      return watches.sentFirst(of: tape)
    }
  }

  private func finish(_ tape: Tape) {
    if let ring, !ring.entries.isEmpty {
      finished.append(tape)
      // The tape counts as queued until the batch is through, so that nothing frees its bytes before.
      tape.isQueued = true
    } else {
      endLap(tape)
    }
  }

  private func endLap(_ tape: Tape) {
    backlogBytes -= tape.endLap()
    tape.isQueued = false
    if !watches.isEmpty { watches.lapEnded(tape) }
    if tape.isDirty { enqueue(tape) }
  }

  private func submit() {
    if let ring {
      let works = ring.submit(directory) { entry, result in
        let outlet = directory.outlet(entry.outlet)
        incomplete(outlet, unsafe entry.tape, start: entry.start, count: entry.count, result: result)
      }
      if !works { self.ring = nil }
    }
    guard !finished.isEmpty else { return }
    let tapes = finished
    finished.removeAll(keepingCapacity: true)
    for tape in tapes { endLap(tape) }
  }

  // MARK: One seat

  /// Sends a seat what stands on the tape for it: at once, with the batch, or by the slow way.
  ///
  /// - Returns: whether there was anything to send.
  @inline(__always)
  private func visit(_ place: Int, of tape: Tape) -> Bool {
    let seat = tape.seats[place]
    guard seat.cursor < tape.end else { return false }
    var descriptor = directory.descriptor(seat.outlet)
    if descriptor <= OutletDirectory.inBatch {
      // The batch has bytes for this connection that may turn out not to fit: they are sent first.
      submit()
      descriptor = directory.descriptor(seat.outlet)
    }
    guard descriptor >= 0, seat.state.isDisjoint(with: .detained), seat.cursor >= tape.base else {
      return visitSlowly(place, of: tape)
    }
    let count = Int(tape.end - seat.cursor)
    let bytes = unsafe tape.bytes(seat.cursor, count)
    tape.advance(place, to: tape.end)
    if let ring {
      directory.set(seat.outlet, OutletDirectory.inBatch - descriptor)
      let entry = SendRing.Entry(outlet: seat.outlet, tape: tape, start: seat.cursor, count: count)
      unsafe ring.add(entry, descriptor, bytes)
      if ring.isFull { submit() }
    } else {
      let sent = unsafe linuxio_send(descriptor, bytes.baseAddress, count)
      if sent != count {
        incomplete(directory.outlet(seat.outlet), tape, start: seat.cursor, count: count, result: sent)
      }
    }
    return true
  }

  /// Visits a seat that is held, lags, cannot be written to directly, or stands before what a conflated tape still
  /// keeps.
  private func visitSlowly(_ place: Int, of tape: Tape) -> Bool {
    let outlet = directory.outlet(tape.seats[place].outlet)
    guard outlet.isOpen else {
      tape.skip(place, outlet)
      return false
    }
    if tape.seats[place].state.contains(.held) || !outlet.isClear {
      tape.lag(place, outlet)
      checkSpeed(of: outlet)
      return false
    }
    sendPending(place, of: tape, outlet)
    return true
  }

  private func closeSlow(_ outlet: Outlet) {
    if outlet.isOpen { outlet.closeSlow() }
    for lag in outlet.lags {
      if let place = lag.tape.place(of: outlet.id) { lag.tape.skip(place, outlet) }
    }
  }

  /// A send was not taken whole: the kernel took `result` bytes of it, or failed (`result` is negative).
  private func incomplete(_ outlet: Outlet, _ tape: Tape, start: UInt64, count: Int, result: Int) {
    guard let place = tape.place(of: outlet.id) else { return }
    guard result >= 0 else {
      if outlet.isOpen { outlet.abandon() }
      return
    }
    let end = start + UInt64(count)
    let position = start + UInt64(result)
    // The frame that was cut is completed behind the connection's own queue, and that queue's end is what tells us to
    // go on. All else stays on the tape.
    let boundary = tape.isConflated ? end : tape.frameEnd(from: start, holding: position)
    unsafe outlet.transmit(tape.bytes(position, Int(boundary - position)))
    tape.advance(place, to: boundary)
    if boundary < tape.end { continueOrLag(place, of: tape, outlet) }
  }

  private func continueOrLag(_ place: Int, of tape: Tape, _ outlet: Outlet) {
    guard outlet.isOpen else { return tape.skip(place, outlet) }
    if outlet.isClear { sendPending(place, of: tape, outlet) } else { tape.lag(place, outlet) }
  }

  /// Sends everything that waits on the tape for a clear connection.
  private func sendPending(_ place: Int, of tape: Tape, _ outlet: Outlet) {
    let seat = tape.seats[place]
    tape.endLag(at: place, outlet)
    if tape.isConflated && (seat.state.contains(.lagging) || seat.cursor < tape.base) {
      let frames = tape.conflated.newest(after: tape.version(place)).flatMap(\.frame)
      conflations += 1
      tape.advance(place, to: tape.end)
      if !frames.isEmpty { unsafe frames.withUnsafeBytes { unsafe outlet.transmit($0) } }
      return
    }
    guard seat.cursor < tape.end else { return }
    guard outlet.descriptor >= 0 else { return sendPieces(place, of: tape, outlet) }
    let count = Int(tape.end - seat.cursor)
    tape.advance(place, to: tape.end)
    let sent = unsafe linuxio_send(outlet.descriptor, tape.bytes(seat.cursor, count).baseAddress, count)
    if sent != count { incomplete(outlet, tape, start: seat.cursor, count: count, result: sent) }
  }

  /// Hands frames to a connection that encrypts, and so keeps all that it is handed: whole frames, a piece at a time,
  /// as long as the connection is clear. The rest stays on the tape.
  private func sendPieces(_ place: Int, of tape: Tape, _ outlet: Outlet) {
    var place = place
    while outlet.isClear {
      let start = tape.seats[place].cursor
      let isLast = tape.isConflated || tape.end - start <= limits.pieceBytes
      let end = isLast ? tape.end : tape.frameEnd(from: start, holding: start + limits.pieceBytes - 1)
      tape.advance(place, to: end)
      unsafe outlet.transmit(tape.bytes(start, Int(end - start)))
      guard end < tape.end, let now = tape.place(of: outlet.id) else { return }
      place = now
    }
    if outlet.isOpen { tape.lag(place, outlet) } else { tape.skip(place, outlet) }
  }

  // MARK: After a pause

  /// Sends what waits on tapes for a connection whose own queue has gone out, higher lanes first.
  func catchUp(_ outlet: Outlet) {
    #if MUTATIONS
      if mutation == .forgetsLaggards { return }
    #endif
    let tapes = outlet.lags.map(\.tape).sorted { $0.lane.rawValue < $1.lane.rawValue }
    for tape in tapes {
      guard outlet.isClear else { return }
      guard let place = tape.place(of: outlet.id), !tape.seats[place].state.contains(.held) else { continue }
      sendPending(place, of: tape, outlet)
      tape.trimAfterCatchUp()
    }
  }

  /// Ends the hold on a seat: what waited on the tape for the session's connect result goes out, in front of what
  /// comes.
  func release(_ outlet: Outlet, on tape: Tape) {
    guard let place = tape.place(of: outlet.id) else { return }
    tape.setHeld(place, false)
    if outlet.isClear {
      sendPending(place, of: tape, outlet)
    } else if tape.seats[place].cursor < tape.end {
      tape.lag(place, outlet)
    }
    tape.trimAfterCatchUp()
  }

  /// Gives the subscriber a seat on another tape of its channel, in place of the one that it has.
  ///
  /// - Returns: what waits for it on the first tape, to be handed to it before anything that comes from the second.
  func move(_ session: SessionDriver, from tape: Tape, to next: Tape) -> [UInt8] {
    let outlet = session.outlet
    guard tape !== next, let place = tape.place(of: outlet.id) else { return [] }
    let seat = tape.seats[place]
    let pending = outlet.isOpen ? tape.pending(at: place) : []
    next.sit(session, held: seat.state.contains(.held), positioned: seat.state.contains(.positioned))
    leave(outlet, tape)
    return pending
  }

  /// Sends whole frames behind all that waits in the connection's own queue.
  func send(_ frames: [UInt8], to outlet: Outlet) {
    unsafe frames.withUnsafeBytes { unsafe outlet.transmit($0) }
    checkSpeed(of: outlet)
  }

  /// Closes a connection for which too much waits: its reader is too slow. Answers that the client asked for do not
  /// count, however large they are: it would come back, ask for the same, and be too slow again.
  func checkSpeed(of outlet: Outlet) {
    if outlet.isOpen && outlet.unaskedBytes > limits.queueBytes { closeSlow(outlet) }
  }

  /// Takes the subscriber off the tape: it gets no more from there, and what waits for it is dropped.
  func leave(_ outlet: Outlet, _ tape: Tape) {
    tape.leave(outlet)
    tape.trimAfterCatchUp()
  }
}
