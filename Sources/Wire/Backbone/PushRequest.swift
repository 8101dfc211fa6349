/// A service has a notification sent.
public struct PushRequest: Sendable, Equatable {
  public enum Method: UInt8, Sendable, Equatable, CaseIterable {
    /// `push_send`: to devices that the request names, at once and once. Answered with JSON
    /// (``BrokerResponse/result(_:)``) when it is known what became of it on each device. The broker looks at its size
    /// alone: whoever sends notifications knows what a device is.
    case send = 1
    /// `push_notify`: to people, whichever devices they have. Answered when it is on disk.
    case notify
  }

  /// The arguments of the method: a JSON object.
  public var arguments: [UInt8]
  public var method: Method

  /// Most devices of one request.
  public static let mostDevices = 100
  /// Most bytes of ``arguments``. A hundred devices with the longest tokens have less.
  public static let mostBytes = 512 << 10

  public init(arguments: [UInt8], method: Method = .send) {
    self.arguments = arguments
    self.method = method
  }
}
