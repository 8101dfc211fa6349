/// What became of a notification that was handed to a service.
///
///     taken      over: the service has it, which says nothing of the device
///     forget     over: the device is none any more and must not be tried again
///     tooLarge   over: trying again does not help
///     refused    somebody has to change the configuration; until then every message to the service ends so
///     later      to be tried again, not before the time that it names
///     failed     nothing went out, or the service said so: to be tried again, with a back-off of the caller's own
///     unanswered the request went out and nobody said what became of it: to be tried again likewise, and the device
///                may show it already
public enum PushOutcome: Sendable, Equatable {
  /// With the service's name for the notification, where it has one.
  case taken(id: String?)
  /// Since when the service knows that the device is gone, in milliseconds since 1970, where it says so: a device that
  /// registered after that is another one.
  case forget(reason: String, since: Int64?)
  /// After so many seconds, 1 to ``mostSeconds``; nil: the service names no time.
  case later(afterSeconds: Int64?, reason: String)
  case tooLarge(reason: String)
  /// A sentence for the operator.
  case refused(String)
  case failed(reason: String)
  case unanswered(reason: String)

  /// Seconds: a service that asks for more than a day is asked again after a day.
  public static let mostSeconds: Int64 = 86_400

  /// The same with a time that a service cannot stretch.
  static func later(_ seconds: Int64?, _ reason: String) -> PushOutcome {
    .later(afterSeconds: seconds.map { min(max($0, 1), mostSeconds) }, reason: reason)
  }
}
