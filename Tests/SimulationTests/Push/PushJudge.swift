import Apps
import Foundation
import Log
import Wire

/// Knows what is on the disk, and says what of it people should have been told of, and what not.
struct PushJudge {
  struct Coverage {
    var sends = 0
    var withdrawals = 0
    var updates = 0
    /// Messages that a device acknowledged before anybody was to be told of them.
    var inTime = 0
    var lostAnswers = 0
    var kills = 0
    var faults = 0
    /// Sends that a kill has cut off between the disk and the service, or before the answer.
    var cutOff = 0

    var missing: [String] {
      let counts = [
        ("sends", sends), ("withdrawals", withdrawals), ("updates", updates),
        ("acknowledged in time", inTime), ("lost answers", lostAnswers),
        ("kills", kills), ("faults of the disk", faults),
        ("sends cut off by kills", cutOff),
      ]
      return counts.filter { $0.1 == 0 }.map(\.0)
    }

    mutating func add(_ other: Coverage) {
      sends += other.sends
      withdrawals += other.withdrawals
      updates += other.updates
      inTime += other.inTime
      lostAnswers += other.lostAnswers
      kills += other.kills
      faults += other.faults
      cutOff += other.cutOff
    }
  }

  /// What an answer, the disk and a step take at most in this world, in milliseconds: so long a decision may rest on
  /// what is over.
  private static let slack: Int64 = 1000
  private let rules: NotificationRules
  /// By user and conversation.
  private(set) var standings: [String: TalkApp.Standing] = [:]
  /// When something was last unacknowledged beyond its time.
  private var lastOverdue: [String: Int64] = [:]
  private var lastSend: [String: Int64] = [:]
  /// When the last send about it ended.
  private var lastEnd: [String: Int64] = [:]
  private var lastNumber: [String: UInt64] = [:]
  /// By user: until when devices are left alone since services were away.
  private var held: [String: Int64] = [:]
  /// By user: when the send under way was begun, and when it is taken for lost. One of a broker that was killed holds
  /// nothing up when the next one is there.
  private var sending: [String: (from: Int64, until: Int64)] = [:]
  /// By user: what the send under way is about, as the disk says.
  private var underWay: [String: String] = [:]
  /// By user: sends that the process has begun and not ended.
  private var open: [String: UInt64] = [:]
  private var up: Int64 = 0
  private var lastFault = Int64.min / 2
  private(set) var violations: [String] = []
  var coverage = Coverage()

  init(_ rules: NotificationRules) { self.rules = rules }

  private mutating func fail(_ sentence: String, _ time: Int64) { violations.append("at \(time): \(sentence)") }

  // MARK: What happens

  mutating func began(at time: Int64) { up = time }
  mutating func killed() {
    coverage.cutOff += sending.count
    open = [:]
  }

  mutating func failed(at time: Int64) {
    coverage.faults += 1
    lastFault = time
  }

  mutating func written(_ entry: LogEntry, at time: Int64) {
    guard let change = entry.publication.change else { return }
    switch entry.channel.string {
    case "talk.records:all":
      guard !change.removed,
        let new = try? JSONDecoder().decode(TalkApp.Standing.self, from: Data(entry.publication.data))
      else { return }
      note(change.key, at: time)
      if let old = standings[change.key], new.delivered > old.delivered, let first = old.times.first,
        time < first + rules.delay
      {
        coverage.inTime += new.delivered - old.delivered
      }
      standings[change.key] = new
    case "push.records:all":
      guard change.key.hasPrefix("notices/") else { return }
      noted(String(change.key.dropFirst(8)), change.removed ? nil : entry.publication.data, at: time)
    default: break
    }
  }

  /// What the app of notifications has written of a person.
  private mutating func noted(_ user: String, _ json: [UInt8]?, at time: Int64) {
    let fields = json.flatMap { try? JSONValue(parsing: $0) }?.object
    let now = fields?["underWay"]?.object
    if let before = underWay[user], now?["subject"]?.string != before { lastEnd[before + " " + user] = time }
    underWay[user] = now?["subject"]?.string
    if now?["number"].flatMap({ UInt64($0.text) }) != open[user] { open[user] = nil }
    sending[user] = nil
    if let begun = now?["at"].flatMap({ Int64($0.text) }), let end = now?["until"].flatMap({ Int64($0.text) }) {
      sending[user] = (begun, end)
    }
    var until = time
    for hold in fields?["holds"]?.array ?? [] {
      if let end = hold.object?["until"].flatMap({ Int64($0.text) }) { until = max(until, end) }
    }
    held[user] = until
  }

  mutating func shown(on channel: ChannelName) {
    let isTheirs = channel.string.hasPrefix("talk.chat:") || channel.string.hasPrefix("push.devices:")
    if !isTheirs { violations.append("\(channel) was shown to subscribers") }
  }

  mutating func sent(_ send: PushSend, at time: Int64) {
    if let last = lastNumber[send.user], send.number <= last {
      fail("send \(send.number) to \(send.user) came after \(last)", time)
    }
    lastNumber[send.user] = send.number
    if let other = open[send.user] { fail("send \(send.number) to \(send.user) began beside \(other)", time) }
    open[send.user] = send.number
    let conversation = send.collapseKey.split(separator: ":").last.map(String.init) ?? ""
    let key = "\(send.user)/\(conversation)"
    if send.isWithdrawal {
      coverage.withdrawals += 1
      return
    }
    if send.isUpdate {
      coverage.updates += 1
      let hasRead = standings[key].map { $0.read > 0 } ?? false
      if !hasRead { fail("\(send.user) was told that some of \(conversation) was read, and nothing was", time) }
      return
    }
    coverage.sends += 1
    note(key, at: time)
    lastSend[key] = time
    if time - (lastOverdue[key] ?? 0) > Self.slack {
      let standing = standings[key].map { "\($0)" } ?? "nothing"
      fail("\(send.user) was told of \(conversation), where everything was acknowledged in time: \(standing)", time)
    }
  }

  /// Notes whether something is unacknowledged beyond its time.
  private mutating func note(_ key: String, at time: Int64) {
    if let first = standings[key]?.times.first, first + rules.delay <= time { lastOverdue[key] = time }
  }

  // MARK: Looking

  /// Looks whether somebody should have been told by now.
  mutating func look(at time: Int64) {
    for (key, standing) in standings {
      note(key, at: time)
      let told = lastSend[key] ?? 0
      guard let since = standing.times.first(where: { $0 > told }) else { continue }
      let user = String(key.prefix { $0 != "/" })
      let subject = "talk.chat:\(key.dropFirst(user.count + 1)) \(user)"
      let after = max(told, lastEnd[subject] ?? 0)
      var limit = max(since + rules.delay, up, held[user] ?? 0, lastFault + 11_000)
      if let sending = sending[user], sending.from >= up { limit = max(limit, sending.until) }
      if after > 0 { limit = max(limit, after + rules.repeatInterval) }
      if time > limit + 1000 + 2 * PushWorld.step {
        fail("\(user) was not told of what came at \(since) in \(subject), due at \(limit)", time)
      }
    }
  }
}
