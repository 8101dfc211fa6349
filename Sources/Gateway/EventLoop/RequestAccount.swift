/// How many bytes of requests an event loop posted that the backbone thread is not known to have taken.
///
/// Where both threads share a processor, the event loop may read sockets for a long time before the backbone thread
/// gets to run. The mailbox between them is bounded and would refuse; clients wait instead.
struct RequestAccount {
  /// Bytes. Beyond it, clients that ask are read later; at half of it they are read again.
  let window: Int
  private var untaken = 0
  /// Of ``untaken``, what was posted before the mark that is under way; nil: no mark is.
  private var marked: Int?

  init(window: Int) { self.window = window }

  var isOverdrawn: Bool { untaken > window }
  var mayGoOn: Bool { untaken <= window / 2 }

  /// - Returns: true where a mark is to be posted now.
  mutating func post(_ bytes: Int) -> Bool {
    untaken += bytes
    guard marked == nil, untaken > window / 2 else { return false }
    marked = untaken
    return true
  }

  /// The mailbox is full, perhaps through other event loops: the client that asks is held, and only a mark that comes
  /// back tells when it goes on.
  ///
  /// - Returns: true where a mark is to be posted now.
  mutating func refused() -> Bool {
    guard marked == nil else { return false }
    marked = untaken
    return true
  }

  /// The mark has come back.
  ///
  /// - Returns: true where another mark is to be posted: clients that are held post nothing that would bring one.
  mutating func taken() -> Bool {
    untaken -= marked ?? 0
    marked = nil
    return post(0)
  }
}
