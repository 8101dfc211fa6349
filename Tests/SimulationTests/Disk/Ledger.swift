import Log
import TestSupport
import Wire

@testable import Log

/// What must be on the disk by what the log has said, channel by channel. The ledger outlives the brokers, as the disk
/// does, and each disk that a new broker finds is compared with it.
final class Ledger {
  struct Channel: Equatable {
    var top: UInt64 = 0
    var kept: [Publication] = []
    /// The entries of a map channel.
    var entries: [String: Publication] = [:]
  }

  /// Entries that the log took together, so that all of them get to the disk, or none.
  private struct Transaction {
    var entries: [LogEntry]
    /// Tickets for which the log has not answered.
    var open: Set<UInt64>
  }

  private(set) var channels: [ChannelName: Channel] = [:]
  /// Transactions that the present broker's store took, in order, and of which it is not known what became.
  private var underWay: [Transaction] = []
  /// Transactions that a crash took with it.
  private(set) var lost = 0
  /// Transactions that are on disk although no broker was told so.
  private(set) var found = 0
  /// Entries that were written, of all transactions.
  private(set) var written = 0

  func took(_ entries: [LogEntry]) {
    underWay.append(Transaction(entries: entries, open: Set(entries.map(\.ticket))))
  }

  /// Takes in what became of an entry.
  ///
  /// - Returns: true where its transaction is on disk from now on.
  func completed(_ completion: LogCompletion) -> Bool {
    guard let place = underWay.firstIndex(where: { $0.open.contains(completion.ticket) }) else { return false }
    // A disk that failed in the middle of a transaction may hold it or not: the next broker will see.
    if case .failed = completion.error { return false }
    if completion.error != nil {
      // If one entry fails, all of its transaction do, each with a completion of its own.
      underWay[place].entries = []
    }
    underWay[place].open.remove(completion.ticket)
    guard underWay[place].open.isEmpty else { return false }
    let transaction = underWay.remove(at: place)
    write(transaction.entries)
    return !transaction.entries.isEmpty
  }

  private func write(_ entries: [LogEntry]) {
    written += entries.count
    for entry in entries {
      var channel = channels[entry.channel] ?? Channel()
      channel.top = entry.publication.offset
      channel.kept = Array((channel.kept + [entry.publication]).suffix(entry.historySize))
      if entry.writesMap, let change = entry.publication.change {
        channel.entries[change.key] = change.removed ? nil : entry.publication
      }
      if let edit = entry.edit, let index = channel.kept.firstIndex(where: { $0.offset == edit.replacement.offset }) {
        channel.kept[index] = edit.replacement
      }
      channels[entry.channel] = channel
    }
  }

  // MARK: After a crash

  /// Checks what a new broker's store finds: everything that was acknowledged, and of what was under way each
  /// transaction as a whole or not at all.
  ///
  /// - Parameter onWritten: called after each transaction that turns out to be on disk.
  /// - Returns: what is not as it was promised.
  func opened(_ store: SQLiteStore, onWritten: () -> Void) -> [String] {
    var complaints: [String] = []
    do throws(LogError) {
      let names = Set(channels.keys).union(underWay.flatMap { $0.entries.map(\.channel) })
      var tops: [ChannelName: UInt64] = [:]
      for name in names { tops[name] = try store.look(for: name, durability: .durable).position.offset }
      for transaction in underWay where !transaction.entries.isEmpty {
        let written = transaction.entries.filter { $0.publication.offset <= tops[$0.channel] ?? 0 }
        if written.isEmpty {
          lost += 1
        } else if written.count < transaction.entries.count {
          complaints.append("of \(transaction.entries.map(\.channel)) only \(written.map(\.channel)) are on disk")
        } else {
          found += 1
          write(transaction.entries)
          onWritten()
        }
      }
      underWay = []
      for name in names.sorted() { complaints += try compare(name, tops[name] ?? 0, store) }
    } catch {
      complaints.append("the log cannot be read: \(error)")
    }
    return complaints
  }

  /// Compares everything that was said to be on disk with what is there.
  ///
  /// - Returns: the differences.
  func compare(_ store: SQLiteStore) -> [String] {
    do throws(LogError) {
      var complaints: [String] = []
      for name in channels.keys.sorted() {
        complaints += try compare(name, store.look(for: name, durability: .durable).position.offset, store)
      }
      return complaints
    } catch {
      return ["the log cannot be read: \(error)"]
    }
  }

  private func compare(_ name: ChannelName, _ top: UInt64, _ store: SQLiteStore) throws(LogError) -> [String] {
    let channel = channels[name] ?? Channel()
    var complaints: [String] = []
    if top != channel.top { complaints.append("\(name) ends at \(top) on disk, and \(channel.top) was written") }
    let kept = try store.read(name, LogRange(since: nil, through: .max, limit: .max))
    if kept.map(\.asWritten) != channel.kept.map(\.asWritten) {
      complaints.append("\(name): \(kept.map(\.offset)) are on disk, \(channel.kept.map(\.offset)) were written")
    }
    var entries: [String: Publication] = [:]
    for entry in try store.entries(of: name) { entries[entry.change?.key ?? ""] = entry.asWritten }
    if entries != channel.entries.mapValues(\.asWritten) {
      complaints.append("\(name): the entries of \(entries.keys.sorted()) are on disk, others were written")
    }
    return complaints
  }
}

extension Publication {
  /// The publication as the log writes it, without the part of a change that only subscribers are told.
  fileprivate var asWritten: Publication {
    var publication = self
    publication.change = change.map {
      KeyChange(key: $0.key, removed: $0.removed, score: $0.score, expires: $0.expires)
    }
    return publication
  }
}
