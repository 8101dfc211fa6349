import Metrics
import Synchronization

/// How many requests for pictures are under way, in all and for each user: each holds a connection, a thread of the
/// disk now and then, and of an upload a chunk and what waits behind it.
final class PictureBudget: Sendable {
  private struct State {
    var total = 0
    /// Requests under way of each user who has any.
    var users: [String: Int] = [:]
    var bytesWaiting = 0
  }

  private let total: Int
  private let perUser: Int
  private let state = Mutex(State())

  init(total: Int, perUser: Int) {
    self.total = total
    self.perUser = perUser
  }

  /// A place for one request; nil where all are taken.
  func enter() -> PicturePlace? {
    let isTaken = state.withLock { state in
      guard state.total < total else { return false }
      state.total += 1
      return true
    }
    return isTaken ? PicturePlace(self) : nil
  }

  fileprivate func takeUser(_ user: String) -> Bool {
    state.withLock { state in
      let count = state.users[user] ?? 0
      guard count < perUser else { return false }
      state.users[user] = count + 1
      return true
    }
  }

  fileprivate func note(_ change: Int) { state.withLock { $0.bytesWaiting += change } }

  fileprivate func leave(_ user: String?, bytes: Int) {
    state.withLock { state in
      state.total -= 1
      state.bytesWaiting -= bytes
      guard let user, let count = state.users[user] else { return }
      state.users[user] = count > 1 ? count - 1 : nil
    }
  }

  var underWay: Int { state.withLock(\.total) }
  func underWay(of user: String) -> Int { state.withLock { $0.users[user] ?? 0 } }
  var users: Int { state.withLock(\.users.count) }
  /// Bytes of uploads that have come and are not written yet.
  var bytesWaiting: Int { state.withLock(\.bytesWaiting) }
}

/// One request's place. It is given back when the last reference goes, so that no path on which a request ends can lose
/// it.
final class PicturePlace {
  private let budget: PictureBudget
  private var user: String?
  /// Bytes of this request that have come and are not with the disk.
  var bytesWaiting = 0 {
    didSet { if bytesWaiting != oldValue { budget.note(bytesWaiting - oldValue) } }
  }

  fileprivate init(_ budget: PictureBudget) { self.budget = budget }

  /// - Returns: false where this user has as many under way as are allowed.
  func belongs(to user: String) -> Bool {
    guard self.user == nil, budget.takeUser(user) else { return false }
    self.user = user
    return true
  }

  deinit { budget.leave(user, bytes: bytesWaiting) }
}
