import Cryptography
import HTTPClient
import Synchronization
import Wire

/// The access token for FCM, and who waits for it.
///
///     none      no token; can become: fetching
///     fetching  one call for a token is under way, and whoever asks waits; can become: held, failed
///     held      until shortly before its end; can become: fetching, none (FCM refused the token), failed (it refused
///               a token that had just been given out)
///     failed    for a few seconds whoever asks is told the same; can become: fetching
///
/// Times are seconds of a clock that is never set back.
struct AccessTokenState<Waiter> {
  /// Seconds before a token's end after which a new one is fetched.
  static var margin: Int64 { 300 }
  /// Seconds for which a failure is told, before the next call for a token; more where Google asks for more.
  static var pause: Int64 { 10 }
  /// Seconds that a token must have held before FCM's refusal of it has another one fetched.
  static var leastAge: Int64 { 60 }

  private enum Phase {
    case none
    case fetching([Waiter])
    case held(String, since: Int64, until: Int64)
    case failed(PushOutcome, until: Int64)
  }

  enum Step: Equatable {
    case use(String)
    /// Whoever asked waits, and has to fetch a token: ``finish(_:at:)`` follows.
    case fetch
    case wait
    case over(PushOutcome)
  }

  private var phase = Phase.none
  private let mostWaiters: Int

  /// - Parameter mostWaiters: more are turned away.
  init(mostWaiters: Int) { self.mostWaiters = mostWaiters }

  mutating func ask(_ waiter: Waiter, at now: Int64) -> Step {
    switch phase {
    case .held(let token, _, let until) where now < until: return .use(token)
    case .failed(let outcome, let until) where now < until: return .over(outcome)
    case .fetching(var waiters):
      if waiters.count >= mostWaiters {
        return .over(.failed(reason: "too many notifications wait for a token of FCM"))
      }
      // The list has one owner meanwhile, so that no waiter copies those before it.
      phase = .none
      waiters.append(waiter)
      phase = .fetching(waiters)
      return .wait
    case .none, .held, .failed:
      phase = .fetching([waiter])
      return .fetch
    }
  }

  /// - Returns: those who waited.
  mutating func finish(_ verdict: AccessTokenAnswer.Verdict, at now: Int64) -> [Waiter] {
    guard case .fetching(let waiters) = phase else { return [] }
    switch verdict {
    case .grant(let grant):
      // A token that ends within the margin is used for the half of its time.
      let usable = max(grant.lifetime - Self.margin, grant.lifetime / 2)
      phase = .held(grant.token, since: now, until: now + usable)
    case .outcome(let outcome):
      var pause = Self.pause
      if case .later(let seconds?, _) = outcome { pause = max(pause, seconds) }
      phase = .failed(outcome, until: now + pause)
    }
    return waiters
  }

  /// FCM does not take a token.
  mutating func reject(_ token: String, at now: Int64, reason: String) -> PushOutcome {
    guard case .held(token, let since, _) = phase else { return .later(1, reason) }
    if now - since >= Self.leastAge {
      phase = .none
      return .later(1, reason)
    }
    let outcome = PushOutcome.refused(
      "\(reason), though the access token is new; check the service account in push.fcm, and this machine's clock")
    phase = .failed(outcome, until: now + Self.leastAge)
    return outcome
  }
}

/// Fetches access tokens with the service account's key (RFC 7523): one call at a time, whoever waits.
final class AccessTokens: Sendable {
  typealias Waiter = @Sendable (Result<String, PreparationFault>) -> Void

  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  private static let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

  private let account: ServiceAccount
  private let client: HTTPClient
  private let milliseconds: Int
  private let now: @Sendable () -> Int64
  private let age: @Sendable () -> Int64
  private let state: Mutex<AccessTokenState<Waiter>>

  init(
    _ account: ServiceAccount, client: HTTPClient, limits: PushConfiguration.Limits,
    now: @escaping @Sendable () -> Int64, age: @escaping @Sendable () -> Int64
  ) {
    self.account = account
    self.client = client
    milliseconds = limits.timeoutMilliseconds
    self.now = now
    self.age = age
    state = Mutex(AccessTokenState(mostWaiters: limits.underWay + limits.waiting))
  }

  /// - Parameter then: called once; may be before this returns.
  func token(then: @escaping Waiter) {
    switch state.withLock({ $0.ask(then, at: age()) }) {
    case .use(let token): then(.success(token))
    case .wait: break
    case .over(let outcome): then(.failure(PreparationFault(outcome)))
    case .fetch: fetch()
    }
  }

  func reject(_ token: String, reason: String) -> PushOutcome {
    state.withLock { $0.reject(token, at: age(), reason: reason) }
  }

  private func fetch() {
    guard let assertion = try? assertion(at: now()) else { return finish(.outcome(.unsigned("push.fcm"))) }
    let call = HTTPCall(
      url: account.tokenURL, headers: [(name: "Content-Type", value: "application/x-www-form-urlencoded")],
      body: Array("grant_type=\(Self.grant)&assertion=\(assertion)".utf8), timeoutMilliseconds: milliseconds)
    client.send(call) { [self] result in
      switch result {
      case .success(let reply): finish(AccessTokenAnswer.verdict(reply))
      // Without a token no notification has gone out, whatever became of the call for it.
      case .failure(let error): finish(.outcome(.unsent(error, "Google's token endpoint")))
      }
    }
  }

  /// The token that the account's key signs, which is exchanged for the access token.
  func assertion(at now: Int64) throws(UnusableKey) -> String {
    try SignedToken.make(with: account.key, keyID: account.keyID) { claims in
      claims.write("iss", account.email)
      claims.write("scope", Self.scope)
      claims.write("aud", account.tokenURL)
      claims.write("iat", now)
      claims.write("exp", now + 3600)
    }
  }

  private func finish(_ verdict: AccessTokenAnswer.Verdict) {
    let waiters = state.withLock { $0.finish(verdict, at: age()) }
    let result: Result<String, PreparationFault> =
      switch verdict {
      case .grant(let grant): .success(grant.token)
      case .outcome(let outcome): .failure(PreparationFault(outcome))
      }
    for waiter in waiters { waiter(result) }
  }
}
