/// Where a JSON Web Key Set is, and how long it may be kept. Both come from the configuration, and never from a token.
public struct KeySetSource: Sendable, Equatable {
  public enum Location: Sendable, Equatable {
    /// Path of a file.
    case file(String)
    /// `https://…`; `http://` on this machine only, since whoever can change the answer can sign tokens.
    case url(String)
  }

  /// Bytes of the largest set that is read.
  public static let maximumBytes = 1024 * 1024

  public var location: Location
  /// Seconds after which the set is read again. Where that fails, the old set is used on.
  public var timeToLive: Int64
  /// Seconds after which a set that could not be read again is not used any more: how long a key that was withdrawn
  /// can count while the source is down.
  public var maximumAge: Int64
  /// Seconds between two readings, whatever the reason: an unknown `kid`, or a source that failed.
  public var minimumRefreshInterval: Int64
  /// How long one reading of a URL may take, from the first byte sent to the last received.
  public var timeout: Duration

  /// - Parameter maximumAge: nil: twice the time to live.
  public init(
    _ location: Location, timeToLive: Int64, maximumAge: Int64?, minimumRefreshInterval: Int64 = 10,
    timeout: Duration = .seconds(5)
  ) {
    self.location = location
    self.timeToLive = timeToLive
    let (twice, overflow) = timeToLive.multipliedReportingOverflow(by: 2)
    self.maximumAge = maximumAge ?? (overflow ? .max : twice)
    self.minimumRefreshInterval = minimumRefreshInterval
    self.timeout = timeout
  }
}
