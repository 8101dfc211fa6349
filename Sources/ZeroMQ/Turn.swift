import Synchronization

/// Who runs a loop's participants: one thread at a time has the turn.
///
/// The loop's thread takes it for each round, and waits for it where another has it, which is for some hundred messages
/// at most. Whoever posts takes it only where it is free (``runElsewhere()``), so no event loop ever waits for it.
///
/// Why nothing that was posted is left lying. A poster first puts its element into the mailbox, then says that there is
/// news, then tries to take the turn. Whoever has the turn takes the news before it looks at the mailboxes, and looks for
/// news again after it has given the turn back. Where the poster finds the turn taken, its news came before the other
/// gave it back, so the other finds it: another poster goes round again, and the loop's thread does not sleep.
final class Turn: Sendable {
  /// Belongs to whoever has the turn, so that it may be touched by several threads, one after another.
  private struct Held: @unchecked Sendable {
    var loop: Loop?
  }

  private let held = Mutex(Held())
  private let news = Atomic<Bool>(false)

  /// Something was posted that nobody has looked at.
  var hasNews: Bool { news.load(ordering: .sequentiallyConsistent) }

  /// From here on posters may run the loop.
  func open(_ loop: Loop) { held.withLock { $0.loop = loop } }

  /// From here on the loop's thread alone runs it.
  func close() { held.withLock { $0.loop = nil } }

  /// The loop's thread: waits for the turn.
  func withTurn<Result: Sendable>(_ body: () -> Result) -> Result { held.withLock { _ in body() } }

  /// Whoever has the turn, before it looks at the mailboxes.
  func takeNews() { news.store(false, ordering: .sequentiallyConsistent) }

  /// Any thread, after it has posted: handles what waits, unless somebody is at it.
  ///
  /// - Returns: false where only the loop's thread can go on.
  func runElsewhere() -> Bool {
    news.store(true, ordering: .sequentiallyConsistent)
    for _ in 0..<Self.mostRounds {
      guard hasNews else { return true }
      // Taken: whoever has it looks for news when it gives it back.
      guard let isLeft = held.withLockIfAvailable({ $0.loop?.roundElsewhere() ?? true }) else { return true }
      if isLeft { return false }
    }
    return !hasNews
  }

  /// Others may post all the time, and this thread has something else to do.
  private static let mostRounds = 4
}
