import DequeModule
import Wire

/// What a gateway asked for and the broker has not begun, because there is no room on the link for the answer: in the
/// order in which it came.
///
/// All that comes after it waits too. A subscribe must not be overtaken by the end of the same subscription, nor by what
/// its subscriber publishes, nor a resync by the word that it is over.
struct LinkBacklog {
  enum Work {
    case request(LinkRequest)
    case resynced
    case goodbye
  }

  private var entries: Deque<(work: Work, bytes: Int)> = []
  /// Of the messages, which the gateway bounds by its own window.
  private(set) var bytes = 0

  var isEmpty: Bool { entries.isEmpty }
  var first: Work? { entries.first?.work }

  mutating func append(_ work: Work, bytes count: Int) {
    entries.append((work, count))
    bytes += count
  }

  mutating func removeFirst() {
    bytes -= entries.removeFirst().bytes
    // A backlog is rare, and may have been large.
    if isEmpty { self = LinkBacklog() }
  }
}
