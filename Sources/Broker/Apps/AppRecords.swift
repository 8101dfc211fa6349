import Apps
import Foundation
import Log
import Wire

/// An app's records: on disk as entries of a channel that nobody sees, in memory what is in use.
///
/// Because all of an app's records stand in one channel, the log writes its decisions in the order in which they were
/// made, and when one fails, those that were made upon it fail too.
struct AppRecords {
  /// Nil: there is none under the key.
  private typealias Known = (any AppRecord)?

  let channel: ChannelName
  /// As they will be when everything under way is on disk.
  private var underWay: [IdentifierKey: (record: Known, offset: UInt64)] = [:]
  /// As they are on disk, those that were used lately: two generations, of which the older is dropped when the younger
  /// is full.
  private var young: [IdentifierKey: Known] = [:]
  private var old: [IdentifierKey: Known] = [:]

  /// Records of a generation, some hundreds of bytes each.
  private static let generationSize = 20_000

  init(channel: ChannelName) { self.channel = channel }

  func isUnderWay(_ key: String) -> Bool { underWay[IdentifierKey(key)] != nil }

  mutating func record<Record: AppRecord>(
    _ type: Record.Type, _ key: String, in store: any TransactionalStore
  ) throws(LogError) -> Record? {
    if let waiting = underWay[IdentifierKey(key)] { return cast(waiting.record, key) }
    if let known = young[IdentifierKey(key)] { return cast(known, key) }
    if let known = old[IdentifierKey(key)] {
      keep(known, key)
      return cast(known, key)
    }
    let stored = try store.entry(key, of: channel)
    var record: Record?
    if let stored {
      do { record = try JSONDecoder().decode(Record.self, from: Data(stored.data)) } catch {
        throw .failed("the record \"\(key)\" of \(channel) is of another version of Fanfare")
      }
    }
    keep(record, key)
    return record
  }

  private func cast<Record: AppRecord>(_ known: Known, _ key: String) -> Record? {
    guard let known else { return nil }
    guard let record = known as? Record else {
      preconditionFailure("the record \"\(key)\" is read as \(Record.self), but is \(Swift.type(of: known))")
    }
    return record
  }

  private mutating func keep(_ known: Known, _ key: String) {
    if young.count >= Self.generationSize {
      old = young
      young = [:]
    }
    young[IdentifierKey(key)] = .some(known)
  }

  /// A change was decided, and is not in the log yet.
  ///
  /// - Returns: what was there, for ``restore(_:)``.
  mutating func set(_ record: (any AppRecord)?, _ key: String, offset: UInt64) -> Undo {
    defer { underWay[IdentifierKey(key)] = (record, offset) }
    return Undo(key: key, before: underWay[IdentifierKey(key)].map { ($0.record, $0.offset) })
  }

  struct Undo {
    fileprivate var key: String
    fileprivate var before: (record: (any AppRecord)?, offset: UInt64)?
  }

  mutating func restore(_ changes: [Undo]) {
    for change in changes.reversed() { underWay[IdentifierKey(change.key)] = change.before }
  }

  /// The change with the offset is on disk.
  mutating func settled(_ key: String, offset: UInt64) {
    guard let waiting = underWay[IdentifierKey(key)] else { return }
    if waiting.offset == offset { underWay[IdentifierKey(key)] = nil }
    // A later change may be under way: whatever becomes of it, this is what the disk holds until then.
    if waiting.offset == offset { keep(waiting.record, key) } else { forget(key) }
  }

  /// Something was not written: what is in memory is not what is on disk.
  mutating func forgetAll() {
    underWay = [:]
    young = [:]
    old = [:]
  }

  private mutating func forget(_ key: String) {
    young[IdentifierKey(key)] = nil
    old[IdentifierKey(key)] = nil
  }
}
