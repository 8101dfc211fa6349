import Cryptography
import Synchronization
import Wire

/// When the token for APNs is made anew. Apple wants it to be between 20 and 60 minutes old at most: a younger one that
/// is replaced counts as an abuse of the service, an older one is refused.
///
///     none      no token yet; can become: held
///     held      in use; can become: held (by another, after `renewalSeconds`), rejected
///     rejected  APNs took it for expired: nothing is sent with it; can become: held, not before `leastSeconds`
///
/// Times are seconds of a clock that is never set back.
struct APNsTokenState {
  /// Seconds after which a token is replaced.
  static let renewalSeconds: Int64 = 50 * 60
  /// Seconds that lie between two tokens, whatever APNs says of the first.
  static let leastSeconds: Int64 = 20 * 60

  private enum Phase {
    case none
    case held(String, madeAt: Int64)
    case rejected(madeAt: Int64)
  }

  enum Step: Equatable {
    case use(String)
    /// To be followed by ``made(_:at:)``.
    case make
    /// For so many seconds nothing can be sent.
    case wait(Int64)
  }

  private var phase = Phase.none

  func step(at now: Int64) -> Step {
    switch phase {
    case .none: .make
    case .held(let token, let madeAt): now - madeAt < Self.renewalSeconds ? .use(token) : .make
    case .rejected(let madeAt):
      now - madeAt < Self.leastSeconds ? .wait(Self.leastSeconds - (now - madeAt)) : .make
    }
  }

  mutating func made(_ token: String, at now: Int64) { phase = .held(token, madeAt: now) }

  /// APNs says that a token has expired. What it says of an earlier token than the held one changes nothing.
  mutating func reject(_ token: String) {
    if case .held(token, let madeAt) = phase { phase = .rejected(madeAt: madeAt) }
  }
}

/// The one token of a key, which all calls share.
final class APNsTokens: Sendable {
  private let key: PrivateKey
  private let keyID: String
  private let teamID: String
  private let state = Mutex(APNsTokenState())

  init(_ configuration: PushConfiguration.APNs) {
    key = configuration.key
    keyID = configuration.keyID
    teamID = configuration.teamID
  }

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - age: seconds of a clock that is never set back.
  func token(now: Int64, age: Int64) throws(PreparationFault) -> String {
    // Signed under the lock: two tokens at a time would be one too many.
    let result = state.withLock { state -> Result<String, PreparationFault> in
      switch state.step(at: age) {
      case .use(let token): return .success(token)
      case .wait(let seconds): return .failure(Self.waiting(seconds))
      case .make:
        guard
          let token = try? SignedToken.make(
            with: key, keyID: keyID,
            claims: {
              $0.write("iss", teamID)
              $0.write("iat", now)
            })
        else { return .failure(PreparationFault(.unsigned("push.apns"))) }
        state.made(token, at: age)
        return .success(token)
      }
    }
    return try result.get()
  }

  /// APNs said that the token has expired.
  ///
  /// - Returns: what becomes of the message that it said so of.
  func reject(_ token: String, age: Int64, reason: String) -> PushOutcome {
    let step = state.withLock { state in
      state.reject(token)
      return state.step(at: age)
    }
    if case .wait(let seconds) = step { return Self.waiting(seconds).outcome }
    return .later(1, reason)
  }

  private static func waiting(_ seconds: Int64) -> PreparationFault {
    PreparationFault(
      .later(
        seconds,
        "APNs takes a token of less than 20 minutes for expired, and a new one may not be made yet; check this machine's clock"
      ))
  }
}
