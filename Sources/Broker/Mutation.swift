#if MUTATIONS
  /// A fault that the simulation puts into a broker, to see that it would be noticed. There is none in an optimised
  /// build.
  enum Mutation: CaseIterable {
    /// A request that is asked again is done again.
    case ignoresRetries
    /// A position of any epoch is taken for one of this.
    case ignoresEpochs
    /// Nobody is told of what is published.
    case dropsBroadcasts
    /// What a broker finds of its last life's publications says nothing of what was asked: it is done again.
    case forgetsDecisions
  }
#endif
