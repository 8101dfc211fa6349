import Wire

/// Deletions of users' data that are done, without a name: when each was done, by a digest of the user. They are
/// remembered for ``lifetime``, and no more than ``most`` of them.
///
/// Gateways that were away ask for what was done since their mark (``page(after:)``). Numbers rise, and the oldest
/// records go first, so one mark says which of them a gateway has carried out. Of the records that went, the newest mark
/// is kept (``floor``): a gateway that has missed some of those is told to forget everybody's intervals until then, since
/// nobody can say any more whose.
struct DeletionRecords {
  /// A user whose data was deleted, as it stands on the disk under the digest.
  struct Record: Codable, Equatable {
    /// When the deletion was asked for and when it was done, in milliseconds since 1970.
    var since: Int64
    var at: Int64
    /// Rises with each deletion; nil: from a build before there were numbers.
    var number: UInt64?
    /// No file holds anything of it any more.
    var isScrubbed = false

    var mark: DeletionMark { DeletionMark(number: number ?? 0, at: at) }
  }

  /// Milliseconds for which it is remembered that a user's data was deleted.
  static let lifetime: Int64 = 30 * 86_400_000
  static let most = 20_000

  private var byDigest: [String: Record] = [:]
  /// In the order of numbers.
  private var order: [(mark: DeletionMark, digest: String)] = []
  /// The newest number and the newest time of what is not remembered any more; nil: everything is.
  private(set) var floor: DeletionMark?

  init() {}

  /// - Parameter floor: as the disk has it.
  init(_ records: [String: Record], floor: DeletionMark?) {
    byDigest = records
    order = records.map { ($0.value.mark, $0.key) }.sorted { Self.isBefore($0, $1) }
    self.floor = floor
  }

  private static func isBefore(
    _ a: (mark: DeletionMark, digest: String), _ b: (mark: DeletionMark, digest: String)
  ) -> Bool {
    (a.mark.number, a.mark.at, a.digest) < (b.mark.number, b.mark.at, b.digest)
  }

  var count: Int { byDigest.count }
  subscript(digest: String) -> Record? { byDigest[digest] }

  // MARK: Changes

  /// Notes a deletion, in place of an earlier one of the same user. Its number is higher than all before.
  mutating func insert(_ record: Record, for digest: String) {
    if byDigest.updateValue(record, forKey: digest) != nil { order.removeAll { $0.digest == digest } }
    order.append((record.mark, digest))
  }

  /// Whether some file may still hold something of one of the users.
  var hasUnscrubbed: Bool { byDigest.values.contains { !$0.isScrubbed } }

  /// Those of whom that may be so, by digest.
  var unscrubbed: [(digest: String, record: Record)] {
    order.compactMap { entry in
      guard let record = byDigest[entry.digest], !record.isScrubbed else { return nil }
      return (entry.digest, record)
    }
  }

  mutating func scrubbed() { for digest in byDigest.keys { byDigest[digest]?.isScrubbed = true } }

  /// Digests of the oldest records that are to go, and the floor when they are gone.
  ///
  /// - Parameter now: milliseconds since 1970.
  func old(at now: Int64, limit: Int, most: Int = Self.most) -> (digests: [String], floor: DeletionMark)? {
    var digests: [String] = []
    var floor = floor
    for entry in order.prefix(limit) {
      let isTooMany = digests.count < count - most
      let isOver = isTooMany || entry.mark.at + Self.lifetime <= now
      guard isOver, byDigest[entry.digest]?.isScrubbed ?? false else { break }
      digests.append(entry.digest)
      floor = DeletionMark(number: entry.mark.number, at: max(entry.mark.at, floor?.at ?? .min))
    }
    guard let floor, !digests.isEmpty else { return nil }
    return (digests, floor)
  }

  /// Forgets what ``old(at:limit:most:)`` has found.
  mutating func forget(_ old: (digests: [String], floor: DeletionMark)) {
    for digest in old.digests { byDigest[digest] = nil }
    order.removeAll { byDigest[$0.digest] == nil }
    floor = old.floor
  }

  // MARK: Telling

  /// What a gateway is told that has carried out everything through a mark.
  ///
  /// - Parameter mark: nil, or one that is not known here: it is told everything.
  /// - Returns: nil where there is nothing newer.
  func page(after mark: DeletionMark?, pepper: [UInt8], most: Int = LinkDeletions.mostRecords) -> LinkDeletions? {
    let (start, isKnown) = place(after: mark)
    let forgotten = isKnown ? nil : floor
    var end = min(start + most, order.count)
    // What was done at once has one mark, and is told in one message.
    while end > start, end < order.count, order[end].mark == order[end - 1].mark { end += 1 }
    guard let through = end > start ? order[end - 1].mark : forgotten else { return nil }
    let records = order[start..<end].map { LinkDeletions.Record(digest: $0.digest, at: $0.mark.at) }
    return LinkDeletions(pepper: pepper, forgottenUntil: forgotten?.at, records: records, through: through)
  }

  /// The newest mark, where a gateway that has carried out everything through another has only that one to go: what was
  /// done at once, last.
  func step(after mark: DeletionMark?) -> DeletionMark? {
    let (start, isKnown) = place(after: mark)
    guard isKnown, start < order.count, let last = order.last?.mark, order[start].mark == last else { return nil }
    return last
  }

  /// Where what is newer than a mark begins, and whether the mark is known.
  private func place(after mark: DeletionMark?) -> (start: Int, isKnown: Bool) {
    guard let mark else { return (0, floor == nil) }
    if mark == floor { return (0, true) }
    // The first that is newer, found in halves: numbers rise.
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      let other = order[middle].mark
      if (other.number, other.at) <= (mark.number, mark.at) { low = middle + 1 } else { high = middle }
    }
    return low > 0 && order[low - 1].mark == mark ? (low, true) : (0, false)
  }
}
