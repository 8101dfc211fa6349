import NIOCore
import Wire

/// Performs what a ``Session`` decides: between a client's connection and the host that knows broker and hub.
///
/// Bound to its connection's event loop, and deliberately not Sendable.
final class SessionDriver: ConnectionDelegate {
  var session: Session
  /// Kept when the connection is gone: what waits for it on tapes still counts, until the session has left them.
  let transport: any SessionTransport
  let host: any SessionHost

  /// Replies of the read burst in hand: they leave as one frame.
  private var outbox: [ClientReply] = []
  private var isInReadBurst = false
  /// The reply to the answer in hand may wait for ``flushReplies()``.
  private var isInAnswers = false
  /// Memory for the actions of an input and the commands of a message, kept while more of them are at hand.
  private var actions: [SessionAction] = []
  private var commands: [ClientCommand] = []
  /// Inputs that came while actions were being performed: a host may answer at once, a transport close at once.
  private var deferred: [SessionInput] = []
  private var isPerforming = false
  private var hostHoldsInput = false
  /// Whether the session was told that its input is held.
  private var isInputHeld = false
  /// The connection's token checks, under way and waiting.
  var checks: TokenChecks
  /// The transport and the host have been told that the client signed in.
  private(set) var isSignedIn = false
  /// What the client's SDK calls itself, by the host's numbers; 0: nothing.
  private(set) var software: UInt16 = 0
  /// Seconds since 1970 at which the connection was opened.
  let openedAt: Int64
  private var isPaused = false
  /// The connection is gone.
  private(set) var isGone = false
  private var hasEnded = false
  /// The one scheduled task. It may fire early: commands move deadlines back all the time, and leaving the task alone
  /// is cheaper than moving it along.
  private var timer: Scheduled<Void>?
  /// When it fires, in monotonic milliseconds.
  private var timerDue = Int64.max

  /// - Parameter firstPingDelayMilliseconds: a random part of the ping interval.
  init(
    transport: any SessionTransport, host: any SessionHost, rules: SessionRules, identity: SessionIdentity,
    firstPingDelayMilliseconds: Int64
  ) {
    self.transport = transport
    self.host = host
    form = TapeForm(format: transport.format, packing: transport.packing)
    openedAt = host.time.wall
    checks = TokenChecks(most: rules.configuration.maximumTokenChecks)
    session = Session(
      rules: rules, identity: identity, format: transport.format,
      firstPingDelayMilliseconds: firstPingDelayMilliseconds)
  }

  /// The connection's number, by which the host knows this session.
  var id: UInt64 { transport.id }
  /// Where the fan-out writes.
  var outlet: Outlet { transport }
  var eventLoop: any EventLoop { transport.eventLoop }
  var format: WireFormat { session.format }
  /// What the tapes are like on which this session sits.
  let form: TapeForm
  var client: String { session.identity.client }
  var sessionID: String { session.identity.session }
  /// Empty: anonymous, or not connected yet.
  var user: String { session.user }
  /// The client's, without a port.
  var address: String { transport.remoteAddress }
  var phase: Session.Phase { session.phase }

  // MARK: From the connection

  func opened() { feed(.opened) }

  /// One whole message. Its replies are sent at ``readCompleted()`` at the latest.
  func received(_ message: ByteBuffer) {
    isInReadBurst = true
    host.frameRead()
    session.read(bytes: message.readableBytes)
    // Taken out while it is walked through, so that what happens meanwhile cannot change it.
    var commands: [ClientCommand] = []
    swap(&commands, &self.commands)
    defer {
      commands.removeAll(keepingCapacity: true)
      if isInReadBurst { swap(&commands, &self.commands) }
    }
    do throws(MalformedInput) {
      try decode(message, into: &commands)
      let mostCommands = session.configuration.maximumCommandsPerMessage
      guard commands.count <= mostCommands else {
        return feed(.malformed("more than \(mostCommands) commands in one message; send them in several"))
      }
      for command in commands {
        guard session.phase != .closed else { return }
        feed(.command(command))
      }
    } catch {
      feed(.malformed(error.description))
    }
  }

  private func decode(_ message: ByteBuffer, into commands: inout [ClientCommand]) throws(MalformedInput) {
    var failure: MalformedInput?
    unsafe message.withUnsafeReadableBytes { bytes in
      do throws(MalformedInput) {
        try unsafe ClientCodec.decode(bytes, format: format, into: &commands)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  func readCompleted() {
    isInReadBurst = false
    // An idle connection holds no memory for what it does not do.
    commands = []
    actions = []
    flush()
    outputChanged()
    host.requestsComplete()
  }

  /// Tells the session where so much of what the client asked for waits that it may ask for more only later, and where
  /// most of that was taken.
  func outputChanged() {
    if outlet.isFull != session.isOutputFull && session.phase != .closed { feed(.outputFull(outlet.isFull)) }
  }

  func drained() { host.drained(self) }

  func relieved() {
    outputChanged()
    host.relieved(self)
  }

  /// The connection is gone, whoever ended it. What the session holds at the broker and in the hub ends when the host
  /// comes to it; the place among its user's connections is free at once, for somebody who comes back.
  func closed() {
    isGone = true
    checks.forgetWaiting()
    if let account = session.leaveAccount() { host.closeAccount(account) }
    outbox = []
    isInReadBurst = false
    if isSignedIn { host.leaves(self) } else { leave() }
  }

  /// Ends the session of a connection that is gone. Called once.
  func leave() {
    feed(.transportClosed)
    host.closed(self)
  }

  // MARK: From the host

  func brokerAnswered(tag: UInt64, _ response: BrokerResponse) { feed(.brokerAnswered(tag: tag, response)) }

  /// One answer of several that the host has in hand. That something was published, or what an app decided, need not be
  /// said in a frame of its own, nor before the publication itself is on its way to those who wait for it; other
  /// replies leave at once.
  ///
  /// - Returns: true where the host has to call ``flushReplies()`` when it has handed out what it has.
  func takeAnswer(tag: UInt64, _ response: BrokerResponse) -> Bool {
    switch response {
    case .published, .result: break
    default:
      brokerAnswered(tag: tag, response)
      return false
    }
    let isFirst = outbox.isEmpty
    isInAnswers = true
    brokerAnswered(tag: tag, response)
    isInAnswers = false
    return isFirst && !outbox.isEmpty
  }

  func flushReplies() {
    guard !isInReadBurst else { return }
    flush()
    outputChanged()
  }

  func channelLost(_ channel: ChannelName) { feed(.channelLost(channel)) }

  /// The server ends, and the client is to leave in so many milliseconds.
  ///
  /// - Returns: whether it was told, and so leaves by itself.
  func tellSlot(after milliseconds: Int64) -> Bool {
    feed(.slot(afterMilliseconds: milliseconds))
    return session.leavesAtSlot
  }

  /// The server ends: the client is sent away with a code after which it comes back, to another server perhaps. What
  /// it had asked for is answered first, and nothing more is read.
  func shutDown() { feed(.draining) }

  /// The server ends, and the time for last answers is over.
  func shutDownNow() { feed(.shutdown) }

  private func endIfAnswered() {
    if session.isDraining && session.phase != .closed && !session.awaitsAnswers { feed(.shutdown) }
  }

  func disconnect(_ code: DisconnectCode) { feed(.kick(code)) }

  /// These tokens count no more: the session ends, or the subscriptions that it has by them.
  func revoke(_ tokens: RevocationTable) { feed(.tokensRevoked(tokens)) }

  func addSubscription(_ subscription: OrderedSubscription) { feed(.addSubscription(subscription)) }

  func removeSubscription(
    _ channel: ChannelName, _ code: UnsubscribeCode, because cause: CoverageEnd.Cause = .removed
  ) {
    feed(.removeSubscription(channel, code, because: cause))
  }

  func changeExpiry(_ expiry: ConnectionExpiry) { feed(.changeExpiry(expiry)) }

  /// Has commands read later, because the broker is behind or reads wait for room; or no longer.
  func holdInput(_ holds: Bool) {
    hostHoldsInput = holds
    holdInputForChecks()
  }

  /// Tells the session where the host or the token checks begin to hold its input, and where neither does any more.
  func holdInputForChecks() {
    let holds = hostHoldsInput || checks.isFull
    guard holds != isInputHeld else { return }
    isInputHeld = holds
    if checks.isFull { host.note(.tokenChecks, from: self) }
    feed(.inputHeld(holds))
  }

  // MARK: Deciding and performing

  func feed(_ input: SessionInput) {
    if isPerforming { return deferred.append(input) }
    isPerforming = true
    decide(input)
    while !deferred.isEmpty {
      let inputs = deferred
      deferred = []
      for input in inputs { decide(input) }
    }
    isPerforming = false
    if !isInReadBurst {
      actions = []
      if !isInAnswers { flush() }
      host.requestsComplete()
    }
    synchronizeReading()
    synchronizeTimer()
    if !isSignedIn && session.phase == .live {
      isSignedIn = true
      transport.signedIn()
      host.signedIn(self)
    }
    endIfAnswered()
    // What was just sent may be more than the client takes at once. This does not come back here: only the client's
    // taking makes the outlet less full.
    if outlet.isFull && !session.isOutputFull { outputChanged() }
    if isGone && session.isDrained && !hasEnded {
      hasEnded = true
      host.sessionEnded(self)
    }
  }

  private func decide(_ input: SessionInput) {
    var actions: [SessionAction] = []
    swap(&actions, &self.actions)
    session.handle(input, at: host.time, into: &actions)
    for index in actions.indices { perform(actions[index]) }
    actions.removeAll(keepingCapacity: true)
    swap(&actions, &self.actions)
  }

  /// Replies wait in the outbox while a burst is read. The hub writes past the outbox, so it is emptied before the hub
  /// gets to write anything that a reply has to come before.
  private func perform(_ action: SessionAction) {
    switch action {
    case .send(let reply): if !isGone { outbox.append(reply) }
    case .close(let code):
      flush()
      if let cause = RefusalCause.closing(code) { host.note(cause, from: self) }
      if !isGone { transport.close(code) }
    case .request(let tag, let request): host.request(request, tag: tag, terms: nil, from: self)
    case .subscribe(let tag, let request, let terms):
      host.request(.subscribe(request), tag: tag, terms: terms, from: self)
    case .checkConnectionToken(let tag, let token): begin(.connection(tag: tag, token: token))
    case .checkSubscriptionToken(let tag, let token): begin(.subscription(tag: tag, token: token))
    case .checkPlaceToken(let tag, let token): begin(.place(tag: tag, token: token))
    case .askBackend(let tag, let question): askBackend(tag, question)
    case .openPoll(let tag, let channel): feed(.pollOpened(tag: tag, epoch: host.openPoll(channel)))
    case .track(let tag, let ask): feed(.tracked(tag: tag, host.track(ask, for: self)))
    case .untrack(let channel, let number, let keys): host.untrack(keys, number, of: channel, for: self)
    case .leavePoll(let channel, let number): host.leavePoll(channel, number, for: self)
    case .note(let cause): host.note(cause, from: self)
    case .signInRefused(let cause, let reason): host.signInRefused(cause, reason, user: user, self)
    case .introduced(let name, let version): software = host.softwareNumber(of: name, version)
    case .attach(let channel, let flags, let filters):
      flush()
      host.attach(self, to: channel, flags, filters)
    case .detach(let channel): host.detach(self, from: channel)
    case .covers(let channel, let start): host.covers(self, channel, start)
    case .uncovers(let channel, let end): host.uncovers(self, channel, end)
    case .coverageRefused(let channel, let end): host.coverageRefused(self, channel, end)
    case .releaseHeld:
      flush()
      host.releaseHeld(for: self)
    case .discardHeld: host.discardHeld(for: self)
    }
  }

  func flush() {
    guard !outbox.isEmpty, !isGone else { return }
    let replies = outbox
    outbox = []
    transport.send(ClientCodec.frame(for: replies, format: format))
  }

  private func synchronizeReading() {
    let pauses = isInputHeld || !session.wantsInput
    guard pauses != isPaused, session.phase != .closed else { return }
    isPaused = pauses
    if pauses { transport.pauseReading() } else { transport.resumeReading() }
  }

  // MARK: Time

  private func synchronizeTimer() {
    guard let due = session.nextDeadline else {
      timer?.cancel()
      timer = nil
      timerDue = .max
      return
    }
    guard due < timerDue else { return }
    timer?.cancel()
    timerDue = due
    let (left, overflow) = due.subtractingReportingOverflow(host.time.monotonic)
    // A far deadline is looked at again in a day.
    let delay = overflow ? 86_400_000 : min(max(left, 0), 86_400_000)
    timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) { [weak self] in self?.timerFired() }
  }

  private func timerFired() {
    timer = nil
    timerDue = .max
    if let due = session.nextDeadline, due <= host.time.monotonic {
      if session.wantsProgress(at: host.time.monotonic), !isGone, let progress = transport.progress {
        feed(.peerTook(progress))
      }
      feed(.deadline)
    } else {
      synchronizeTimer()
    }
  }
}
