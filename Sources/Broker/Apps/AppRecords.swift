import Apps
import Foundation
import Log
import Wire

/// The records of an app that are in memory. On disk they are the entries of a hidden channel.
///
/// Because all records of an app stand in one channel, the log writes the app's decisions in the order in which they
/// were made. If one fails, those that were made after it, and may rest on it, fail too.
struct AppRecords {
  /// What is known about a key: a record, or that there is none. A class, because it is read for every command, and to
  /// copy a record would count a reference for each of its parts.
  class Known {
    /// The record's type; nil: there is no record under the key.
    fileprivate let type: ObjectIdentifier?
    /// Bytes of the record as JSON. Decoded it takes about twice as much.
    fileprivate let bytes: Int

    fileprivate init(type: ObjectIdentifier?, bytes: Int) {
      self.type = type
      self.bytes = bytes
    }

    fileprivate var record: (any AppRecord)? { nil }
  }

  private final class Kept<Record: AppRecord>: Known {
    let kept: Record

    init(_ kept: Record, bytes: Int) {
      self.kept = kept
      super.init(type: ObjectIdentifier(Record.self), bytes: bytes)
    }

    override var record: (any AppRecord)? { kept }
  }

  /// Known about a key: there is no record under it.
  private let nothing = Known(type: nil, bytes: 0)

  let channel: ChannelName
  /// The records that changes under way write, as they will be when these are on disk.
  private var underWay: [IdentifierKey: UnderWay] = [:]
  /// Records that were used lately, as they are on disk, in two generations: when the younger is full, it becomes the
  /// older, which is dropped. That a key has no record is remembered as well and counts, because clients can invent
  /// keys.
  private var young: [IdentifierKey: Known] = [:]
  private var old: [IdentifierKey: Known] = [:]
  private var youngBytes = 0
  private var oldBytes = 0
  private let generationBytes: Int

  /// Most bytes of a key: a name of 300 bytes, each written as three, and the kind of record before it. No record has a
  /// longer one.
  static let maximumKeyBytes = 1024

  /// Bytes of memory for a record beside its own: the object, and a place in the table.
  private static let overhead = 256

  fileprivate struct UnderWay {
    fileprivate var known: Known
    var offset: UInt64
  }

  /// - Parameter bytesLimit: memory for the records that are on disk as well, roughly.
  init(channel: ChannelName, bytesLimit: Int) {
    self.channel = channel
    generationBytes = max(bytesLimit / 2, 1)
  }

  /// Memory that records take which are on disk as well, roughly.
  var bytes: Int { youngBytes + oldBytes }

  func isUnderWay(_ key: String) -> Bool { !underWay.isEmpty && underWay[IdentifierKey(key)] != nil }

  /// What is known about a key; nil: nothing is in memory, so the store has to be asked.
  mutating func known(_ key: String) -> Known? {
    let identifier = IdentifierKey(key)
    if !underWay.isEmpty, let waiting = underWay[identifier] { return waiting.known }
    if let known = young[identifier] { return known }
    guard !old.isEmpty, let known = old[identifier] else { return nil }
    keep(known, key)
    return known
  }

  /// Keeps what the log holds for a key that was unknown.
  ///
  /// - Throws: where the record was written by another version and cannot be decoded.
  mutating func load<Record: AppRecord>(
    _ type: Record.Type, _ key: String, from stored: Publication?
  ) throws(LogError) -> Record? {
    var record: Record?
    if let stored {
      do { record = try JSONDecoder().decode(Record.self, from: Data(stored.data)) } catch {
        throw .failed("the record \"\(key)\" of \(channel) is of another version of Fanfare")
      }
    }
    keep(known(record, bytes: stored?.data.count ?? 0), key)
    return record
  }

  private func known(_ record: (any AppRecord)?, bytes: Int) -> Known {
    record.map { kept($0, bytes: bytes) } ?? nothing
  }

  private func kept(_ record: some AppRecord, bytes: Int) -> Known { Kept(record, bytes: bytes) }

  /// The record under a key of which something is known; nil: there is none.
  static func record<Record: AppRecord>(_ type: Record.Type, _ key: String, in known: Known) -> Record? {
    // The type is compared rather than cast, because a cast makes the runtime look up the types anew, for every
    // message.
    if known.type == ObjectIdentifier(Record.self) {
      return unsafe unsafeDowncast(known, to: Kept<Record>.self).kept
    }
    if let record = known.record {
      preconditionFailure("the record \"\(key)\" is read as \(Record.self), but is \(Swift.type(of: record))")
    }
    return nil
  }

  private mutating func keep(_ known: Known, _ key: String) {
    let identifier = IdentifierKey(key)
    if let before = old.removeValue(forKey: identifier) { oldBytes -= Self.cost(of: before, key) }
    if let before = young.updateValue(known, forKey: identifier) { youngBytes -= Self.cost(of: before, key) }
    youngBytes += Self.cost(of: known, key)
    guard youngBytes > generationBytes else { return }
    (old, oldBytes) = (young, youngBytes)
    (young, youngBytes) = ([:], 0)
  }

  private static func cost(of known: Known, _ key: String) -> Int { overhead + key.utf8.count + 2 * known.bytes }

  /// Notes a change that was decided and that the log has not taken yet.
  ///
  /// - Parameter bytes: of the record as JSON.
  /// - Returns: what was known before, for ``restore(_:)``.
  mutating func set(_ record: (any AppRecord)?, _ key: String, bytes: Int, offset: UInt64) -> Undo {
    let change = UnderWay(known: known(record, bytes: bytes), offset: offset)
    return Undo(key: key, before: underWay.updateValue(change, forKey: IdentifierKey(key)))
  }

  struct Undo {
    fileprivate var key: String
    fileprivate var before: UnderWay?
  }

  mutating func restore(_ changes: [Undo]) {
    for change in changes.reversed() { underWay[IdentifierKey(change.key)] = change.before }
  }

  /// The change with the offset is on disk.
  mutating func committed(_ key: String, offset: UInt64) {
    guard let waiting = underWay[IdentifierKey(key)] else { return }
    if waiting.offset == offset { underWay[IdentifierKey(key)] = nil }
    // If a later change of the record is under way, what is on disk now is not in memory any more: it is forgotten, and
    // loaded again should the later change fail.
    if waiting.offset == offset { keep(waiting.known, key) } else { forget(key) }
    underWay.giveBackMemory()
  }

  /// Forgets all records, because a change failed and the records in memory are not those on disk.
  mutating func forgetAll() {
    underWay = [:]
    (young, youngBytes) = ([:], 0)
    (old, oldBytes) = ([:], 0)
  }

  private mutating func forget(_ key: String) {
    let identifier = IdentifierKey(key)
    if let before = young.removeValue(forKey: identifier) { youngBytes -= Self.cost(of: before, key) }
    if let before = old.removeValue(forKey: identifier) { oldBytes -= Self.cost(of: before, key) }
  }
}
