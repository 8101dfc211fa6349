import Synchronization
public import Wire
import ZeroMQ

/// A second door for services beside the sockets: other parts of this process ask here in a service's name, such as the
/// server API. What may be asked, and what is answered, is decided where it is for the sockets.
///
/// What was asked and is not answered is bounded in bytes. Beyond that requests are refused with error 111, and whoever
/// asks tells its client to try again: nothing piles up here while the log is behind.
public final class ServiceDesk: Sendable {
  /// One request, and the number under which its answer comes back.
  struct Inquiry: Sendable {
    let request: BrokerRequest
    let tag: ServiceTag
    /// The trace that the request belongs to; nil: what it says itself counts.
    let context: TraceContext?
  }

  /// Requests that were asked together, until all of them are answered.
  private struct Batch {
    var responses: [BrokerResponse?]
    var missing: Int
    let done: CheckedContinuation<[BrokerResponse], Never>

    /// Tells whoever asked; what is not answered failed.
    func finish() { done.resume(returning: responses.map { $0 ?? .failed(ServiceDesk.stopping) }) }
  }

  private struct Waiting {
    let batch: UInt64
    let place: Int
    let cost: Int
  }

  private struct State {
    var batches: [UInt64: Batch] = [:]
    var waiting: [UInt64: Waiting] = [:]
    var next: UInt64 = ServiceDesk.firstTag
    var bytes = 0
    var isClosed = false
  }

  /// The numbers of this door's requests; those of the sockets are below.
  private static let firstTag: UInt64 = 1 << 63

  private static let tooMuch = ClientError.tooManyRequests.saying(
    "the broker has as much to do as it may hold; try again in a moment")
  private static let stopping = ClientError.internalError.saying("the server is stopping; try again later")

  /// What was asked, for the broker's loop. Bounded by the bytes that may wait for answers.
  let inquiries = Mailbox<[Inquiry]>(capacity: .max)
  private let admission: ServiceAdmission
  private let limit: Int
  private let state = Mutex(State())

  private struct Taps {
    var byChannel: [ChannelName: [UInt64: @Sendable (Publication) -> Void]] = [:]
    var next: UInt64 = 0
  }

  /// Whether publications come by here, so that they can be tapped.
  public let hasTaps: Bool
  private let taps = Mutex(Taps())
  private let tapped = Atomic(false)

  /// - Parameters:
  ///   - namespaces: say of which channels payloads are JSON.
  ///   - bytes: requests that may wait for their answers, by what they take in memory.
  ///   - hasTaps: false where the broker is not in this process.
  public init(namespaces: NamespaceTable, bytes: Int, hasTaps: Bool = true) {
    self.hasTaps = hasTaps
    admission = ServiceAdmission(namespaces: namespaces)
    limit = bytes
  }

  /// Reads a request. Nothing is asked yet, so that a grant can be held against it.
  ///
  /// - Parameters:
  ///   - method: as services name it over ZeroMQ (docs/PROTOCOL.md).
  ///   - arguments: the method's parameters.
  ///   - channel: takes the place of the parameters' channel; nil: that one counts.
  ///   - payload: what is published; nil: nothing was given.
  /// - Throws: errors 104 and 107 with a sentence.
  public func request(
    _ method: String, _ arguments: JSONArguments, channel: String? = nil, payload: [UInt8]?
  ) throws(ClientError) -> BrokerRequest {
    try ServiceRequest.read(method, arguments, channel: channel, payload: payload)
  }

  /// Looks at what only the channel's namespace knows, such as whether a payload has to be JSON.
  ///
  /// - Throws: error 107 with a sentence.
  public func admitted(_ request: BrokerRequest) throws(ClientError) -> BrokerRequest {
    try admission.admitted(request)
  }

  /// Whether the payloads of a channel are shown as base64.
  public func isBinary(_ channel: ChannelName?) -> Bool { admission.isBinary(channel) }

  /// Asks the broker, and returns when everything is answered. The answers stand in the order of the requests; requests
  /// about one channel are done in that order.
  ///
  /// - Parameters:
  ///   - requests: as ``admitted(_:)`` gave them.
  ///   - context: the trace that they belong to; nil: what they say themselves counts.
  public func ask(_ requests: [BrokerRequest], under context: TraceContext? = nil) async -> [BrokerResponse] {
    if requests.isEmpty { return [] }
    return await withCheckedContinuation { begin(requests, under: context, $0) }
  }

  private func begin(
    _ requests: [BrokerRequest], under context: TraceContext?, _ done: CheckedContinuation<[BrokerResponse], Never>
  ) {
    let costs = requests.map(\.cost)
    let total = costs.reduce(0, +)
    let (taken, refusal) = state.withLock { state -> ([Inquiry], ClientError?) in
      if state.isClosed { return ([], Self.stopping) }
      // One batch that is larger than everything that may wait is taken when nothing waits.
      if state.bytes > 0, state.bytes + total > limit { return ([], Self.tooMuch) }
      state.bytes += total
      let batch = state.next
      var inquiries: [Inquiry] = []
      inquiries.reserveCapacity(requests.count)
      for (place, request) in requests.enumerated() {
        inquiries.append(Inquiry(request: request, tag: ServiceTag(number: state.next), context: context))
        state.waiting[state.next] = Waiting(batch: batch, place: place, cost: costs[place])
        state.next += 1
      }
      state.batches[batch] = Batch(
        responses: Array(repeating: nil, count: requests.count), missing: requests.count, done: done)
      return (inquiries, nil)
    }
    if let refusal { return done.resume(returning: requests.map { _ in .failed(refusal) }) }
    if inquiries.post(taken, wakes: false) {
      // Where the broker's turn is free, this thread does the work itself and wakes nobody.
      inquiries.run()
    } else {
      for inquiry in taken { answer(inquiry.tag, .failed(Self.stopping)) }
    }
  }

  /// Whether a request came through this door.
  static func isOwn(_ tag: ServiceTag) -> Bool { tag.number >= firstTag }

  /// Any thread. Each request is answered once.
  func answer(_ tag: ServiceTag, _ response: BrokerResponse) {
    let whole = state.withLock { state -> Batch? in
      guard let waiting = state.waiting.removeValue(forKey: tag.number) else { return nil }
      state.bytes -= waiting.cost
      state.batches[waiting.batch]?.responses[waiting.place] = response
      state.batches[waiting.batch]?.missing -= 1
      guard state.batches[waiting.batch]?.missing == 0 else { return nil }
      return state.batches.removeValue(forKey: waiting.batch)
    }
    whole?.finish()
  }

  // MARK: Taps

  /// Has a function called with each publication of a channel, from now on. It runs in the broker's turn, on any thread,
  /// and has to be quick.
  ///
  /// - Returns: the number by which ``untap(_:_:)`` ends it. Whoever taps ends it, and bounds how many there are.
  public func tap(_ channel: ChannelName, _ take: @escaping @Sendable (Publication) -> Void) -> UInt64 {
    taps.withLock { taps in
      taps.next += 1
      taps.byChannel[channel, default: [:]][taps.next] = take
      tapped.store(true, ordering: .releasing)
      return taps.next
    }
  }

  public func untap(_ channel: ChannelName, _ number: UInt64) {
    taps.withLock { taps in
      taps.byChannel[channel]?[number] = nil
      if taps.byChannel[channel]?.isEmpty ?? false { taps.byChannel[channel] = nil }
      tapped.store(!taps.byChannel.isEmpty, ordering: .releasing)
    }
  }

  /// Whether anything is tapped: all that a publication costs where nothing is.
  var isTapped: Bool { tapped.load(ordering: .acquiring) }

  func tell(_ publication: Publication, on channel: ChannelName) {
    for take in taps.withLock({ Array(($0.byChannel[channel] ?? [:]).values) }) { take(publication) }
  }

  /// Ends the door: whoever waits is told that the server stops.
  func close() {
    let open = state.withLock { state in
      state.isClosed = true
      state.waiting = [:]
      defer { state.batches = [:] }
      return Array(state.batches.values)
    }
    for batch in open { batch.finish() }
  }
}
