import Apps
import Log
import Wire

/// One app in the broker: its records, its times, and what of its lists is to be worked out again.
final class AppHost {
  let app: any App
  /// The channel of the records. It has options of its own and no place in the namespaces: nobody can name it.
  let recordsState: ChannelState
  var records: AppRecords
  /// The last decision of which something is not on disk yet. Answers to commands that change nothing wait for it: they
  /// may tell of what it changes.
  var lastPending: PendingDecision?
  /// When the next record is due, as far as is known; nil: nobody looked yet.
  var nextDue: Int64?
  /// Records whose decision failed, and when to try again.
  var suspended: [IdentifierKey: Int64] = [:]
  var refreshes = RefreshQueue()
  /// Of this turn; the next one begins with all of them.
  var refreshesLeft = BrokerCore.refreshesPerTurn
  /// Something was erased that the disk is to forget, and when it may be asked to: monotonic milliseconds.
  var wantsScrub = false
  var scrubTime = Int64.min
  /// Entries in memory that show what is not on disk yet.
  var doubtful: Set<RefreshQueue.Place> = []

  init(app: any App, recordsState: ChannelState) {
    self.app = app
    self.recordsState = recordsState
    records = AppRecords(channel: recordsState.name)
  }

  /// When a turn has something to do, in monotonic milliseconds, beside the records that are due.
  var nextTime: Int64? {
    guard wantsScrub else { return refreshes.nextTime }
    return refreshes.nextTime.map { min($0, scrubTime) } ?? scrubTime
  }

  /// In a namespace that no configuration may have, so that no client can name it.
  static func recordsChannel(of app: any App) -> ChannelName {
    guard let name = try? ChannelName("\(app.name).records:all") else {
      preconditionFailure("an app's name is a word")
    }
    return name
  }

  static var recordsOptions: ChannelOptions {
    var options = ChannelOptions()
    options.kind = .map
    options.mapMode = .persistent
    options.durability = .durable
    return options
  }
}

/// A decision of which the log holds something that it has not answered for.
final class PendingDecision {
  /// Entries that the log has still to answer for.
  var remaining: Int
  var error: LogError?
  let host: AppHost
  /// Records that it changes, with the offsets of the changes.
  let records: [(key: String, offset: UInt64)]
  /// What follows when all is on disk.
  let afterwards: [AppEffect]
  /// Whom to answer then, and what.
  var answers: [(Requester, BrokerResponse)]

  init(
    host: AppHost, remaining: Int, records: [(key: String, offset: UInt64)], afterwards: [AppEffect],
    answers: [(Requester, BrokerResponse)]
  ) {
    self.host = host
    self.remaining = remaining
    self.records = records
    self.afterwards = afterwards
    self.answers = answers
  }
}

/// Entries of an app's map channels that are to be worked out again soon: many changes of one entry as one.
struct RefreshQueue {
  struct Place: Hashable {
    var channel: ChannelName
    var key: IdentifierKey

    init(channel: ChannelName, key: String) {
      self.channel = channel
      self.key = IdentifierKey(key)
    }
  }

  /// An entry changes at most this often, in milliseconds: a conversation of a thousand messages a second must not make
  /// three thousand publications of it.
  static let interval: Int64 = 200

  private var waiting: Set<Place> = []
  private var queue = DueHeap<Place>()
  /// When entries were last worked out; of those only that it was a moment ago.
  private var lastTimes: [Place: Int64] = [:]

  var nextTime: Int64? { queue.nextTime }
  var isEmpty: Bool { waiting.isEmpty }

  /// - Parameter now: monotonic milliseconds.
  mutating func add(_ place: Place, now: Int64) {
    guard waiting.insert(place).inserted else { return }
    let last = lastTimes[place]
    queue.add(place, at: last.map { max(now, $0 + Self.interval) } ?? now)
  }

  mutating func next(upTo now: Int64) -> Place? {
    guard let place = queue.next(upTo: now) else { return nil }
    waiting.remove(place)
    if lastTimes.count > 4096 { lastTimes = lastTimes.filter { now - $0.value < Self.interval } }
    lastTimes[place] = now
    return place
  }
}
