public import Telemetry
import Wire

/// What the broker knows of requests that are measured. Belongs to the broker's turn.
///
/// States of a request:
/// - taken: a gateway has said that it is measured, or it is a service's and was chosen. Can transition to: logged,
///   answered, forgotten.
/// - logged: the log has its publication. Can transition to: landed, answered (the log failed), forgotten.
/// - landed: gateways are told that the publication is measured, which comes next on their links. What else the request
///   does is not measured.
/// - answered: no publication came of it. Of a service's request the span for the whole ends here.
///
/// A request that comes to nothing within ``HopRecorder/patience`` is forgotten, and so is the oldest of more than
/// ``HopRecorder/mostUnderWay``.
public final class BrokerHops {
  private struct Key: Hashable {
    /// Nil: the request is a service's.
    let gateway: UInt64?
    let request: UInt64

    init?(_ requester: Requester) {
      switch requester {
      case .gateway(let gateway, let request), .remoteService(let gateway, let request):
        (self.gateway, self.request) = (gateway, request)
      case .service(let tag): (gateway, request) = (nil, tag.number)
      case .outbox, .broker: return nil
      }
    }
  }

  private struct UnderWay {
    var trace: HopTrace
    /// Of a service's request: what the span for the whole is called, and its parent.
    var name: String?
    var parent: UInt64?
    /// Of a service's call: what it asks for.
    var method: String?
    /// Whether its time in the broker counts among the hops: not that of calls which look, or give orders.
    var isHop = true
    var isLogged = false
  }

  let recorder: HopRecorder
  private var sampler: HopSampler
  /// Chooses among services' calls, of which no time is measured that is not traced.
  private var calls: HopSampler
  private var underWay: [Key: UnderWay] = [:]
  /// The traced publication that came to its end last: webhooks may be told of it next.
  private var lastLanded: (channel: ChannelName, offset: UInt64, context: TraceContext)?
  /// Events of traced requests, on their way to webhooks.
  var events = WebhookTraces()

  /// - Parameter services: chooses among services' publications, and which of their calls are traced.
  public init(_ recorder: HopRecorder, services: HopSampler) {
    self.recorder = recorder
    sampler = services
    calls = services.tracesAlone
  }

  /// Whether nothing is measured now: all that the broker asks for what is not.
  var isIdle: Bool { underWay.isEmpty }

  // MARK: In

  /// A gateway says that the request which it sends next is measured.
  func expect(_ message: LinkTrace, from gateway: UInt64) {
    guard case .request(let id) = message.subject, let key = Key(.gateway(gateway, request: id)) else { return }
    var trace = message.trace
    recorder.end(.linkIn, of: &trace, at: recorder.now())
    add(UnderWay(trace: trace), key)
  }

  /// A service's request comes in.
  ///
  /// - Parameter context: what the HTTP request said; nil: the publication's tag counts.
  func take(_ request: BrokerRequest, _ tag: ServiceTag, under context: TraceContext?) {
    guard case .publish(let publish) = request else { return takeCall(request, tag, under: context) }
    var (parent, isChosen, isTraced) = (context, false, false)
    if sampler.isDue() { (isChosen, isTraced) = (true, sampler.choose()) }
    if recorder.isTracing {
      if parent == nil, !publish.tags.isEmpty, let text = publish.tags[TraceContext.headerName] {
        parent = TraceContext(traceparent: text)
      }
      if parent?.isSampled == true { (isChosen, isTraced) = (true, true) }
    }
    guard isChosen, let key = Key(.service(tag)) else { return }
    let trace = recorder.begin(under: parent, isTraced: isTraced)
    add(UnderWay(trace: trace, name: "publish", parent: parent?.span), key)
  }

  /// A call is traced as a whole, whatever comes of it: a publication goes on in its trace.
  private func takeCall(_ request: BrokerRequest, _ tag: ServiceTag, under context: TraceContext?) {
    guard recorder.isTracing else { return }
    var isTraced = context?.isSampled == true
    if calls.isDue() { isTraced = calls.choose() || isTraced }
    guard isTraced, let key = Key(.service(tag)) else { return }
    let request = request.withoutKey
    let trace = recorder.begin(under: context, isTraced: true)
    var call = UnderWay(trace: trace, name: "call", parent: context?.span, method: request.serviceMethod)
    if case .call = request {} else { call.isHop = false }
    add(call, key)
  }

  private func add(_ request: UnderWay, _ key: Key) {
    if underWay.count >= HopRecorder.mostUnderWay {
      recorder.drop()
      guard let oldest = underWay.min(by: { $0.value.trace.last.nanoseconds < $1.value.trace.last.nanoseconds })
      else { return }
      underWay[oldest.key] = nil
    }
    underWay[key] = request
  }

  // MARK: On the way

  /// The log was given an entry of a request.
  func logged(_ owner: PendingAppend.Owner, on channel: ChannelName, _ offset: UInt64) {
    guard let key = Self.key(of: owner), var request = underWay[key], !request.isLogged else { return }
    recorder.end(.broker, of: &request.trace, at: recorder.now(), SpanAttributes(channel, offset: offset))
    request.isLogged = true
    underWay[key] = request
  }

  /// A publication that is to be delivered is where its namespace wants it kept.
  ///
  /// - Returns: what gateways are told; nil: it is not measured.
  func landed(_ owner: PendingAppend.Owner, on channel: ChannelName, _ offset: UInt64) -> LinkTrace? {
    guard let key = Self.key(of: owner), var request = underWay.removeValue(forKey: key) else { return nil }
    let now = recorder.now()
    var attributes = SpanAttributes(channel, offset: offset)
    recorder.end(.log, of: &request.trace, at: now, attributes)
    attributes.method = request.method
    if let name = request.name { recorder.answered(name, request.trace, parent: request.parent, at: now, attributes) }
    if let context = request.trace.context { lastLanded = (channel, offset, context) }
    return LinkTrace(.publication(channel, offset: offset), request.trace)
  }

  /// The trace of a request that is under way; nil: it has none.
  func context(of owner: PendingAppend.Owner) -> TraceContext? {
    Self.key(of: owner).flatMap { underWay[$0]?.trace.context }
  }

  /// The trace of a publication that has just come to its end.
  func context(of offset: UInt64, on channel: ChannelName) -> TraceContext? {
    guard let landed = lastLanded, landed.offset == offset, landed.channel == channel else { return nil }
    return landed.context
  }

  /// A request is answered of which no publication has come: its time in the broker ends here.
  ///
  /// - Parameter failure: the code of the error with which it is answered; nil: with none.
  func answered(_ requester: Requester, failure: UInt32?) {
    guard let key = Key(requester), var request = underWay.removeValue(forKey: key) else { return }
    let now = recorder.now()
    // The time of a publication that the log failed to take would be laid to the wrong hop.
    if request.isHop, !request.isLogged { recorder.end(.broker, of: &request.trace, at: now) }
    guard let name = request.name else { return }
    let attributes = SpanAttributes(method: request.method, failure: failure)
    recorder.answered(name, request.trace, parent: request.parent, at: now, attributes)
  }

  /// Forgets what has come to nothing for too long.
  func forgetOld() {
    let now = recorder.now()
    let old = underWay.filter { now.nanoseconds >= $0.value.trace.last.nanoseconds + HopRecorder.patience }
    for key in old.keys { underWay[key] = nil }
  }

  private static func key(of owner: PendingAppend.Owner) -> Key? {
    switch owner {
    case .requester(let requester): Key(requester)
    case .decision(let decision): Key(decision.requester)
    case .revocation, .outbox, .delivery, .occupancy, .deletion, .notice: nil
    }
  }
}
