internal import Wire

/// What ``ClientMachine`` is to do with a call beside sending it.
struct CallOptions: Equatable {
  /// Kept while there is no connection; nil: it has to be answered in time.
  var keep: Keep?
  /// Where there is a subscription to this channel, the call waits until that stands. So one publishes where only
  /// subscribers may, and a message in doubt is looked for among what was recovered before it is sent again.
  var after: ChannelName?

  struct Keep: Equatable {
    /// Calls of one lane go one after another, the next when the one before it is answered: none overtakes another.
    var lane: String
    var repetition: Repetition
    /// By which the call is known among the publications of ``CallOptions/after``.
    var key: String?
    /// Of the command, for the limit on what is kept.
    var bytes: Int
  }

  /// Whether the call may be sent again where its answer was lost.
  enum Repetition: Equatable {
    /// Twice would be two. It is sent once, and fails where its answer is lost.
    case never
    /// It says what is to be: twice is the same as once.
    case always
    /// The server does it once for its key, for as long as it knows the key.
    case whileKnown(Duration)
  }
}

/// What ``ClientMachine`` knows of one call.
struct CallRecord {
  enum Phase: Equatable {
    /// Can transition to: `sent`.
    case waiting
    /// Can transition to: `pausing`, `waiting` (connection lost).
    case sent
    /// The server could not do it now, or did not answer. Can transition to: `waiting`.
    case pausing
  }

  /// Tries whose answers are still waited for: any of them counts.
  static let maximumTries = 8

  var body: ClientCommand.Body
  var options: CallOptions
  var phase = Phase.waiting
  /// The ids of its commands on the connection at hand, oldest first.
  var commandIDs: [UInt32] = []
  var failures = 0
  var wasSent = false
  /// The server may have forgotten the key: the call is not sent again.
  var isOld = false
}
