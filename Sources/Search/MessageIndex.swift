import CLinuxIO
import Dispatch
import Foundation
public import Log
public import Logging
public import Wire

/// Finds messages by their words, in an index of its own beside the log.
///
/// The index is derived: `search.sqlite` may be deleted at any time and is built again from the log as far as somebody
/// searches. A publication is never indexed on its way: a search first reads what its channels got since they were
/// searched last. So a search sees all that was acknowledged on `durable` channels before it was asked for;
/// publications of the last milliseconds on a `relaxed` channel may not be on disk yet, and nothing is found in
/// channels that are kept in memory.
///
/// A message is the `text` of a publication whose data is a JSON object. The log stays the truth: each result is read
/// from the log again, and a message that history dropped, or its author removed, is not found.
///
/// Any thread may search. The work is done on a thread of the index's own, one search after another.
public final class MessageIndex: Sendable {
  public struct Options: Sendable {
    /// Publications that one search reads at most before it answers with what it has found. The rest is read after the
    /// answer.
    public var catchUpLimit = 20_000
    /// How often channels are looked through for messages that were changed, removed or dropped and that nobody
    /// searched for since, in milliseconds.
    public var sweepMilliseconds = 30_000
    /// Words that were removed are overwritten in the file this often at most, in milliseconds.
    public var scrubMilliseconds = 30_000
    /// Searches that wait; more are refused. A person types a few letters a second, and a search takes milliseconds.
    public var queueLimit = 256
    /// Searches of one user that wait; more are refused.
    public var userLimit: Int
    /// The wall clock, in milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    public init(userLimit: Int) {
      self.userLimit = userLimit
    }
  }

  private let queue: SearchQueue
  private let ended = DispatchSemaphore(value: 0)

  /// Opens the index in a folder, or makes one.
  ///
  /// - Parameter log: closed with the index.
  /// - Throws: SQLite's error where the file can be neither used nor made anew.
  public init(
    folder: String, log: any LogScan, options: Options, logger: Logger = Logger(label: "fanfare.search")
  ) throws {
    let queue = SearchQueue(limit: options.queueLimit, userLimit: options.userLimit)
    self.queue = queue
    let worker = try IndexWorker(folder: folder, log: log, options: options, logger: logger, queue: queue)
    let ended = ended
    let thread = Thread {
      unsafe linuxio_name_thread("fanfare-search")
      worker.work()
      ended.signal()
    }
    thread.start()
  }

  deinit { close() }

  /// Searches for messages.
  ///
  /// - Parameter done: called once, on the index's thread with what was found, newest first; or at once with
  ///   ``LogError/backlog(bytes:)`` where too many searches wait, or ``LogError/closed``.
  public func search(
    _ query: MessageSearch, _ done: @escaping @Sendable (Result<[FoundMessage], LogError>) -> Void
  ) {
    if let error = queue.add(SearchQueue.Search(query: query, done: done)) { done(.failure(error)) }
  }

  /// Takes out of the file at once what the log has taken away, and overwrites it.
  ///
  /// - Parameter done: called once, on any thread; with the reason where it could not be done.
  public func forget(_ done: @escaping @Sendable (LogError?) -> Void) {
    if !queue.forget(done) { done(.closed) }
  }

  /// Ends the index's thread, and returns when it has ended. Searches that wait are answered with ``LogError/closed``.
  public func close() {
    guard queue.close() else { return }
    ended.wait()
  }
}
