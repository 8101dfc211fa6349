import Synchronization

/// A part of the server beside the log that keeps something of users, such as an index.
///
/// The function forgets users, which is the second parameter's call: on any thread, once, with nil, or with a sentence
/// for the operator's log where it could not. The broker asks again then, until nothing of the users is kept.
public typealias OtherPlace = @Sendable ([String], @escaping @Sendable (String?) -> Void) -> Void

/// Counts the parts that have answered.
final class ForgettingProgress: Sendable {
  private let state: Mutex<(left: Int, isDone: Bool)>

  init(count: Int) { state = Mutex((count, true)) }

  /// - Returns: whether all have forgotten the users; nil: some have not answered yet.
  func note(_ isDone: Bool) -> Bool? {
    state.withLock { state in
      state.left -= 1
      state.isDone = state.isDone && isDone
      return state.left == 0 ? state.isDone : nil
    }
  }
}
