/// How long to wait before the next try: between `minimum` and a ceiling that doubles with each failure, up to
/// `maximum`.
///
/// The whole span is random. After a server's restart every client fails at the same moment; a fixed delay would
/// bring all of them back at the same moment too, and again at each doubling.
public struct Backoff: Sendable, Equatable {
  public var minimum: Duration
  public var maximum: Duration

  public init(minimum: Duration = .milliseconds(200), maximum: Duration = .seconds(20)) {
    self.minimum = minimum
    self.maximum = maximum
  }

  /// - Parameters:
  ///   - failures: how many tries failed in a row before this one, from 0.
  ///   - random: in 0..<1.
  public func delay(failures: Int, random: Double) -> Duration {
    let doublings = max(0, min(failures, 20))
    let ceiling = min(maximum, minimum * (2 << doublings))
    let span = max(.zero, ceiling - minimum)
    return min(maximum, minimum + span * max(0, min(random, 1)))
  }
}
