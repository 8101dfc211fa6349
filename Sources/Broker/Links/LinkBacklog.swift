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

  private var entries: [(work: Work, bytes: Int)] = []
  private var head = 0
  /// Of the messages, which the gateway bounds by its own window.
  private(set) var bytes = 0

  var isEmpty: Bool { head == entries.count }
  var first: Work? { isEmpty ? nil : entries[head].work }

  mutating func append(_ work: Work, bytes count: Int) {
    entries.append((work, count))
    bytes += count
  }

  mutating func removeFirst() {
    bytes -= entries[head].bytes
    head += 1
    if isEmpty {
      self = LinkBacklog()
    } else if head > 256 && head > entries.count / 2 {
      entries.removeFirst(head)
      head = 0
    }
  }
}
