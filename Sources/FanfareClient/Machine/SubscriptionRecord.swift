internal import Wire

/// What ``ClientMachine`` knows of one subscription.
struct SubscriptionRecord {
  enum Phase: Equatable {
    /// Nothing was sent. Can transition to: `waitingForToken`, `requested`.
    case idle
    /// Can transition to: `requested`, `backingOff`, `idle` (connection lost).
    case waitingForToken
    /// The command was sent. Can transition to: `subscribed`, `backingOff`, `idle` (connection lost).
    case requested
    /// Can transition to: `idle` (connection lost or interrupted).
    case subscribed
    /// Waits to try again. Can transition to: `waitingForToken`, `requested`, `idle` (connection lost).
    case backingOff
  }

  /// An epoch that no server gives out: recovery from it fails, and the reader learns that something is lost.
  static let invalidatedEpoch = "_"

  let channel: ChannelName
  var options: SubscriptionOptions
  var phase = Phase.idle
  /// Changes whenever the subscription is asked for or interrupted: an answer to an older request changes nothing.
  var session: UInt64 = 0
  /// Where to recover from.
  var position: StreamPosition?
  var failures = 0
  /// Of a map, while it is read.
  var reading: MapReading?

  init(channel: ChannelName, options: SubscriptionOptions) {
    self.channel = channel
    self.options = options
    position = options.since
  }

  mutating func interrupt() {
    phase = .idle
    session &+= 1
    reading = nil
  }

  /// Gives up the position and a token that can be had anew: the server declared both invalid (code 2502, or 3014 of
  /// the connection).
  mutating func invalidate() {
    if options.tokenProvider != nil { options.token = "" }
    if position != nil { position = StreamPosition(epoch: Self.invalidatedEpoch, offset: 0) }
  }

  var command: ClientCommand.Subscribe {
    var command = ClientCommand.Subscribe()
    command.channel = channel.string
    command.token = options.token
    command.recoverable = options.recoverable
    command.positioned = options.positioned
    command.joinLeave = options.joinLeave
    command.data = options.data
    command.filter = options.filter
    if let reading, let map = options.map {
      reading.ask(map, in: &command)
    } else if let position {
      command.recover = true
      command.epoch = position.epoch
      command.offset = position.offset
    }
    return command
  }
}
