import NIOCore

/// What became of commands that came by a request of their own.
enum PostOutcome: Sendable {
  case taken
  /// As many wait already as may.
  case tooMany
  /// The session has ended.
  case ended
}

/// Commands that came by requests of their own and wait until their session wants input again, in the order in which
/// they came. Whoever sent them is answered when they are taken, so that a browser, which has a handful of requests
/// under way at a time, is slowed down as the sender on a WebSocket is.
struct PostedCommands {
  struct Post {
    let message: ByteBuffer
    let done: (PostOutcome) -> Void
  }

  private var posts: [Post] = []
  private var bytes = 0

  /// Requests that wait for one session. A browser has six of them under way.
  static let mostPosts = 64

  var isEmpty: Bool { posts.isEmpty }
  var count: Int { posts.count }

  /// - Returns: false where there is no room.
  mutating func append(_ post: Post, limitBytes: Int) -> Bool {
    guard posts.count < Self.mostPosts, bytes + post.message.readableBytes <= limitBytes else { return false }
    bytes += post.message.readableBytes
    posts.append(post)
    return true
  }

  mutating func popFirst() -> Post? {
    if posts.isEmpty { return nil }
    let post = posts.removeFirst()
    bytes -= post.message.readableBytes
    return post
  }
}
