import Synchronization

/// What the listener counts. Every loop and the accept thread add to it; none of it is on the path of a delivery.
/// ``GatewayMetrics`` tells operators most of it, ``Refusals`` why somebody was turned away.
public final class ListenerCounters: Sendable {
  private let accepted = Atomic<Int>(0)
  private let open = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let rejected = Atomic<Int>(0)
  private let upgraded = Atomic<Int>(0)
  private let streamed = Atomic<Int>(0)
  private let signedIn = Atomic<Int>(0)
  private let signInTotal = Atomic<Int>(0)
  private let slow = Atomic<Int>(0)
  private let exhausted = Atomic<Int>(0)
  private let shed = Atomic<Int>(0)
  private let uncompressedBytes = Atomic<Int>(0)
  private let compressedBytes = Atomic<Int>(0)

  init() {}

  /// Sockets that we kept, since the start.
  public var acceptedConnections: Int { accepted.load(ordering: .relaxed) }
  /// Sockets open now, in any phase.
  public var openConnections: Int { open.load(ordering: .relaxed) }
  /// Connections turned away before their request was read, for want of a place: ``Admission``.
  public var refusedConnections: Int { refused.load(ordering: .relaxed) }
  /// Requests answered with an error, timeouts included.
  public var rejectedRequests: Int { rejected.load(ordering: .relaxed) }
  /// Sockets that became WebSockets.
  public var upgradedConnections: Int { upgraded.load(ordering: .relaxed) }
  /// Streams that were opened for clients without a WebSocket.
  public var openedStreams: Int { streamed.load(ordering: .relaxed) }
  /// Connections open now whose user is known, requests for pictures and of streams among them.
  public var signedInConnections: Int { signedIn.load(ordering: .relaxed) }
  /// Clients that signed in over a WebSocket or a stream.
  public var signIns: Int { signInTotal.load(ordering: .relaxed) }
  /// Connections closed because their reader was too slow.
  public var slowConnections: Int { slow.load(ordering: .relaxed) }
  /// How often this process ran out of descriptors.
  public var descriptorExhaustions: Int { exhausted.load(ordering: .relaxed) }

  /// Connections closed because too much waited for all of them, and most for these.
  public var shedConnections: Int { shed.load(ordering: .relaxed) }

  /// Bytes of the frames that were to be compressed, each counted once, whatever number of connections it went to.
  public var bytesToCompress: Int { uncompressedBytes.load(ordering: .relaxed) }
  /// Bytes that became of ``bytesToCompress``.
  public var bytesCompressed: Int { compressedBytes.load(ordering: .relaxed) }

  func countRefused() { refused.add(1, ordering: .relaxed) }
  func countRejected() { rejected.add(1, ordering: .relaxed) }
  func countUpgraded() { upgraded.add(1, ordering: .relaxed) }
  func countStreamed() { streamed.add(1, ordering: .relaxed) }
  func countSignIn() { signInTotal.add(1, ordering: .relaxed) }
  func countSlow() { slow.add(1, ordering: .relaxed) }
  func countExhausted() { exhausted.add(1, ordering: .relaxed) }
  func countShed() { shed.add(1, ordering: .relaxed) }

  func countCompression(from bytes: Int, to compressed: Int) {
    uncompressedBytes.add(bytes, ordering: .relaxed)
    compressedBytes.add(compressed, ordering: .relaxed)
  }

  func countOpened() {
    accepted.add(1, ordering: .relaxed)
    open.add(1, ordering: .relaxed)
  }

  /// A connection's user is known.
  func enterSignedIn() { signedIn.add(1, ordering: .relaxed) }

  /// - Parameter signedIn: the connection was one whose user is known.
  func returnSlot(signedIn wasSignedIn: Bool) {
    open.subtract(1, ordering: .relaxed)
    if wasSignedIn { signedIn.subtract(1, ordering: .relaxed) }
  }
}
