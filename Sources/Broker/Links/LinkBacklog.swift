import DequeModule
import Wire

/// What a gateway asked for and the broker has not begun, because there is no room on the link for the answer, in the
/// order in which it came.
///
/// Whatever the gateway sends afterwards waits behind it. A subscribe must not be overtaken by the unsubscribe of the
/// same channel, nor by what its subscriber publishes, and the requests of a resync not by the message that it is over.
struct LinkBacklog {
  enum Work {
    case request(LinkRequest)
    case resynced
    case goodbye
    /// The gateway is told all revocations before anything behind this is begun.
    case revocations
  }

  private var entries: Deque<(work: Work, bytes: Int)> = []
  /// Bytes of the messages in the backlog. The gateway limits them by its own window.
  private(set) var bytes = 0

  var isEmpty: Bool { entries.isEmpty }
  var first: Work? { entries.first?.work }

  mutating func append(_ work: Work, bytes count: Int) {
    entries.append((work, count))
    bytes += count
  }

  mutating func removeFirst() {
    bytes -= entries.removeFirst().bytes
    // Backlogs are rare and may have been large, so the memory is given back.
    if isEmpty { self = LinkBacklog() }
  }
}
