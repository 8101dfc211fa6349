/// A clock that can be trusted: keys are destroyed by it, and what people wait for ends by it.
///
/// A machine's clock may be wrong: a battery runs out, a time server errs, somebody mistypes a year. A clock that
/// jumped ahead by a day would destroy within a minute what people wait for, and nothing brings it back. So the
/// machine's clock is compared with a second one, which nobody can set: the time since the machine was started, sleep
/// included. While the two agree, the machine's clock counts. Where they part by more than ``Rules/maximumStep``, time
/// goes on as the second one counts, until the machine's clock is right again or a person says that it is
/// (``confirm(_:)``).
///
/// ## States
///
/// - *trusted*: the machine's clock counts. Can transition to: waiting.
/// - *waiting*: time goes on from where it was last trusted. Can transition to: trusted.
///
/// ## What a restart knows
///
/// The last time that was trusted is on the disk (``Mark``), with the start of the machine that it belongs to. After a
/// restart of the server alone, the second clock has gone on, and tells how long the server was away. After a restart
/// of the machine, or on another one, nothing tells a real downtime from a clock that jumped meanwhile: then the
/// machine's clock counts if it differs from the mark by no more than a step, or if the kernel says that a time server
/// keeps it right (``Reading/isSynchronized``), now or later. So on a machine with a time server nobody is ever asked
/// after a real downtime.
///
/// The type is pure: it looks at no clock itself.
public struct TrustedClock: Sendable {
  /// One look at the machine's clocks. Times in milliseconds.
  public struct Reading: Sendable, Equatable {
    /// Milliseconds since 1970 by the machine's clock.
    public var wall: Int64
    /// Milliseconds since the machine was started, sleep included.
    public var boot: Int64
    /// The kernel says that a time server keeps the clock right.
    public var isSynchronized: Bool

    public init(wall: Int64, boot: Int64, isSynchronized: Bool = false) {
      self.wall = wall
      self.boot = boot
      self.isSynchronized = isSynchronized
    }
  }

  public struct Rules: Sendable, Equatable {
    /// By how much the two clocks may part within a day, in milliseconds.
    public var maximumStep: Int64
    /// After a restart of the machine its clock counts, whatever it shows.
    public var trustsRestarts: Bool

    public init(maximumStep: Int64, trustsRestarts: Bool) {
      self.maximumStep = maximumStep
      self.trustsRestarts = trustsRestarts
    }
  }

  /// The last time that was trusted, for the next process.
  public struct Mark: Sendable, Equatable, Codable {
    public var wall: Int64
    public var boot: Int64
    /// Names the start of the machine that `boot` counts from; empty where the system does not tell.
    public var bootID: String
    /// The machine's clock did not count, and waited to be confirmed.
    public var isWaiting: Bool

    public init(wall: Int64, boot: Int64, bootID: String, isWaiting: Bool = false) {
      self.wall = wall
      self.boot = boot
      self.bootID = bootID
      self.isWaiting = isWaiting
    }
  }

  /// Why the machine's clock does not count.
  public enum Doubt: Sendable, Equatable {
    /// The clock stepped, and the second clock does not say that so much time has passed.
    case stepped
    /// The machine was started anew, so nobody knows how long the server was away.
    case away
  }

  /// The time as the trusted clock tells it.
  public struct Time: Sendable, Equatable {
    /// The trusted time in milliseconds since 1970, with ``moved``.
    public var wall: Int64
    /// Milliseconds by which the machine's clock is ahead of the trusted time, negative where it is behind; 0 where it
    /// counts.
    public var ahead: Int64
    /// Milliseconds by which ``wall`` was moved forward, on test servers (``MovedClock``).
    public var moved: Int64 = 0
  }

  private struct Moment: Sendable, Equatable {
    var wall: Int64
    var boot: Int64

    /// What the machine's clock should say at a reading if nothing but time had passed.
    func expected(at boot: Int64) -> Int64 { wall.clampedAdding(boot.clampedSubtracting(self.boot)) }
  }

  private let rules: Rules
  /// A moment at which the two clocks agreed. Renewed once a day, so that small corrections never add up to a step.
  private var anchor: Moment
  /// The last moment that was trusted.
  private var last: Moment
  /// Why the machine's clock does not count; nil: it counts.
  public private(set) var doubt: Doubt?

  static let anchorLifetime: Int64 = 24 * 3_600_000

  /// - Parameters:
  ///   - mark: of the process before; nil: there was none, and the machine's clock counts.
  ///   - bootID: of the machine's start, as in ``Mark/bootID``.
  public init(_ reading: Reading, bootID: String, after mark: Mark?, rules: Rules) {
    self.rules = rules
    let now = Moment(wall: reading.wall, boot: reading.boot)
    (anchor, last) = (now, now)
    guard let mark else { return }
    let isSameStart = !bootID.isEmpty && mark.bootID == bootID && mark.boot <= reading.boot
    let known = Moment(wall: mark.wall, boot: isSameStart ? mark.boot : reading.boot)
    if Self.distance(known.expected(at: now.boot), now.wall) <= rules.maximumStep { return }
    if !isSameStart, rules.trustsRestarts || reading.isSynchronized { return }
    (anchor, last) = (known, known)
    doubt = isSameStart ? .stepped : .away
  }

  /// The time at a reading. To be called with readings in the order in which they were made.
  public mutating func now(_ reading: Reading) -> Time {
    let isNear = Self.distance(anchor.expected(at: reading.boot), reading.wall) <= rules.maximumStep
    switch doubt {
    case nil where !isNear: doubt = .stepped
    case .stepped? where isNear, .away? where isNear || reading.isSynchronized: trust(reading)
    default: break
    }
    guard doubt == nil else {
      let wall = last.expected(at: reading.boot)
      return Time(wall: wall, ahead: reading.wall.clampedSubtracting(wall))
    }
    last = Moment(wall: reading.wall, boot: reading.boot)
    if reading.boot.clampedSubtracting(anchor.boot) >= Self.anchorLifetime { anchor = last }
    return Time(wall: reading.wall, ahead: 0)
  }

  /// Trusts the machine's clock again, because a person says that it is right.
  public mutating func confirm(_ reading: Reading) { trust(reading) }

  private mutating func trust(_ reading: Reading) {
    doubt = nil
    last = Moment(wall: reading.wall, boot: reading.boot)
    anchor = last
  }

  /// The mark for the next process.
  public func mark(_ reading: Reading, bootID: String) -> Mark {
    let wall = doubt == nil ? reading.wall : last.expected(at: reading.boot)
    return Mark(wall: wall, boot: reading.boot, bootID: bootID, isWaiting: doubt != nil)
  }

  private static func distance(_ a: Int64, _ b: Int64) -> Int64 {
    let (difference, overflow) = a.subtractingReportingOverflow(b)
    return overflow || difference == .min ? .max : abs(difference)
  }
}

extension Int64 {
  fileprivate func clampedAdding(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  fileprivate func clampedSubtracting(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
