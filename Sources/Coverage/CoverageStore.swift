import CLinuxIO
import Dispatch
import Foundation
public import Logging
import Synchronization
public import Wire

/// Keeps the intervals of a gateway's subscriptions, so that it can be said for a day which publication reached whom.
///
/// Event loops give it records, which wait in memory for a moment and are written together by a thread of its own. What
/// waits is bounded: where the disk is behind by more, records are dropped and counted, and answers say so. Nothing that
/// serves clients ever waits for this.
///
/// The states of the thread:
/// - idle: waits for records, questions or its next sweep. Can transition to: working, ended.
/// - working: writes what waited, then answers the questions that came behind it, then takes a step of the deletions
///   that this gateway has missed (``MissedPass``). Can transition to: working (further steps are left), idle, ended.
/// - ended: the file is closed, and everything that waited was written. Final.
public final class CoverageStore: Sendable {
  public struct Options: Sendable {
    /// Milliseconds for which an interval is kept after its end.
    public var keepMilliseconds: Int64
    /// Bytes of rows; the oldest go first.
    public var maximumBytes: Int64
    /// Records that may wait for the disk.
    public var waitingLimit = 262_144
    /// Milliseconds that records wait to be written together.
    public var gatherMilliseconds = 200
    public var sweepMilliseconds: Int64 = 30_000
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    public init(keepMilliseconds: Int64, maximumBytes: Int64) {
      self.keepMilliseconds = keepMilliseconds
      self.maximumBytes = maximumBytes
    }
  }

  private enum Question: Sendable {
    case find(CoverageQuery, @Sendable (CoverageSink.Found) -> Void)
    case forget([String], @Sendable (Bool) -> Void)
    case mark(@Sendable (DeletionMark?) -> Void)
  }

  /// Deletions that this gateway has missed, and who is told when they are carried out.
  private struct Missed: Sendable {
    let deletions: LinkDeletions
    let then: @Sendable (Bool) -> Void
  }

  /// The pass over the file that carries some of them out.
  private struct CatchingUp {
    var pass: MissedPass
    var then: @Sendable (Bool) -> Void
    /// The disk refused its last step.
    var isRefused = false
  }

  private struct Waiting {
    var records: [CoverageRecord] = []
    var questions: [Question] = []
    /// The newest ones: those before are told anew where it is necessary.
    var missed: Missed?
    var lost: UInt64 = 0
    var isWoken = false
    var isClosed = false

    /// - Returns: whether the thread has to be woken: it is not about to look anyway. A question does not wait until
    ///   more records have gathered.
    mutating func wakesThread() -> Bool {
      if isWoken && questions.isEmpty && missed == nil { return false }
      isWoken = true
      return true
    }

    /// Whether records wait for more of their kind, and nothing else waits.
    var gathers: Bool { !isClosed && questions.isEmpty && missed == nil && !records.isEmpty }

    /// Whether somebody waits for the thread, or so much that it may not rest.
    var isUrgent: Bool { isClosed || !questions.isEmpty || missed != nil || records.count > CoverageStore.mostAtRest }

    /// Takes everything that waits.
    mutating func take() -> Waiting {
      let taken = self
      (records, questions, missed, isWoken) = ([], [], nil, false)
      return taken
    }
  }

  /// Records that are written together: some tenths of a millisecond's work.
  private static let piece = 128
  private static let restMicroseconds: UInt32 = 4000
  /// With more that waits, the thread does not rest between the pieces.
  private static let mostAtRest = 16_384
  /// Milliseconds until a deletion that the disk refused is tried again.
  private static let forgetAgain: Int64 = 1000
  /// Questions that may wait; more are answered as if nothing were known.
  private static let mostQuestions = 256

  private let options: Options
  private let logger: Logger
  private let waiting = Mutex(Waiting())
  private let wake = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)

  /// Opens the file in a folder, or makes one, and starts the thread.
  ///
  /// - Throws: SQLite's error where the file can be neither used nor made anew.
  public init(folder: String, options: Options, logger: Logger) throws {
    self.options = options
    self.logger = logger
    let opened = CoverageThread(try CoverageFile(folder: folder, now: options.now()))
    let thread = Thread { [self] in
      unsafe linuxio_name_thread("fanfare-why")
      work(opened.file)
      ended.signal()
    }
    thread.start()
  }

  /// What event loops are given.
  public var sink: CoverageSink {
    CoverageSink(
      record: { [self] in record($0) }, find: { [self] in find($0, then: $1) },
      forget: { [self] in forget($0, then: $1) },
      missed: CoverageCatchUp(
        readMark: { [self] in readMark(then: $0) }, forget: { [self] in forget(missed: $0, then: $1) }))
  }

  // MARK: Any thread

  private func record(_ record: CoverageRecord) {
    let wakes = waiting.withLock { waiting -> Bool in
      guard waiting.records.count < options.waitingLimit, !waiting.isClosed else {
        waiting.lost += 1
        return false
      }
      waiting.records.append(record)
      return waiting.wakesThread()
    }
    if wakes { wake.signal() }
  }

  private func find(_ query: CoverageQuery, then: @escaping @Sendable (CoverageSink.Found) -> Void) {
    let isTaken = ask(.find(query, then))
    if !isTaken { then(CoverageSink.Found(keptSince: .max)) }
  }

  /// Deletes everything that is kept of users, and overwrites it in the file; tried again until the disk takes it. What
  /// is recorded of the users later is kept again: end their connections first.
  ///
  /// - Parameter then: called once, with true when nothing of it is left on the disk, or with false where the file was
  ///   closed before.
  public func forget(_ users: [String], then: @escaping @Sendable (Bool) -> Void) {
    // Beyond the limit of questions: a broker orders one deletion at a time.
    let isTaken = ask(.forget(users, then), isLimited: false)
    if !isTaken { then(false) }
  }

  private func readMark(then: @escaping @Sendable (DeletionMark?) -> Void) {
    let isTaken = ask(.mark(then))
    if !isTaken { then(nil) }
  }

  private func forget(missed deletions: LinkDeletions, then: @escaping @Sendable (Bool) -> Void) {
    let (replaced, wakes) = waiting.withLock { waiting -> (Missed?, Bool) in
      let missed = Missed(deletions: deletions, then: then)
      if waiting.isClosed { return (missed, false) }
      let replaced = waiting.missed
      waiting.missed = missed
      return (replaced, waiting.wakesThread())
    }
    replaced?.then(false)
    if wakes { wake.signal() }
  }

  private func ask(_ question: Question, isLimited: Bool = true) -> Bool {
    let (isTaken, wakes) = waiting.withLock { waiting -> (Bool, Bool) in
      guard !waiting.isClosed, !isLimited || waiting.questions.count < Self.mostQuestions else {
        return (false, false)
      }
      waiting.questions.append(question)
      return (true, waiting.wakesThread())
    }
    if wakes { wake.signal() }
    return isTaken
  }

  /// Writes what waits, closes the file, and returns when that is done. A second time does nothing.
  public func close() {
    let isFirst = waiting.withLock { waiting in
      defer { waiting.isClosed = true }
      return !waiting.isClosed
    }
    guard isFirst else { return }
    wake.signal()
    ended.wait()
  }

  // MARK: The thread

  private func work(_ file: CoverageFile) {
    // A low share of the processor: publications go first. The interval of each of thousands who come at once is written
    // while they are let in.
    linuxio_step_back(10)
    var nextSweep = options.now()
    var isClosed = false
    // Deletions that the disk refused.
    var refused: [Question] = []
    var catchingUp: CatchingUp?
    while !isClosed {
      let isBusy = catchingUp.map { !$0.isRefused } ?? false
      let longest = refused.isEmpty && catchingUp == nil ? Int64.max : Self.forgetAgain
      let pause = isBusy ? 0 : min(longest, max(1, nextSweep - options.now()))
      _ = wake.wait(timeout: .now() + .milliseconds(Int(clamping: pause)))
      if !isBusy, waiting.withLock({ $0.gathers }) {
        _ = wake.wait(timeout: .now() + .milliseconds(options.gatherMilliseconds))
      }
      let taken = waiting.withLock { $0.take() }
      isClosed = taken.isClosed
      write(taken.records, to: file)
      refused = (refused + taken.questions).filter { !answer($0, lost: taken.lost, from: file) }
      if let missed = taken.missed { begin(missed, after: &catchingUp) }
      if !isClosed { goOn(&catchingUp, in: file) }
      if options.now() >= nextSweep {
        let isDone = sweep(file)
        nextSweep = options.now() + (isDone ? options.sweepMilliseconds : 50)
      }
    }
    for case .forget(_, let then) in refused { then(false) }
    catchingUp?.then(false)
    try? file.close()
  }

  /// Begins a pass in place of the one under way. One that is told again goes on where it is: a link that comes and goes
  /// must not send it back to the start each time.
  private func begin(_ missed: Missed, after current: inout CatchingUp?) {
    current?.then(false)
    if let pass = current?.pass, pass.deletions == missed.deletions {
      current?.then = missed.then
    } else {
      current = CatchingUp(pass: MissedPass(missed.deletions), then: missed.then)
    }
  }

  private func goOn(_ current: inout CatchingUp?, in file: CoverageFile) {
    guard var catchingUp = current else { return }
    do {
      try catchingUp.pass.step(file)
      catchingUp.isRefused = false
    } catch {
      if !catchingUp.isRefused {
        logger.warning(
          "intervals of users who were deleted while this gateway was away are still kept, it is tried again: \(error)",
          metadata: ["file": "\(file.path)"])
      }
      catchingUp.isRefused = true
    }
    current = catchingUp.pass.isDone ? nil : catchingUp
    if catchingUp.pass.isDone { catchingUp.then(true) }
  }

  /// Writes records in pieces, with rests between them: where a core is busy with clients, they are served in between.
  private func write(_ records: [CoverageRecord], to file: CoverageFile) {
    var (refused, reason): (Int, (any Error)?) = (0, nil)
    for start in stride(from: 0, to: records.count, by: Self.piece) {
      if start > 0, !waiting.withLock({ $0.isUrgent }) { usleep(Self.restMicroseconds) }
      let piece = records[start..<min(start + Self.piece, records.count)]
      do {
        try file.write(Array(piece), at: options.now())
      } catch {
        waiting.withLock { $0.lost += UInt64(piece.count) }
        (refused, reason) = (refused + piece.count, error)
      }
    }
    // Once for all pieces: a full disk must not be written about by each.
    guard let reason else { return }
    logger.warning(
      "intervals of subscriptions could not be written, 'fanfare why' will not know of them: \(reason)",
      metadata: ["file": "\(file.path)", "records": "\(refused)"])
  }

  /// - Returns: false where the disk refused a deletion, which is to be tried again.
  private func answer(_ question: Question, lost: UInt64, from file: CoverageFile) -> Bool {
    switch question {
    case .find(let query, let then):
      do {
        var found = try file.find(query)
        found.lostRecords = lost
        then(found)
      } catch {
        logger.warning("intervals of subscriptions could not be read: \(error)", metadata: ["file": "\(file.path)"])
        then(CoverageSink.Found(keptSince: .max))
      }
    case .mark(let then):
      do {
        then(try file.mark())
      } catch {
        logger.warning("the mark of deletions could not be read: \(error)", metadata: ["file": "\(file.path)"])
        then(nil)
      }
    case .forget(let users, let then):
      do {
        try file.forget(users)
        then(true)
      } catch {
        logger.warning(
          "intervals of users whose data is deleted are still kept, it is tried again: \(error)",
          metadata: ["file": "\(file.path)"])
        return false
      }
    }
    return true
  }

  private func sweep(_ file: CoverageFile) -> Bool {
    do {
      // Written where nothing else is: a process that dies is known to have lived until then.
      try file.write([], at: options.now())
      return try file.sweep(
        endedBefore: options.now() - options.keepMilliseconds, maximumBytes: options.maximumBytes)
    } catch {
      logger.warning("old intervals could not be deleted: \(error)", metadata: ["file": "\(file.path)"])
      return true
    }
  }
}

/// Hands the file over to the thread that owns it from then on, and to nobody else: that is why it is safe.
private final class CoverageThread: @unchecked Sendable {
  let file: CoverageFile

  init(_ file: CoverageFile) { self.file = file }
}
