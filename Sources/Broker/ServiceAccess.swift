public import Wire
public import ZeroMQ

/// What services may do at an endpoint, and which of them.
public enum ServiceAccess: Sendable {
  /// Whoever reaches the endpoint may do everything: an `ipc://` file that only the server's own user can open.
  case everything
  /// Every process on this machine, where the operator chose that, may do everything except with the apps' channels and
  /// methods.
  case everyoneOnThisMachine
  /// Services whose CURVE keys are listed, each according to its grant. The grants are by the name that the list gives
  /// the service.
  case keys([String: ServiceGrant], Curve.Role)

  var isEverything: Bool { if case .everything = self { true } else { false } }

  var goesByKey: Bool { if case .keys = self { true } else { false } }

  var curve: Curve.Role? { if case .keys(_, let role) = self { role } else { nil } }

  /// What a service may do.
  ///
  /// - Parameter user: the name under which libzmq let the service in; nil: it came without a key.
  func grant(of user: String?) -> ServiceGrant {
    switch self {
    case .everything: .everything
    case .everyoneOnThisMachine: .everyoneOnThisMachine
    case .keys(let grants, _): user.flatMap { grants[$0] } ?? ServiceGrant()
    }
  }
}
