#if MUTATIONS
  /// A fault that the simulation puts into a broker, to see that its checks would notice it. Optimised builds have
  /// none.
  enum Mutation: CaseIterable {
    /// A request that a gateway repeats is done again.
    case ignoresRetries
    /// A position of any epoch is taken for one of the current epoch.
    case ignoresEpochs
    /// Publications are delivered to no gateway.
    case dropsBroadcasts
    /// A broker that starts again does not load which requests and keys its publications belong to, so a repeated
    /// request is done again.
    case forgetsDecisions
    /// Gateways are told once what pictures to delete, and not once more.
    case tellsDiscardsOnce

    /// Those that need no app to be noticed.
    static let ofChannels = allCases.filter { $0 != .tellsDiscardsOnce }
  }
#endif
