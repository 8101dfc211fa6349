import Synchronization

/// What stands in the journal and not in the tables by channel yet: those who read the tables look here too.
///
/// The writer thread adds what it has committed before it tells anybody, and drops what it has folded after the fold is
/// committed. So whoever looks here first, and into the tables then, finds all that was committed before: what is here is
/// whole from the first offset on, and the tables have what is before it.
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

  /// In the order of their offsets, without holes but those of a relaxed channel.
  ///
  /// - Parameter channel: its row.
  func entries(of channel: Int64) -> [JournalEntry] { state.withLock { $0.channels[channel] ?? [] } }

  /// How often something was dropped. Where it is still the same, the tables that were read in between lack nothing that
  /// is not here.
  var folds: UInt64 { state.withLock { $0.folds } }

  /// Memory that it takes.
  var bytes: Int { state.withLock { $0.bytes } }

  func holds(_ channel: Int64) -> Bool { state.withLock { $0.channels[channel] != nil } }

  // MARK: The writer thread

  /// The rows of all channels of which there is something.
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

  /// All of these channels is in the tables.
  func drop(_ channels: [Int64]) {
    if channels.isEmpty { return }
    // What goes is let go of outside of the lock.
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
