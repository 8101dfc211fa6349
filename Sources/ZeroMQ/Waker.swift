internal import CZeroMQ
import Glibc
import Synchronization

/// Wakes one loop from any thread, with a system call only if the loop sleeps.
///
/// One atomic holds the state, and every change of it is a read-modify-write, so the changes have one order:
///
///     awake     the loop runs and has nothing new to look at
///     signalled something was posted that the loop has not looked at
///     asleep    the loop sleeps, or is about to
///
/// Why no wake-up is lost. A producer first puts its element into a mailbox, then exchanges the state for
/// `signalled`. The loop first exchanges the state for `awake`, then empties the mailboxes; it sleeps only if it can
/// turn `awake` into `asleep`. Take a producer's exchange:
/// - Before the loop's exchange to `awake`: that one reads `signalled` (or later), so the element is visible to the
///   emptying that follows.
/// - Between that and the attempt to sleep: the attempt finds `signalled`, fails, and the loop goes round again.
/// - After the attempt: the producer reads `asleep` and writes to the eventfd. That the loop has not yet reached its
///   wait does not matter: the poller is told of a write once, however late it asks.
@usableFromInline
final class Waker: Sendable {
  private static let awake: UInt8 = 0
  private static let signalled: UInt8 = 1
  private static let asleep: UInt8 = 2

  let descriptor: Int32
  private let state = Atomic<UInt8>(Waker.awake)

  init() throws(ZeroMQError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else { throw ZeroMQError(code: errno, operation: .startThread) }
  }

  deinit { _ = Glibc.close(descriptor) }

  /// Any thread, after it has put something where the loop will look.
  @usableFromInline
  func signal() {
    guard state.exchange(Self.signalled, ordering: .acquiringAndReleasing) == Self.asleep else { return }
    var one: UInt64 = 1
    _ = unsafe Glibc.write(descriptor, &one, MemoryLayout<UInt64>.size)
  }

  /// The loop, before it looks at what was posted.
  ///
  /// The descriptor is not read: a poller that is told of each write anew has no need of it, and its count cannot fill
  /// up in the life of the universe.
  func beginRound() {
    _ = state.exchange(Self.awake, ordering: .acquiringAndReleasing)
  }

  /// The loop, before it sleeps: false means that something was posted, so it must not.
  func trySleep() -> Bool {
    state.compareExchange(
      expected: Self.awake, desired: Self.asleep, ordering: .acquiringAndReleasing
    ).exchanged
  }
}
