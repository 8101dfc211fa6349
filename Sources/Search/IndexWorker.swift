import CLinuxIO
import Dispatch
import Log
import Logging
import SQLite
import Wire

/// The index's thread: searches, and between searches does the work that can wait.
///
/// Unchecked: after `init` the thread alone touches the worker, except for the queue.
final class IndexWorker: @unchecked Sendable {
  let options: MessageIndex.Options
  let logger: Logger
  let queue: SearchQueue
  /// The log, of which no read takes in more than one chunk of publications.
  let log: any LogScan
  private let file: IndexFile
  private var opened: DatabaseConnection?

  /// Channels of which publications are still to be read, the one that was asked for first at the front.
  private var behind: [ChannelName] = []
  private var isBehind: Set<ChannelName> = []
  /// Channels up to this id were looked through in the sweep under way; nil where none is.
  private var sweptID: Int64?
  private var nextSweep: DispatchTime
  /// Words were removed: what the file still holds of them is to be overwritten.
  var isSoiled = true
  var scrub: Scrub?
  private var nextScrub: DispatchTime
  /// Who waits until nothing is left in the file of what the log has taken away. Their states:
  /// - looking: all channels are looked through and read up to their tops. Can transition to: scrubbing.
  /// - scrubbing: what the file still holds of removed words is overwritten. Can transition to: done.
  private var forgets: [@Sendable (LogError?) -> Void] = []

  init(
    folder: String, log: any LogScan, options: MessageIndex.Options, logger: Logger, queue: SearchQueue
  ) throws {
    self.options = options
    self.logger = logger
    self.queue = queue
    self.log = log
    file = IndexFile(folder: folder)
    opened = try file.open()
    nextSweep = .now() + .milliseconds(options.sweepMilliseconds)
    nextScrub = .now()
  }

  func work() {
    // A low priority that still gets a share of the processor: publications go first.
    linuxio_step_back(10)
    while true {
      switch queue.next(until: deadline) {
      case .search(let search): answer(search)
      case .forget(let done): forget(done)
      case .idle: idle()
      case .end: return end()
      }
    }
  }

  private func end() {
    for search in queue.takeRest() { search.done(.failure(.closed)) }
    for done in forgets + queue.takeForgets() { done(.closed) }
    do {
      try opened?.close()
      try log.close()
    } catch {
      logger.warning("the index of messages did not close in order: \(error)")
    }
  }

  // MARK: The file

  func index() throws -> DatabaseConnection {
    if let opened { return opened }
    let connection = try file.open()
    opened = connection
    return connection
  }

  /// Removes a file that is damaged or was deleted: it is made anew, and filled as searches ask for it.
  private func startAnew(because reason: String) {
    logger.notice("the index of messages is built again: \(reason)")
    try? opened?.close()
    opened = nil
    file.remove()
    forgetWork()
  }

  private func forgetWork() {
    behind = []
    isBehind = []
    sweptID = nil
    scrub = nil
  }

  private func startAnewIfGone() {
    if opened != nil, !file.exists { startAnew(because: "its file is gone") }
  }

  // MARK: Searches

  private func answer(_ search: SearchQueue.Search) {
    startAnewIfGone()
    do {
      let found: [FoundMessage]
      do {
        found = try find(search.query)
      } catch let error as DatabaseError where IndexFile.isUseless(error) {
        startAnew(because: "\(error.message)")
        found = try find(search.query)
      }
      search.done(.success(found))
    } catch {
      let error = StoreFault.logError(for: error)
      if error != .closed { logger.warning("a search failed: \(error)") }
      search.done(.failure(error))
    }
  }

  // MARK: Other work

  private func forget(_ done: @escaping @Sendable (LogError?) -> Void) {
    startAnewIfGone()
    forgets.append(done)
    isSoiled = true
    (sweptID, scrub) = (0, nil)
  }

  /// Tells those who wait for it that nothing is left, or why that is not so.
  private func forgotten(_ error: LogError?) {
    let done = forgets
    forgets = []
    for done in done { done(error) }
  }

  /// The time until which nothing but searches is to be done.
  private var deadline: DispatchTime? {
    if !behind.isEmpty || sweptID != nil || scrub != nil || !forgets.isEmpty { return .now() }
    return isSoiled ? min(nextSweep, nextScrub) : nextSweep
  }

  /// Does one step of the work that can wait, short enough for a search that comes meanwhile.
  private func idle() {
    startAnewIfGone()
    do {
      if let name = behind.first {
        var budget = Self.chunk
        behind.removeFirst()
        isBehind.remove(name)
        _ = try catchUp(name, budget: &budget)
      } else if sweptID != nil || nextSweep <= .now() {
        try sweep()
      } else if scrub != nil || isSoiled {
        try clean()
        if scrub == nil, !isSoiled { forgotten(nil) }
      } else if !forgets.isEmpty {
        forgotten(nil)
      }
    } catch let error as DatabaseError where IndexFile.isUseless(error) {
      startAnew(because: "\(error.message)")
    } catch {
      // The disk is full, for example: the work left undone is done when somebody searches, or with the next sweep.
      logger.warning("the index of messages was not brought up to date: \(StoreFault.logError(for: error))")
      forgetWork()
      forgotten(StoreFault.logError(for: error))
      nextSweep = .now() + .milliseconds(options.sweepMilliseconds)
      nextScrub = nextSweep
    }
  }

  func noteBehind(_ name: ChannelName) {
    if isBehind.insert(name).inserted { behind.append(name) }
  }

  /// Looks through a few channels without a search, because nobody may search for weeks in one where a message was
  /// removed.
  private func sweep() throws {
    let after = sweptID ?? 0
    let channels = try index().inDatabase { db in
      let statement = try db.statement("SELECT id, name FROM channels WHERE id > ?1 ORDER BY id LIMIT ?2")
      statement.bind(after, at: 1)
      statement.bind(Int64(Self.channelsPerSweep), at: 2)
      var channels: [(id: Int64, name: String?)] = []
      while try statement.next() { channels.append((statement.int(0), statement.isNull(1) ? nil : statement.text(1))) }
      return channels
    }
    for channel in channels {
      sweptID = channel.id
      guard let name = channel.name.flatMap({ try? ChannelName($0) }) else {
        // The channel has more messages than one step removes: it is looked at again before the next channel.
        if try !removeFormer(channel.id) { sweptID = channel.id - 1 }
        return
      }
      if let met = try meet(name), met.through < met.top { noteBehind(name) }
    }
    if channels.count < Self.channelsPerSweep {
      sweptID = nil
      nextSweep = .now() + .milliseconds(options.sweepMilliseconds)
    }
  }

  private func clean() throws {
    let started = DispatchTime.now()
    var scrub = self.scrub ?? Scrub()
    let isDone = try scrub.step(try index())
    scrub.nanoseconds += DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds
    if !isDone {
      self.scrub = scrub
      return
    }
    self.scrub = nil
    isSoiled = scrub.leavesSomething
    // Merging a large index takes a while: with this pause it takes a twentieth of the time at most.
    let pause = max(UInt64(clamping: options.scrubMilliseconds) * 1_000_000, scrub.nanoseconds * 20)
    nextScrub = .now() + .nanoseconds(Int(clamping: pause))
  }

  /// Publications that are read together, and written in one transaction.
  static let chunk = 512
  /// Bytes of publications' data after which a chunk ends.
  static let chunkBytes = 1 << 20
  /// Channels that one step of a sweep looks at.
  static let channelsPerSweep = 64
}
