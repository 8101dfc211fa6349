/// A service has a notification sent to devices, at once and once. Answered with JSON (``BrokerResponse/result(_:)``)
/// when it is known what became of it on each device.
///
/// The broker looks at its size alone: whoever sends notifications knows what a device is.
public struct PushRequest: Sendable, Equatable {
  /// The arguments of `push_send`: a JSON object.
  public var arguments: [UInt8]

  /// Most devices of one request.
  public static let mostDevices = 100
  /// Most bytes of ``arguments``. A hundred devices with the longest tokens have less.
  public static let mostBytes = 512 << 10

  public init(arguments: [UInt8]) { self.arguments = arguments }
}
