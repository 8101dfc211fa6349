internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Wire

/// A client of Fanfare's WebSocket endpoint: Protobuf over the Centrifuge client protocol, version 2.
///
///     let client = try RealtimeClient(url: "ws://127.0.0.1:8000/connection/websocket", token: token)
///     try await client.connect()
///     let news = try await client.subscribe("news", .init(recoverable: true))
///     for await case .publication(let publication) in news.events { print(publication.offset) }
///
/// It reconnects by itself with a random, growing delay, subscribes again and recovers what was missed. A connection
/// that ends for good (``disconnect()``, a final code from the server) ends its subscriptions too.
///
/// The actor runs on one event loop, the one of its socket: decisions are ``ClientMachine``'s, what comes from the
/// socket reaches it without a hop.
public actor RealtimeClient {
  /// What happens on server-side subscriptions, for one reader.
  public nonisolated let serverEvents: EventSequence<ServerEvent>

  nonisolated let options: Options
  nonisolated let endpoint: Endpoint
  let eventLoop: any EventLoop
  private let executor: any SerialExecutor
  private nonisolated let network: Network
  private let serverEventQueue: EventQueue<ServerEvent>
  private var missedServerEvents = 0

  var machine: ClientMachine
  private var transport: (any Transport)?
  private var timers: [ClientTimer: Scheduled<Void>] = [:]
  private var subscriptions: [SubscriptionID: Reader] = [:]
  private var lastID: UInt64 = 0
  var calls: [CallID: CheckedContinuation<Result<CallAnswer, RealtimeError>, Never>] = [:]
  private var connecting: [CheckedContinuation<Result<Void, RealtimeError>, Never>] = []
  private var connectionState: ConnectionState?
  private var stateStreams: [UInt64: AsyncStream<ConnectionState>.Continuation] = [:]
  /// Tokens that are being asked for, and until when.
  private var fetches: [TokenRequest: (Task<Void, Never>, Scheduled<Void>)] = [:]
  /// The newest token of the connection, which requests over HTTP carry too.
  var token: String

  /// Who reads what a subscription brings.
  private enum Reader {
    case stream(EventQueue<SubscriptionEvent>, SubscriptionOptions)
    case map(any MapKeeper, channel: String, SubscriptionOptions)

    var options: SubscriptionOptions {
      switch self {
      case .stream(_, let options), .map(_, _, let options): options
      }
    }
  }

  /// The event loop of the client's socket.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    // The reference is unowned: `executor` lives as long as the actor.
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Does not connect yet.
  ///
  /// - Parameters:
  ///   - url: such as `ws://127.0.0.1:8000/connection/websocket`.
  ///   - token: the connection token; empty for an anonymous connection, or where there is a token provider.
  /// - Throws: ``RealtimeError/invalidURL(_:)``, ``RealtimeError/tls(_:)``.
  public init(url: String, token: String = "", options: Options = .init()) throws(RealtimeError) {
    endpoint = try Endpoint(url)
    self.options = options
    self.token = token
    eventLoop = (options.eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton).next()
    executor = eventLoop.executor
    network = try Network(endpoint, options)
    serverEventQueue = EventQueue(limit: options.maximumWaitingBytes)
    serverEvents = EventSequence(serverEventQueue)
    machine = ClientMachine(
      .init(
        name: options.name, version: options.version, data: options.data, token: token,
        hasTokenProvider: options.tokenProvider != nil, timeout: options.timeout,
        maximumPingDelay: options.maximumPingDelay, backoff: options.backoff,
        maximumReconnectAttempts: options.maximumReconnectAttempts, maximumCalls: options.maximumCalls,
        maximumQueuedCalls: options.maximumQueuedCalls, maximumQueuedBytes: options.maximumQueuedBytes,
        maximumQueuedTime: options.maximumQueuedTime, random: options.random))
  }

  deinit {
    for timer in timers.values { timer.cancel() }
    for (task, deadline) in fetches.values {
      task.cancel()
      deadline.cancel()
    }
    for reader in subscriptions.values { if case .stream(let queue, _) = reader { queue.finish() } }
    serverEventQueue.finish()
    for stream in stateStreams.values { stream.finish() }
  }

  // MARK: Connection

  /// Connects, and returns once connected. Tries again until then; throws once the connection has ended for good.
  public func connect() async throws(RealtimeError) {
    if case .connected = connectionState { return }
    let result = await withCheckedContinuation { continuation in
      connecting.append(continuation)
      feed(.connect)
    }
    try result.get()
  }

  /// Ends the connection and its subscriptions, and what waits for it. ``connect()`` begins another.
  public func disconnect() { feed(.disconnect) }

  /// The states from now on, beginning with the one at hand. A reader that is late misses the oldest beyond 64.
  public func states() -> AsyncStream<ConnectionState> {
    let (stream, continuation) = AsyncStream.makeStream(of: ConnectionState.self, bufferingPolicy: .bufferingNewest(64))
    let id = makeID()
    if let connectionState { continuation.yield(connectionState) }
    stateStreams[id] = continuation
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      Task { await self.forgetStateStream(id) }
    }
    return stream
  }

  private func forgetStateStream(_ id: UInt64) { stateStreams[id] = nil }

  /// One's own user id: that of the options, or the one that the token names; nil while neither is known.
  public var user: String? { options.user ?? TokenClaims.user(of: token) }

  /// How many calls that are kept wait for a connection or an answer: what "not sent yet" shows.
  public var waitingCalls: Int { machine.queuedCalls }

  // MARK: Subscriptions

  /// Subscribes, now or as soon as connected. The first events tell how it went.
  public func subscribe(
    _ channel: String, _ options: SubscriptionOptions = .init()
  ) throws(RealtimeError) -> Subscription {
    let name = try freeName(channel)
    let id = makeID()
    let queue = EventQueue<SubscriptionEvent>(limit: options.maximumWaitingBytes)
    subscriptions[id] = .stream(queue, options)
    feed(.subscribe(id, name, options))
    return Subscription(id: id, channel: channel, client: self, events: EventSequence(queue))
  }

  /// Subscribes to a map channel, now or as soon as connected, and keeps what it holds in step.
  public func map<Value: Decodable & Sendable>(
    _ channel: String, of type: Value.Type = Value.self, _ options: MapOptions = .init()
  ) throws(RealtimeError) -> MapSubscription<Value> {
    let name = try freeName(channel)
    let id = makeID()
    let box = MapBox<Value>(order: options.order, isReversed: options.reversed)
    var asked = SubscriptionOptions(
      filter: options.filter, token: options.token, tokenProvider: options.tokenProvider)
    asked.map = MapReadOptions(
      pageSize: options.pageSize, isReversed: options.reversed, maximumEntries: options.maximumEntries)
    subscriptions[id] = .map(box, channel: channel, asked)
    feed(.subscribe(id, name, asked))
    return MapSubscription(id: id, channel: channel, client: self, box: box)
  }

  /// The subscription to a map that there is, or a new one.
  func sharedMap<Value: Decodable & Sendable>(
    _ channel: String, of type: Value.Type, _ options: MapOptions
  ) throws(RealtimeError) -> MapSubscription<Value> {
    for (id, reader) in subscriptions {
      if case .map(let box as MapBox<Value>, let name, _) = reader, name.hasSameBytes(as: channel) {
        return MapSubscription(id: id, channel: channel, client: self, box: box)
      }
    }
    return try map(channel, of: type, options)
  }

  /// What a map holds to which there is a subscription; nil: there is none, or of other values.
  func heldMap<Value: Decodable & Sendable>(_ channel: String, of type: Value.Type) -> MapView<Value>? {
    for case .map(let box as MapBox<Value>, let name, _) in subscriptions.values where name.hasSameBytes(as: channel) {
      return box.view
    }
    return nil
  }

  private func freeName(_ channel: String) throws(RealtimeError) -> ChannelName {
    let name: ChannelName
    do { name = try ChannelName(channel, limit: .max) } catch { throw .invalidChannel(error) }
    if machine.hasSubscription(to: name) { throw .alreadySubscribed(channel: channel) }
    return name
  }

  func unsubscribe(_ id: SubscriptionID) { feed(.unsubscribe(id)) }

  func makeID() -> UInt64 {
    lastID &+= 1
    return lastID
  }

  // MARK: Effects

  /// Inputs that came while effects were performed, in order.
  private var inputs: [Input] = []
  private var isPerforming = false

  /// The one way into the machine. An effect may bring another input at once (a queue that overflows): it waits until
  /// the effects before it are done.
  func feed(_ input: Input) {
    inputs.append(input)
    guard !isPerforming else { return }
    isPerforming = true
    while !inputs.isEmpty {
      for effect in machine.handle(inputs.removeFirst()) { perform(effect) }
    }
    isPerforming = false
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .open(let attempt): open(attempt)
    case .close:
      transport?.close()
      transport = nil
    case .send(let command): transport?.send(command)
    case .start(let timer, let duration): start(timer, duration)
    case .stop(let timer): timers.removeValue(forKey: timer)?.cancel()
    case .fetchToken(let request): fetchToken(request)
    case .state(let state): enter(state)
    case .event(let id, let event): deliver(event, to: id)
    case .contents(let id, let contents):
      if case .map(let keeper, _, _) = subscriptions[id] { keeper.take(contents) }
    case .serverEvent(let event): deliver(event)
    case .complete(let id, let result):
      calls.removeValue(forKey: id)?.resume(returning: result.map(CallAnswer.reply))
    case .witnessed(let id, let offset):
      calls.removeValue(forKey: id)?.resume(returning: .success(.witnessed(offset: offset)))
    }
  }

  private func open(_ attempt: UInt64) {
    let transport = network.transport(on: eventLoop)
    self.transport = transport
    transport.open { [weak self] event in
      self?.assumeIsolated { $0.feed(.transport(attempt: attempt, event)) }
    }
  }

  private func start(_ timer: ClientTimer, _ duration: Duration) {
    timers[timer]?.cancel()
    timers[timer] = eventLoop.scheduleTask(in: TimeAmount(duration)) { [weak self] in
      self?.assumeIsolated {
        $0.timers[timer] = nil
        $0.feed(.elapsed(timer))
      }
    }
  }

  private func enter(_ state: ConnectionState) {
    connectionState = state
    for stream in stateStreams.values { stream.yield(state) }
    let result: Result<Void, RealtimeError>
    switch state {
    case .connected: result = .success(())
    case .disconnected(let code, willReconnect: false): result = .failure(.disconnected(code))
    case .connecting, .disconnected: return
    }
    let waiting = connecting
    connecting = []
    for continuation in waiting { continuation.resume(returning: result) }
  }

  private func deliver(_ event: SubscriptionEvent, to id: SubscriptionID) {
    let isLast = if case .unsubscribed = event { true } else { false }
    switch subscriptions[id] {
    case nil: return
    case .map(let keeper, _, _):
      keeper.handle(event)
      if isLast { subscriptions[id] = nil }
    case .stream(let queue, _) where isLast:
      queue.finish(with: event)
      subscriptions[id] = nil
    case .stream(let queue, _):
      if queue.push(event) { return }
      // Nothing that comes after the event that did not fit may be delivered: the reader would not see the gap.
      subscriptions[id] = nil
      queue.finish(with: .unsubscribed(LocalCode.slowConsumer))
      feed(.overflowed(id))
    }
  }

  private func deliver(_ event: ServerEvent) {
    if missedServerEvents > 0, serverEventQueue.push(.missed(missedServerEvents)) { missedServerEvents = 0 }
    if missedServerEvents > 0 || !serverEventQueue.push(event) { missedServerEvents += 1 }
  }
}

// MARK: Tokens

extension RealtimeClient {
  private func fetchToken(_ request: TokenRequest) {
    let provider: (@Sendable () async throws -> String)?
    let isOfConnection: Bool
    switch request {
    case .connect, .refresh: (provider, isOfConnection) = (options.tokenProvider, true)
    case .subscribe(let id, _), .subscriptionRefresh(let id, _):
      (provider, isOfConnection) = (subscriptions[id]?.options.tokenProvider, false)
    }
    guard let provider else { return feed(.token(request, .refused)) }
    let task = Task { [weak self] in
      let outcome = await Self.outcome(of: provider)
      await self?.fetched(outcome, for: request, isOfConnection: isOfConnection)
    }
    let deadline: Scheduled<Void> = eventLoop.scheduleTask(in: TimeAmount(options.tokenTimeout)) { [weak self] in
      self?.assumeIsolated { $0.tokenIsLate(for: request) }
    }
    fetches[request] = (task, deadline)
  }

  private func tokenIsLate(for request: TokenRequest) {
    guard let (task, _) = fetches.removeValue(forKey: request) else { return }
    task.cancel()
    feed(.token(request, .failed))
  }

  private static func outcome(of provider: @Sendable () async throws -> String) async -> TokenOutcome {
    do { return .token(try await provider()) } catch is TokenRefused { return .refused } catch { return .failed }
  }

  private func fetched(_ outcome: TokenOutcome, for request: TokenRequest, isOfConnection: Bool) {
    guard let (_, deadline) = fetches.removeValue(forKey: request) else { return }
    deadline.cancel()
    if isOfConnection, case .token(let token) = outcome, !token.isEmpty { self.token = token }
    feed(.token(request, outcome))
  }

  /// A token for a request over HTTP.
  ///
  /// - Parameter refused: the last one, which the server did not take: another is asked for.
  func httpToken(insteadOf refused: String?) async -> String {
    guard let provider = options.tokenProvider, token.isEmpty || token == refused else { return token }
    if case .token(let token) = await Self.outcome(of: provider), !token.isEmpty { self.token = token }
    return token
  }

  /// A way for requests over HTTP.
  nonisolated func http() -> any HTTPExchanging { network.http }
}
