import Log
import Wire

/// Revocations that are in force: in memory, and on disk as entries of a channel that nobody can name.
final class RevocationLog {
  /// The channel of the revocations, in a namespace that no configuration may have.
  static let channel: ChannelName = {
    guard let name = try? ChannelName("fanfare.revocations:all") else {
      preconditionFailure("the name of the revocations' channel is a valid one")
    }
    return name
  }()

  private(set) var state: BrokerChannel
  var table = RevocationTable()
  /// The revocations on disk are in the table. Until then the broker reads no requests.
  private(set) var isLoaded = false
  /// Revocations that wait for the disk.
  var underWay = 0
  /// When expired revocations were last looked for, in monotonic milliseconds.
  var lastSweep: Int64?

  init(store: any LogStore) {
    state = Self.state(store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
  }

  static let question = LogQuestion.open(channel, .durable, withEntries: true, ifExists: false)

  func loaded(_ opened: OpenedChannel, _ table: RevocationTable) {
    state = Self.state(state.store, opened)
    self.table = table
    isLoaded = true
  }

  /// Notes that another broker keeps the channel now. The revocations in the table stay in force here.
  func lost() { isLoaded = false }

  private static func state(_ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    BrokerChannel(name: channel, options: AppHost.recordsOptions, store: store, opened: opened, isHidden: true)
  }
}

/// A revocation that is on its way to the disk.
struct PendingRevocation {
  var revocation: Revocation
  /// It is lifted: the log removes it, and gateways are told all that is left.
  var isLifted = false
  var requester: Requester
}
