import Metrics

/// Why a client was not let in by what it showed. Limits are no such causes: they are among the refusals.
public enum SignInRefusal: String, Sendable, CaseIterable {
  /// There was no token, or it is wrong, or revoked.
  case invalidToken = "invalid_token"
  case expiredToken = "expired_token"
  /// The keys to check it with could not be had.
  case keysUnavailable = "keys_unavailable"
  /// The backend refused them, or gave no usable answer.
  case backend
}

/// Counts refused sign-ins by cause, each from 0.
struct SignInRefusals {
  private let counters = Dictionary(
    uniqueKeysWithValues: SignInRefusal.allCases.map { cause in
      (cause, Counter(label: "fanfare_gateway_sign_ins_refused_total", dimensions: [("cause", cause.rawValue)]))
    })

  func count(_ cause: SignInRefusal) { counters[cause]?.increment() }
}
