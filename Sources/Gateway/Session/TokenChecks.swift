import DequeModule

/// A token that is to be checked, and under which tag the session waits for it.
enum TokenCheck: Sendable {
  case connection(tag: UInt64, token: String)
  case subscription(tag: UInt64, token: String)
  case place(tag: UInt64, token: String)

  var tag: UInt64 {
    switch self {
    case .connection(let tag, _), .subscription(let tag, _), .place(let tag, _): tag
    }
  }
}

/// The token checks of one connection: so many at a time, and the others wait here.
///
/// A check counts until it has ended, whatever became of what it was for: a client that subscribes and unsubscribes at
/// once would otherwise have any number of them running. A check that nobody waits for any more is not begun.
struct TokenChecks {
  let most: Int
  private(set) var running = 0
  private var waiting: Deque<TokenCheck> = []

  init(most: Int) { self.most = max(most, 1) }

  /// Whether as many checks run as may: then what the client sends is read later.
  var isFull: Bool { running >= most }

  var waitingCount: Int { waiting.count }

  /// - Returns: true where the check is to begin now.
  mutating func begin(_ check: TokenCheck) -> Bool {
    guard running < most else {
      waiting.append(check)
      return false
    }
    running += 1
    return true
  }

  /// A check has ended.
  ///
  /// - Returns: the check to begin now, if any.
  mutating func ended(isWanted: (UInt64) -> Bool) -> TokenCheck? {
    running -= 1
    while let next = waiting.popFirst() {
      guard isWanted(next.tag) else { continue }
      running += 1
      return next
    }
    return nil
  }

  mutating func forgetWaiting() { waiting = [] }
}
