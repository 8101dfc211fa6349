/// The lane in which a channel's publications wait for a reader: it says in which order they go out, and whether any
/// may be left out for a reader that lags.
///
/// A lane matters only while something waits: to a reader that keeps up everything goes at once, in the order in which
/// it was published. Without lanes, a phone that comes out of a tunnel would be shown a minute of "is typing" before
/// the message that was typed.
///
/// A higher lane never waits for a lower one. Above all of them stands control: replies to commands, pings and the
/// end of a connection, which no namespace chooses. Joins and leaves always travel in the lowest lane, ``typing``,
/// whatever the lane of their channel's publications.
public enum Lane: UInt8, CaseIterable, Sendable {
  /// Nothing is dropped for a reader that keeps up within its queue limit (`client.queue_bytes`). A reader that does
  /// not is disconnected with 3008, and recovers where the namespace keeps history.
  case publications
  /// For delivered, read, position on a map: for a reader that lags only the newest publication of each key is kept,
  /// bounded in bytes; beyond the bound the oldest is dropped. The reader is not disconnected for it.
  case receipts
  /// As ``receipts``, and behind them: for publications that are worth nothing a second later.
  case typing

  /// The lane in which joins and leaves travel.
  public static let lowest = Lane.typing

  /// The lane's name in the configuration.
  public var name: String {
    switch self {
    case .publications: "publications"
    case .receipts: "receipts"
    case .typing: "typing"
    }
  }

  /// Nil where there is no such lane.
  public init?(name: String) {
    guard let lane = Lane.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
    self = lane
  }

  /// Whether only the newest publication of each key is kept for a reader that lags.
  public var isConflated: Bool { self != .publications }
}

extension Lane: Comparable {
  /// The lesser lane goes out first.
  public static func < (a: Lane, b: Lane) -> Bool { a.rawValue < b.rawValue }
}
