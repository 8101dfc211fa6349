import Cryptography
import Foundation
import Log
import Wire

/// Deletions of users' data: asked for, under way and done. On disk they are entries of a channel that nobody can name,
/// so that a deletion that was acknowledged is carried out, whatever happens to the process.
///
/// Jobs are carried out together, up to ``jobsPerBatch`` of them, because what all users keep is looked through for each
/// batch.
///
/// States of the batch (``Phase``), each of which a restart takes back to the first:
/// - resting: there is no batch. Can transition to: barring (jobs wait), scrubbing (a restart has found jobs that are
///   done but for that).
/// - barring: the users' tokens are refused, gateways disconnect them, and others are taken off the channels that name
///   the users. Can transition to: settling (all gateways have confirmed, and webhooks were told that those channels
///   are vacated: nothing more of the users comes in).
/// - settling: the log writes what it has taken. Can transition to: emptying.
/// - emptying: the users' entries are removed from maps that are in memory alone, some channels at a time. A process
///   that begins anew has no such maps. Can transition to: tracing.
/// - tracing: the stores look for what names the users, one page at a time. Can transition to: erasing (a page came),
///   settling (through, and something was found), unmarking (through, and nothing was found).
/// - erasing: the rows of a page are taken away, some at a time. Can transition to: tracing.
/// - unmarking: marks of list entries, which name lists and people, are taken off the disk. Can transition to: dropping.
/// - dropping: channels that belong to the users are deleted. Can transition to: ordering, barring (somebody is
///   subscribed again to one that names a user).
/// - ordering: gateways are told to forget the users. Can transition to: ordered.
/// - ordered: gateways delete the intervals of the users' subscriptions and the files of their pictures. Can transition
///   to: elsewhere (all of them have confirmed), ordering (another gateway has come, or none has confirmed and one has
///   to, because gateways keep pictures).
/// - elsewhere: other parts of the server forget the users. Can transition to: parting, ordering (one could not, and is
///   asked again a second later).
/// - parting: the other partitions are sent a barrier (``DeletionRelay``). Can transition to: parted, readmitting (there
///   are no others).
/// - parted: nothing that names the users goes to other partitions any more, and what comes from them and names one is
///   dropped. Can transition to: readmitting (the barriers of all of them have come), parting (the log has not taken
///   the own one).
/// - readmitting: revocations that name users who are not banned are taken back, some at a time: those users may come
///   in again. Can transition to: closing (no more of them is on the disk).
/// - closing: the jobs are replaced by digests of the users (``DeletionRecords``). Can transition to: scrubbing, and
///   gateways that have come since the order are told the digests (``LinkDeletions``).
/// - scrubbing: files are overwritten where they held any of it. Can transition to: confirming.
/// - confirming: the digests are marked as done. Can transition to: resting.
final class UserDeletions {
  /// The channel of the jobs, in a namespace that no configuration may have.
  static let channel: ChannelName = {
    guard let name = try? ChannelName("fanfare.deletions:all") else {
      preconditionFailure("the name of the deletions' channel is a valid one")
    }
    return name
  }()

  static let question = LogQuestion.open(channel, .durable, withEntries: true, ifExists: false)

  /// One user whose data is to be deleted, as it stands on the disk.
  struct Job: Codable, Equatable {
    var user: String
    /// Channels that are deleted whole, as well.
    var channels: [String] = []
    /// The user's tokens stay revoked.
    var isBanned = false
    /// Seconds since 1970 until when they do; nil: as long as revocations last.
    var bannedUntil: Int64?
    /// When the deletion was asked for, in milliseconds since 1970.
    var since: Int64
    /// The entry's key.
    var key = ""
    /// By which all partitions know the deletion: the offset of the entry in which home took it in. Nil: one partition
    /// alone carries it out, because there are no others.
    var number: UInt64?
    /// The partitions whose barriers have come (``DeletionRelay``).
    var barriers: [Int]?
  }

  enum Phase {
    case resting
    /// - orders: that gateways have still to confirm.
    /// - walk: through the channels that others may be subscribed to, and whether it has found one; nil: a new one
    ///   begins when the orders are carried out.
    case barring(orders: [UInt64], walk: (ChannelWalk, hasFound: Bool)? = nil)
    case settling
    case emptying(ChannelWalk)
    /// - isMemory: the memory store is looked through, after the disk.
    case tracing(TracePosition, isMemory: Bool)
    case erasing(next: TracePosition?, isMemory: Bool)
    /// - since: marks that are older than this have to go. Monotonic milliseconds.
    case unmarking(since: Int64)
    case dropping
    case ordering
    /// - told: gateways that had a link when the order was given.
    /// - isConfirmed: at least one of them has carried it out.
    case ordered(UInt64, told: Set<UInt64>, isConfirmed: Bool)
    case elsewhere
    case parting
    case parted
    case readmitting
    case closing
    case scrubbing
    case confirming
  }

  static let jobsPerBatch = 64
  /// Jobs that may wait; one more is refused.
  static let mostJobs = 10_000
  /// Rows that are being taken away at a time: a row costs about as much as a command of an app.
  static let rowsUnderWay = 16

  private(set) var state: BrokerChannel
  private(set) var isLoaded = false
  /// Jobs that are on their way to the disk. What comes behind one may be about it already.
  private var arriving: [Job] = []
  /// Jobs that wait, in the order in which they are carried out.
  var waiting: [Job] = []
  var batch: [Job] = []
  var phase = Phase.resting
  /// Users whose data was deleted, by ``digest(of:)``.
  var done = DeletionRecords()
  /// Makes the digests of this data folder differ from those of others; nil: nothing was ever deleted here.
  var pepper: [UInt8]?

  /// The batch's users.
  private(set) var sought = SoughtUsers([])
  /// Channels that belong to the batch's users, or were named with the jobs.
  var owned: Set<ChannelName> = []
  /// Gateways that have forgotten the batch's users by order.
  var forgotBatch: Set<UInt64> = []
  /// Rows of the page that are still to be looked at, the next one last.
  var rows: [TracedRow] = []
  var underWay = 0
  /// Rows of channels without a namespace, which the store takes away by itself.
  var orphans: [TracedRow] = []
  /// Histories of maps that this pass has removed.
  var trimmed: Set<ChannelName> = []
  /// Whether the pass under way has found anything, so that there is another one.
  var hasFound = false
  /// The time for which older marks of apps were told to go; nil: none were.
  var marksEnded: Int64?
  /// The input of the batch waits for a store.
  var isParked = false
  /// When the batch goes on, in monotonic milliseconds.
  var next = Int64.min
  /// Other parts of the server that have still to forget the users.
  var awaited = 0
  /// Entries of the deletions' own channel, and removals of revocations, that are on their way to the disk.
  var writing = 0
  /// Some of them did not get there.
  var hasFailedToWrite = false
  var lastSweep: Int64?

  init(store: any LogStore) {
    state = Self.state(store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
  }

  /// Takes in what the disk holds.
  ///
  /// - Returns: false where an entry is of another version.
  func loaded(_ opened: OpenedChannel) -> Bool {
    state = Self.state(state.store, opened)
    (arriving, waiting, batch, phase) = ([], [], [], .resting)
    var records: [String: DeletionRecords.Record] = [:]
    var floor: DeletionMark?
    (rows, orphans, underWay, awaited, writing, isParked) = ([], [], 0, 0, 0, false)
    for entry in opened.entries {
      let key = entry.change?.key ?? ""
      if key == Self.pepperKey {
        pepper = entry.data
      } else if key.hasPrefix(Self.donePrefix) {
        guard let done = Self.decode(DeletionRecords.Record.self, entry.data) else { return false }
        records[String(key.dropFirst(Self.donePrefix.count))] = done
      } else if key == Self.floorKey {
        guard let mark = Self.decode(Floor.self, entry.data) else { return false }
        floor = DeletionMark(number: mark.number, at: mark.at)
      } else {
        guard var job = Self.decode(Job.self, entry.data) else { return false }
        job.key = key
        waiting.append(job)
      }
    }
    done = DeletionRecords(records, floor: floor)
    // Home's order, which is that of all partitions (``DeletionRelay``), whatever the clocks say.
    waiting.sort { ($0.number ?? 0, $0.since, $0.user) < ($1.number ?? 0, $1.since, $1.user) }
    isLoaded = true
    return true
  }

  /// Notes that a gateway has carried out an order.
  func confirmed(_ order: UInt64) {
    guard case .ordered(order, let told, _) = phase else { return }
    phase = .ordered(order, told: told, isConfirmed: true)
  }

  /// A job was given to the log.
  func arrives(_ job: Job) { arriving.append(job) }

  /// The log has answered for a job.
  ///
  /// - Parameter isKept: it waits now.
  func arrived(_ job: Job, isKept: Bool) {
    guard let index = arriving.firstIndex(where: { $0.key == job.key }) else { return }
    let job = arriving.remove(at: index)
    if isKept { waiting.append(job) }
  }

  /// Notes a partition's barrier for deletions that are not done here.
  ///
  /// - Returns: the jobs that did not have it.
  func note(barrierOf partition: Int, for numbers: Set<UInt64>) -> [Job] {
    change(numbers) { job in
      guard job.barriers?.contains(partition) != true else { return false }
      job.barriers = (job.barriers ?? []) + [partition]
      return true
    }
  }

  /// The log has not taken the barrier: it comes again.
  func forget(barrierOf partition: Int, for numbers: Set<UInt64>) {
    _ = change(numbers) { job in
      job.barriers?.removeAll { $0 == partition }
      return true
    }
  }

  private func change(_ numbers: Set<UInt64>, _ body: (inout Job) -> Bool) -> [Job] {
    var changed: [Job] = []
    func look(_ job: inout Job) {
      guard let number = job.number, numbers.contains(number), body(&job) else { return }
      changed.append(job)
    }
    for index in batch.indices { look(&batch[index]) }
    for index in waiting.indices { look(&waiting[index]) }
    for index in arriving.indices { look(&arriving[index]) }
    return changed
  }

  /// Whether the barriers of all these partitions have come for the batch.
  func hasBarriers(of partitions: [Int]) -> Bool {
    batch.allSatisfy { job in job.number == nil || partitions.allSatisfy { job.barriers?.contains($0) == true } }
  }

  /// Whether nothing of a user may come in now: what came would be missed.
  func bars(_ user: String) -> Bool {
    switch phase {
    case .resting, .closing, .scrubbing, .confirming: false
    default: sought.contains(user)
    }
  }

  /// Whether a user's data is being deleted, or was after a moment: what stood elsewhere until then must not come back.
  ///
  /// - Parameter time: milliseconds since 1970.
  func hasForgotten(_ user: String, since time: Int64) -> Bool {
    if bars(user) || waiting.contains(where: { $0.user.hasSameBytes(as: user) }) { return true }
    guard done.count > 0, pepper != nil, let record = done[digest(of: user)] else { return false }
    return record.at >= time
  }

  /// When the batch goes on by itself, in monotonic milliseconds; nil: it waits for a store, or there is none.
  var nextDeadline: Int64? { isLoaded && !isParked && next != .max ? next : nil }

  func takeWriteFailure() -> Bool {
    defer { hasFailedToWrite = false }
    return hasFailedToWrite
  }

  /// Notes that another broker keeps the channel now, and carries the jobs out.
  func lost() { isLoaded = false }

  func begin(_ jobs: [Job], owned: Set<ChannelName>) {
    batch = jobs
    sought = SoughtUsers(jobs.map(\.user))
    self.owned = owned
    (rows, orphans, trimmed, hasFound, forgotBatch) = ([], [], [], false, [])
  }

  // MARK: The disk

  static let pepperKey = " pepper"
  static let floorKey = " floor"
  static let donePrefix = "done:"

  /// The mark of records that are not remembered any more (``DeletionRecords/floor``), as it stands on the disk.
  struct Floor: Codable {
    var number: UInt64
    var at: Int64
  }

  static func encode(_ value: some Encodable) -> [UInt8] { (try? JSONEncoder().encode(value)).map { Array($0) } ?? [] }

  static func decode<Value: Decodable>(_ type: Value.Type, _ data: [UInt8]) -> Value? {
    try? JSONDecoder().decode(type, from: Data(data))
  }

  /// What stands for a user whose data was deleted. Whoever has the data folder can try ids; nobody else can.
  func digest(of user: String) -> String {
    PepperedDigest(pepper: pepper ?? []).digest(of: user)
  }

  private static func state(_ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    BrokerChannel(name: channel, options: AppHost.recordsOptions, store: store, opened: opened, isHidden: true)
  }
}

/// An entry of the deletions' channel on its way to the disk. Indirect, because every publication on its way has room for
/// one (``PendingAppend/Owner``), and would be as large.
indirect enum PendingDeletion {
  /// - relays: how many go to other partitions with it.
  case requested(UserDeletions.Job, Requester, relays: Int)
  /// One of the jobs for which a partition's barrier has come; all of them are in one transaction.
  case barrier(PendingBarrier)
  case pepper
  /// A part of what closes or confirms a batch, or forgets old ones; or one entry with relays to other partitions.
  case kept(relays: Int)
  /// The removal of one of these revocations; all of them are in one transaction.
  case readmitted([Revocation])
}

/// A partition's barrier on its way to the disk.
final class PendingBarrier {
  let requester: Requester
  let partition: Int
  /// Of the jobs that did not have it.
  let numbers: Set<UInt64>
  /// Entries that the log has not answered for.
  var left: Int

  init(_ requester: Requester, of partition: Int, _ jobs: [UserDeletions.Job]) {
    (self.requester, self.partition, left) = (requester, partition, jobs.count)
    numbers = Set(jobs.compactMap(\.number))
  }
}
