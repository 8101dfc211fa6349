/// How the clients of one event loop leave while the server ends.
///
///     serving ──told to end──▶ ramping ──the last slot, or told to hurry──▶ closing
///        └────────────────── no time for a ramp ────────────────────────────▶┘
///
/// A client is in one of these, whatever the loop is in: *served* (it gets publications, and its commands are answered),
/// *leaving* (nothing more is read, what was read is answered), *closed* with 3001.
enum Drain {
  /// Clients come and go. Can transition to: ramping, closing.
  case serving
  /// The server ends, and each client that was signed in has a slot, until which it is served. Nobody new comes in: who
  /// was not signed in yet leaves at once. Can transition to: closing.
  /// - over: called once, when the state is left or the last client is gone.
  case ramping(Ramp, over: () -> Void)
  /// Everybody leaves. Can transition to: nothing.
  case closing
}

/// The slots of an event loop's clients: when each of them is sent away.
///
/// Without it all clients would be back at the other gateways in the same moment, each with a handshake, a token to check
/// and something to recover. With it they come at an even rate, and no more are away at a time than come back in a moment.
struct Ramp {
  struct Slot: Equatable {
    var connection: UInt64
    /// Monotonic milliseconds.
    var due: Int64
  }

  /// The latest first.
  private var slots: [Slot] = []

  /// - Parameter slots: in any order.
  init(_ slots: [Slot]) {
    self.slots = slots.sorted { ($0.due, $0.connection) > ($1.due, $1.connection) }
  }

  var isOver: Bool { slots.isEmpty }

  /// The connections whose slot has come, in the order of their slots; each once.
  mutating func takeDue(at now: Int64) -> [UInt64] {
    var due: [UInt64] = []
    while let slot = slots.last, slot.due <= now {
      due.append(slot.connection)
      slots.removeLast()
    }
    return due
  }

  /// When each of `count` clients is to go, in milliseconds from now, the earliest first: one somewhere in each of as many
  /// equal parts of the time.
  ///
  /// The parts keep the rate even, which draws from the whole time would not. The draw within a part keeps event loops,
  /// and gateways that end together, out of step.
  static func delays(
    of count: Int, within window: Int64, using source: inout some RandomNumberGenerator
  ) -> [Int64] {
    guard count > 0, window > 0 else { return Array(repeating: 0, count: max(0, count)) }
    return (0..<Int64(count)).map { part in
      // A window is ten minutes at most and a client a socket, so that the product is far from the end of its type.
      let (start, end) = (window * part / Int64(count), window * (part + 1) / Int64(count))
      return start < end ? Int64.random(in: start..<end, using: &source) : start
    }
  }

  /// For how long after its slot a client that was told of it may still be there before it is closed: it leaves by
  /// itself, and is not to be overtaken on its way.
  static func grace(within window: Int64) -> Int64 { min(1000, window / 10) }
}
