/// How many bytes of requests an event loop posted that the backbone thread is not known to have taken.
///
/// Where both share a processor, the event loop may read sockets for a long time before the other gets its turn. The
/// mailbox between them is bounded and would refuse; clients wait instead.
struct RequestAccount {
  /// Beyond it, who asks is read later; at half of it they are read again.
  let window: Int
  private var untaken = 0
  /// Of ``untaken``, what was posted before the mark that is under way; nil: none is.
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

  /// The mailbox is full, through others perhaps: who asks is held, and only a mark tells when it goes on.
  ///
  /// - Returns: true where a mark is to be posted now.
  mutating func refused() -> Bool {
    guard marked == nil else { return false }
    marked = untaken
    return true
  }

  /// The mark has come back.
  ///
  /// - Returns: true where another one is to be posted: those who are held post nothing that would bring it.
  mutating func taken() -> Bool {
    untaken -= marked ?? 0
    marked = nil
    return post(0)
  }
}
