internal import Foundation
internal import Wire

/// A ``Subscription`` whose publications are values of one type, with edits and removals told apart.
public struct TypedSubscription<Value: Decodable & Sendable>: Sendable {
  /// The subscription itself: its position, history, presence and calls.
  public let subscription: Subscription
  private let isOver: @Sendable (Value) -> Bool

  /// - Parameter isOver: values that are left out when the reader comes to them.
  public init(_ subscription: Subscription, isOver: @escaping @Sendable (Value) -> Bool = { _ in false }) {
    self.subscription = subscription
    self.isOver = isOver
  }

  /// The channel's name.
  public var channel: String { subscription.channel }

  /// What happens, in order, for one reader.
  public var events: AsyncCompactMapSequence<EventSequence<SubscriptionEvent>, TypedEvent<Value>> {
    let isOver = isOver
    return subscription.events.compactMap { event in
      let typed = TypedEvent<Value>(event)
      switch typed {
      case .publication(let value, _), .edited(_, let value, _): return isOver(value) ? nil : typed
      default: return typed
      }
    }
  }

  /// Ends the subscription.
  public func unsubscribe() async { await subscription.unsubscribe() }
}

/// What happens to a ``TypedSubscription``, in order.
public enum TypedEvent<Value: Decodable & Sendable>: Sendable {
  /// See ``SubscriptionEvent/subscribed(position:wasRecovering:recovered:)``.
  case subscribed(position: StreamPosition?, wasRecovering: Bool, recovered: Bool)
  /// See ``SubscriptionEvent/gap(_:)``.
  case gap(RecoveryGap)
  /// See ``SubscriptionEvent/subscribing(_:)``.
  case subscribing(UnsubscribeCode)
  /// A value, with its offset, author, time and tags.
  case publication(Value, Publication)
  /// The publication at the offset has another value now.
  case edited(offset: UInt64, Value, Publication)
  /// The publication at the offset was removed by its author.
  case removed(offset: UInt64, Publication)
  /// Its payload does not fit `Value`.
  case unreadable(Publication)
  /// Somebody has come.
  case join(ClientInfo)
  /// Somebody has gone.
  case leave(ClientInfo)
  /// The last event.
  case unsubscribed(UnsubscribeCode)

  init(_ event: SubscriptionEvent) {
    switch event {
    case .subscribed(let position, let wasRecovering, let recovered):
      self = .subscribed(position: position, wasRecovering: wasRecovering, recovered: recovered)
    case .gap(let gap): self = .gap(gap)
    case .subscribing(let code): self = .subscribing(code)
    case .publication(let publication): self = Self.read(publication)
    case .join(let info): self = .join(info)
    case .leave(let info): self = .leave(info)
    case .unsubscribed(let code): self = .unsubscribed(code)
    }
  }

  /// A change names what it changes by a tag; what was removed before it was read stands there without a value.
  private static func read(_ publication: Publication) -> TypedEvent {
    if let offset = publication.tags["deletes"].flatMap({ UInt64($0) }) {
      return .removed(offset: offset, publication)
    }
    if publication.tags["deleted"] != nil { return .removed(offset: publication.offset, publication) }
    guard let value = try? JSON.decode(Value.self, publication.data) else { return .unreadable(publication) }
    guard let offset = publication.tags["edits"].flatMap({ UInt64($0) }) else {
      return .publication(value, publication)
    }
    return .edited(offset: offset, value, publication)
  }
}

/// This device's clock.
enum Clock {
  /// Since 1970.
  static var milliseconds: Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }
}
