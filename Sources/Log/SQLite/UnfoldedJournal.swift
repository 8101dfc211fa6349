import Synchronization

/// The journal's entries that are not in the tables by channel yet, in memory: readers of the tables look here too.
///
/// The writer thread adds entries that it has committed before it tells anybody, and drops entries that it has folded
/// after the fold is committed. So a reader that looks here first, and into the tables then, finds all that was
/// committed before: of each channel the entries here are whole from the first offset on, and the tables have what is
/// before it.
///
/// Bounded in bytes by the writer (``JournalLimits``).
public final class UnfoldedJournal: Sendable {
  private struct State {
    var channels: [Int64: [JournalEntry]] = [:]
    var bytes = 0
    var folds: UInt64 = 0
  }

  private let state = Mutex(State())

  init() {}

  // MARK: Any thread

  /// The entries of a channel in the order of their offsets, without holes but those of a relaxed channel.
  ///
  /// - Parameter channel: the channel's row in `channels`.
  func entries(of channel: Int64) -> [JournalEntry] { state.withLock { $0.channels[channel] ?? [] } }

  /// How often entries were dropped. Where the count is the same after the tables were read as before, whatever they
  /// lacked is still here.
  var folds: UInt64 { state.withLock { $0.folds } }

  /// Bytes of memory that the entries take.
  var bytes: Int { state.withLock { $0.bytes } }

  func hasEntries(of channel: Int64) -> Bool { state.withLock { $0.channels[channel] != nil } }

  // MARK: The writer thread

  /// The rows of all channels that have entries here.
  var channels: [Int64] { state.withLock { Array($0.channels.keys) } }

  func add(_ entries: [JournalEntry]) {
    if entries.isEmpty { return }
    state.withLock { state in
      for entry in entries {
        state.channels[entry.channel, default: []].append(entry)
        state.bytes += entry.cost
      }
    }
  }

  /// Drops the entries of channels, all of which are in the tables now.
  func drop(_ channels: [Int64]) {
    if channels.isEmpty { return }
    // The entries are freed outside of the lock.
    var dropped: [[JournalEntry]] = []
    state.withLock { state in
      for channel in channels {
        guard let entries = state.channels.removeValue(forKey: channel) else { continue }
        for entry in entries { state.bytes -= entry.cost }
        dropped.append(entries)
      }
      state.folds &+= 1
    }
  }
}
