import Wire

/// The place of a channel in use in ``HotChannels``. A slot is given out again; a life never is, so that what the
/// writer tells of the former channel in a slot is not taken for news of the present one.
struct HotPlace: Sendable, Hashable {
  var slot: Int
  var life: UInt64
}

/// What the writer thread knows of a channel.
///
/// Unchecked: the constants are Sendable, and `committed` and `working` are touched by the writer thread alone, from
/// the moment at which the first entry that names the channel went through the inbox.
final class WriterChannel: @unchecked Sendable {
  struct State {
    /// The channel's row in `channels`; nil where nothing was ever appended.
    var id: Int64?
    var top: UInt64
    /// Publications at or below this offset are not kept.
    var floor: UInt64 = 0
    /// The row must be written even if the channel has one: it still names the epoch of another durability.
    var isRenewed = false
  }

  let name: ChannelName
  let place: HotPlace
  /// The part of the epoch that stands in the row.
  let storedEpoch: String
  let durability: Durability
  /// Who pays for what is kept; nil: the namespace has no quota.
  let quota: QuotaScope?
  /// The channel's state as it is on disk.
  var committed: State
  /// The channel's state as it is on disk once the transaction under way is committed.
  var working: State
  /// Smallest time at which a publication of the transaction under way expires.
  var expires: Int64?
  var ttl: Int64 = 0
  /// When the newest publication was made. Milliseconds since 1970.
  var used: Int64 = 0
  /// The transaction under way has entries of the channel.
  var isTouched = false
  /// The transaction under way writes the channel's entries into the tables, and not into the journal.
  var isStored = true
  /// Entries of the channel in the transaction under way.
  var entryCount = 0

  init(
    name: ChannelName, place: HotPlace, storedEpoch: String, durability: Durability, state: State,
    quota: QuotaScope? = nil
  ) {
    self.name = name
    self.place = place
    self.storedEpoch = storedEpoch
    self.durability = durability
    self.quota = quota
    committed = state
    working = state
  }
}

/// An entry on its way to the disk.
struct QueuedEntry: Sendable {
  var entry: LogEntry
  var channel: WriterChannel
  var cost: Int
  /// Entries with the same number, one after another, go into one transaction; 0: an entry by itself.
  var transaction: UInt64 = 0
  /// What goes to other partitions with the transaction, at its first entry; nil: nothing.
  private(set) var relays: [LogRelay]?

  init(entry: LogEntry, channel: WriterChannel, cost: Int, transaction: UInt64 = 0) {
    (self.entry, self.channel, self.cost, self.transaction) = (entry, channel, cost, transaction)
  }

  mutating func carry(_ relays: [LogRelay]) {
    self.relays = relays
    cost += relays.reduce(0) { $0 + $1.data.count + 128 }
  }
}
