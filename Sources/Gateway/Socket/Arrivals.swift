import DequeModule
import NIOCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Sockets that were accepted and that their event loop has not taken over yet.
///
/// After a network was away thousands come at once, all of them honest. To set one up, to answer its request, to check its
/// token and to send what it has missed costs its event loop as much as some hundred deliveries. So an event loop takes over
/// a few of them, looks at its other sockets, and then takes over more: those who are in are served in between, for which
/// the last who comes is in a little later.
///
/// The line ends where that of connections does: who waits in it is one of `server.max_handshakes`.
final class Arrivals: Sendable {
  typealias Open = @Sendable (Int32, ConnectionSlot) -> Void

  /// Sockets that an event loop takes over before it looks at the others: meanwhile, those who are in wait.
  static let perPass = 1
  /// The same where nobody is served who could wait: then all are there sooner.
  static let perPassAtRest = 32

  private struct Line {
    var waiting: Deque<(descriptor: Int32, slot: ConnectionSlot)> = []
    /// The event loop will look at the line by itself.
    var isLookedAt = false
    /// Nobody takes anything over any more.
    var hasEnded = false
  }

  private let line = Mutex(Line())
  private let eventLoop: any EventLoop
  private let pass: NIOLoopBoundBox<EventLoopPass?>
  private let isAtRest: @Sendable () -> Bool
  private let open: Open

  /// - Parameters:
  ///   - isAtRest: whether nobody is served just now; called on the event loop.
  ///   - open: takes over a descriptor, on the event loop, and must see to it that it is closed.
  init(on eventLoop: any EventLoop, isAtRest: @escaping @Sendable () -> Bool = { false }, _ open: @escaping Open) {
    self.isAtRest = isAtRest
    self.eventLoop = eventLoop
    self.open = open
    pass = .makeEmptyBox(valueType: EventLoopPass.self, eventLoop: eventLoop)
    // Now rather than in a storm: a pass looks for the event loop's own descriptor among all that are open.
    eventLoop.execute { [weak self] in
      guard let self else { return }
      pass.value = EventLoopPass(on: self.eventLoop) { [weak self] in self?.takeOver() }
    }
  }

  /// The socket's turn comes. Any thread.
  func add(_ descriptor: Int32, _ slot: ConnectionSlot) {
    let (isRefused, isFirst) = line.withLock { line in
      guard !line.hasEnded else { return (true, false) }
      line.waiting.append((descriptor, slot))
      defer { line.isLookedAt = true }
      return (false, !line.isLookedAt)
    }
    if isRefused { return Self.drop(descriptor, slot) }
    if isFirst { eventLoop.execute { [self] in takeOver() } }
  }

  /// Closes whoever waits, and whoever comes from now on. Any thread, any number of calls.
  func end() {
    let waiting = line.withLock { line in
      line.hasEnded = true
      defer { line.waiting = [] }
      return line.waiting
    }
    for (descriptor, slot) in waiting { Self.drop(descriptor, slot) }
  }

  private func takeOver() {
    for _ in 0..<(isAtRest() ? Self.perPassAtRest : Self.perPass) {
      let next = line.withLock { line in
        if line.waiting.isEmpty { line.isLookedAt = false }
        return line.waiting.popFirst()
      }
      guard let (descriptor, slot) = next else { return }
      open(descriptor, slot)
    }
    pass.value?.arm()
  }

  private static func drop(_ descriptor: Int32, _ slot: ConnectionSlot) {
    close(descriptor)
    slot.giveBack()
  }
}
