import Auth
import DequeModule
import Synchronization

/// Lets a few token checks run at a time, and those first that somebody waits for at the door.
///
/// A check costs a processor up to a millisecond, and whoever sends tokens chooses how many: without a gate, one
/// connection that subscribes with thousands of them has all cores for itself, and honest people cannot sign in. There
/// are two queues. Connects go before everything else, as long as none of it has waited through
/// ``connectsInARow`` of them: a flood at the door must not stop those who are in.
///
/// How much waits is bounded by who asks: a connection has one connect under way, and of other checks as many as
/// ``SessionConfiguration/maximumTokenChecks``.
final class TokenGate: Sendable {
  enum Urgency { case connect, other }

  private struct State {
    var running = 0
    var connects: Deque<CheckedContinuation<Void, Never>> = []
    var others: Deque<CheckedContinuation<Void, Never>> = []
    /// Connects let through since another check was, or since none waited.
    var connectsInARow = 0

    /// Whose turn it is; nil: nobody waits.
    mutating func next() -> CheckedContinuation<Void, Never>? {
      if others.isEmpty || connectsInARow < TokenGate.connectsInARow, let connect = connects.popFirst() {
        connectsInARow = others.isEmpty ? 0 : connectsInARow + 1
        return connect
      }
      connectsInARow = 0
      return others.popFirst()
    }
  }

  private static let connectsInARow = 32

  private let verifier: any TokenVerifier
  private let width: Int
  private let state = Mutex(State())

  /// - Parameter width: checks at a time.
  init(_ verifier: any TokenVerifier, width: Int) {
    self.verifier = verifier
    self.width = max(width, 1)
  }

  /// Checks the tokens of people who sign in.
  var connects: any TokenVerifier { GatedVerifier(gate: self, urgency: .connect) }
  /// Checks the tokens of people who are in, and of requests for pictures.
  var others: any TokenVerifier { GatedVerifier(gate: self, urgency: .other) }

  /// Checks that wait for their turn.
  var waitingCount: Int { state.withLock { $0.connects.count + $0.others.count } }

  private func enter(_ urgency: Urgency) async {
    await withCheckedContinuation { continuation in
      let mayGo = state.withLock { state -> Bool in
        if state.running < width {
          state.running += 1
          return true
        }
        switch urgency {
        case .connect: state.connects.append(continuation)
        case .other: state.others.append(continuation)
        }
        return false
      }
      if mayGo { continuation.resume() }
    }
  }

  /// Gives the place of a check that has ended to the next.
  private func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if let next = state.next() { return next }
      state.running -= 1
      return nil
    }
    next?.resume()
  }

  private struct GatedVerifier: TokenVerifier {
    let gate: TokenGate
    let urgency: Urgency

    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
      await gate.enter(urgency)
      defer { gate.leave() }
      return try await gate.verifier.verifyConnection(token)
    }

    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
      await gate.enter(urgency)
      defer { gate.leave() }
      return try await gate.verifier.verifySubscription(token)
    }

    func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims {
      await gate.enter(urgency)
      defer { gate.leave() }
      return try await gate.verifier.verifyPlace(token)
    }
  }
}
