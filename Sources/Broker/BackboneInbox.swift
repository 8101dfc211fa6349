import Wire
import ZeroMQ

/// Takes gateways' messages off the ROUTER and gives them to the core.
struct BackboneInbox: ~Copyable {
  private var frames: [[UInt8]] = []
  /// Messages that were no link messages, and were dropped.
  private(set) var malformed: UInt64 = 0

  /// Bytes that each message counts for beside its own, because the smallest publication takes memory too.
  static let messageCost = 192

  /// Reads messages that wait, up to `limit` of them and until they have `bytes` together. The poller reports the rest
  /// again in the next round.
  mutating func read(
    _ router: borrowing Socket, limit: Int, bytes: Int, _ receive: (LinkMessage, UInt64) -> Void
  ) throws(ZeroMQError) {
    var left = bytes
    for _ in 0..<limit where left > 0 {
      guard let received = try router.receiveMultipart(into: &frames, maxFrames: 3) else { return }
      left -= frames.reduce(Self.messageCost) { $0 + $1.count }
      guard received.frames == 3, received.surplus == 0, let gateway = LinkIdentity.gateway(of: frames[0]),
        let header = try? LinkHeader(bytes: frames[1])
      else {
        malformed += 1
        continue
      }
      receive(LinkMessage(header: header, bytes: frames[2]), gateway)
    }
  }
}
