import DequeModule

/// The pipe between a gateway and a broker that are called in one turn: messages are handed over as they are.
///
/// Belongs to that turn, and is not Sendable. The messages that wait in it are bounded by the windows of the link above
/// it.
public final class MemoryPipe {
  /// Identifies the gateway at one end of the pipe.
  public let gateway: UInt64
  public private(set) var toBroker = MessageQueue()
  public private(set) var toGateway = MessageQueue()

  public init(gateway: UInt64) { self.gateway = gateway }

  public func sendToBroker(_ message: LinkMessage) { toBroker.append(message) }
  public func sendToGateway(_ message: LinkMessage) { toGateway.append(message) }
  public func takeForBroker() -> LinkMessage? { toBroker.popFirst() }
  public func takeForGateway() -> LinkMessage? { toGateway.popFirst() }
}

/// Messages in the order in which they were sent.
public struct MessageQueue {
  private var messages: Deque<LinkMessage> = []
  /// The most messages that have waited since the queue was last empty.
  private var most = 0
  /// Messages for which an empty queue keeps storage: storage for more, left by a burst, is given back.
  private static let retained = 4096

  public var first: LinkMessage? { messages.first }
  public var isEmpty: Bool { messages.isEmpty }

  mutating func append(_ message: LinkMessage) {
    messages.append(message)
    most = max(most, messages.count)
  }

  mutating func popFirst() -> LinkMessage? {
    let message = messages.popFirst()
    if messages.isEmpty {
      if most > Self.retained { messages = [] }
      most = 0
    }
    return message
  }
}
