import Synchronization
import Wire

/// Who is signed in to this gateway, on whichever event loops: counted as they come and go, so that a survey need not
/// look at every connection. ``UserAccounts`` count something else, and only where users are limited.
final class ClientCensus: Sendable {
  private struct State {
    var clients = 0
    /// Connections of each user; the empty one stands for all that have none.
    var users: [IdentifierKey: Int] = [:]
  }

  private let state = Mutex(State())

  /// A connection has signed in. Each that did leaves once.
  func entered(_ user: String) {
    state.withLock { state in
      state.clients += 1
      state.users[IdentifierKey(user), default: 0] += 1
    }
  }

  func left(_ user: String) {
    let user = IdentifierKey(user)
    state.withLock { state in
      guard let connections = state.users[user] else { return }
      state.clients -= 1
      state.users[user] = connections > 1 ? connections - 1 : nil
      state.users.giveBackMemory()
    }
  }

  /// Connections, and the users that they belong to.
  var numbers: (clients: Int, users: Int) { state.withLock { ($0.clients, $0.users.count) } }
}
