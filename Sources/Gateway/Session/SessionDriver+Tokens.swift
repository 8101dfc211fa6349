import Auth
import NIOCore
import Wire

/// Checking tokens: off the event loop, since a key may have to be fetched first; a few at a time; and whoever signs in
/// before everybody else.
extension SessionDriver {
  func begin(_ check: TokenCheck) {
    if checks.begin(check) { start(check) }
    holdInputForChecks()
  }

  private func start(_ check: TokenCheck) {
    guard case .connection = check, session.phase == .connecting else { return run(check, with: host.otherVerifier) }
    guard let delay = isGone ? nil : transport.signInDelay() else {
      host.note(.signIns, from: self)
      checkEnded()
      return disconnect(.tooManyRequests)
    }
    if delay == 0 { return run(check, with: host.verifier) }
    host.note(.signIns, from: self)
    eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) { [self] in
      if isWanted(check.tag) { run(check, with: host.verifier) } else { checkEnded() }
    }
  }

  private func run(_ check: TokenCheck, with verifier: any TokenVerifier) {
    switch check {
    case .connection(let tag, let token):
      verify({ () async throws(TokenError) in try await verifier.verifyConnection(token) }) { driver, result in
        driver.host.admit { driver.connectionTokenChecked(tag, driver.unlessRevoked(result)) }
      }
    case .subscription(let tag, let token):
      verify({ () async throws(TokenError) in try await verifier.verifySubscription(token) }) {
        $0.feed(.subscriptionTokenChecked(tag: tag, $0.unlessRevoked($1)))
      }
    case .place(let tag, let token):
      verify({ () async throws(TokenError) in try await verifier.verifyPlace(token) }) {
        $0.feed(.placeTokenChecked(tag: tag, $0.unlessRevoked($1)))
      }
    }
  }

  private func verify<Claims: Sendable>(
    _ verify: @escaping @Sendable () async throws(TokenError) -> Claims,
    then done: @escaping @Sendable (SessionDriver, Result<Claims, TokenError>) -> Void
  ) {
    let driver = NIOLoopBound(self, eventLoop: eventLoop)
    let eventLoop = eventLoop
    Task(executorPreference: host.checkExecutor) {
      let result: Result<Claims, TokenError>
      do throws(TokenError) { result = .success(try await verify()) } catch { result = .failure(error) }
      eventLoop.execute {
        done(driver.value, result)
        driver.value.checkEnded()
      }
    }
  }

  /// A client with a valid token may still be one connection too many of its user's.
  private func connectionTokenChecked(_ tag: UInt64, _ result: Result<ConnectionClaims, TokenError>) {
    if session.phase == .connecting { noteRefusal(result) }
    if session.phase == .connecting, case .success(let claims) = result, !claims.user.isEmpty {
      switch host.openAccount(of: claims.user) {
      case .none: break
      case .opened(let account): session.enter(account)
      case .full:
        host.note(.userConnections, from: self)
        host.signInRefused(nil, "as many connections as client.max_connections_per_user", user: claims.user, self)
        return disconnect(.connectionLimit)
      }
    }
    feed(.connectionTokenChecked(tag: tag, result))
  }

  /// Notes why a client is not let in.
  private func noteRefusal(_ result: Result<ConnectionClaims, TokenError>) {
    switch result {
    case .failure(.expired): host.signInRefused(.expiredToken, "the token has expired", user: "", self)
    case .failure(.invalid(let reason)): host.signInRefused(.invalidToken, reason, user: "", self)
    case .failure(.unavailable(let reason)):
      host.signInRefused(.keysUnavailable, "no keys to check it with: \(reason)", user: "", self)
    case .success(let claims):
      if let end = claims.expiresAt, end <= host.time.wall {
        host.signInRefused(.expiredToken, "the token has expired", user: claims.user, self)
      }
    }
  }

  /// Looks at revocations once more: of what was revoked since the check, this event loop has heard already, and is not
  /// told again.
  private func unlessRevoked(
    _ result: Result<ConnectionClaims, TokenError>
  ) -> Result<ConnectionClaims, TokenError> {
    if case .success(let claims) = result, host.revocations.refuses(claims) {
      return .failure(.revoked(of: claims.user))
    }
    return result
  }

  private func unlessRevoked(
    _ result: Result<SubscriptionClaims, TokenError>
  ) -> Result<SubscriptionClaims, TokenError> {
    if case .success(let claims) = result, host.revocations.refuses(claims) {
      return .failure(.revoked(of: claims.user))
    }
    return result
  }

  private func unlessRevoked(_ result: Result<PlaceClaims, TokenError>) -> Result<PlaceClaims, TokenError> {
    if case .success(let claims) = result, host.revocations.refuses(claims) {
      return .failure(.revoked(of: claims.user))
    }
    return result
  }

  private func checkEnded() {
    if let next = checks.ended(isWanted: isWanted) { start(next) }
    holdInputForChecks()
  }

  private func isWanted(_ tag: UInt64) -> Bool { session.isPending(tag) }
}
