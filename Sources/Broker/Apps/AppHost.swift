import Apps
import Log
import Wire

/// One app in the broker: its records, when they are due, and which entries of its lists are to be worked out again.
final class AppHost {
  let app: any App
  /// What the names of the app's methods begin with.
  let methodPrefix: String
  /// The channel that holds the app's records. No namespace of the configuration has it, so no client can name it.
  private(set) var recordsState: BrokerChannel
  /// The channel that holds ``marks``; no client can name it either.
  private(set) var marksState: BrokerChannel
  /// The channel of the records is open, that of the marks may not be yet.
  private var hasRecords = false
  /// Records and marks are loaded. Before that the app is not asked anything.
  private(set) var isLoaded = false
  /// When the records were loaded, in milliseconds since 1970. What waits for an answer since before is due.
  private var loadedAt = Int64.min
  var marks = StaleMarks()
  /// The lists on disk were written by a version of the broker that had no marks: entries of each list that is opened
  /// are worked out anew.
  private(set) var distrustsLists = false
  var records: AppRecords
  /// The last decision of which an entry is not on disk yet. Answers to commands that change nothing wait for it,
  /// because they may tell of what that decision changes.
  var lastPending: PendingDecision?
  /// How many decisions the log took and then failed, and the error of the last of them.
  var failures: UInt64 = 0
  var lastFailure: LogError?
  var timetable = AppTimetable()
  /// Commands that the app wants to run later (``AppDecision/Answer/later``), in the order in which they came.
  var putAside: [(BrokerRequest.CallRequest, Requester)] = []
  var refreshes = RefreshQueue()
  var followers = ListFollowers()
  /// Entries that may still be worked out in this turn.
  var refreshesLeft = BrokerCore.refreshesPerTurn
  /// The store is to overwrite what was erased (``LogStore/scrub()``), at `scrubTime` or later, in monotonic
  /// milliseconds.
  var wantsScrub = false
  var scrubTime = Int64.min
  /// Entries of lists in memory that show records which are not on disk yet. If those fail, the entries are worked out
  /// again.
  var doubtful: Set<RefreshQueue.Place> = []
  /// Admissions that rest on records which are not on disk yet.
  var doubtfulAdmissions = DoubtfulAdmissions()

  /// Lanes of which the store is looking for records whose time has come; and the records that were written since the
  /// first of these looks began, which it may find as they were before.
  var looksUnderWay: Set<AppLane> = []
  var writtenMeanwhile: Set<IdentifierKey> = []
  /// Records whose time has come and whose decisions wait for the store. True: the record was written since it began to
  /// wait.
  private var waking: [IdentifierKey: Bool] = [:]
  /// Records that may still be woken in this turn.
  var wakesLeft = BrokerCore.dueRecordsPerTurn

  init(app: any App, store: any LogStore, cacheBytes: Int) {
    self.app = app
    methodPrefix = app.name + "."
    let name = Self.recordsChannel(of: app)
    recordsState = Self.state(name, store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
    records = AppRecords(channel: name, bytesLimit: cacheBytes)
    marksState = Self.state(
      Self.hiddenChannel("marks", of: app), store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
  }

  var recordsQuestion: LogQuestion { .open(recordsState.name, .durable, withEntries: false, ifExists: false) }

  private var marksQuestion: LogQuestion { .open(marksState.name, .durable, withEntries: true, ifExists: false) }

  /// The question with which the next channel is opened; nil: all are open.
  var question: LogQuestion? { isLoaded ? nil : hasRecords ? marksQuestion : recordsQuestion }

  /// Takes in a channel that the store has opened: first that of the records, then that of the marks.
  ///
  /// - Returns: the places to be worked out, because they are marked.
  func loaded(_ opened: OpenedChannel, at time: BrokerTime) -> [RefreshQueue.Place] {
    guard hasRecords else {
      recordsState = Self.state(recordsState.name, recordsState.store, opened)
      records.forgetAll()
      timetable.forget()
      (hasRecords, loadedAt) = (true, time.wall)
      return []
    }
    marksState = Self.state(marksState.name, marksState.store, opened)
    marks = StaleMarks()
    distrustsLists = !opened.exists && recordsState.sequencer.top.offset > 0
    isLoaded = true
    let places = opened.entries.compactMap { RefreshQueue.Place(mark: $0.change?.key ?? "") }
    for place in places { marks.marked(place, at: time.monotonic) }
    return places
  }

  /// Forgets all that rests on the records, because another broker keeps them now.
  func lost() {
    (isLoaded, hasRecords) = (false, false)
    records.forgetAll()
    lastPending = nil
    (looksUnderWay, writtenMeanwhile, waking) = ([], [], [:])
    doubtful = []
    _ = doubtfulAdmissions.takeAll()
  }

  // MARK: Records whose time has come

  /// Whether a record that a look has found is due.
  func isDue(_ found: ExpiringKey, in lane: AppLane, at now: Int64) -> Bool {
    found.expires <= now || lane == .sends && found.expires - app.answerTimeout < loadedAt
  }

  /// Whether a record that a look has found may be woken: not if it is being written, was written since the look began,
  /// or waits for the store already.
  func mayWake(_ key: String) -> Bool {
    let identifier = IdentifierKey(key)
    return !records.isUnderWay(key) && !writtenMeanwhile.contains(identifier) && waking[identifier] == nil
  }

  /// Notes that the decision about a due record waits for the store.
  func wakes(_ key: String) {
    let identifier = IdentifierKey(key)
    if waking[identifier] == nil { waking[identifier] = false }
  }

  /// Whether a due record is still to be looked at. False: it was written while it waited, so it has another time now.
  func stillWaits(_ key: String) -> Bool {
    if waking[IdentifierKey(key)] != true { return true }
    hasWoken(key)
    return false
  }

  func hasWoken(_ key: String) { if !waking.isEmpty { waking[IdentifierKey(key)] = nil } }

  func lookEnded(_ lane: AppLane) {
    looksUnderWay.remove(lane)
    if looksUnderWay.isEmpty { writtenMeanwhile = [] }
  }

  /// Notes that a record is written: a look that is under way may find it as it was before.
  func noteWritten(_ key: String) {
    if looksUnderWay.isEmpty && waking.isEmpty { return }
    let identifier = IdentifierKey(key)
    if !looksUnderWay.isEmpty { writtenMeanwhile.insert(identifier) }
    if waking[identifier] != nil { waking[identifier] = true }
  }

  private static func state(_ name: ChannelName, _ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    BrokerChannel(name: name, options: recordsOptions, store: store, opened: opened, isHidden: true)
  }

  /// When the host has something to do next apart from due records, in monotonic milliseconds; nil: nothing waits.
  var nextTime: Int64? {
    guard wantsScrub else { return refreshes.nextTime }
    return refreshes.nextTime.map { min($0, scrubTime) } ?? scrubTime
  }

  /// Whether a record is the broker's own, and stands among the app's because it changes with them. No app's key begins
  /// with a space.
  static func isBrokers(_ key: String) -> Bool { key.utf8.first == UInt8(ascii: " ") }

  /// The channel of an app's records, in a namespace that no configuration may have, so that no client can name it.
  static func recordsChannel(of app: any App) -> ChannelName { hiddenChannel("records", of: app) }

  private static func hiddenChannel(_ word: String, of app: any App) -> ChannelName {
    guard let name = try? ChannelName("\(app.name).\(word):all") else {
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

/// Users who were admitted to channels while records were under way. If the records fail, all these admissions are
/// decided again.
struct DoubtfulAdmissions {
  struct Admission: Hashable {
    var user: IdentifierKey
    var channel: ChannelName
  }

  /// Each admission, with the offset of the newest record that was under way when it was decided.
  private var admissions: [Admission: UInt64] = [:]
  /// With more admissions than this, those whose records are on disk by now are removed.
  private var limit = 1024

  var count: Int { admissions.count }

  mutating func add(_ user: String, to channel: ChannelName, upon records: Sequencer) {
    // While the channel drains, all records under way fail, so no offset makes the admission certain.
    let newest = records.peek().map { $0 - 1 } ?? .max
    admissions[Admission(user: IdentifierKey(user), channel: channel)] = newest
    if admissions.count > limit {
      admissions = admissions.filter { $0.value > records.top.offset }
      limit = max(1024, 2 * admissions.count)
    }
  }

  /// Removes and returns all admissions, because no record is under way any more.
  mutating func takeAll() -> [Admission] {
    if admissions.isEmpty { return [] }
    defer { admissions = [:] }
    return admissions.keys.sorted { ($0.channel, $0.user.string) < ($1.channel, $1.user.string) }
  }
}

/// A decision of which the log has taken entries and not answered for all of them.
final class PendingDecision {
  /// Entries that the log has still to answer for.
  var remaining: Int
  var error: LogError?
  let host: AppHost
  /// The records that the decision changes, with the offsets of the changes.
  let records: [(key: String, offset: UInt64)]
  /// What is left to do when all entries are on disk. Nothing else of the decision is kept: its memory would be freed
  /// only when it has long left the processor's caches.
  let following: FollowingEffects
  /// The answer that ``requester`` gets when all entries are on disk; nil: the decision has no reply.
  let answer: BrokerResponse?
  let requester: Requester
  /// The entry of a list that the decision works out again, where that is all it is for; nil: it is for something else.
  let place: RefreshQueue.Place?
  /// How many relays to other partitions go with it.
  var relays: UInt64 = 0
  /// Answers to other requests, which may tell of what this decision changes.
  var waiting: [WaitingAnswer] = []

  /// - Parameters:
  ///   - count: how many entries the decision has.
  ///   - records: the records that it changes, with the offsets of the changes.
  init(
    _ decision: AppDecision, count: Int, _ records: [(key: String, offset: UInt64)] = [], of host: AppHost,
    for requester: Requester
  ) {
    self.host = host
    remaining = count
    self.records = records
    following = FollowingEffects(of: decision.effects)
    if case .reply(let reply) = decision.answer { answer = .result(reply) } else { answer = nil }
    self.requester = requester
    place = requester == .broker ? decision.onlyPlace : nil
  }
}

extension AppDecision {
  /// The entry that is worked out again in the decision's transaction, where the decision has no other effect.
  fileprivate var onlyPlace: RefreshQueue.Place? {
    guard effects.count == 1, case .refresh(let channel, let key, .atomically) = effects[0] else { return nil }
    return RefreshQueue.Place(channel: channel, key: key)
  }
}

/// An answer that is given when all decisions of the app that were under way when it began to wait are on disk. If one
/// of them fails, its error is given instead.
struct WaitingAnswer {
  enum Answer {
    case response(BrokerResponse)
    case search(MessageSearch)
  }

  let requester: Requester
  let answer: Answer
  /// ``AppHost/failures`` when the answer began to wait.
  let failures: UInt64

  init(_ requester: Requester, _ answer: Answer, failures: UInt64) {
    self.requester = requester
    self.answer = answer
    self.failures = failures
  }
}

/// The effects of a decision that are no part of its transaction. There is nearly always one, which needs no array.
struct FollowingEffects {
  private var first: AppEffect?
  private var others: [AppEffect] = []

  init(of effects: [AppEffect]) {
    for effect in effects where Self.follows(effect) {
      if first == nil { first = effect } else { others.append(effect) }
    }
  }

  func forEach(_ body: (AppEffect) -> Void) {
    guard let first else { return }
    body(first)
    for effect in others { body(effect) }
  }

  private static func follows(_ effect: AppEffect) -> Bool {
    switch effect {
    case .refresh(_, _, .soon), .touch, .readmit, .scrub, .pictureFates, .acknowledge, .push, .unsent: true
    case .write, .erase, .publish, .edit, .refresh(_, _, .atomically), .open, .tell, .notify, .relay: false
    }
  }
}

/// Entries of an app's map channels that are to be worked out again soon. Several changes of one entry count as one.
struct RefreshQueue {
  struct Place: Hashable {
    var channel: ChannelName
    var key: IdentifierKey

    init(channel: ChannelName, key: String) { self.init(channel: channel, identifier: IdentifierKey(key)) }

    init(channel: ChannelName, identifier: IdentifierKey) {
      self.channel = channel
      key = identifier
    }
  }

  /// An entry changes at most this often, in milliseconds: a conversation of a thousand messages a second must not make
  /// three thousand publications of it.
  static let interval: Int64 = 200
  /// The interval for entries of a list that no gateway has asked for, as nobody sees it change.
  static let unwatchedInterval: Int64 = 1000

  /// The keys of entries that wait, by channel. No set is empty.
  private var waiting: [ChannelName: Set<IdentifierKey>] = [:]
  private var queue = DueIndex<Place>()
  /// When each entry was last worked out, in monotonic milliseconds, for entries of which that was a moment ago.
  private var lastTimes: [Place: Int64] = [:]
  /// With more times than this, those that are past their interval are removed, and the limit becomes twice as many as
  /// are left.
  private var timesLimit = 4096

  var nextTime: Int64? { queue.nextTime }
  var isEmpty: Bool { waiting.isEmpty }

  /// - Parameters:
  ///   - isWatched: whether a gateway has asked for the list; worked out only where it matters.
  ///   - now: monotonic milliseconds.
  mutating func add(_ place: Place, isWatched: @autoclosure () -> Bool, now: Int64) {
    guard waiting[place.channel, default: []].insert(place.key).inserted else { return }
    guard let last = lastTimes[place] else { return queue.set(place, at: now) }
    queue.set(place, at: max(now, last + (isWatched() ? Self.interval : Self.unwatchedInterval)))
  }

  /// Makes all waiting entries of a channel due, because a gateway begins to watch it.
  mutating func hasten(_ channel: ChannelName, now: Int64) {
    for key in waiting[channel] ?? [] { queue.set(Place(channel: channel, identifier: key), at: now) }
  }

  mutating func next(upTo now: Int64) -> Place? {
    while let place = queue.next(upTo: now) {
      guard waiting[place.channel]?.remove(place.key) != nil else { continue }
      if waiting[place.channel]?.isEmpty ?? false { waiting[place.channel] = nil }
      lastTimes[place] = now
      if lastTimes.count > timesLimit {
        lastTimes = lastTimes.filter { now - $0.value < Self.unwatchedInterval }
        timesLimit = max(4096, 2 * lastTimes.count)
      }
      return place
    }
    return nil
  }
}
