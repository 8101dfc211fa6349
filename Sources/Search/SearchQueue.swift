import Dispatch
import Log
import Synchronization
import Wire

/// Searches on their way to the index's thread.
final class SearchQueue: Sendable {
  struct Search: Sendable {
    var query: MessageSearch
    var done: @Sendable (Result<[FoundMessage], LogError>) -> Void
  }

  enum Turn {
    case search(Search)
    /// What the log has taken away is to be taken out of the file at once; called when no trace of it is left.
    case forget(@Sendable (LogError?) -> Void)
    /// Nobody waits: there is time for other work.
    case idle
    case end
  }

  private struct State {
    var searches: [Search] = []
    /// Bounded by its callers: the broker waits for one before it asks for the next.
    var forgets: [@Sendable (LogError?) -> Void] = []
    /// How many of the searches each user has; a user without any has no place in it.
    var countByUser: [[UInt8]: Int] = [:]
    var isClosed = false

    mutating func takeFirst() -> Search {
      let search = searches.removeFirst()
      let user = Array(search.query.user.utf8)
      if let count = countByUser[user] { countByUser[user] = count > 1 ? count - 1 : nil }
      return search
    }
  }

  private let limit: Int
  private let userLimit: Int
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - limit: searches that may wait.
  ///   - userLimit: searches of one user that may wait, so that nobody keeps all others from searching.
  init(limit: Int, userLimit: Int) {
    self.limit = limit
    self.userLimit = userLimit
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// - Returns: why the search was not taken, or nil.
  func add(_ search: Search) -> LogError? {
    let error = state.withLock { state -> LogError? in
      if state.isClosed { return .closed }
      let user = Array(search.query.user.utf8)
      let isUsersFull = !user.isEmpty && state.countByUser[user, default: 0] >= userLimit
      if isUsersFull || state.searches.count >= limit {
        return .backlog(bytes: state.searches.reduce(0) { $0 + $1.query.text.utf8.count })
      }
      state.searches.append(search)
      if !user.isEmpty { state.countByUser[user, default: 0] += 1 }
      return nil
    }
    if error == nil { wake.signal() }
    return error
  }

  /// - Returns: false where the queue is closed.
  func forget(_ done: @escaping @Sendable (LogError?) -> Void) -> Bool {
    let isTaken = state.withLock { state in
      if !state.isClosed { state.forgets.append(done) }
      return !state.isClosed
    }
    if isTaken { wake.signal() }
    return isTaken
  }

  /// Refuses searches from now on, and ends the index's thread.
  ///
  /// - Returns: false where the queue was closed before.
  func close() -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    wake.signal()
    return isFirst
  }

  /// What the index's thread, which is the only caller, is to do next.
  ///
  /// - Parameter deadline: until when to wait for a search; nil: for ever.
  func next(until deadline: DispatchTime?) -> Turn {
    while true {
      let turn = state.withLock { state -> Turn? in
        if state.isClosed { return .end }
        if !state.forgets.isEmpty { return .forget(state.forgets.removeFirst()) }
        return state.searches.isEmpty ? nil : .search(state.takeFirst())
      }
      if let turn { return turn }
      guard let deadline else {
        wake.wait()
        continue
      }
      if deadline <= .now() || wake.wait(timeout: deadline) == .timedOut { return .idle }
    }
  }

  /// Takes what waited to be forgotten when the queue was closed.
  func takeForgets() -> [@Sendable (LogError?) -> Void] {
    state.withLock { state in
      defer { state.forgets = [] }
      return state.forgets
    }
  }

  /// Takes the searches that waited when the queue was closed.
  func takeRest() -> [Search] {
    state.withLock { state in
      defer { (state.searches, state.countByUser) = ([], [:]) }
      return state.searches
    }
  }
}
