import Wire

/// Up to where transactions of a log were acknowledged, as a broker remembers it beside the database: what shows that a
/// database has lost some of them.
///
/// A standby that is promoted without what was acknowledged, and a backup that was restored, look whole by themselves.
struct LogMark: Equatable, Sendable {
  /// A lease as the database remembers it (the table `leases`).
  struct Lease: Equatable {
    var epoch: Int64
    var term: String
    /// Transactions that were committed under leases before it.
    var started: Int64
  }

  /// Random text of the log, drawn when its tables were made: a mark says nothing of another log.
  var seed: String
  /// The lease under which the last of them was acknowledged.
  var epoch: Int64
  /// Random text of that lease, which tells it from another one of the same number that was taken in a database that
  /// does not know of it.
  var term: String
  /// How many transactions were committed under leases.
  var seq: Int64

  /// Whether acknowledged transactions are missing.
  ///
  /// - Parameters:
  ///   - leases: those from the mark's epoch on, in order, among them one that was taken now; the first two are enough.
  ///   - oldest: the epoch of the oldest lease that is remembered.
  func isAhead(of leases: [Lease], oldest: Int64) -> Bool {
    guard let first = leases.first else { return true }
    if first.epoch == epoch {
      if first.term != term { return true }
      // The next lease began with all that was committed under this one.
      guard let next = leases.dropFirst().first else { return false }
      return next.started < seq
    }
    // Leases are forgotten from the oldest on: one that is missing among others never was in this database.
    if oldest <= epoch { return true }
    return first.started < seq
  }

  // MARK: The file

  /// As it stands in its file: always as long, so that a newer mark overwrites all of an older one.
  var bytes: [UInt8] { Array("\(seed) \(Self.text(of: epoch)) \(term) \(Self.text(of: seq))\n".utf8) }

  init(seed: String, epoch: Int64, term: String, seq: Int64) {
    (self.seed, self.epoch, self.term, self.seq) = (seed, epoch, term, seq)
  }

  /// Nil where the bytes are no mark.
  init?(bytes: [UInt8]) {
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, words[3].last == "\n", let epoch = Int64(words[1], radix: 16),
      let seq = Int64(words[3].dropLast(), radix: 16)
    else { return nil }
    self.init(seed: String(words[0]), epoch: epoch, term: String(words[2]), seq: seq)
    if self.bytes != bytes { return nil }
  }

  private static func text(of number: Int64) -> String { TraceContext.hexadecimal(UInt64(bitPattern: number)) }
}
