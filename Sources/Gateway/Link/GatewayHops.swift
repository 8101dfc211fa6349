import DequeModule
import Telemetry
import Wire

/// What the gateway's end of the link knows of publications that are measured. Belongs to the link's turn.
///
/// A publication's way through it:
/// - posted: its event loop has said that the request is measured, which comes next from that loop. Can transition to:
///   asked, forgotten.
/// - asked: the request is on its way to the broker; kept only where it is traced. Can transition to: answered,
///   forgotten.
/// - coming: the broker has said that the publication is measured, which comes next on the link. Can transition to:
///   handed on (``HopMark``), forgotten.
///
/// What does not come is forgotten when it is the oldest of more than ``HopRecorder/mostUnderWay``, and at the end of
/// the link's session.
final class GatewayHops {
  private struct Asked {
    let id: UInt64
    let name: String
    let trace: HopTrace
  }

  private struct Coming {
    let channel: ChannelName
    let offset: UInt64
    let trace: HopTrace
  }

  let recorder: HopRecorder
  private var posted: Deque<(source: RequestSource, trace: HopTrace)> = []
  private var asked: Deque<Asked> = []
  private var coming: Deque<Coming> = []

  init(_ recorder: HopRecorder) { self.recorder = recorder }

  var hasPosted: Bool { !posted.isEmpty }
  var hasAsked: Bool { !asked.isEmpty }
  var hasComing: Bool { !coming.isEmpty }

  // MARK: To the broker

  func post(_ trace: HopTrace, of source: RequestSource) { add((source, trace), to: &posted) }

  /// The request leaves for the broker.
  ///
  /// - Returns: what the broker is told before it; nil: this request is not measured.
  func requested(_ source: RequestSource, _ request: BrokerRequest, id: UInt64) -> LinkTrace? {
    guard let place = posted.firstIndex(where: { $0.source == source }) else { return nil }
    var trace = posted.remove(at: place).trace
    recorder.end(.gatewayIn, of: &trace, at: recorder.now(), SpanAttributes(of: request))
    if trace.context != nil { add(Asked(id: id, name: request.spanName, trace: trace), to: &asked) }
    return LinkTrace(.request(id), trace)
  }

  /// The broker has answered a request.
  func answered(_ id: UInt64) {
    guard let place = asked.firstIndex(where: { $0.id == id }) else { return }
    let asked = asked.remove(at: place)
    recorder.answered(asked.name, asked.trace, parent: nil, at: recorder.now())
  }

  // MARK: From the broker

  func announced(_ message: LinkTrace) {
    guard case .publication(let channel, let offset) = message.subject else { return }
    var trace = message.trace
    recorder.end(.linkOut, of: &trace, at: recorder.now(), SpanAttributes(channel, offset: offset))
    add(Coming(channel: channel, offset: offset, trace: trace), to: &coming)
  }

  /// The publication is handed on to event loops.
  ///
  /// - Returns: nil where it is not measured.
  func handed(_ offset: UInt64, on channel: ChannelName) -> HopTrace? {
    guard let place = coming.firstIndex(where: { $0.offset == offset && $0.channel == channel }) else { return nil }
    return coming.remove(at: place).trace
  }

  /// The link's session ends: what was under way may never come.
  func forget() {
    posted = []
    asked = []
    coming = []
  }

  private func add<Element>(_ element: Element, to queue: inout Deque<Element>) {
    if queue.count >= HopRecorder.mostUnderWay {
      queue.removeFirst()
      recorder.drop()
    }
    queue.append(element)
  }
}

extension BrokerRequest {
  /// Whether requests of this kind are measured: what comes to a publication, as a rule.
  var isMeasured: Bool {
    switch self {
    case .publish, .call: true
    default: false
    }
  }

  /// What the span for the whole of a request is called.
  var spanName: String {
    switch self {
    case .publish: "publish"
    case .call: "call"
    default: "request"
    }
  }
}

extension SpanAttributes {
  init(of request: BrokerRequest) {
    if let channel = request.channel { self.init(channel) } else { self.init() }
  }
}
