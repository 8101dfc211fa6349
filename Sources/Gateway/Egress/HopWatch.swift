import Telemetry
import Wire

/// Measured frames that stand on an event loop's tapes, until they have gone out. Bound to its event loop.
///
/// A frame that is not measured costs the fan-out one look, for each lap and each turn of a tape, whether this is
/// empty.
struct HopWatches {
  private struct Watch {
    let tape: Tape
    /// Where the frame ends on the tape.
    let end: UInt64
    let mark: HopMark
    let taped: HopStamp
    var hasFirst = false
  }

  /// Frames at a time; one more is not measured on its way out.
  private static let most = 16

  private var watches: [Watch] = []

  var isEmpty: Bool { watches.isEmpty }

  /// The newest frame of these tapes is measured.
  mutating func begin(_ mark: HopMark, on tapes: [Tape]) {
    let tapes = tapes.filter { $0.isDirty && !$0.isEmpty }
    let taped = mark.taped(tapes.count)
    for tape in tapes {
      guard watches.count < Self.most else {
        mark.drop()
        continue
      }
      watches.append(Watch(tape: tape, end: tape.end, mark: mark, taped: taped))
    }
  }

  /// Whether the tape has a measured frame that nobody was sent yet.
  func awaitsFirst(_ tape: Tape) -> Bool { watches.contains { $0.tape === tape && !$0.hasFirst } }

  /// The kernel took what stood on the tape for one subscriber.
  mutating func sentFirst(of tape: Tape) {
    for place in watches.indices where watches[place].tape === tape && !watches[place].hasFirst {
      watches[place].hasFirst = true
      watches[place].mark.sentFirst(since: watches[place].taped)
    }
  }

  /// A lap of the tape is over.
  mutating func lapEnded(_ tape: Tape) {
    for watch in watches where watch.tape === tape && tape.flushed >= watch.end {
      if watch.hasFirst { watch.mark.sentLast(since: watch.taped) } else { watch.mark.drop() }
    }
    watches.removeAll { $0.tape === tape && tape.flushed >= $0.end }
  }
}
