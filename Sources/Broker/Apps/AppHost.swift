import Apps
import Log
import Wire

/// One app in the broker: its records, its times, and what of its lists is to be worked out again.
final class AppHost {
  let app: any App
  /// What its methods begin with.
  let methodPrefix: String
  /// The channel of the records. It has options of its own and no place in the namespaces: nobody can name it.
  private(set) var recordsState: ChannelState
  /// The channel of ``marks``, likewise.
  private(set) var marksState: ChannelState
  /// The records are there, and not the marks yet.
  private var hasRecords = false
  /// Nothing may be asked of the app before.
  private(set) var isLoaded = false
  var marks = StaleMarks()
  /// A broker that marked nothing wrote the lists: whatever is opened is worked out.
  private(set) var distrustsLists = false
  var records: AppRecords
  /// The last decision of which something is not on disk yet. Answers to commands that change nothing wait for it: they
  /// may tell of what it changes.
  var lastPending: PendingDecision?
  /// Decisions that the log did not take after all, ever, and why the last of them failed.
  var failures: UInt64 = 0
  var lastFailure: LogError?
  var timetable = AppTimetable()
  /// Commands that wait for what is on its way to a disk, in order.
  var putAside: [(BrokerRequest.CallRequest, Requester)] = []
  var refreshes = RefreshQueue()
  /// Of this turn; the next one begins with all of them.
  var refreshesLeft = BrokerCore.refreshesPerTurn
  /// Something was erased that the disk is to forget, and when it may be asked to: monotonic milliseconds.
  var wantsScrub = false
  var scrubTime = Int64.min
  /// Entries in memory that show what is not on disk yet.
  var doubtful: Set<RefreshQueue.Place> = []
  /// Who was let in upon what is not on disk yet.
  var doubtfulAdmissions = DoubtfulAdmissions()

  /// Looks for records whose time has come, of each lane, and the records that were written since the first of them began:
  /// those it may find as they were.
  var looksUnderWay: Set<AppLane> = []
  var writtenMeanwhile: Set<IdentifierKey> = []
  /// Records whose time has come and whose decisions wait for the store; true: it was written since.
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

  /// What is opened next; nil: all is there.
  var question: LogQuestion? { isLoaded ? nil : hasRecords ? marksQuestion : recordsQuestion }

  /// The store has what was asked for, as it is now: the records, then the marks.
  ///
  /// - Returns: what is to be worked out.
  func loaded(_ opened: OpenedChannel, at now: Int64) -> [RefreshQueue.Place] {
    guard hasRecords else {
      recordsState = Self.state(recordsState.name, recordsState.store, opened)
      records.forgetAll()
      timetable.forget()
      hasRecords = true
      return []
    }
    marksState = Self.state(marksState.name, marksState.store, opened)
    marks = StaleMarks()
    distrustsLists = !opened.exists && recordsState.sequencer.top.offset > 0
    isLoaded = true
    let places = opened.entries.compactMap { RefreshQueue.Place(mark: $0.change?.key ?? "") }
    for place in places { marks.marked(place, at: now) }
    return places
  }

  /// Somebody else has the records. What was to be done upon them is not done here.
  func lost() {
    (isLoaded, hasRecords) = (false, false)
    records.forgetAll()
    lastPending = nil
    (looksUnderWay, writtenMeanwhile, waking) = ([], [], [:])
    doubtful = []
    _ = doubtfulAdmissions.takeAll()
  }

  // MARK: Records whose time has come

  /// Not one that is written now or was written since the look began, nor one that waits already.
  func mayWake(_ key: String) -> Bool {
    let identifier = IdentifierKey(key)
    return !records.isUnderWay(key) && !writtenMeanwhile.contains(identifier) && waking[identifier] == nil
  }

  /// A record's decision waits for the store.
  func wakes(_ key: String) {
    let identifier = IdentifierKey(key)
    if waking[identifier] == nil { waking[identifier] = false }
  }

  /// False: the record was written since its time came, and has another.
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

  /// A record is written: what a look finds of it may be what it was.
  func noteWritten(_ key: String) {
    if looksUnderWay.isEmpty && waking.isEmpty { return }
    let identifier = IdentifierKey(key)
    if !looksUnderWay.isEmpty { writtenMeanwhile.insert(identifier) }
    if waking[identifier] != nil { waking[identifier] = true }
  }

  private static func state(_ name: ChannelName, _ store: any LogStore, _ opened: OpenedChannel) -> ChannelState {
    ChannelState(name: name, options: recordsOptions, store: store, opened: opened, isHidden: true)
  }

  /// When a turn has something to do, in monotonic milliseconds, beside the records that are due.
  var nextTime: Int64? {
    guard wantsScrub else { return refreshes.nextTime }
    return refreshes.nextTime.map { min($0, scrubTime) } ?? scrubTime
  }

  /// In a namespace that no configuration may have, so that no client can name it.
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

/// Who was let into which channel while records were under way: should those fail, everybody is looked at again.
struct DoubtfulAdmissions {
  struct Admission: Hashable {
    var user: IdentifierKey
    var channel: ChannelName
  }

  /// With the newest record that was under way then.
  private var admissions: [Admission: UInt64] = [:]
  /// How many are kept before those that are certain by now are looked for.
  private var limit = 1024

  var count: Int { admissions.count }

  mutating func add(_ user: String, to channel: ChannelName, upon records: Sequencer) {
    // While the channel drains, all that is under way fails.
    let newest = records.peek().map { $0 - 1 } ?? .max
    admissions[Admission(user: IdentifierKey(user), channel: channel)] = newest
    if admissions.count > limit {
      admissions = admissions.filter { $0.value > records.top.offset }
      limit = max(1024, 2 * admissions.count)
    }
  }

  /// Nothing is under way any more.
  mutating func takeAll() -> [Admission] {
    if admissions.isEmpty { return [] }
    defer { admissions = [:] }
    return admissions.keys.sorted { ($0.channel, $0.user.string) < ($1.channel, $1.user.string) }
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
  /// What is left to do when all is on disk. Nothing else of the decision is kept: it would be let go of when it has
  /// long left the processor's caches.
  let following: FollowingEffects
  /// Whom to answer then, and what.
  let answer: BrokerResponse?
  let requester: Requester
  /// Others, who asked for something that this may change.
  var waiting: [WaitingAnswer] = []

  /// - Parameters:
  ///   - count: of its entries.
  ///   - records: that it changes, with the offsets of the changes.
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
  }
}

/// What is to be answered when everything that is under way now is on disk; where something of it fails, the error is.
struct WaitingAnswer {
  enum Answer {
    case response(BrokerResponse)
    case search(MessageSearch)
  }

  let requester: Requester
  let answer: Answer
  /// How many decisions of the app had failed when this began to wait.
  let failures: UInt64

  init(_ requester: Requester, _ answer: Answer, failures: UInt64) {
    self.requester = requester
    self.answer = answer
    self.failures = failures
  }
}

/// Of a decision's effects those that are no part of its transaction. Nearly always it is one, which needs no array.
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
    case .refresh(_, _, .soon), .touch, .readmit, .scrub, .discardPictures: true
    case .write, .erase, .publish, .edit, .refresh(_, _, .atomically): false
    }
  }
}

/// Entries of an app's map channels that are to be worked out again soon: many changes of one entry as one.
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
  /// The same where no gateway has asked for the list: nobody sees it grow.
  static let unwatchedInterval: Int64 = 1000

  /// What waits, by channel; no set is empty.
  private var waiting: [ChannelName: Set<IdentifierKey>] = [:]
  private var queue = DueIndex<Place>()
  /// When entries were last worked out; of those only that it was a moment ago.
  private var lastTimes: [Place: Int64] = [:]
  /// How many times are kept before those that are over are looked for: twice as many as were left the last time.
  private var timesLimit = 4096

  var nextTime: Int64? { queue.nextTime }
  var isEmpty: Bool { waiting.isEmpty }

  /// - Parameters:
  ///   - isWatched: asked only where it matters.
  ///   - now: monotonic milliseconds.
  mutating func add(_ place: Place, isWatched: @autoclosure () -> Bool, now: Int64) {
    guard waiting[place.channel, default: []].insert(place.key).inserted else { return }
    guard let last = lastTimes[place] else { return queue.set(place, at: now) }
    queue.set(place, at: max(now, last + (isWatched() ? Self.interval : Self.unwatchedInterval)))
  }

  /// Somebody begins to watch: what waits, waits no longer.
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
