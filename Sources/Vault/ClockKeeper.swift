import CLinuxIO
import Dispatch
import Foundation
public import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The trusted clock of a process: reads the machine's clocks, keeps the last time seen on the disk, and takes a
/// person's confirmation.
///
/// ``now()`` may be called on any thread and never waits for the disk. A thread of the keeper's own looks for a
/// confirmation once a second (`fanfare clock confirm`), and writes the mark once a minute.
///
/// On a test server the clock can be moved forward (``advance(by:)``). What is moved is the time of ``now()`` alone: the
/// trusted clock, its mark and ``unmoved()`` go on as the machine does.
public final class ClockKeeper: Sendable {
  private struct State {
    var clock: TrustedClock
    var isSynchronized: Bool
    /// The doubt that was logged last, and when, in milliseconds since the machine's start.
    var told: TrustedClock.Doubt?
    var toldAt: Int64 = 0
    var savedAt: Int64?
    var isRunning = false
    var moved = MovedClock()
    var whenMoved: [@Sendable () -> Void] = []
  }

  let files: ClockFiles
  private let rules: TrustedClock.Rules
  private let bootID: String
  private let logger: Logger
  private let isMovable: Bool
  private let machine: @Sendable () -> TrustedClock.Reading
  private let synchronized: @Sendable () -> Bool
  private let state: Mutex<State>
  /// Locked while the clock is moved and while the file that says so is written.
  private let marking = Mutex(())
  private let thread = DispatchQueue(label: "fanfare.clock")

  /// - Parameters:
  ///   - files: the files of the mark and the confirmation.
  ///   - isMovable: the clock of a test server, which ``advance(by:)`` moves.
  ///   - machine: reads the machine's clocks; tests have their own.
  ///   - synchronized: whether a time server keeps the machine's clock right.
  public init(
    files: ClockFiles, rules: TrustedClock.Rules, logger: Logger, isMovable: Bool = false,
    bootID: String = ClockKeeper.bootIDOfMachine(),
    machine: @escaping @Sendable () -> TrustedClock.Reading = ClockKeeper.readMachine,
    synchronized: @escaping @Sendable () -> Bool = { linuxio_clock_is_synchronized() == 1 }
  ) {
    self.files = files
    self.rules = rules
    self.logger = logger
    self.isMovable = isMovable
    self.bootID = bootID
    self.machine = machine
    self.synchronized = synchronized
    var reading = machine()
    reading.isSynchronized = synchronized()
    var mark: TrustedClock.Mark?
    do { mark = try files.mark() } catch {
      logger.error("the last time seen cannot be read, so the machine's clock counts as it is: \(error)")
    }
    let clock = TrustedClock(reading, bootID: bootID, after: mark, rules: rules)
    state = Mutex(State(clock: clock, isSynchronized: reading.isSynchronized))
  }

  /// What time it is, for all that begins, ends and is said when.
  public func now() -> TrustedClock.Time {
    state.withLock { state in now(&state) }
  }

  private func now(_ state: inout State) -> TrustedClock.Time {
    var time = state.clock.now(reading(state))
    time.moved = state.moved.offset
    // What a machine's clock may show has room for the sixty days above it.
    time.wall = time.wall > .max - time.moved ? .max : time.wall + time.moved
    return time
  }

  /// The trusted time in milliseconds since 1970, as ``now()``.
  public func wall() -> Int64 { now().wall }

  /// The trusted time in milliseconds since 1970, by which tokens end: nobody moves it.
  public func unmoved() -> Int64 { state.withLock { state in state.clock.now(reading(state)).wall } }

  // MARK: A test server's clock

  /// Moves the time forward. Waits for the disk.
  ///
  /// - Returns: the time then.
  /// - Throws: ``MovedClock/Refusal``; the time has not moved then.
  public func advance(by milliseconds: Int64) throws(MovedClock.Refusal) -> TrustedClock.Time {
    guard isMovable else { throw .notHere }
    let result = marking.withLock { _ -> Result<TrustedClock.Time, MovedClock.Refusal> in
      var moved = state.withLock(\.moved)
      do throws(MovedClock.Refusal) { try moved.advance(by: milliseconds) } catch { return .failure(error) }
      // The mark is on the disk before anything bears a time ahead.
      do throws(VaultFault) { try files.markMoved(unmoved() + moved.offset) } catch {
        return .failure(.notWritten("\(error)"))
      }
      return .success(
        state.withLock { state in
          state.moved = moved
          return now(&state)
        })
    }
    let time = try result.get()
    for tell in state.withLock(\.whenMoved) { tell() }
    return time
  }

  /// Calls `tell` after each move, on whatever thread: whoever sleeps until a deadline of the clock has to look again.
  public func whenMoved(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.whenMoved.append(tell) } }

  private func reading(_ state: borrowing State) -> TrustedClock.Reading {
    var reading = machine()
    reading.isSynchronized = state.isSynchronized
    return reading
  }

  // MARK: The thread

  /// Begins to look for confirmations and to write the mark. To be called once no other process uses the folder's
  /// files.
  public func start() {
    state.withLock { $0.isRunning = true }
    if !isMovable, let latest = try? files.latestMoved(), latest <= unmoved() { files.removeMovedMark() }
    thread.async { [weak self] in self?.lookAgain() }
  }

  private func lookAgain() {
    guard state.withLock(\.isRunning) else { return }
    look()
    thread.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.lookAgain() }
  }

  /// Ends what ``start()`` began, and writes the mark a last time.
  public func stop() {
    state.withLock { $0.isRunning = false }
    thread.sync { save() }
  }

  /// Does what is to be done each second.
  func look() {
    let isSynchronized = synchronized()
    state.withLock { $0.isSynchronized = isSynchronized }
    // The mark is written at once, so that the next process does not have to ask for the same confirmation again.
    if takeConfirmation() { save() }
    let (time, doubt, told, isTime, savedAt, boot) = state.withLock { state in
      let reading = reading(state)
      let time = state.clock.now(reading)
      let doubt = state.clock.doubt
      let told = state.told
      let isTime = doubt != told || (doubt != nil && reading.boot - state.toldAt >= Self.tellAgain)
      if isTime { (state.told, state.toldAt) = (doubt, reading.boot) }
      return (time, doubt, told, isTime, state.savedAt, reading.boot)
    }
    if isTime { tell(doubt, before: told, time) }
    if isTime || savedAt.map({ boot - $0 >= Self.saveInterval }) ?? true { save() }
  }

  private static let tellAgain: Int64 = 600_000
  private static let saveInterval: Int64 = 60_000

  private func save() {
    let mark = state.withLock { state in
      let reading = reading(state)
      _ = state.clock.now(reading)
      state.savedAt = reading.boot
      return state.clock.mark(reading, bootID: bootID)
    }
    do {
      try files.save(mark)
      if isMovable { try marking.withLock { _ in try files.markMoved(wall()) } }
    } catch {
      logger.warning(
        "the last time seen cannot be written; a jump of the clock over a restart would not be noticed: \(error)")
    }
  }

  private func takeConfirmation() -> Bool {
    guard let confirmed = files.takeConfirmation() else { return false }
    let isTaken = state.withLock { state in
      let reading = reading(state)
      // The confirmation is of a clock that showed this time. If the clock was set since, nobody has confirmed what it
      // shows now.
      let (age, overflow) = reading.wall.subtractingReportingOverflow(confirmed)
      guard !overflow, age >= 0, age <= max(rules.maximumStep, 60_000) else { return false }
      state.clock.confirm(reading)
      return true
    }
    if isTaken {
      logger.notice("somebody has confirmed the machine's clock: it counts from now on")
    } else {
      logger.warning(
        "the machine's clock was confirmed when it said another time; if it is right now, run again: fanfare clock confirm"
      )
    }
    return isTaken
  }

  private func tell(_ doubt: TrustedClock.Doubt?, before: TrustedClock.Doubt?, _ time: TrustedClock.Time) {
    guard let doubt else {
      if before != nil { logger.notice("the machine's clock counts again") }
      return
    }
    let (machine, counted) = (
      ClockText.moment(time.wall.addingReportingOverflow(time.ahead).partialValue), ClockText.moment(time.wall)
    )
    let why =
      switch doubt {
      case .stepped: "the machine's clock was set, or is wrong"
      case .away: "the machine was started anew, no time server keeps its clock, and nobody knows how long it was off"
      }
    logger.warning(
      """
      \(why): it says \(machine), and by what is known it is \(counted). Until this is settled nothing is destroyed, \
      ends or expires before its time by the known clock, and nothing is shown that has ended by the machine's. \
      Set the clock right; or, if it is right, run: fanfare clock confirm
      """)
  }

  // MARK: The machine

  public static func readMachine() -> TrustedClock.Reading {
    TrustedClock.Reading(wall: milliseconds(CLOCK_REALTIME), boot: milliseconds(bootClock))
  }

  #if os(Linux)
    private static let bootClock = CLOCK_BOOTTIME
  #else
    private static let bootClock = CLOCK_MONOTONIC  // Counts sleep on this system.
  #endif

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Names the machine's current start; empty where the system does not tell.
  public static func bootIDOfMachine() -> String {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
  }
}
