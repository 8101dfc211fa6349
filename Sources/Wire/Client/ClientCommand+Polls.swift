extension ClientCommand.Body {
  /// Makes what a sub_refresh asks for of its fields, in either format. One of a type that is not known here is a request
  /// that this server does not know.
  static func ofSubRefresh(
    type: Int32, channel: String, token: String, track: [ClientCommand.TrackBatch], untrack: [String]
  ) -> ClientCommand.Body {
    switch type {
    case 0: return .subRefresh(channel: channel, token: token)
    case ClientCommand.Track.trackType:
      var command = ClientCommand.Track()
      command.channel = channel
      command.batches = track
      command.untracked = untrack
      return .track(command)
    case ClientCommand.Track.untrackType: return .untrack(channel: channel, keys: untrack)
    default: return .unknown
    }
  }
}

extension ClientCommand.Subscribe {
  /// The `type` of a subscription to a shared poll.
  public static let sharedPollType: Int32 = 4
}

extension ClientCommand.Track {
  /// The `type` of a sub_refresh that tracks keys.
  public static let trackType: Int32 = 1
  /// The `type` of one that untracks keys.
  public static let untrackType: Int32 = 2
}
