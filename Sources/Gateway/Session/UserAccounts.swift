import Synchronization
import Wire

/// What the connections of one user on this gateway do together, on whichever event loops.
///
/// A user who is on two gateways has an account on each: gateways do not ask each other about every command, and a
/// limit that is twice what is written still is one.
final class UserAccount: Sendable {
  enum Verdict: Equatable {
    /// Milliseconds for which the connection had better not be read; 0: go on.
    case taken(rest: Int64)
    /// The user owes a whole burst already: the command is not done.
    case refused
  }

  let user: String
  private let rates: ClientRates
  private let levels: Mutex<RateLevels>

  fileprivate init(user: String, _ rates: ClientRates) {
    self.user = user
    self.rates = rates
    levels = Mutex(RateLevels(rates))
  }

  /// A connection that is over its rate is read later, and so are many; but what many had sent before they were told
  /// still comes. So what is owed has an end, and beyond it commands are refused.
  func charge(_ count: Int, _ kind: RateKind, at milliseconds: Int64) -> Verdict {
    let limit = rates[kind]
    if limit.isUnlimited { return .taken(rest: 0) }
    return levels.withLock { levels in
      // A charge of more than a whole burst passes where nothing is owed: else it could never pass.
      if levels.debt(kind, of: rates, at: milliseconds) == 0 {
        return .taken(rest: levels.charge(count, kind, of: rates, at: milliseconds))
      }
      // Reserved and not only charged: a debt that ends at a burst would forgive what is beyond it, and many
      // connections that each come a moment later would pay nothing.
      let most = max(Int64(limit.burst) * 1000 / Int64(limit.perSecond), 1)
      return levels.reserve(count, kind, of: rates, within: most, at: milliseconds).map { .taken(rest: $0) } ?? .refused
    }
  }
}

/// The accounts of all users who are connected to this gateway, or were a moment ago.
final class UserAccounts: Sendable {
  private struct Entry {
    var account: UserAccount
    var connections: Int
  }

  private struct State {
    var entries: [String: Entry] = [:]
    /// Accounts of users who have left: a user who comes back at once owes what they owed. Two generations, as in
    /// ``TokenBuckets``.
    var left: [String: UserAccount] = [:]
    var leftBefore: [String: UserAccount] = [:]
  }

  private static let mostLeft = 10_000

  private let rates: ClientRates
  /// Connections that one user may have; 0: any number.
  private let mostConnections: Int
  private let state = Mutex(State())

  init(_ rates: ClientRates, mostConnections: Int) {
    self.rates = rates
    self.mostConnections = mostConnections
  }

  /// Users that are kept now, those who have left among them.
  var count: Int { state.withLock { $0.entries.count + $0.left.count + $0.leftBefore.count } }

  /// Counts one more connection of the user's.
  ///
  /// - Returns: nil where the user has as many as one may have.
  func open(_ user: String) -> UserAccount? {
    state.withLock { state in
      if let entry = state.entries[user] {
        if mostConnections > 0 && entry.connections >= mostConnections { return nil }
        state.entries[user]?.connections += 1
        return entry.account
      }
      let known = state.left.removeValue(forKey: user) ?? state.leftBefore.removeValue(forKey: user)
      let account = known ?? UserAccount(user: user, rates)
      state.entries[user] = Entry(account: account, connections: 1)
      return account
    }
  }

  func close(_ account: UserAccount) {
    state.withLock { state in
      guard let entry = state.entries[account.user] else { return }
      if entry.connections > 1 {
        state.entries[account.user]?.connections -= 1
        return
      }
      state.entries[account.user] = nil
      if rates.isUnlimited { return }
      if state.left.count >= Self.mostLeft / 2 {
        state.leftBefore = state.left
        state.left = [:]
      }
      state.left[account.user] = account
    }
  }
}
