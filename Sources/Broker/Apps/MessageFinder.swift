public import Log
public import Wire

/// Who answers searches for the broker, beside it: an index of messages. From any thread.
public protocol MessageFinder: Sendable {
  /// - Parameter done: called once, on any thread, with what was found, newest first; or with
  ///   ``LogError/backlog(bytes:)`` where too many searches wait, or ``LogError/closed``.
  func search(_ search: MessageSearch, _ done: @escaping @Sendable (Result<[FoundMessage], LogError>) -> Void)

  /// Answers those that wait with ``LogError/closed``, and reads the log no more when it returns.
  func close()
}
