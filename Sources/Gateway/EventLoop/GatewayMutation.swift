#if MUTATIONS
  /// A fault that the simulation puts into the event loops of a gateway, to see that it would be noticed. There is none
  /// in an optimised build.
  enum GatewayMutation: CaseIterable {
    /// A session that still waits for its connect result is sent publications before it.
    case ignoresHolds
    /// A session that leaves a channel keeps the seat on its tape.
    case forgetsDetaches
    /// Every filter lets everything through.
    case ignoresFilters
    /// Frames that wait on tapes stay there when their connection has room again.
    case forgetsLaggards
    /// A read stays charged after its answer has come.
    case keepsReadsCharged
  }
#endif
