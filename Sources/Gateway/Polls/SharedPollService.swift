import Cryptography
import Logging
import Metrics
import NIOCore
import Synchronization
import Wire

/// What a gateway is told of shared polls.
public struct SharedPollConfiguration: Sendable {
  /// What the backend signs keys with.
  public var signatures: TrackSignatures
  /// Keys that all subscriptions of the gateway may track.
  public var maximumTrackings: Int
  /// Bytes of data that are kept for those who track a key later.
  public var dataBytes: Int
  /// Calls to the backend that may be under way.
  public var maximumCalls: Int

  public init(signatures: TrackSignatures, maximumTrackings: Int, dataBytes: Int, maximumCalls: Int) {
    self.signatures = signatures
    self.maximumTrackings = maximumTrackings
    self.dataBytes = dataBytes
    self.maximumCalls = maximumCalls
  }
}

/// Performs what a ``SharedPoll`` decides: between the sessions of all event loops and the backend.
///
/// What clients get is handed to their event loops under the lock under which it was decided, so that nobody gets an older
/// version after a newer one. The backend is asked outside of it.
final class SharedPollService: Sendable {
  private struct State: ~Copyable {
    var poll: SharedPoll
    var mailboxes: [ShardMailbox] = []
    var timer: Scheduled<Void>?
    /// When it fires, in monotonic milliseconds.
    var timerDue = Int64.max
    var isClosed = false
  }

  private let state: Mutex<State>
  private let proxies: ProxyCalls
  private let namespaces: NamespaceTable
  private let logger: Logger
  private let clock: @Sendable () -> SessionTime
  private let metrics = PollMetrics()
  /// Who asks: nobody in particular.
  private static let asker = ProxyAsker(client: "", format: .json)

  init(
    _ limits: SharedPoll.Limits, proxies: ProxyCalls, namespaces: NamespaceTable, logger: Logger,
    clock: @escaping @Sendable () -> SessionTime
  ) {
    let epoch = Randomness.bytes(8).hexadecimal
    state = Mutex(
      State(poll: SharedPoll(limits, epoch: epoch, randomness: SystemRandomNumberGenerator())))
    self.proxies = proxies
    self.namespaces = namespaces
    self.logger = logger
    self.clock = clock
  }

  /// - Parameter mailboxes: of all event loops, in their order; the first keeps the time.
  func start(_ mailboxes: [ShardMailbox]) { state.withLock { $0.mailboxes = mailboxes } }

  /// The event loops end: nothing is asked, handed over or scheduled from here on.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.timer?.cancel()
      state.timer = nil
      state.mailboxes = []
    }
  }

  // MARK: From sessions

  func epoch(of channel: ChannelName) -> String {
    let options = options(of: channel)
    return state.withLock { $0.poll.epoch(of: channel, options.poll) }
  }

  func track(_ ask: PollTrack, of subscriber: PollSubscriber) -> PollTracked {
    let options = options(of: ask.channel).poll
    let tracked = step { poll, time, effects in
      poll.track(ask, of: subscriber, options, at: time, into: &effects)
    }
    return tracked ?? .refused(.internalError.saying("the server ends; connect again"), .polledTrackings)
  }

  func untrack(_ keys: [String], of subscriber: PollSubscriber, in channel: ChannelName) {
    step { poll, time, _ in poll.untrack(keys, of: subscriber, in: channel, at: time) }
  }

  func leave(_ subscriber: PollSubscriber, _ channel: ChannelName) {
    step { poll, time, _ in poll.leave(subscriber, channel, at: time) }
  }

  private func options(of channel: ChannelName) -> Wire.ChannelOptions { namespaces.options(for: channel) ?? .init() }

  // MARK: Deciding and performing

  /// - Returns: nil where the service is closed.
  @discardableResult
  private func step<Outcome: Sendable>(
    _ body: @Sendable (inout SharedPoll, SessionTime, inout [PollEffect]) -> Outcome
  ) -> Outcome? {
    var effects: [PollEffect] = []
    let outcome = state.withLock { state -> Outcome? in
      guard !state.isClosed else { return nil }
      let outcome = body(&state.poll, clock(), &effects)
      metrics.tell(state.poll.counts)
      handOver(effects, to: state.mailboxes)
      arrangeTimer(&state)
      return outcome
    }
    for case .ask(let call) in effects { ask(call) }
    return outcome
  }

  private func ask(_ call: PollCall) {
    metrics.asked(call.items.count)
    let question = ProxyQuestion.sharedPoll(channel: call.channel.string, call.items)
    proxies.ask(question, from: Self.asker, headers: []) { [self] answer in
      let answer = read(answer, on: call.channel)
      step { poll, time, effects in poll.answered(call.number, answer, at: time, into: &effects) }
    }
  }

  private func read(_ answer: ProxyAnswer, on channel: ChannelName) -> PollAnswer {
    let why: String
    switch answer {
    case .result(let result):
      let isBinary = options(of: channel).dataFormat == .binary
      let misfit = result.items.first { !isBinary && !$0.isJSON && !JSONSyntax.isValid($0.data ?? []) }
      guard let misfit else { return .items(result.items, epoch: result.epoch) }
      why = "the data of \(excerpt(of: misfit.key)) is not JSON, and publication_data_format is json"
    case .error(let error): why = "error \(error.code): \(error.message.beginning(bytes: 200))"
    case .disconnect: why = "the answer is a disconnect, which says nothing of keys"
    case .failed(let fault): why = fault.rawValue
    }
    logger.debug("a shared poll failed", metadata: ["channel": "\(channel)", "why": "\(why)"])
    metrics.failed()
    return .failed
  }

  /// Gives each event loop what is for its clients.
  private func handOver(_ effects: [PollEffect], to mailboxes: [ShardMailbox]) {
    guard !mailboxes.isEmpty else { return }
    var batches = [[Handover]](repeating: [], count: mailboxes.count)
    var bytes = [Int](repeating: 0, count: mailboxes.count)
    for effect in effects {
      switch effect {
      case .ask: break
      case .deliver(let delivery):
        metrics.delivered(delivery.subscribers.count)
        let isBinary = options(of: delivery.channel).dataFormat == .binary
        let frames = PolledFrames(delivery.publication, on: delivery.channel, isBinary: isBinary)
        for (loop, subscribers) in delivery.subscribers.byLoop(mailboxes.count) {
          batches[loop].append(.polled(PolledPush(frames: frames, subscribers: subscribers)))
          bytes[loop] += frames.byteCount
        }
      case .restart(let channel, let subscribers):
        for (loop, subscribers) in subscribers.byLoop(mailboxes.count) {
          batches[loop].append(.pollRestarted(channel, subscribers))
        }
      }
    }
    for loop in mailboxes.indices where !batches[loop].isEmpty {
      mailboxes[loop].hand(over: batches[loop], bytes: bytes[loop])
    }
  }

  /// The one scheduled task. It may fire early, which is cheaper than moving it back.
  private func arrangeTimer(_ state: inout State) {
    guard let due = state.poll.nextDue, due < state.timerDue, let eventLoop = state.mailboxes.first?.eventLoop else {
      return
    }
    state.timer?.cancel()
    state.timerDue = due
    // A far deadline is looked at again in a day.
    let delay = min(max(due - clock().monotonic, 0), 86_400_000)
    state.timer = eventLoop.scheduleTask(in: .milliseconds(delay)) { [weak self] in self?.timerFired() }
  }

  private func timerFired() {
    state.withLock { state in
      state.timer = nil
      state.timerDue = .max
    }
    step { poll, time, effects in poll.due(at: time, into: &effects) }
  }
}

extension [PollSubscriber] {
  /// The subscribers of each event loop, for those that have some.
  fileprivate func byLoop(_ count: Int) -> [(loop: Int, subscribers: [PollSubscriber])] {
    var loops = [[PollSubscriber]](repeating: [], count: count)
    for subscriber in self { loops[subscriber.loop].append(subscriber) }
    return loops.indices.filter { !loops[$0].isEmpty }.map { ($0, loops[$0]) }
  }
}

/// What operators watch of shared polls, beside the calls of their proxy.
private struct PollMetrics: Sendable {
  private let channels = Gauge(label: "fanfare_gateway_polled_channels")
  private let keys = Gauge(label: "fanfare_gateway_polled_keys")
  private let trackings = Gauge(label: "fanfare_gateway_poll_trackings")
  private let dataBytes = Gauge(label: "fanfare_gateway_poll_data_bytes")
  private let calls = Counter(label: "fanfare_gateway_polls_total")
  private let failures = Counter(label: "fanfare_gateway_polls_failed_total")
  private let askedKeys = Counter(label: "fanfare_gateway_poll_asked_keys_total")
  private let deliveries = Counter(label: "fanfare_gateway_poll_deliveries_total")

  func tell(_ counts: SharedPoll.Counts) {
    channels.record(counts.channels)
    keys.record(counts.keys)
    trackings.record(counts.trackings)
    dataBytes.record(counts.dataBytes)
  }

  func asked(_ keys: Int) {
    calls.increment()
    askedKeys.increment(by: keys)
  }

  func failed() { failures.increment() }

  func delivered(_ count: Int) { deliveries.increment(by: count) }
}
