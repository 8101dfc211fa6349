public import Wire
public import ZeroMQ

/// Who may do what at an endpoint for services.
public enum ServiceAccess: Sendable {
  /// Whoever reaches it may do everything: an `ipc://` file that only the server's own user reaches.
  case everything
  /// Every process on this machine, as the operator wants it: everything but the apps' channels and methods.
  case everyoneOnThisMachine
  /// Services whose CURVE keys are listed, each what its grant says, by the name under which the list knows it.
  case keys([String: ServiceGrant], Curve.Role)

  var isEverything: Bool { if case .everything = self { true } else { false } }

  var goesByKey: Bool { if case .keys = self { true } else { false } }

  var curve: Curve.Role? { if case .keys(_, let role) = self { role } else { nil } }

  /// - Parameter user: as whom libzmq let the service in.
  func grant(of user: String?) -> ServiceGrant {
    switch self {
    case .everything: .everything
    case .everyoneOnThisMachine: .everyoneOnThisMachine
    case .keys(let grants, _): user.flatMap { grants[$0] } ?? ServiceGrant()
    }
  }
}
