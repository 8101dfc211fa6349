import Log
import Wire

/// An idempotency key that stands for a publication.
struct HeldKey {
  var record: IdempotencyRecord
  /// Of the publication's entry, while the log may still have to tell what became of it; nil: it came from the log.
  var ticket: UInt64?
}

/// The idempotency keys of one channel, and when each is forgotten.
struct IdempotencyKeys {
  private var records: [IdentifierKey: HeldKey] = [:]
  /// With whose they are: a key counts against its publisher's share until its time is over.
  private var ends = DueQueue<(record: IdempotencyRecord, owner: IdentifierKey?)>()

  var isEmpty: Bool { records.isEmpty }
  /// Keys whose time is not over, those of refused publications included.
  var count: Int { ends.count }
  /// Monotonic milliseconds.
  var nextEnd: Int64? { ends.nextTime }

  subscript(key: IdentifierKey) -> HeldKey? { records[key] }

  /// - Parameters:
  ///   - ticket: nil where the log has the publication already.
  ///   - owner: who published; nil: nobody's share.
  ///   - end: monotonic milliseconds.
  mutating func hold(_ record: IdempotencyRecord, upon ticket: UInt64?, of owner: IdentifierKey?, until end: Int64) {
    records[IdentifierKey(record.key)] = HeldKey(record: record, ticket: ticket)
    ends.add((record, owner), at: end)
  }

  /// The publication did not get to the disk: the key is free again.
  mutating func drop(_ key: IdentifierKey) { records[key] = nil }

  struct Ended {
    var owner: IdentifierKey?
  }

  /// Forgets one key whose time is over; nil where there is none. A key that was used again since has an end of its own.
  mutating func endNext(upTo now: Int64) -> Ended? {
    guard let (record, owner) = ends.next(upTo: now) else { return nil }
    let key = IdentifierKey(record.key)
    if records[key]?.record == record { records[key] = nil }
    records.giveBackMemory()
    return Ended(owner: owner)
  }

  func forEachOwner(_ body: (IdentifierKey?) -> Void) { ends.forEach { body($0.owner) } }
}
