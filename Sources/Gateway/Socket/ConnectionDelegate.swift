import NIOCore

/// The session's side of a ``Connection``. Every method is called on the connection's event loop, and none of them from
/// inside a call of ours into the connection: a fan-out that walks its subscribers is never changed under its feet.
protocol ConnectionDelegate: AnyObject {
  /// The session's name, which its client alone is told.
  var sessionID: String { get }

  /// One whole message, text or binary: SDKs differ in which they send, so both count as bytes.
  func received(_ message: ByteBuffer)

  /// The end of a burst of messages: replies that were held back can go out together.
  func readCompleted()

  /// The kernel took everything that had to wait: ``Outlet/queuedBytes`` is 0 again.
  func drained()

  /// So much of what the client asked for was taken that it may ask for more: ``Outlet/isFull`` is over.
  func relieved()

  /// Exactly once, as the last call. Nothing can be sent any more.
  func closed()
}

/// Makes the session of a connection that has just been upgraded, or of a stream that has just begun. Called on the connection's event loop, from which it
/// finds its own shard by ``Connection/loopIndex``. The connection holds the delegate until it has closed.
typealias SessionFactory = @Sendable (Connection) -> any ConnectionDelegate
