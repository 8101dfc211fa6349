import Synchronization

/// Who runs a loop's participants: one thread at a time has the turn.
///
/// The loop's thread takes it for each round, and waits for it where another has it, which is for some hundred messages
/// at most. Whoever posts takes it only where it is free (``runElsewhere()``), so no event loop ever waits for it.
///
/// Why nothing that was posted is left lying. A poster first puts its element into the mailbox, then says that there is
/// news, then tries to take the turn. Whoever has the turn takes the news before it looks at the mailboxes, and looks
/// for news again after it has given the turn back. Where the poster finds the turn taken, its news came before the
/// turn was given back, so the one that had the turn finds it: if that is another poster, it runs one more round; if it
/// is the loop's thread, it does not sleep.
final class Turn: Sendable {
  /// The loop, which only the holder of the mutex touches: that is why it may go from thread to thread.
  private struct Held: @unchecked Sendable {
    var loop: BackboneLoop?
  }

  private let held = Mutex(Held())
  private let news = Atomic<Bool>(false)

  /// Something was posted that nobody has looked at.
  var hasNews: Bool { news.load(ordering: .sequentiallyConsistent) }

  /// From here on posters may run the loop.
  func open(_ loop: BackboneLoop) { held.withLock { $0.loop = loop } }

  /// From here on the loop's thread alone runs it.
  func close() { held.withLock { $0.loop = nil } }

  /// The loop's thread: waits for the turn, and has it while `body` runs.
  func withTurn<Result: Sendable>(_ body: () -> Result) -> Result { held.withLock { _ in body() } }

  /// Whoever has the turn, before it looks at the mailboxes: forgets that there is news, because it looks now.
  func takeNews() { news.store(false, ordering: .sequentiallyConsistent) }

  /// Any thread, after it has posted: handles what waits, unless another thread has the turn and does.
  ///
  /// - Returns: false where only the loop's thread can go on.
  func runElsewhere() -> Bool {
    news.store(true, ordering: .sequentiallyConsistent)
    for _ in 0..<Self.mostRounds {
      guard hasNews else { return true }
      // No turn to be had: the thread that has it looks for news after it has given it back.
      guard let isLeft = held.withLockIfAvailable({ $0.loop?.roundElsewhere() ?? true }) else { return true }
      if isLeft { return false }
    }
    return !hasNews
  }

  /// Rounds that a poster runs at most: others may post all the time, and the poster's thread has its own work.
  private static let mostRounds = 4
}
