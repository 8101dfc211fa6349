import Synchronization

/// Something that lives on the backbone thread: the broker, or a gateway's link to it.
///
/// It owns its sockets as stored properties and tells the loop about them when it is built. It is made, called and let
/// go on that thread only, so it needs no lock and is not Sendable.
public protocol LoopParticipant: AnyObject {
  /// Once per round, after the round's messages: flush what was gathered, act on timers that are due.
  ///
  /// - Parameter now: nanoseconds of `MonotonicClock`.
  /// - Returns: when it wants to be called at the latest, even if nothing arrives; nil if it does not mind.
  ///   The loop wakes up to 1 ms late, never early.
  func tick(now: UInt64) -> UInt64?

  /// Once, at the end: say goodbye, then let go of the sockets. Mailboxes are empty and closed by then.
  func close()
}

/// What a participant sees of the thread it lives on.
///
/// A round: wait, then at most `messagesPerRound` messages from each mailbox and each ready socket, then every
/// participant's `tick`. Sockets are asked in the order in which they were given to `watch`, each after the ones before
/// it have been handled; so a request goes from a mailbox through the gateway's DEALER, the broker's ROUTER and back
/// within one round, and no socket starves another. While there is work, no round waits.
public final class Loop {
  /// How many messages a handler should read from its socket before it returns: what is left is told again.
  public let messagesPerRound: Int

  private struct Watch {
    let registration: Poller.Registration
    let handler: (Poller.Events) -> Void
  }

  /// While there is work, the descriptors are looked at once in so many rounds: sockets that are at work are known to
  /// be, but others must not starve.
  private static let roundsPerLook = 4

  private let control: LoopControl
  private let poller: Poller
  private var watches: [Watch] = []
  private var drains: [any MailboxDrain] = []
  private var participants: [any LoopParticipant] = []
  private var failure: (any Error)?

  init(_ control: LoopControl, messagesPerRound: Int) {
    self.control = control
    self.messagesPerRound = messagesPerRound
    poller = Poller(wakeDescriptor: control.waker.descriptor)
  }

  /// Calls `handler` in each round in which `socket` is ready.
  ///
  /// The handler gets the participant as an argument, so that it need not capture it.
  @discardableResult
  public func watch<Participant: LoopParticipant>(
    _ socket: borrowing Socket, _ events: Poller.Events = .input, for participant: Participant,
    _ handler: @escaping (Participant, Poller.Events) -> Void
  ) -> Poller.Registration {
    let registration = poller.add(socket, events)
    watches.append(Watch(registration: registration) { handler(participant, $0) })
    return registration
  }

  /// Watches for other events from now on: drop `.input` to leave messages in the pipe while something downstream is
  /// full, so that the peer feels it.
  public func setEvents(_ events: Poller.Events, for registration: Poller.Registration) {
    poller.setEvents(events, for: registration)
  }

  public func unwatch(_ registration: Poller.Registration) {
    poller.remove(registration)
    watches.removeAll { $0.registration == registration }
  }

  /// Calls `handler` on this thread with each element that is posted to `mailbox`, from now on.
  public func receive<Element: Sendable, Participant: LoopParticipant>(
    from mailbox: Mailbox<Element>, for participant: Participant,
    _ handler: @escaping (Participant, Element) -> Void
  ) {
    mailbox.attach(control.waker)
    drains.append(MailboxReader(mailbox) { handler(participant, $0) })
  }

  /// Ends the loop after this round because a participant cannot go on; the error reaches `onFailure`.
  public func fail(_ error: any Error) {
    if failure == nil { failure = error }
    control.requestStop()
  }

  /// The loop alone holds what is built, so that `tearDown` ends it.
  func build(_ build: (Loop) throws -> [any LoopParticipant]) throws {
    participants = try build(self)
  }

  func run() throws {
    // The first round must not sleep: mail may have come before the mailbox was attached.
    var hasMail = true
    var deadline: UInt64?
    var rounds = 0
    while !control.isStopping {
      let isBusy = try hasMail || poller.countReady() > 0
      if isBusy || !control.waker.trySleep() {
        rounds += 1
        if rounds % Self.roundsPerLook == 0 { _ = try poller.wait(timeoutMilliseconds: 0) }
      } else {
        _ = try poller.wait(timeoutMilliseconds: Self.timeoutMilliseconds(until: deadline))
      }
      control.waker.beginRound()
      hasMail = false
      for drain in drains where drain.drain(limit: messagesPerRound) { hasMail = true }
      handleSockets()
      deadline = tick()
    }
    if let failure { throw failure }
  }

  private func handleSockets() {
    // By index, because a handler may watch or unwatch.
    var index = 0
    while index < watches.count {
      let watch = watches[index]
      let events = poller.ready(watch.registration)
      if !events.isEmpty { watch.handler(events) }
      index += 1
    }
  }

  private func tick() -> UInt64? {
    let now = MonotonicClock.now()
    var earliest: UInt64?
    for participant in participants {
      guard let deadline = participant.tick(now: now) else { continue }
      earliest = min(earliest ?? deadline, deadline)
    }
    return earliest
  }

  /// Rounded up, so that the loop does not spin through the last millisecond.
  static func timeoutMilliseconds(until deadline: UInt64?, now: UInt64 = MonotonicClock.now()) -> Int {
    guard let deadline else { return -1 }
    guard deadline > now else { return 0 }
    let left = deadline - now
    return Int(clamping: min(left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1), 3_600_000))
  }

  /// Hands out what the mailboxes took, closes the participants, last one first, and forgets everything.
  func tearDown() {
    for drain in drains { drain.finish() }
    for participant in participants.reversed() { participant.close() }
    drains = []
    watches = []
    participants = []
  }
}

@available(*, unavailable)
extension Loop: Sendable {}

/// The part of a loop that other threads may touch.
final class LoopControl: Sendable {
  let waker: Waker
  private let stopping = Atomic<Bool>(false)

  init() throws(ZeroMQError) {
    waker = try Waker()
  }

  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  func requestStop() {
    stopping.store(true, ordering: .releasing)
    waker.signal()
  }
}
