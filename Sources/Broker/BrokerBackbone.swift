import Apps
public import Log
import Logging
public import Wire
public import ZeroMQ

/// Where the broker listens.
public struct BrokerEndpoints: Sendable {
  /// Where gateways connect: `ipc://…` or `tcp://…` (with CURVE) for the command `broker`, `inproc://…` where `serve`
  /// is configured so; nil: the only gateway is in this process, at the other end of a ``MemoryPipe``.
  public var backbone: String?
  /// The broker's side of CURVE on the backbone; nil on inproc and ipc.
  public var curve: Curve.Role?
  /// Where services send commands (ROUTER), and where they listen to publications (XPUB). Nil where services are off;
  /// without the first they listen alone.
  public var commands: String?
  public var tap: String?
  public var commandsAccess = ServiceAccess.everything
  public var tapAccess = ServiceAccess.everything
  /// Largest frame that a service may send, in bytes.
  public var maximumServiceMessageBytes: Int64

  public init(backbone: String?, maximumServiceMessageBytes: Int64) {
    self.backbone = backbone
    self.maximumServiceMessageBytes = maximumServiceMessageBytes
  }
}

/// The broker's input and output, as a participant of the loop: gives ``BrokerCore`` what comes in from pipes, sockets
/// and mailboxes, and performs its effects. It decides nothing. Everything here runs in the loop's turn; sockets are
/// touched on the loop's thread alone.
public final class BrokerBackbone: BackboneParticipant {
  let core: BrokerCore
  unowned let loop: BackboneLoop
  /// Nil where the only gateway is in this process.
  private let backbone: BackboneRouter?
  private let pipe: MemoryPipe?
  private let services: ServiceEndpoint?
  /// Nil where nobody in this process asks in a service's name.
  private let desk: ServiceDesk?
  /// What was asked at the desk while requests were not taken in. Bounded by what the desk lets wait.
  private var held: [ServiceDesk.Inquiry] = []
  private let finder: (any MessageFinder)?
  /// Other parts of the server that keep something of users, each with a function that forgets them and then says on any
  /// thread whether it has.
  private let otherPlaces: [OtherPlace]
  private let forgotten = Mailbox<Bool>(capacity: .max)  // One batch of deletions waits for them at a time.
  /// Reads pictures for exports; nil: this process reaches none.
  private let pictures: PictureSource?
  private let picturesRead = Mailbox<PictureRead>(capacity: .max)  // Bounded by the looks that may be under way.
  /// Nil where no part of this process sends notifications.
  let notifier: (any Notifier)?
  let notified = Mailbox<NotifierAnswer>(capacity: .max)  // Bounded by the requests that may be under way.
  private let audit: Audit
  private let searches = Mailbox<SearchAnswer>(capacity: .max)  // Bounded by what the finder takes.
  /// Nil where no webhook is configured.
  private let poster: (any WebhookPoster)?
  private let webhookAnswers = Mailbox<WebhookAnswer>(capacity: .max)  // Bounded: one request of each webhook.
  private let logger: Logger
  var turn: Turn
  /// Effects that are being performed; empty at all other times.
  private var performing: [BrokerEffect] = []
  /// Effects for sockets that were decided while another thread had the turn than the sockets' own.
  private var outbox: [BrokerEffect] = []
  private var registration: Poller.Registration?
  private var isPaused = false
  /// When the core ticks next at the latest, in nanoseconds of `MonotonicClock`; 0: in this round.
  var nextTick: UInt64 = 0
  private var reported = BrokerCounters()
  private var metrics: BrokerMetrics
  let clock: @Sendable () -> BrokerTime
  /// Called once a minute with the time in milliseconds since 1970, for upkeep outside the core.
  public var everyMinute: ((Int64) -> Void)?
  /// The data folder's lock where the log, which stands elsewhere, does not hold it.
  public var folderLock: DataFolderLock?
  private var lastMinute: Int64 = 0
  /// The time of the last upkeep, in milliseconds since 1970.
  private var lastUpkeep: Int64 = 0

  /// Builds the sockets; call it on the loop's thread.
  ///
  /// - Parameters:
  ///   - router: for gateways in other processes, where it is open already; nil: it is opened now.
  ///   - pipe: to the gateway of this process; nil: there is none, or it connects to the endpoint as others do.
  ///   - completions: mailbox into which the log's writer thread posts what became of entries.
  ///   - news: mailbox into which a store posts that it has something to tell.
  ///   - resumptions: mailbox into which whoever provides what an app's commands wait for posts that it is there.
  ///   - desk: where other parts of this process ask in a service's name; closed with the loop.
  ///   - finder: finds messages; closed with the loop. Nil: searches are refused.
  ///   - poster: sends events to webhooks' receivers; closed with the loop. Nil where none is configured.
  ///   - otherPlaces: what else keeps something of users, and forgets them when their data is deleted.
  ///   - pictures: reads pictures for exports; nil: there are none that this process reaches.
  ///   - notifier: sends notifications to devices; closed with the loop.
  ///   - clock: what time it is.
  public init(
    core: BrokerCore, endpoints: BrokerEndpoints, router: BackboneRouter? = nil, pipe: MemoryPipe? = nil,
    context: Context, loop: BackboneLoop,
    completions: Mailbox<[LogCompletion]>, news: Mailbox<StoreHasNews>,
    resumptions: Mailbox<AppResumption>? = nil, desk: ServiceDesk? = nil, finder: (any MessageFinder)? = nil,
    poster: (any WebhookPoster)? = nil, otherPlaces: [OtherPlace] = [], pictures: PictureSource? = nil,
    notifier: (any Notifier)? = nil,
    clock: @escaping @Sendable () -> BrokerTime = BrokerTime.ofMachine, audit: Audit = .none, logger: Logger
  ) throws {
    self.core = core
    metrics = BrokerMetrics(memoryLimit: core.configuration.memoryBytes)
    self.clock = clock
    turn = Turn(at: clock())
    self.finder = finder
    self.poster = poster
    self.otherPlaces = otherPlaces
    self.pictures = pictures
    self.notifier = notifier
    self.desk = desk
    self.loop = loop
    self.logger = logger
    self.audit = audit
    self.pipe = pipe
    backbone = try router ?? BackboneRouter(endpoints, in: context)
    services = try ServiceEndpoint(
      endpoints, admission: ServiceAdmission(namespaces: core.configuration.namespaces), context: context,
      logger: logger, audit: audit,
      noteRefusal: { core.tally.refusedService($0, from: $1) })
    if let backbone { registration = loop.watch(backbone.socket, for: self) { broker, _ in broker.readBackbone() } }
    if let services { watch(services) }
    loop.receive(from: completions, for: self, anywhere: { _, _ in true }) { broker, completions in
      broker.complete(completions)
    }
    loop.receive(from: news, for: self, anywhere: { _, _ in true }) { broker, _ in broker.takeNews() }
    loop.receive(from: searches, for: self) { broker, answer in broker.searched(answer) }
    loop.receive(from: webhookAnswers, for: self) { broker, answer in broker.answered(answer) }
    loop.receive(from: forgotten, for: self) { broker, isDone in broker.forgot(isDone) }
    loop.receive(from: picturesRead, for: self) { broker, read in broker.take(read) }
    loop.receive(from: notified, for: self) { broker, answer in broker.take(answer) }
    if let desk {
      loop.receive(from: desk.inquiries, for: self, anywhere: { _, _ in true }) { broker, inquiries in
        broker.serve(inquiries)
      }
    }
    if let resumptions { loop.receive(from: resumptions, for: self) { broker, news in broker.resume(news) } }
    pauseOrResume()
  }

  /// Where services reach the broker, with the port that the system chose where port 0 was configured.
  public var serviceEndpoints: (commands: String?, tap: String?)? {
    services.map { ($0.commands?.endpoint, $0.tap?.endpoint) }
  }

  /// Where gateways reach the broker, with the port that the system chose; nil where the only one is in this process.
  public var backboneEndpoint: String? { backbone?.endpoint }

  // MARK: In

  private func watch(_ services: ServiceEndpoint) {
    if let commands = services.commands {
      services.registration = loop.watch(commands.socket, for: self) { broker, _ in broker.readCommands() }
    }
    guard let tap = services.tap else { return }
    loop.watch(tap.socket, for: self) { broker, _ in services.readSubscriptions(limit: broker.loop.messagesPerRound) }
  }

  /// Reads what the gateway of this process has sent over the pipe.
  ///
  /// - Returns: true where anything was read.
  public func exchange() -> Bool {
    guard let pipe, !isPaused, !pipe.toBroker.isEmpty else { return false }
    turn.time = clock()
    var room = core.stores.bytesOfRoom
    var left = loop.messagesPerRound
    while left > 0, room > 0, let message = pipe.takeForBroker() {
      left -= 1
      room -= BackboneInbox.messageCost + message.cost
      core.receive(message, from: pipe.gateway, in: &turn)
    }
    perform()
    return left < loop.messagesPerRound
  }

  private func readBackbone() {
    guard let backbone else { return }
    turn.time = clock()
    do {
      try backbone.read(limit: loop.messagesPerRound, bytes: core.stores.bytesOfRoom) { message, gateway in
        core.receive(message, from: gateway, in: &turn)
      }
    } catch {
      loop.fail(error)
    }
    perform()
  }

  private func readCommands() {
    guard let services else { return }
    turn.time = clock()
    do {
      try services.readCommands(limit: loop.messagesPerRound, bytes: core.stores.bytesOfRoom) { request, tag, context in
        core.serve(request, for: tag, under: context, in: &turn)
      }
    } catch {
      loop.fail(error)
    }
    perform()
  }

  /// Serves what was asked at the desk, as long as requests are taken in at all.
  private func serve(_ inquiries: [ServiceDesk.Inquiry]) {
    turn.time = clock()
    for (place, inquiry) in inquiries.enumerated() {
      if isPaused || core.shouldPauseIngress {
        held += inquiries[place...]
        break
      }
      core.serve(inquiry.request, for: inquiry.tag, under: inquiry.context, in: &turn)
    }
    perform()
  }

  private func serveHeld() {
    if held.isEmpty { return }
    let inquiries = held
    held = []
    serve(inquiries)
  }

  private func complete(_ completions: [LogCompletion]) {
    turn.time = clock()
    core.complete(completions, in: &turn)
    perform()
  }

  private func searched(_ answer: SearchAnswer) {
    turn.time = clock()
    core.searched(answer.found, of: answer.user, for: answer.requester, in: &turn)
    perform()
  }

  private func answered(_ answer: WebhookAnswer) {
    turn.time = clock()
    core.answered(answer, in: &turn)
    perform()
  }

  private func forgot(_ isDone: Bool) {
    turn.time = clock()
    core.forgotElsewhere(isDone: isDone, in: &turn)
    perform()
  }

  private func take(_ read: PictureRead) {
    turn.time = clock()
    core.pictureRead(read.result, for: read.look, in: &turn)
    perform()
  }

  private func resume(_ news: AppResumption) {
    turn.time = clock()
    core.resume(news.app, error: news.error, in: &turn)
    perform()
  }

  private func takeNews() {
    turn.time = clock()
    core.takeNews(in: &turn)
    if let reason = core.startFailure { loop.fail(LogError.failed(reason)) }
    perform()
  }

  // MARK: Out

  func perform() {
    while !turn.effects.isEmpty {
      // The two arrays are swapped and keep their memory: a round has some thousand effects, and asking for memory for
      // them each time costs too much.
      swap(&turn.effects, &performing)
      for index in performing.indices { perform(performing[index]) }
      performing.removeAll(keepingCapacity: performing.count <= Self.effectsKept)
      for gateway in backbone?.takeFailed() ?? [] { core.sendFailed(to: gateway, in: &turn) }
    }
    pauseOrResume()
  }

  /// While reading is paused, nanoseconds between two looks whether it may go on.
  private static let pauseLook: UInt64 = 5_000_000

  /// Effects for which the arrays keep room after a round that had more.
  private static let effectsKept = 16_384

  private func perform(_ effect: BrokerEffect) {
    switch effect {
    case .send(let gateway, let message):
      if let pipe, pipe.gateway == gateway { return pipe.sendToGateway(message) }
      performOnThread(effect)
    case .search(let search, let requester): self.search(search, for: requester)
    case .post(let post): self.post(post)
    case .forget(let users): forget(users)
    case .readPicture(let part, let look): read(part, for: look)
    case .notify(let request, let number): notify(request, number)
    case .push(let send): push(send)
    case .tap(let channel, _, let publication):
      if let desk, desk.isTapped { desk.tell(publication, on: channel) }
      if services?.isTapped ?? false { performOnThread(effect) }
    case .answer(let tag, let response) where ServiceDesk.isOwn(tag): desk?.answer(tag, response)
    case .broadcast, .answer: performOnThread(effect)
    }
  }

  /// Sockets may be used on the loop's thread alone. On another thread the effect is put aside until the loop's thread
  /// has the turn; effects that were put aside go first, so that all keep their order.
  private func performOnThread(_ effect: BrokerEffect) {
    guard loop.isOnThread else {
      outbox.append(effect)
      return loop.wake()
    }
    if !outbox.isEmpty { emptyOutbox() }
    send(effect)
  }

  private func emptyOutbox() {
    for effect in outbox { send(effect) }
    outbox.removeAll(keepingCapacity: outbox.count <= Self.effectsKept)
  }

  private func send(_ effect: BrokerEffect) {
    switch effect {
    case .send(let gateway, let message): backbone?.send(message, to: gateway)
    case .broadcast(let targets, let body):
      do { try backbone?.broadcast(body, to: targets) } catch { loop.fail(error) }
    case .tap(let channel, let epoch, let publication): services?.tap(channel, epoch, publication)
    case .answer(let tag, let response): services?.answer(tag, response)
    case .search, .post, .forget, .readPicture, .notify, .push: break  // Go to no socket of this loop.
    }
  }

  private func post(_ post: WebhookPost) {
    let answers = webhookAnswers
    guard let poster else {
      let result = WebhookAnswer.Result.failed("this process sends no events to webhooks")
      _ = answers.post(WebhookAnswer(webhook: post.webhook, number: post.number, result: result))
      return
    }
    poster.post(post) { answer in _ = answers.post(answer) }
  }

  private func search(_ search: MessageSearch, for requester: Requester) {
    let searches = searches
    guard let finder else {
      _ = searches.post(SearchAnswer(found: nil, user: search.user, requester: requester))
      return
    }
    finder.search(search) { found in
      _ = searches.post(SearchAnswer(found: found, user: search.user, requester: requester))
    }
  }

  private func forget(_ users: [String]) {
    let (forgotten, logger) = (forgotten, logger)
    let progress = ForgettingProgress(count: otherPlaces.count)
    if otherPlaces.isEmpty { _ = forgotten.post(true) }
    for place in otherPlaces {
      place(users) { failure in
        if let failure { logger.warning("users whose data is deleted are not forgotten everywhere yet: \(failure)") }
        if let isDone = progress.note(failure == nil) { _ = forgotten.post(isDone) }
      }
    }
  }

  private func read(_ part: PicturePart, for look: UInt64) {
    let picturesRead = picturesRead
    guard let pictures else {
      let sentence = "this broker reaches no pictures: switch the apps State and Clique on in its configuration"
      _ = picturesRead.post(PictureRead(look: look, result: .failure(.unavailable(sentence))))
      return
    }
    pictures(part) { _ = picturesRead.post(PictureRead(look: look, result: $0)) }
  }

  /// While too much waits for the log, requests stay in their pipes: gateways and services feel it there, and nothing
  /// piles up here.
  private func pauseOrResume() {
    let shouldPause = isPaused ? !core.mayResumeIngress : core.shouldPauseIngress
    if shouldPause != isPaused {
      isPaused = shouldPause
      let events: Poller.Events = shouldPause ? [] : .input
      if let registration { loop.setEvents(events, for: registration) }
      if let registration = services?.registration { loop.setEvents(events, for: registration) }
    }
    if !isPaused { serveHeld() }
  }

  public func tick(now: UInt64) -> UInt64? {
    let time = clock()
    // For relaxed publications the store reports no completion, so the broker looks whether they are on disk.
    if isPaused { pauseOrResume() }
    let deadline = core.nextDeadline(at: time) ?? .max
    // The effects of a tick are for sockets too, so only the loop's thread ticks the core.
    guard loop.isOnThread else { return wakeUp(by: deadline) }
    if !outbox.isEmpty { emptyOutbox() }
    guard now >= nextTick || time.monotonic >= deadline else { return wakeUp(by: deadline) }
    if now >= nextTick {
      nextTick = now + UInt64(max(50, core.configuration.heartbeatInterval / 2)) * 1_000_000
    }
    turn.time = time
    core.tick(ingressPaused: isPaused, in: &turn)
    perform()
    report()
    let isMinuteOver = time.monotonic - lastMinute >= 60_000
    if isMinuteOver { lastMinute = time.monotonic }
    // Keys are made for hours ahead, so that a clock which steps ahead needs some at once.
    if isMinuteOver || time.wall - lastUpkeep >= 60_000 {
      lastUpkeep = time.wall
      everyMinute?(time.wall)
    }
    for line in core.tally.takeRefusals(isMinuteOver: isMinuteOver) { line.tell(logger) }
    return wakeUp(by: core.nextDeadline(at: time) ?? .max)
  }

  private func wakeUp(by deadline: Int64) -> UInt64 {
    if isPaused { return min(nextTick, MonotonicClock.now() + Self.pauseLook) }
    return deadline < Int64(nextTick / 1_000_000) ? UInt64(max(0, deadline)) * 1_000_000 : nextTick
  }

  /// Updates the metrics, and logs what an operator should hear of when it happens and not only find in a metric.
  private func report() {
    let counters = core.counters
    metrics.update(from: reported, to: counters, pendingBytes: core.pendingBytes)
    metrics.update(core.tally.namespaces.values)
    metrics.update(
      memoryBytes: core.channels.memoryUse, channels: core.channels.count, gateways: core.links.count,
      orders: core.orders.count, revocations: core.revocations?.table.count ?? 0)
    if counters.linkResets > reported.linkResets || counters.gatewaysForgotten > reported.gatewaysForgotten {
      logger.notice(
        "links to gateways changed",
        metadata: [
          "resets": "\(counters.linkResets)", "gaps": "\(counters.linkGaps)",
          "forgotten": "\(counters.gatewaysForgotten)", "refilled": "\(counters.channelsRefilled)",
          "lost": "\(counters.channelsLost)",
        ])
    }
    if counters.unreadableHellos > reported.unreadableHellos {
      logger.warning("a gateway of another version asked to be taken in; run one version of Fanfare on both sides")
    }
    if counters.misplacedHellos > reported.misplacedHellos {
      logger.warning(
        """
        a gateway takes this broker for the one of another partition; cluster.partitions has to be the same for gateways \
        and brokers, and backbone.brokers has to name each broker's first endpoint
        """,
        metadata: ["partition": "\(core.configuration.partition)"])
    }
    reported = counters
    metrics.update(core.webhookStatuses)
    if let notices = core.noticeStatus { metrics.update(notices) }
    for note in core.webhooks?.takeNotes() ?? [] { WebhookLog.tell(note, logger) }
    for note in core.takeAccountNotes() { audit.note(.deletion, note.fields) }
  }

  /// Ends the broker. When this returns, all that the log took is on disk.
  public func close() {
    // First of all: another broker may stand in line for the log.
    core.close()
    finder?.close()
    poster?.close()
    notifier?.close()
    desk?.close()
  }
}

/// A store has something to tell (``BrokerCore/takeNews(in:)``).
public struct StoreHasNews: Sendable {
  public init() {}
}

/// Says that what an app's commands were put aside for is there, or will not come.
public struct AppResumption: Sendable {
  public var app: String
  /// The error with which the commands are answered; nil: they are run again.
  public var error: ClientError?

  public init(app: String, error: ClientError? = nil) {
    self.app = app
    self.error = error
  }
}
