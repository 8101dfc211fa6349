import Apps
import DequeModule
import Log
import Wire

/// What the broker asks of the app of notifications, beside what it asks of every app.
protocol NotifyingApp: App {
  /// Decides about notices, oldest first. One may come twice.
  func take(_ intents: [PushIntent], _ view: any AppView) throws(ClientError) -> AppDecision
  /// Decides about what became of a notification.
  func answered(_ answer: PushAnswer, _ view: any AppView) throws(ClientError) -> AppDecision
  /// Decides about a subject of which a person has acknowledged or seen something.
  func look(at subject: String, of user: String, _ view: any AppView) throws(ClientError) -> AppDecision
  /// What happened to a person's notifications about a subject (nil: all), as JSON.
  func lines(about subject: String?, of user: String, _ view: any AppView) throws(ClientError) -> [UInt8]
  /// The subjects that wait or are shown, of each person whose record a decision writes.
  static func openSubjects(in effects: [AppEffect]) -> [(user: String, subjects: [String])]
}

extension Notifications: NotifyingApp {}

/// How far the app of notifications has taken notices. It stands among the app's own records, so that it moves with
/// what the app decides.
struct NoticeCursor: AppRecord {
  /// No app's key begins with a space.
  static let key = " notices"

  /// Of the outbox: offsets of another epoch are other notices.
  var epoch: String
  var offset: UInt64

  var due: Int64? { nil }
}

/// Notices that somebody may have to be notified, on their way to the app of notifications.
///
/// On disk they are a hidden stream. Each is written in the transaction of what it tells, and trimmed by those after it
/// when the app has taken it (``NoticeReader``).
final class NoticeOutbox {
  let app: any NotifyingApp
  let host: AppHost
  private(set) var stream: BrokerChannel
  var reader = NoticeReader(cursor: 0, top: 0)
  /// The stream is loaded, and how far it is taken.
  private(set) var isOpen = false
  private(set) var hasStream = false
  /// While the reader is asked what to do next, so that what it does does not ask it once more within.
  var isDriven = false
  /// Notices of publications that are in no transaction with them, and that the log did not take: tried again with each
  /// tick.
  private(set) var held: Deque<PushIntent> = []
  /// What people have acknowledged or seen, until the app is asked about it.
  var acknowledgements: Acknowledgements
  /// Answers that the app could not decide about.
  var answersAgain: [PushAnswerTry] = []
  var tally = NoticeTally()
  private var reportedMissing: UInt64 = 0

  /// Most users of one notice. One for more is written as several: the app decides about a notice in one turn.
  static let mostUsers = 32
  /// Notices that wait for the app at most: the oldest of more are lost, and counted.
  static let mostWaiting: UInt64 = 1_000_000
  /// Notices that wait because the log does not take them; one more is lost.
  static let mostHeld = 10_000
  static let heldPerTurn = 256

  static let channel: ChannelName = {
    guard let name = try? ChannelName("fanfare.push:notices") else {
      preconditionFailure("the name of the outbox of notices is a valid one")
    }
    return name
  }()

  static let question = LogQuestion.open(channel, .durable, withEntries: false, ifExists: false)

  /// - Parameter now: monotonic milliseconds.
  init(_ app: any NotifyingApp, _ host: AppHost, store: any LogStore, at now: Int64) {
    acknowledgements = Acknowledgements(since: now)
    self.app = app
    self.host = host
    stream = Self.state(store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
  }

  private static func state(_ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    var options = ChannelOptions()
    options.durability = .durable
    return BrokerChannel(name: channel, options: options, store: store, opened: opened, isHidden: true)
  }

  // MARK: Loading

  func opened(_ found: OpenedChannel) {
    stream = Self.state(stream.store, found)
    hasStream = true
  }

  /// Begins where the process before this one ended.
  func begin(after cursor: NoticeCursor?) {
    let top = stream.sequencer.top
    let isOfNow = cursor?.epoch.hasSameBytes(as: top.epoch) ?? false
    reader = NoticeReader(cursor: isOfNow ? cursor?.offset ?? 0 : 0, top: top.offset)
    reportedMissing = 0
    isOpen = true
  }

  /// Another broker keeps the stream now.
  func lost(at now: Int64) {
    (isOpen, hasStream) = (false, false)
    answersAgain = []
    acknowledgements = Acknowledgements(since: now)
  }

  // MARK: Notices

  /// The notices that go into the log for one: each names ``mostUsers`` people at most.
  static func portions(of intent: PushIntent) -> [PushIntent] {
    if intent.users.count <= mostUsers { return intent.users.isEmpty ? [] : [intent] }
    return stride(from: 0, to: intent.users.count, by: mostUsers).map { start in
      var portion = intent
      portion.users = Array(intent.users[start..<min(start + mostUsers, intent.users.count)])
      return portion
    }
  }

  /// - Parameter ticket: a new one.
  func entry(_ intent: PushIntent, at offset: UInt64, ticket: UInt64) -> LogEntry {
    LogEntry(
      ticket: ticket, channel: stream.name, epoch: stream.sequencer.top.epoch,
      publication: Publication(offset: offset, time: intent.time, data: intent.stored), durability: .durable,
      historySize: kept(at: offset), historyTTLMilliseconds: Outbox.lifetime)
  }

  /// How many of the newest notices the log keeps when it takes the one at the offset: those that are not taken.
  private func kept(at offset: UInt64) -> Int {
    Int(clamping: min(offset > reader.cursor ? offset - reader.cursor : 1, Self.mostWaiting))
  }

  /// Notes which subjects are open after a decision.
  func noteOpen(in decision: AppDecision, at now: Int64) {
    for (user, subjects) in type(of: app).openSubjects(in: decision.effects) {
      acknowledgements.opened(subjects, of: user, at: now)
    }
  }

  // MARK: Notices that the log does not take now

  func hold(_ intent: PushIntent) { if held.count < Self.mostHeld { held.append(intent) } else { tally.lost += 1 } }

  /// The log took the first of those that waited.
  func toldHeld() { held.removeFirst() }

  /// Takes users out of what is in memory, since their data is deleted. Notices on their way to the log are found
  /// there.
  func erase(where isErased: (String) -> Bool) {
    for index in held.indices { held[index].users.removeAll(where: isErased) }
    held.removeAll { $0.users.isEmpty }
    reader.erase(where: isErased)
    answersAgain.removeAll { isErased($0.answer.user) }
    acknowledgements.erase(where: isErased)
  }

  // MARK: How it is doing

  /// When something is to be done without an input, in monotonic milliseconds; `.max`: nothing waits.
  var nextTime: Int64 {
    guard isOpen else { return .max }
    return min(
      reader.deadline ?? .max, acknowledgements.nextTime ?? .max, answersAgain.lazy.map(\.time).min() ?? .max)
  }

  var status: NoticeStatus {
    tally.lost += reader.missing - reportedMissing
    reportedMissing = reader.missing
    return NoticeStatus(waiting: reader.waiting + UInt64(held.count), tally: tally)
  }

  /// Whether the channel is that of an outbox of notices.
  static func isOne(_ channel: ChannelName) -> Bool { channel == Self.channel }
}

/// An answer of the notifier that the app is still to decide about.
struct PushAnswerTry: Equatable {
  var answer: PushAnswer
  /// How often the decision failed.
  var failures = 0
  /// When it is made again, in monotonic milliseconds.
  var time: Int64 = 0

  /// After so many failures the answer is dropped. The person's record is due a minute after the send in any case, and
  /// then the notification is sent again.
  static let mostFailures = 3
  /// Milliseconds until a decision that failed is made again.
  static let pause: Int64 = 1000
  /// Answers that may wait for that; one more is dropped.
  static let most = 1000
}
