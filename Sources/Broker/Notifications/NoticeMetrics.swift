import Apps
import Metrics
import Wire

/// What the process has counted of notices and notifications.
struct NoticeTally: Sendable, Equatable {
  /// Notices that the app has taken.
  var taken: UInt64 = 0
  /// Notices that nobody takes any more: too many waited.
  var lost: UInt64 = 0
  /// Notifications that went out, to one device each, by the kind of its service.
  var sent: [String: UInt64] = [:]
  /// Those of them that took back what was shown.
  var withdrawn: [String: UInt64] = [:]
  /// Those that replaced it, since the person has seen some of it.
  var updated: [String: UInt64] = [:]
  /// What devices were not told of, by kind and reason.
  var unsent: [Result: UInt64] = [:]
  /// What came of them, by kind and result.
  var results: [Result: UInt64] = [:]
  /// Answers that the app could not decide about: what they are about is sent again.
  var answersLost: UInt64 = 0
  /// Devices of the notification that is under way to each person, with their kinds.
  private var underWay: [String: (number: UInt64, kinds: [String: String])] = [:]

  struct Result: Sendable, Hashable {
    var kind: String
    var result: String
  }

  /// People whose notifications are told apart by kind at a time. What is beyond counts as of no known kind.
  private static let mostUnderWay = 10_000
  private static let unknown = "unknown"

  mutating func sends(_ send: PushSend) {
    var kinds: [String: String] = [:]
    for device in send.devices {
      let kind = Self.kind(of: device)
      kinds[device.id] = kind
      sent[kind, default: 0] += 1
      if send.isWithdrawal { withdrawn[kind, default: 0] += 1 }
      if send.isUpdate { updated[kind, default: 0] += 1 }
    }
    if underWay.count < Self.mostUnderWay || underWay[send.user] != nil { underWay[send.user] = (send.number, kinds) }
  }

  mutating func answered(_ answer: PushAnswer) {
    var kinds: [String: String] = [:]
    if let known = underWay[answer.user], known.number == answer.number {
      kinds = known.kinds
      underWay[answer.user] = nil
    }
    for (device, verdict) in answer.verdicts {
      results[Result(kind: kinds[device] ?? Self.unknown, result: verdict.word), default: 0] += 1
    }
  }

  mutating func leaves(_ notice: UnsentNotice) {
    for (kind, count) in notice.kinds {
      unsent[Result(kind: Self.known(kind), result: notice.reason.rawValue), default: 0] += UInt64(count)
    }
  }

  private static func kind(of device: PushSend.Device) -> String {
    known((try? JSONValue(parsing: device.json))?.object?["kind"]?.string ?? unknown)
  }

  /// The kind of a device's service: no more than the server has.
  private static func known(_ kind: String) -> String { ["web", "apns", "fcm"].contains(kind) ? kind : unknown }

  static func == (a: NoticeTally, b: NoticeTally) -> Bool {
    a.taken == b.taken && a.lost == b.lost && a.sent == b.sent && a.withdrawn == b.withdrawn && a.results == b.results
      && a.answersLost == b.answersLost && a.updated == b.updated && a.unsent == b.unsent
  }
}

extension PushAnswer.Verdict {
  fileprivate var word: String {
    switch self {
    case .taken: "taken"
    case .forget: "forgotten"
    case .later: "later"
    case .refused: "refused"
    case .failed, .unanswered: "failed"
    }
  }
}

/// How the outbox of notices is doing.
public struct NoticeStatus: Sendable, Equatable {
  /// Notices that the app is still to take.
  public var waiting: UInt64
  var tally: NoticeTally
}

/// The same as metrics.
struct NoticeMetrics {
  private let waiting = Gauge(label: "fanfare_notices_waiting")
  private let taken = Counter(label: "fanfare_notices_total")
  private let lost = Counter(label: "fanfare_notices_lost_total")
  private let answersLost = Counter(label: "fanfare_notification_answers_lost_total")
  private var sent: [String: Counter] = [:]
  private var withdrawn: [String: Counter] = [:]
  private var updated: [String: Counter] = [:]
  private var results: [NoticeTally.Result: Counter] = [:]
  private var unsent: [NoticeTally.Result: Counter] = [:]
  private var reported = NoticeTally()

  mutating func update(_ status: NoticeStatus) {
    waiting.record(status.waiting)
    let now = status.tally
    if now == reported { return }
    taken.increment(by: now.taken - reported.taken)
    lost.increment(by: now.lost - reported.lost)
    answersLost.increment(by: now.answersLost - reported.answersLost)
    for (kind, count) in now.sent {
      let counter = sent[kind] ?? Counter(label: "fanfare_notifications_sent_total", dimensions: [("kind", kind)])
      sent[kind] = counter
      counter.increment(by: count - (reported.sent[kind] ?? 0))
    }
    for (kind, count) in now.withdrawn {
      let labels = [("kind", kind)]
      let counter = withdrawn[kind] ?? Counter(label: "fanfare_notifications_withdrawn_total", dimensions: labels)
      withdrawn[kind] = counter
      counter.increment(by: count - (reported.withdrawn[kind] ?? 0))
    }
    for (kind, count) in now.updated {
      let labels = [("kind", kind)]
      let counter = updated[kind] ?? Counter(label: "fanfare_notifications_updated_total", dimensions: labels)
      updated[kind] = counter
      counter.increment(by: count - (reported.updated[kind] ?? 0))
    }
    for (result, count) in now.unsent {
      let labels = [("kind", result.kind), ("reason", result.result)]
      let counter = unsent[result] ?? Counter(label: "fanfare_notifications_unsent_total", dimensions: labels)
      unsent[result] = counter
      counter.increment(by: count - (reported.unsent[result] ?? 0))
    }
    for (result, count) in now.results {
      let labels = [("kind", result.kind), ("result", result.result)]
      let counter = results[result] ?? Counter(label: "fanfare_notification_results_total", dimensions: labels)
      results[result] = counter
      counter.increment(by: count - (reported.results[result] ?? 0))
    }
    reported = now
  }
}
