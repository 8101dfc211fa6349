/// How much is published on the demo's busy channel, and when: pure. ``BusyChannel`` performs it.
///
///     phase      somebody listens    nobody listens   time passes
///     idle       running             –                –
///     running    –                   idle             publishes what is due
///
/// What is due is `perSecond` of the time since the last look, at most ``mostAtOnce``, and never more than there is room
/// for under ``mostUnanswered``. What does not fit is left out, and not made up for: a machine that is behind must not be
/// given more to do for it.
struct BusyTraffic {
  struct Message: Equatable {
    var from: String
    /// Counts the person's messages since the server's start, from 1.
    var number: UInt64
  }

  static let perSecond: Int64 = 1000
  /// Messages that one look gives at most: those of five looks in a row that did not come.
  static let mostAtOnce = 50
  /// Messages that may be with the broker, without its answer.
  static let mostUnanswered = 500
  /// Those who seem to write, in turn.
  static let people = ["ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana", "ivo", "june"]

  private(set) var isRunning = false
  private(set) var unanswered = 0
  private var lastLook: Int64 = 0
  private var published: UInt64 = 0

  /// Whether somebody is subscribed.
  ///
  /// - Parameter now: milliseconds of a clock that never goes back.
  mutating func heard(isListenedTo: Bool, at now: Int64) {
    if isListenedTo && !isRunning { lastLook = now }
    isRunning = isListenedTo
  }

  /// What is to be published now. Each message has to be followed by ``answered()``.
  mutating func due(at now: Int64) -> [Message] {
    guard isRunning, now > lastLook else { return [] }
    let owed = min(now - lastLook, 1000) * Self.perSecond / 1000
    lastLook = now
    let count = min(Int(owed), Self.mostAtOnce, Self.mostUnanswered - unanswered)
    unanswered += count
    return (0..<count).map { _ in next() }
  }

  /// The broker has said what became of a message, or that it could not be asked.
  mutating func answered() { unanswered -= 1 }

  private mutating func next() -> Message {
    let (turn, person) = published.quotientAndRemainder(dividingBy: UInt64(Self.people.count))
    published += 1
    return Message(from: Self.people[Int(person)], number: turn + 1)
  }
}
