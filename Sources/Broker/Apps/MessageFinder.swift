public import Log
public import Wire

/// An index of messages, which answers the broker's searches on threads of its own. May be called from any thread.
public protocol MessageFinder: Sendable {
  /// - Parameter done: called once, on any thread, with what was found, newest first; or with
  ///   ``LogError/backlog(bytes:)`` where too many searches wait, or ``LogError/closed``.
  func search(_ search: MessageSearch, _ done: @escaping @Sendable (Result<[FoundMessage], LogError>) -> Void)

  /// Answers waiting searches with ``LogError/closed``. When it returns, the finder reads the log no more.
  func close()
}
