import Log
import Wire

/// An idempotency key that stands for a publication.
struct HeldKey {
  var record: IdempotencyRecord
  /// The ticket of the publication's entry, for which the log may still have to answer; nil: the publication is in the
  /// log.
  var ticket: UInt64?
}

/// The idempotency keys of one channel, and when each is forgotten.
struct IdempotencyKeys {
  private var records: [IdentifierKey: HeldKey] = [:]
  /// When each key ends, with its publisher: it counts against the publisher's share until then, even where the
  /// publication was refused and the key is free again.
  private var ends = DueQueue<(record: IdempotencyRecord, owner: IdentifierKey?)>()

  var isEmpty: Bool { records.isEmpty }
  /// How many keys have not ended, those of refused publications included.
  var count: Int { ends.count }
  /// When the first key ends, in monotonic milliseconds.
  var nextEnd: Int64? { ends.nextTime }

  subscript(key: IdentifierKey) -> HeldKey? { records[key] }

  /// - Parameters:
  ///   - ticket: of the publication's entry; nil where the log has it on disk already.
  ///   - owner: the publisher, whose share the key counts against; nil: nobody's.
  ///   - end: when the key is forgotten, in monotonic milliseconds.
  mutating func remember(_ record: IdempotencyRecord, upon ticket: UInt64?, of owner: IdentifierKey?, until end: Int64)
  {
    records[IdentifierKey(record.key)] = HeldKey(record: record, ticket: ticket)
    ends.add((record, owner), at: end)
  }

  /// Frees a key because its publication did not get to the disk.
  mutating func drop(_ key: IdentifierKey) { records[key] = nil }

  struct Ended {
    var owner: IdentifierKey?
  }

  /// Forgets one key whose time is over; nil where there is none. If the key was used again since, only its earlier end
  /// is taken out, and the key stays until the later one.
  mutating func endNext(upTo now: Int64) -> Ended? {
    guard let (record, owner) = ends.next(upTo: now) else { return nil }
    let key = IdentifierKey(record.key)
    if records[key]?.record == record { records[key] = nil }
    records.giveBackMemory()
    return Ended(owner: owner)
  }

  func forEachOwner(_ body: (IdentifierKey?) -> Void) { ends.forEach { body($0.owner) } }
}
