import Dispatch
import Metrics

/// What operators watch of the writer thread: how long commits take and how much each writes, and whether the disk
/// refuses. A commit waits for the disk, beside which counting it costs nothing.
struct LogMetrics {
  private let commits = Timer(label: "fanfare_log_commit_seconds")
  private let entries = Recorder(label: "fanfare_log_commit_entries")
  private let bytes = Counter(label: "fanfare_log_written_bytes_total")
  private let commitBytes = Recorder(label: "fanfare_log_commit_bytes")
  private let database = Gauge(label: "fanfare_log_file_bytes", dimensions: [("file", "database")])
  private let wal = Gauge(label: "fanfare_log_file_bytes", dimensions: [("file", "wal")])
  private let free = Gauge(label: "fanfare_log_disk_free_bytes")
  /// There from the start, at 0: an increase from nothing would be none to whoever watches it.
  private let losses = Counter(label: "fanfare_log_losses_total")
  private let outboxPublished = Counter(label: "fanfare_outbox_publications_total")
  private let outboxRefused = Counter(label: "fanfare_outbox_refused_total")
  private let failures = Counter(label: "fanfare_log_commits_failed_total")
  private let disk = Gauge(label: "fanfare_log_refusing", dimensions: [("cause", "disk")])
  private let room = Gauge(label: "fanfare_log_refusing", dimensions: [("cause", "room")])

  init() {
    note(diskRefuses: false)
    note(isFull: false)
  }

  /// The entries are on disk, in one transaction.
  func committed(_ entries: ArraySlice<QueuedEntry>, since begun: DispatchTime) {
    commits.recordNanoseconds(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds)
    self.entries.record(entries.count)
    let size = entries.reduce(0) { $0 + $1.cost }
    bytes.increment(by: size)
    commitBytes.record(size)
  }

  /// - Parameter freeBytes: of the file system; nil: it does not say.
  func note(databaseBytes: Int, walBytes: Int, freeBytes: Int?) {
    database.record(databaseBytes)
    wal.record(walBytes)
    if let freeBytes { free.record(freeBytes) }
  }

  /// Transactions that were acknowledged are missing from the log that was opened.
  func noteLoss() { losses.increment() }

  /// Rows are gone from the outbox.
  func outbox(published: Int, refused: Int) {
    outboxPublished.increment(by: published)
    outboxRefused.increment(by: refused)
  }

  /// A transaction was rolled back.
  func failed() { failures.increment() }

  /// - Parameter refuses: the disk takes no writes now.
  func note(diskRefuses refuses: Bool) { disk.record(refuses ? 1 : 0) }

  /// - Parameter isFull: less room is left than `data.minimum_free_bytes`, or the log holds `data.maximum_bytes`.
  func note(isFull: Bool) { room.record(isFull ? 1 : 0) }
}
