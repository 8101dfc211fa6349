import PostgreSQL

/// What epochs are made of beside channels' rows (``EpochParts``), when a log is shared out anew (``PartitionMove``).
///
/// A channel's epoch is that of its row, and the era or the run of its partition. Where partitions have different ones,
/// since one of them has lost something or was not ended in order, each row gets its partition's for good, and all
/// partitions begin without: clients see the epochs that they had. Runs are left alone where a partition was not ended in
/// order, because then all relaxed channels begin new epochs anyway.
///
/// A channel without a row has an epoch that follows from the seed, the generation of its name and the era or the run. It
/// keeps it where all of these are the same in its new partition, and never gets one that was over: generations are the
/// greatest of all partitions, and rise where eras or runs are taken out.
struct PartitionLives {
  private struct Life {
    var parts: EpochParts
    var isClean: Bool
    /// A broker has begun with it, so that channels can have epochs of it.
    var isBegun: Bool { !parts.seed.isEmpty }
  }

  /// Bytes that a row's epoch may have with what is added to it; beyond, the channel begins a new one.
  static let longestEpoch = 64

  private let move: PartitionMove
  private let lives: [Life]

  init(_ move: PartitionMove) throws(PostgresError) {
    self.move = move
    var lives: [Life] = []
    for partition in move.partitions.indices {
      let rows = try move.ask("SELECT key, value FROM \(move.schema(partition)).meta")
      var meta: [String: String] = [:]
      for row in 0..<rows.count { meta[rows.text(row, 0)] = rows.text(row, 1) }
      lives.append(
        Life(
          parts: EpochParts(seed: meta["seed"] ?? "", era: meta["era"] ?? "", run: meta["run"] ?? ""),
          isClean: meta["clean"] == "1"))
    }
    self.lives = lives
  }

  /// The partitions whose channels have epochs.
  private var begun: [Int] { move.old.filter { lives[$0].isBegun } }
  private var isClean: Bool { begun.allSatisfy { lives[$0].isClean } }
  private var foldsEras: Bool { Set(begun.map { lives[$0].parts.era }).count > 1 }
  private var foldsRuns: Bool { isClean && Set(begun.map { lives[$0].parts.run }).count > 1 }

  /// The end of the epochs of a partition's durable channels, as they are before the move.
  func era(of partition: Int) -> String { lives[partition].parts.era }

  /// Writes the new ones, and into channels' rows what they must keep of the former ones. To be called before rows move.
  func write() throws(PostgresError) {
    for partition in move.old {
      if foldsEras { try fold(lives[partition].parts.era, of: "= 'durable'", in: partition) }
      if foldsRuns { try fold(lives[partition].parts.run, of: "<> 'durable'", in: partition) }
    }
    guard let first = begun.first.map({ lives[$0].parts }) else { return }
    for partition in move.new {
      let own = lives[partition].parts
      let isOld = begun.contains(partition)
      let era = foldsEras ? "" : first.era
      let run = foldsRuns ? "" : isOld ? own.run : first.run
      let seed = own.seed.isEmpty ? first.seed : own.seed
      try move.ask(
        """
        UPDATE \(move.schema(partition)).meta SET value = CASE key WHEN 'seed' THEN $1 WHEN 'era' THEN $2
          WHEN 'run' THEN $3 ELSE $4 END WHERE key IN ('seed', 'era', 'run', 'clean')
        """, [.text(seed), .text(era), .text(run), .text(isClean ? "1" : "0")])
    }
  }

  private func fold(_ suffix: String, of durability: String, in partition: Int) throws(PostgresError) {
    if suffix.isEmpty { return }
    try move.ask(
      """
      UPDATE \(move.schema(partition)).channels SET epoch = CASE
        WHEN length(epoch) + length($1) < \(Self.longestEpoch) THEN epoch || '.' || $1
        ELSE left(replace(gen_random_uuid()::text, '-', ''), 12) END
      WHERE durability \(durability)
      """, [.text(suffix)])
  }

  /// To be called after rows were deleted for good, whose names' generations have risen.
  func writeGenerations() throws(PostgresError) {
    let all = move.partitions.indices.map { "SELECT * FROM \(move.schema($0)).generations" }
      .joined(separator: " UNION ALL ")
    let rises = foldsEras || foldsRuns
    try move.run(
      """
      CREATE TEMPORARY TABLE merged ON COMMIT DROP AS
      SELECT bucket, max(generation) + \(rises ? 1 : 0) AS generation FROM (
        \(all)\(rises ? " UNION ALL SELECT b, 0 FROM generate_series(0, \(PostgresSchema.bucketCount - 1)) AS b" : "")
      ) AS g (bucket, generation) GROUP BY bucket
      """)
    for partition in move.partitions.indices {
      let table = "\(move.schema(partition)).generations"
      try move.run("DELETE FROM \(table); INSERT INTO \(table) SELECT bucket, generation FROM pg_temp.merged")
    }
  }
}
