import CLinuxIO
import Dispatch
import Foundation
public import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The trusted clock of a process: reads the machine's, keeps the last time seen on the disk, and takes a person's word.
///
/// ``now()`` is for any thread and waits for nobody. Once a second a thread of its own looks for what a person has
/// confirmed (`fanfare clock confirm`), and once a minute it writes the mark.
public final class ClockKeeper: Sendable {
  private struct State {
    var clock: TrustedClock
    var isSynchronized: Bool
    /// What the log was told last, and when, in milliseconds since the machine's start.
    var told: TrustedClock.Doubt?
    var toldAt: Int64 = 0
    var savedAt: Int64?
    var isRunning = false
  }

  let files: ClockFiles
  private let rules: TrustedClock.Rules
  private let bootID: String
  private let logger: Logger
  private let machine: @Sendable () -> TrustedClock.Reading
  private let synchronized: @Sendable () -> Bool
  private let state: Mutex<State>
  private let thread = DispatchQueue(label: "fanfare.clock")

  /// - Parameters:
  ///   - files: where the mark and the confirmation stand.
  ///   - machine: the machine's clocks; a test's own.
  ///   - synchronized: whether a time server keeps them.
  public init(
    files: ClockFiles, rules: TrustedClock.Rules, logger: Logger, bootID: String = ClockKeeper.bootIDOfMachine(),
    machine: @escaping @Sendable () -> TrustedClock.Reading = ClockKeeper.readMachine,
    synchronized: @escaping @Sendable () -> Bool = { linuxio_clock_is_synchronized() == 1 }
  ) {
    self.files = files
    self.rules = rules
    self.logger = logger
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

  /// What time it is.
  public func now() -> TrustedClock.Time {
    state.withLock { state in state.clock.now(reading(state)) }
  }

  /// Milliseconds since 1970 that can be trusted.
  public func wall() -> Int64 { now().wall }

  private func reading(_ state: borrowing State) -> TrustedClock.Reading {
    var reading = machine()
    reading.isSynchronized = state.isSynchronized
    return reading
  }

  // MARK: The thread

  /// Begins to look after the clock. Call it once the folder is known to be nobody else's.
  public func start() {
    state.withLock { $0.isRunning = true }
    thread.async { [weak self] in self?.lookAgain() }
  }

  private func lookAgain() {
    guard state.withLock(\.isRunning) else { return }
    look()
    thread.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.lookAgain() }
  }

  /// Ends that, and writes the mark.
  public func stop() {
    state.withLock { $0.isRunning = false }
    thread.sync { save() }
  }

  /// What is done each second.
  func look() {
    let isSynchronized = synchronized()
    state.withLock { $0.isSynchronized = isSynchronized }
    // Kept at once: whoever starts next must not ask the same person again.
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
    do { try files.save(mark) } catch {
      logger.warning(
        "the last time seen cannot be written; a jump of the clock over a restart would not be noticed: \(error)")
    }
  }

  private func takeConfirmation() -> Bool {
    guard let confirmed = files.takeConfirmation() else { return false }
    let isTaken = state.withLock { state in
      let reading = reading(state)
      // It was said of a clock that said this. If it has been set since, nobody has said anything of it.
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
    private static let bootClock = CLOCK_MONOTONIC  // Counts sleep there.
  #endif

  private static func milliseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Empty where the system does not say.
  public static func bootIDOfMachine() -> String {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
  }
}
