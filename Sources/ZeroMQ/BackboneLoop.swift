import Synchronization

/// Something that lives on the backbone thread: the broker, or a gateway's link to it.
///
/// A participant owns its sockets as stored properties and tells the loop about them when it is built. It is made and
/// closed on that thread; in between, whoever has the loop's turn calls it (``BackboneLoop``), one thread at a time. So it
/// needs no lock and is not Sendable.
public protocol BackboneParticipant: AnyObject {
  /// Once per round, after the round's messages: flush what was gathered, act on timers that are due.
  ///
  /// - Parameter now: nanoseconds of `MonotonicClock`.
  /// - Returns: when it wants to be called at the latest, even if nothing arrives; nil if it does not mind.
  ///   The loop wakes up to 1 ms late, never early.
  func tick(now: UInt64) -> UInt64?

  /// Before each `tick`, again and again while any participant says true: handle what other participants of this loop
  /// have left in memory for this one.
  ///
  /// - Returns: whether there was something.
  func exchange() -> Bool

  /// Once, at the end: say goodbye, then let go of the sockets. Mailboxes are empty and closed by then.
  func close()
}

extension BackboneParticipant {
  public func exchange() -> Bool { false }
}

/// What a participant sees of the thread that it lives on: what it may watch, and whose turn it is.
///
/// The participants belong to whoever has the **turn**. The loop's thread takes it for each of its rounds; another
/// thread that posts to a mailbox may take it too, where it is free, and run a round by itself (``Mailbox/run()``): so
/// a message need not wait for a thread to wake up. Sockets and timers stay with the loop's thread: a round of another
/// thread (``isOnThread`` is false) handles mailboxes that allow it, and leaves to the loop's thread what it wants of a
/// socket, with a ``wake()``.
///
/// A round of the thread: wait, then at most `messagesPerRound` messages from each mailbox and each ready socket, then
/// every participant's `tick`. Sockets are asked in the order in which they were given to `watch`, each after the ones
/// before it have been handled; so a request goes from a mailbox through the gateway's DEALER, the broker's ROUTER and
/// back within one round, and no socket starves another. While there is work, no round waits.
public final class BackboneLoop {
  /// How many messages a handler should read from its socket before it returns: it is called again for what is left.
  public let messagesPerRound: Int

  private struct Watch {
    let registration: Poller.Registration
    let handler: (Poller.Events) -> Void
  }

  /// While there is work, the poller looks at the descriptors once in so many rounds: a busy socket is known to be
  /// ready without a look, but the others must not starve.
  private static let roundsPerLook = 4

  @usableFromInline let control: LoopControl
  private let poller: Poller
  private var watches: [Watch] = []
  private var drains: [MailboxDrain] = []
  private var participants: [any BackboneParticipant] = []
  private var failure: (any Error)?
  /// Whether the round at hand is run by the loop's own thread, which alone may use sockets.
  public private(set) var isOnThread = true
  /// When the first participant wants its next `tick` at the latest, in nanoseconds of `MonotonicClock`.
  private var deadline: UInt64?
  /// A round has left something to do.
  private var hasMail = true
  /// Rounds with work since the beginning.
  private var busyRounds = 0
  /// Changes of what sockets are watched for, from rounds of other threads: only the loop's thread may tell the poller.
  private var newEvents: [(Poller.Events, Poller.Registration)] = []

  init(_ control: LoopControl, messagesPerRound: Int) {
    self.control = control
    self.messagesPerRound = messagesPerRound
    poller = Poller(wakeDescriptor: control.waker.descriptor)
  }

  /// Calls `handler` in each round in which `socket` is ready.
  ///
  /// The handler gets the participant as an argument, so that it need not capture it.
  @discardableResult
  public func watch<Participant: BackboneParticipant>(
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
    if isOnThread { return poller.setEvents(events, for: registration) }
    newEvents.append((events, registration))
    wake()
  }

  /// Wakes the loop's thread, for something that only it may do.
  public func wake() { control.waker.signal() }

  /// Calls `handler` with each element that is posted to `mailbox`, from now on.
  ///
  /// - Parameter anywhere: whether an element may be handled in a round of another thread, where nothing may wait for a
  ///   disk or use a socket. The elements behind one that may not wait with it for the loop's thread.
  @inlinable
  public func receive<Element: Sendable, Participant: BackboneParticipant>(
    from mailbox: Mailbox<Element>, for participant: Participant,
    anywhere: @escaping (Participant, Element) -> Bool = { _, _ in false },
    _ handler: @escaping (Participant, Element) -> Void
  ) {
    mailbox.attach(control)
    let reader = MailboxReader(mailbox, anywhere: { anywhere(participant, $0) }, { handler(participant, $0) })
    add(MailboxDrain(drain: { reader.drain(limit: $0, onThread: $1) }, finish: { reader.finish() }))
  }

  @usableFromInline
  func add(_ drain: MailboxDrain) { drains.append(drain) }

  /// Ends the loop after this round because a participant cannot go on; the error reaches `onFailure`.
  public func fail(_ error: any Error) {
    if failure == nil { failure = error }
    control.requestStop()
  }

  /// The loop alone holds what is built, so that `tearDown` ends it.
  func build(_ build: (BackboneLoop) throws -> [any BackboneParticipant]) throws {
    participants = try build(self)
  }

  /// Runs rounds on the loop's thread until the loop is told to stop. Throws what ``fail(_:)`` was given, or the
  /// poller's error.
  func run() throws {
    while !control.isStopping { try runRound() }
    if let failure { throw failure }
  }

  /// Waits on the loop's thread where there is nothing to do, then runs a round.
  func runRound() throws {
    // The first round must not sleep: mail may have come before the mailbox was attached.
    let (hasMail, deadline) = control.turn.withTurn { (self.hasMail, self.deadline) }
    let isBusy = try hasMail || control.turn.hasNews || poller.countReady() > 0
    if isBusy || !control.waker.trySleep() {
      busyRounds += 1
      if busyRounds % Self.roundsPerLook == 0 { _ = try poller.wait(timeoutMilliseconds: 0) }
    } else {
      _ = try poller.wait(timeoutMilliseconds: Self.timeoutMilliseconds(until: deadline))
    }
    control.waker.beginRound()
    control.turn.withTurn { round() }
  }

  private func round() {
    control.turn.takeNews()
    for (events, registration) in newEvents { poller.setEvents(events, for: registration) }
    newEvents.removeAll()
    hasMail = false
    for drain in drains where drain.drain(messagesPerRound, true) { hasMail = true }
    handleSockets()
    finishRound()
  }

  /// A round of another thread, which has the turn.
  ///
  /// - Returns: whether there may be more to do.
  func roundElsewhere() -> Bool {
    control.turn.takeNews()
    isOnThread = false
    defer { isOnThread = true }
    let before = deadline
    var isLeft = false
    for drain in drains where drain.drain(Self.messagesElsewhere, false) { isLeft = true }
    hasMail = false
    finishRound()
    if isLeft || hasMail {
      hasMail = true
      wake()
    } else if let deadline, deadline < before ?? .max {
      // The loop's thread sleeps longer than that.
      wake()
    }
    return isLeft
  }

  /// How many messages another thread handles from each mailbox before it leaves the rest to the loop's own thread: the
  /// other thread has its own work.
  private static let messagesElsewhere = 128

  private func finishRound() {
    exchange()
    deadline = tick()
    // A tick may have produced something for another participant.
    if exchange() { hasMail = true }
  }

  @discardableResult
  private func exchange() -> Bool {
    var isFirst = true
    while true {
      var hasMoved = false
      for participant in participants where participant.exchange() { hasMoved = true }
      guard hasMoved else { return !isFirst }
      isFirst = false
    }
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

  /// What `Poller.wait` is given: -1 for ever, at most an hour. Rounded up, so that the loop does not spin through the
  /// last millisecond.
  static func timeoutMilliseconds(until deadline: UInt64?, now: UInt64 = MonotonicClock.now()) -> Int {
    guard let deadline else { return -1 }
    guard deadline > now else { return 0 }
    let left = deadline - now
    return Int(clamping: min(left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1), 3_600_000))
  }

  /// Hands out what the mailboxes took, closes the participants, last one first, and forgets everything.
  func tearDown() {
    control.turn.close()
    for drain in drains { drain.finish() }
    exchange()
    for participant in participants.reversed() {
      participant.close()
      exchange()
    }
    drains = []
    watches = []
    participants = []
  }
}

@available(*, unavailable)
extension BackboneLoop: Sendable {}

/// The part of a loop that other threads may touch.
@usableFromInline
final class LoopControl: Sendable {
  @usableFromInline let waker: Waker
  let turn = Turn()
  private let stopping = Atomic<Bool>(false)

  init() throws(ZeroMQError) {
    waker = try Waker()
  }

  /// Any thread, after it has posted: handles what waits here, where the turn is free; else whoever has the turn does,
  /// or the loop's thread, which is woken.
  @usableFromInline
  func runElsewhere() { if !turn.runElsewhere() { waker.signal() } }

  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  func requestStop() {
    stopping.store(true, ordering: .releasing)
    waker.signal()
  }
}
