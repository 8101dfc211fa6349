internal import Synchronization
internal import Wire

/// An event that waits in an ``EventQueue`` and takes memory meanwhile.
protocol Weighed {
  /// About the bytes of memory it holds.
  var weight: Int { get }
}

/// Hands events from the event loop to one reader, with a limit on the bytes that wait.
///
/// `AsyncStream` limits the number of elements only, and drops unseen: here the writer is told, and decides.
final class EventQueue<Element: Sendable & Weighed>: Sendable {
  private let stream: AsyncStream<Element>
  private let continuation: AsyncStream<Element>.Continuation
  private let waiting = Atomic<Int>(0)
  private let limit: Int

  /// - Parameter limit: in bytes.
  init(limit: Int) {
    self.limit = limit
    (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
  }

  /// Returns false where the event did not fit and was not taken. One event always fits into an empty queue.
  func push(_ element: Element) -> Bool {
    let before = waiting.load(ordering: .relaxed)
    guard before == 0 || before < limit - min(limit, element.weight) else { return false }
    put(element)
    return true
  }

  /// Ends the sequence, after a last event that is taken even where it goes over the limit.
  func finish(with last: Element? = nil) {
    if let last { put(last) }
    continuation.finish()
  }

  private func put(_ element: Element) {
    waiting.add(element.weight, ordering: .relaxed)
    continuation.yield(element)
  }

  func taken(_ element: Element) { waiting.subtract(element.weight, ordering: .relaxed) }

  func makeIterator() -> AsyncStream<Element>.Iterator { stream.makeAsyncIterator() }
}

/// The events of a ``Subscription`` or of a ``RealtimeClient``, for one reader: a second one would get some of them
/// only.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let makeIterator: @Sendable () -> AsyncIterator

  init(_ queue: EventQueue<Element>) where Element: Weighed {
    makeIterator = { AsyncIterator(base: queue.makeIterator(), taken: queue.taken) }
  }

  public func makeAsyncIterator() -> AsyncIterator { makeIterator() }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<Element>.Iterator
    fileprivate let taken: @Sendable (Element) -> Void

    public mutating func next() async -> Element? { await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      guard let element = await base.next(isolation: actor) else { return nil }
      taken(element)
      return element
    }
  }
}

extension SubscriptionEvent: Weighed {
  var weight: Int {
    switch self {
    case .publication(let publication): 128 + publication.weight
    case .join(let info), .leave(let info): 128 + info.weight
    case .subscribed, .subscribing, .gap, .unsubscribed: 128
    }
  }
}

extension ServerEvent: Weighed {
  var weight: Int {
    switch self {
    case .publication(_, let publication): 128 + publication.weight
    case .join(_, let info), .leave(_, let info): 128 + info.weight
    case .message(let data): 128 + data.count
    case .subscribed, .gap, .unsubscribed, .missed: 128
    }
  }
}

extension Publication {
  fileprivate var weight: Int {
    tags.reduce(data.count + (info?.weight ?? 0)) { $0 + $1.key.utf8.count + $1.value.utf8.count }
  }
}

extension ClientInfo {
  fileprivate var weight: Int {
    user.utf8.count + client.utf8.count + (connectionInfo?.count ?? 0) + (channelInfo?.count ?? 0)
  }
}
