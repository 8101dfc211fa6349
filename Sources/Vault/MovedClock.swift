/// By how much a test server's clock was moved forward, so that one sees a day pass: pure.
///
/// The trusted clock goes on as it does everywhere (``TrustedClock``), and what is written down of it is never moved. What
/// was moved is added to its time as the last step, for those who count deadlines of apps, and is gone with the process. So
/// no restart looks like a jump, and nobody has to confirm one.
public struct MovedClock: Sendable, Equatable {
  /// Milliseconds of one move at most, and of all together.
  public static let (mostAtOnce, mostInAll): (Int64, Int64) = (48 * 3_600_000, 60 * 24 * 3_600_000)

  /// Why the clock is not moved. The description is a sentence for whoever asked.
  public enum Refusal: Error, Equatable, CustomStringConvertible {
    case notHere, notSo, tooFar(left: Int64)
    case notWritten(String)

    public var description: String {
      switch self {
      case .notHere: "this server's clock cannot be moved; demo.clock says so"
      case .notSo: "a move is of 1 to \(MovedClock.mostAtOnce) milliseconds, which are 48 hours"
      case .tooFar(let left):
        "the clock is moved by 60 days at most, until the server starts again; \(left) milliseconds are left"
      case .notWritten(let why): "the clock was not moved, for the data folder takes no note of it: \(why)"
      }
    }
  }

  /// Milliseconds by which the clock is ahead of the trusted one.
  public private(set) var offset: Int64 = 0

  public init() {}

  public mutating func advance(by milliseconds: Int64) throws(Refusal) {
    guard (1...Self.mostAtOnce).contains(milliseconds) else { throw .notSo }
    let left = Self.mostInAll - offset
    guard milliseconds <= left else { throw .tooFar(left: left) }
    offset += milliseconds
  }

  // MARK: The data folder

  /// What a start makes of a data folder, by what it holds and whether this server's clock can be moved:
  ///
  ///     folder                          movable                        not movable
  ///     no data                         mark                           ordinary
  ///     data, no mark                   refuse                         ordinary
  ///     data, mark, latest has passed   ordinary                       unmark
  ///     data, mark, latest is to come   ahead                          ahead
  ///
  /// The mark says that the folder is a test server's, and up to when its time was counted. Without one, the data are those
  /// of people who wait for something, which a moved clock would destroy before its time. What lies ahead is whole after a
  /// restart: nothing is destroyed by a time that goes back, and it ends when the clock comes there, or is moved there.
  public enum Start: Sendable, Equatable {
    case ordinary, mark, unmark, refuse
    /// Something may bear times up to this, in milliseconds since 1970.
    case ahead(Int64)

    /// - Parameters:
    ///   - latest: the mark, in milliseconds since 1970; nil: there is none.
    ///   - now: the trusted time.
    public init(isMovable: Bool, hasData: Bool, latest: Int64?, now: Int64) {
      guard hasData else {
        self = isMovable ? .mark : .ordinary
        return
      }
      switch latest {
      case nil: self = isMovable ? .refuse : .ordinary
      case let latest? where latest > now: self = .ahead(latest)
      case _?: self = isMovable ? .ordinary : .unmark
      }
    }
  }
}
