import Apps
import Foundation
import Log
import Wire

/// An app's records: on disk as entries of a channel that nobody sees, in memory what is in use.
///
/// Because all of an app's records stand in one channel, the log writes its decisions in the order in which they were
/// made, and when one fails, those that were made upon it fail too.
struct AppRecords {
  /// What is known under a key. A class: it is read for every command, and a record has many parts to count.
  fileprivate class Known {
    /// Of the record; nil: there is none.
    let type: ObjectIdentifier?
    /// Of the record as JSON. Decoded it takes about twice as much.
    let bytes: Int

    init(type: ObjectIdentifier?, bytes: Int) {
      self.type = type
      self.bytes = bytes
    }

    var record: (any AppRecord)? { nil }
  }

  private final class Kept<Record: AppRecord>: Known {
    let kept: Record

    init(_ kept: Record, bytes: Int) {
      self.kept = kept
      super.init(type: ObjectIdentifier(Record.self), bytes: bytes)
    }

    override var record: (any AppRecord)? { kept }
  }

  /// There is no record under the key.
  private let nothing = Known(type: nil, bytes: 0)

  let channel: ChannelName
  /// As they will be when everything under way is on disk.
  private var underWay: [IdentifierKey: UnderWay] = [:]
  /// As they are on disk, those that were used lately: two generations, of which the older is dropped when the younger
  /// is full. That there is no record under a key is remembered, too, so the keys that somebody invents count as well.
  private var young: [IdentifierKey: Known] = [:]
  private var old: [IdentifierKey: Known] = [:]
  private var youngBytes = 0
  private var oldBytes = 0
  private let generationBytes: Int

  /// Longest key: three bytes for each of a name of 300, and what stands before it. No record has a longer one.
  static let maximumKeyBytes = 1024

  /// What a record costs beside its own bytes: the object, and a place in the table.
  private static let overhead = 256

  fileprivate struct UnderWay {
    fileprivate var known: Known
    var offset: UInt64
  }

  /// - Parameter bytesLimit: what the records that are on disk may take in memory, roughly.
  init(channel: ChannelName, bytesLimit: Int) {
    self.channel = channel
    generationBytes = max(bytesLimit / 2, 1)
  }

  /// Memory that the records take that are on disk as well, roughly.
  var bytes: Int { youngBytes + oldBytes }

  func isUnderWay(_ key: String) -> Bool { !underWay.isEmpty && underWay[IdentifierKey(key)] != nil }

  enum Look<Record> {
    case known(Record?)
    /// It is not in memory.
    case unknown
  }

  mutating func record<Record: AppRecord>(_ type: Record.Type, _ key: String) -> Look<Record> {
    let identifier = IdentifierKey(key)
    if !underWay.isEmpty, let waiting = underWay[identifier] { return .known(cast(waiting.known, key)) }
    if let known = young[identifier] { return .known(cast(known, key)) }
    if !old.isEmpty, let known = old[identifier] {
      keep(known, key)
      return .known(cast(known, key))
    }
    return .unknown
  }

  /// Keeps in memory what the log holds of a record that was unknown.
  ///
  /// - Throws: where it is of another version.
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

  private func cast<Record: AppRecord>(_ known: Known, _ key: String) -> Record? {
    // Not a cast, for which the runtime would look up the types anew: this is done for every message.
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

  /// A change was decided, and is not in the log yet.
  ///
  /// - Parameter bytes: of the record as JSON.
  /// - Returns: what was there, for ``restore(_:)``.
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
  mutating func settled(_ key: String, offset: UInt64) {
    guard let waiting = underWay[IdentifierKey(key)] else { return }
    if waiting.offset == offset { underWay[IdentifierKey(key)] = nil }
    // A later change may be under way: whatever becomes of it, this is what the disk holds until then.
    if waiting.offset == offset { keep(waiting.known, key) } else { forget(key) }
    underWay.giveBackMemory()
  }

  /// Something was not written: what is in memory is not what is on disk.
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
