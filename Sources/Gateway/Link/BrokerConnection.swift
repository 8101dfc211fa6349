/// The connection to one broker, and what the link is told of it.
///
/// libzmq tells of connections on another pipe than the one that brings their messages. So the news that a connection
/// has ended is there before the last messages that came on it are read, and what a broker said before it died still
/// belongs to the session: the link hears of an end only when the socket has been read to its end after that news. A
/// read that finds nothing is proof, because libzmq hands on all that a connection has brought before it tells of its
/// end.
///
/// | State | came | ended | read to the end |
/// |---|---|---|---|
/// | `away`: there is none | `there`, appeared | – | – |
/// | `there`: it has shaken hands | `restBeforeNext` | `rest` | – |
/// | `rest`: it has ended, and is not read to its end | `restBeforeNext` | – | `away`, vanished |
/// | `restBeforeNext`: the same, and the next one is there | – | `rest` | `there`, vanished, appeared |
///
/// A dash: nothing follows. A connection that is tried and does not come about ends too, without having come. Where one
/// comes that is `there`, the news of an end between the two was lost: libzmq keeps a thousand of them.
///
/// What the next connection brings meanwhile is read with the rest. A broker that does not know the session answers
/// what is said in it with resets. One that knows it may go on in it: where anything was lost, the next number shows
/// it, so that the link need not hear of the end sooner than the socket is empty for once.
enum BrokerConnection: Equatable, CaseIterable {
  case away
  case there
  case rest
  case restBeforeNext

  enum Event: CaseIterable {
    /// A connection has shaken hands.
    case came
    case ended
    /// A read of the socket found nothing.
    case readToEnd
  }

  /// What the link is told.
  enum News {
    case appeared
    case vanished
  }

  /// Whether a connection has ended of which the link was not told.
  var hasRest: Bool {
    switch self {
    case .rest, .restBeforeNext: true
    case .away, .there: false
    }
  }

  /// - Returns: what the link is told, in this order.
  mutating func note(_ event: Event) -> [News] {
    switch (self, event) {
    case (.away, .came):
      self = .there
      return [.appeared]
    case (.there, .came), (.rest, .came): self = .restBeforeNext
    case (.there, .ended), (.restBeforeNext, .ended):
      self = .rest
      return []
    case (.rest, .readToEnd):
      self = .away
      return [.vanished]
    case (.restBeforeNext, .readToEnd):
      self = .there
      return [.vanished, .appeared]
    case (.away, .ended), (.away, .readToEnd), (.there, .readToEnd), (.rest, .ended), (.restBeforeNext, .came): break
    }
    return []
  }
}
