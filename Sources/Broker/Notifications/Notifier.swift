public import Apps
public import Wire

/// Has notifications brought to devices. What a device is, and which services bring them, is its business alone.
public protocol Notifier: Sendable {
  /// Sends one notification to the devices that a request names.
  ///
  /// - Parameter done: called once, on any thread, when it is known what became of it on every device, or the time for
  ///   that is over: with the answer for whoever asked, in JSON, or an error where nothing was sent.
  func notify(_ request: PushRequest, then done: @escaping @Sendable (NotifierResult) -> Void)

  /// Sends one notification to the devices of one person.
  ///
  /// - Parameter done: called once, on any thread, when it is known what became of it on every device, or the time for
  ///   that is over.
  func push(_ send: PushSend, then done: @escaping @Sendable (PushAnswer) -> Void)

  /// Ends what is under way, and waits for its threads.
  func close()
}

public typealias NotifierResult = Result<[UInt8], ClientError>

/// What a notifier says, on its way to the broker's turn.
enum NotifierAnswer: Sendable {
  /// Of a service's request with the number.
  case request(number: UInt64, NotifierResult)
  /// Of a notification that the app of notifications has sent.
  case push(PushAnswer)
}
