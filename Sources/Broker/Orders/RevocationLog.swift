import Log
import Wire

/// Revocations that are in force: in memory, and on disk as entries of a channel that nobody can name.
final class RevocationLog {
  /// In a namespace that no configuration may have.
  static let channel: ChannelName = {
    guard let name = try? ChannelName("fanfare.revocations:all") else {
      preconditionFailure("the name of the revocations' channel is a valid one")
    }
    return name
  }()

  let state: ChannelState
  var table: RevocationTable
  /// Revocations that wait for the disk.
  var underWay = 0
  /// When expired ones were last looked for, in monotonic milliseconds.
  var lastSweep: Int64?

  init(state: ChannelState, table: RevocationTable) {
    self.state = state
    self.table = table
  }
}

/// A revocation that is on its way to the disk.
struct PendingRevocation {
  var revocation: Revocation
  var requester: Requester
}
