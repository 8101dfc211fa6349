public import Telemetry
import Wire

/// What the link tells of publications that are measured.
extension GatewayLink {
  /// Has publications measured that event loops choose, and those that the broker says are. To be called once, first.
  public func measure(with recorder: HopRecorder) { hops = GatewayHops(recorder) }

  /// Tells the broker that the request which is sent next is measured, if it is.
  func tellTrace(
    of request: GatewayRequest, _ hops: GatewayHops, at now: Int64, into effects: inout [GatewayLinkEffect]
  ) {
    guard let trace = hops.requested(request.source, request.request, id: pending.nextID), isOpen else { return }
    send(.trace(trace), at: now, into: &effects)
  }

  func noteMeasured(
    _ offset: UInt64, on name: ChannelName, _ channel: LinkChannel, _ hops: GatewayHops,
    into effects: inout [GatewayLinkEffect]
  ) {
    guard let trace = hops.handed(offset, on: name) else { return }
    effects.append(.measured(name, offset: offset, trace, audience: channel.audience))
  }
}
