import DequeModule

/// Lets a few through between two looks of an event loop at its sockets, in order.
///
/// After a network was away thousands come or go at once, and each costs as much as some deliveries. Those who are in are
/// served in between, for which the last who comes is in a little later. Who waits here is a connection, and as bounded as
/// these.
///
/// Bound to its event loop, and deliberately not Sendable.
final class Turnstile {
  /// How many go through between two looks.
  var most = Int.max
  /// False: all go through at once.
  private(set) var isPaced = false
  private var requestPass: () -> Void = {}
  /// How many went through since the last look that was asked for.
  private var passedThrough = 0
  private var waiting: Deque<() -> Void> = []

  /// From now on few go through at a time, and ``passed()`` is called after `requestPass` was.
  func open(to most: Int, requestPass: @escaping () -> Void) {
    isPaced = true
    self.most = most
    self.requestPass = requestPass
  }

  /// Runs the work at once where nobody waits and there is room, else later.
  func enter(_ work: @escaping () -> Void) {
    if waiting.isEmpty && passedThrough < most {
      passedThrough += 1
      return work()
    }
    waiting.append(work)
    requestPass()
  }

  /// The event loop has looked at its sockets.
  func passed() {
    passedThrough = 0
    while passedThrough < most, let work = waiting.popFirst() {
      passedThrough += 1
      work()
    }
    if !waiting.isEmpty { requestPass() }
  }
}
