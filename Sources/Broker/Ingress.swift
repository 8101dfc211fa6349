import Wire
import ZeroMQ

/// Takes gateways' messages off the ROUTER and gives them to the core.
struct Ingress: ~Copyable {
  private var frames: [[UInt8]] = []
  /// Messages that are none of ours.
  private(set) var malformed: UInt64 = 0

  /// Reads what waits, up to `limit` messages: the rest is told again in the next round.
  mutating func read(
    _ router: borrowing Socket, limit: Int, _ receive: (LinkMessage, UInt64) -> Void
  ) throws(ZeroMQError) {
    for _ in 0..<limit {
      guard let received = try router.receiveMultipart(into: &frames, maxFrames: 3) else { return }
      guard received.frames == 3, received.surplus == 0, let gateway = LinkIdentity.gateway(of: frames[0]),
        let header = try? LinkHeader(bytes: frames[1])
      else {
        malformed += 1
        continue
      }
      receive(LinkMessage(header: header, body: frames[2]), gateway)
    }
  }
}
