internal import Wire

/// Carries commands and replies. A transport is made for each attempt, and used on one event loop only.
protocol Transport: AnyObject {
  /// Begins to open the connection. What happens is told to `receive`, on the event loop, until ``close()``.
  func open(_ receive: @escaping (TransportEvent) -> Void)
  func send(_ command: ClientCommand)
  /// Ends the connection. Nothing is told after that.
  func close()
}
