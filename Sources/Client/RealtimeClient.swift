public import NIOCore
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
  public struct Options: Sendable {
    /// Told to the server, for its logs.
    public var name = "fanfare-swift"
    public var version = ""
    /// Sent with the connect command.
    public var data: [UInt8] = []
    /// Beside those of the WebSocket, in the upgrade request.
    public var headers: [(String, String)] = []
    /// Gives the connection token, at first and whenever it has expired. Throw ``TokenRefused`` to end the connection.
    public var tokenProvider: (@Sendable () async throws -> String)?
    /// How long connecting may take, and the answer to each command.
    public var timeout = Duration.seconds(5)
    /// How much later than announced the server's ping may come.
    public var maximumPingDelay = Duration.seconds(10)
    public var backoff = Backoff()
    /// Failures in a row after which the client gives up; nil: never, 0: it does not reconnect.
    public var maximumReconnectAttempts: Int?
    /// Operations that may wait for their answers at a time; one more fails with
    /// ``RealtimeError/tooManyCalls(limit:)``.
    public var maximumCalls = 1024
    /// Largest message taken from the server, in bytes: a recovery of 300 publications of 64 KiB is 19 MiB.
    public var maximumMessageBytes = 32 << 20
    /// Most bytes of ``RealtimeClient/serverEvents`` that wait to be read. The newest are dropped beyond it, and
    /// ``ServerEvent/missed(_:)`` tells how many.
    public var maximumWaitingBytes = 4 << 20
    /// Makes the TLS handler of a channel, for `wss:` addresses.
    public var tls: (@Sendable (any Channel) throws -> any ChannelHandler)?
    /// Where the client runs; nil: on the process's shared threads.
    public var eventLoopGroup: (any EventLoopGroup)?
    /// Randomness of the delays, in 0..<1.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    public init() {}
  }

  /// What happens on server-side subscriptions, for one reader.
  public nonisolated let serverEvents: EventSequence<ServerEvent>

  private let options: Options
  private let eventLoop: any EventLoop
  private let executor: any SerialExecutor
  private let transportConfiguration: WebSocketTransport.Configuration
  private let serverEventQueue: EventQueue<ServerEvent>
  private var missedServerEvents = 0

  private var machine: ClientMachine
  private var transport: WebSocketTransport?
  private var timers: [ClientTimer: Scheduled<Void>] = [:]
  private var subscriptions: [SubscriptionID: (queue: EventQueue<SubscriptionEvent>, options: SubscriptionOptions)] =
    [:]
  private var lastID: UInt64 = 0
  private var calls: [CallID: CheckedContinuation<Result<ClientReply, RealtimeError>, Never>] = [:]
  private var connecting: [CheckedContinuation<Result<Void, RealtimeError>, Never>] = []
  private var state: ConnectionState?
  private var stateStreams: [UInt64: AsyncStream<ConnectionState>.Continuation] = [:]

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    // The reference is unowned: `executor` lives as long as the actor.
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Does not connect yet.
  ///
  /// - Parameters:
  ///   - url: such as `ws://127.0.0.1:8000/connection/websocket`.
  ///   - token: the connection token; empty for an anonymous connection, or where there is a token provider.
  public init(url: String, token: String = "", options: Options = .init()) throws(RealtimeError) {
    let endpoint = try Endpoint(url)
    if endpoint.isSecure, options.tls == nil { throw .noTLS }
    transportConfiguration = WebSocketTransport.Configuration(
      endpoint: endpoint, headers: options.headers, timeout: TimeAmount(options.timeout),
      maximumMessageBytes: options.maximumMessageBytes, tls: endpoint.isSecure ? options.tls : nil)
    self.options = options
    eventLoop = (options.eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton).next()
    executor = eventLoop.executor
    serverEventQueue = EventQueue(limit: options.maximumWaitingBytes)
    serverEvents = EventSequence(serverEventQueue)
    machine = ClientMachine(
      .init(
        name: options.name, version: options.version, data: options.data, token: token,
        hasTokenProvider: options.tokenProvider != nil, timeout: options.timeout,
        maximumPingDelay: options.maximumPingDelay, backoff: options.backoff,
        maximumReconnectAttempts: options.maximumReconnectAttempts, maximumCalls: options.maximumCalls,
        random: options.random))
  }

  deinit {
    for timer in timers.values { timer.cancel() }
    for (queue, _) in subscriptions.values { queue.finish() }
    serverEventQueue.finish()
    for stream in stateStreams.values { stream.finish() }
  }

  // MARK: Connection

  /// Connects, and returns once connected. Tries again until then; throws once the connection has ended for good.
  public func connect() async throws(RealtimeError) {
    if case .connected = state { return }
    let result = await withCheckedContinuation { continuation in
      connecting.append(continuation)
      feed(.connect)
    }
    try result.get()
  }

  /// Ends the connection and its subscriptions. ``connect()`` begins another.
  public func disconnect() { feed(.disconnect) }

  /// The states from now on, beginning with the one at hand. A reader that is late misses the oldest beyond 64.
  public func states() -> AsyncStream<ConnectionState> {
    let (stream, continuation) = AsyncStream.makeStream(of: ConnectionState.self, bufferingPolicy: .bufferingNewest(64))
    let id = makeID()
    if let state { continuation.yield(state) }
    stateStreams[id] = continuation
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      Task { await self.forgetStateStream(id) }
    }
    return stream
  }

  private func forgetStateStream(_ id: UInt64) { stateStreams[id] = nil }

  // MARK: Subscriptions

  /// Subscribes, now or as soon as connected. The first events tell how it went.
  public func subscribe(
    _ channel: String, _ options: SubscriptionOptions = .init()
  ) throws(RealtimeError) -> Subscription {
    let name: ChannelName
    do { name = try ChannelName(channel, limit: .max) } catch { throw .invalidChannel(error) }
    if machine.hasSubscription(to: name) { throw .alreadySubscribed(channel: channel) }
    let id = makeID()
    let queue = EventQueue<SubscriptionEvent>(limit: options.maximumWaitingBytes)
    subscriptions[id] = (queue, options)
    feed(.subscribe(id, name, options))
    return Subscription(id: id, channel: channel, client: self, events: EventSequence(queue))
  }

  func unsubscribe(_ id: SubscriptionID) { feed(.unsubscribe(id)) }

  // MARK: Calls

  func call(_ body: ClientCommand.Body) async throws(RealtimeError) -> ClientReply {
    let id = makeID()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<ClientReply, RealtimeError>, Never>) in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        calls[id] = continuation
        feed(.call(id, body))
      }
    } onCancel: {
      eventLoop.execute { [weak self] in self?.assumeIsolated { $0.feed(.cancel(id)) } }
    }
    return try result.get()
  }

  private func complete(_ id: CallID, _ result: Result<ClientReply, RealtimeError>) {
    calls.removeValue(forKey: id)?.resume(returning: result)
  }

  private func makeID() -> UInt64 {
    lastID &+= 1
    return lastID
  }

  // MARK: Effects

  /// Inputs that came while effects were performed, in order.
  private var inputs: [Input] = []
  private var isPerforming = false

  /// The one way into the machine. An effect may bring another input at once (a queue that overflows): it waits until
  /// the effects before it are done.
  private func feed(_ input: Input) {
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
    case .serverEvent(let event): deliver(event)
    case .complete(let id, let result): complete(id, result)
    }
  }

  private func open(_ attempt: UInt64) {
    let transport = WebSocketTransport(transportConfiguration, on: eventLoop)
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

  private func fetchToken(_ request: TokenRequest) {
    let provider: (@Sendable () async throws -> String)?
    switch request {
    case .connect, .refresh: provider = options.tokenProvider
    case .subscribe(let id, _), .subscriptionRefresh(let id, _): provider = subscriptions[id]?.options.tokenProvider
    }
    guard let provider else { return feed(.token(request, .refused)) }
    Task { [weak self] in
      let outcome: TokenOutcome
      do { outcome = .token(try await provider()) } catch is TokenRefused { outcome = .refused } catch {
        outcome = .failed
      }
      await self?.feed(.token(request, outcome))
    }
  }

  private func enter(_ state: ConnectionState) {
    self.state = state
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
    guard let queue = subscriptions[id]?.queue else { return }
    if case .unsubscribed = event {
      queue.finish(with: event)
      subscriptions[id] = nil
    } else if !queue.push(event) {
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
