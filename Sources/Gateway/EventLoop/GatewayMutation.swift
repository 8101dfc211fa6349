#if MUTATIONS
  /// A fault that the simulation puts into the event loops of a gateway, to see that it would be noticed. There is none
  /// in an optimised build.
  enum GatewayMutation: CaseIterable {
    /// Who still waits for the connect result is sent publications before it.
    case ignoresHolds
    /// Who leaves a channel keeps the seat on its tape.
    case forgetsDetaches
    /// Every filter lets everything through.
    case ignoresFilters
    /// What waits on tapes stays there when its connection has room again.
    case forgetsLaggards
    /// A read stays charged after its answer has come.
    case keepsReadsCharged
  }
#endif
