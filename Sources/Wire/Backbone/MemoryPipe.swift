/// The pipe between a gateway and a broker that are called in one turn: messages are handed over as they are.
///
/// Belongs to that turn, and is not Sendable. What may wait in it is bounded by the windows of the link above it.
public final class MemoryPipe {
  /// The gateway at the one end.
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
  private var messages: [LinkMessage] = []
  private var head = 0
  /// Storage beyond this, left by a burst, is given back.
  private static let retainedCapacity = 4096

  public var first: LinkMessage? { head < messages.count ? messages[head] : nil }
  public var isEmpty: Bool { head == messages.count }

  mutating func append(_ message: LinkMessage) { messages.append(message) }

  mutating func popFirst() -> LinkMessage? {
    guard head < messages.count else { return nil }
    let message = messages[head]
    head += 1
    if head == messages.count {
      messages.removeAll(keepingCapacity: messages.capacity <= Self.retainedCapacity)
      head = 0
    } else if head > 1024 && head > messages.count / 2 {
      messages.removeFirst(head)
      head = 0
    }
    return message
  }
}
