import DequeModule

/// How much of what the broker sent the event loops still hold, each message counted once.
///
/// A publication with subscribers on eight event loops is handed to all of them. Added up, it would fill the link's
/// window eight times. How much the loops hold together is not known exactly: each tells how many bytes it holds, not
/// which. Two sums are certainly not too much: what any one of them holds; and what all hold where each is charged only
/// its share of what it got along with others. The larger of the two is taken. It is exact where everything goes to all
/// loops, and where each message goes to one.
struct HandoverAccount {
  private struct Mark {
    var bytes: UInt64
    var share: UInt64
  }

  private struct Loop {
    /// Everything handed over to the loop since the beginning.
    var handed = Mark(bytes: 0, share: 0)
    /// Of ``handed``, what was worked off when the account was last looked at, to the nearest mark.
    var done = Mark(bytes: 0, share: 0)
    /// Where ``handed`` stood after each hand-over that is not worked off.
    var marks: Deque<Mark> = []

    mutating func note(bytes: UInt64, share: UInt64) {
      handed.bytes += bytes
      handed.share += share
      // Small hand-overs share a mark, so that a loop that lags costs no more than a mark for some kilobytes.
      if !marks.isEmpty, handed.bytes - lastButOne.bytes <= 4096 {
        marks[marks.count - 1] = handed
      } else {
        marks.append(handed)
      }
    }

    private var lastButOne: Mark { marks.count >= 2 ? marks[marks.count - 2] : done }

    mutating func share(ofHeld held: UInt64) -> UInt64 {
      let worked = handed.bytes - min(held, handed.bytes)
      while let first = marks.first, first.bytes <= worked { done = marks.removeFirst() }
      return handed.share - done.share
    }
  }

  private var loops: [Loop]

  init(loops count: Int) { loops = Array(repeating: Loop(), count: count) }

  /// - Parameters:
  ///   - bytes: of the messages in the hand-over.
  ///   - share: bytes of the messages, those of each divided by the number of loops that got it.
  mutating func note(bytes: Int, share: Int, to loop: Int) {
    if bytes > 0 { loops[loop].note(bytes: UInt64(bytes), share: UInt64(share)) }
  }

  /// - Parameter held: what each loop says it has not worked off.
  mutating func heldBytes(_ held: (Int) -> UInt64) -> UInt64 {
    var most: UInt64 = 0
    var shares: UInt64 = 0
    for loop in loops.indices {
      let bytes = held(loop)
      most = max(most, bytes)
      shares += loops[loop].share(ofHeld: bytes)
    }
    return max(most, shares)
  }
}
