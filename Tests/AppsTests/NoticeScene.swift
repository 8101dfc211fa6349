import Foundation
import Testing
import Wire

@testable import Apps

/// A broker in memory around the app, with an app whose notices it asks about, and services that a test answers for.
final class NoticeScene: AppView {
  var now: Int64 = 1_700_000_000_000
  let rules: NotificationRules
  private(set) var app: Notifications
  /// Of the fake app, by user and subject.
  private(set) var waiting: [String: AppNotification] = [:]
  var suspended: Set<String> = []
  private var records: [String: Data] = [:]
  private var dues: [String: Int64] = [:]
  private(set) var sends: [(at: Int64, send: PushSend)] = []
  private(set) var unsent: [UnsentNotice] = []
  private(set) var entries: [String: [String: [UInt8]]] = [:]
  private var nextOffset: UInt64 = 0
  private var nextCall = 0
  /// How often a record was written.
  private(set) var writes = 0
  /// How often the record of a person's devices was asked for.
  private(set) var looks = 0

  init(_ configure: (inout NotificationRules) -> Void = { _ in }) {
    var rules = NotificationRules { (device) throws(ClientError) in
      guard let object = try? JSONValue(parsing: device).object, let token = object["token"]?.string else {
        throw .badRequest.saying("token is missing")
      }
      return PushDeviceName(id: "id-" + token, kind: "fcm", json: device)
    }
    configure(&rules)
    self.rules = rules
    app = Notifications(rules)
  }

  /// Another process of the broker goes on, and looks first at what the one before it had under way, as the broker
  /// does (``AppLane/sends``).
  func restart() throws {
    var rules = app.rules
    rules.process += 1
    app = Notifications(rules)
    for key in keys where key.hasPrefix(PushKeys.notices) {
      let notices = try record(PushNotices.self, key)
      if notices?.lane == .sends { try perform(try app.due(key, self)) }
    }
  }

  // MARK: AppView

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    if key.hasPrefix(PushKeys.devices) { looks += 1 }
    guard let data = records[key] else { return nil }
    do { return try JSONDecoder().decode(type, from: data) } catch {
      Issue.record("a record does not survive being stored: \(error)")
      throw .internalError
    }
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 { 0 }
  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] { [] }
  func isSuspended(_ user: String) throws(ClientError) -> Bool { suspended.contains(user) }

  func notification(
    of topic: String, about subject: String, for user: String
  ) throws(ClientError) -> AppNotification? { waiting[user + "|" + subject] }

  // MARK: Doing

  @discardableResult
  func call(_ user: String, _ method: String, _ json: String = "{}") throws -> String {
    nextCall += 1
    let command = try AppCommand(method, Array(json.utf8), by: user)
    let call = AppCall(command, caller: ClientInfo(user: user, client: "c"), key: .text("\(nextCall)"))
    let decision = try app.call(call, self)
    try perform(decision)
    guard case .reply(let reply) = decision.answer else { return "" }
    return String(decoding: reply, as: UTF8.self)
  }

  func refusal(_ user: String, _ method: String, _ json: String = "{}") -> ClientError? {
    do {
      try call(user, method, json)
      return nil
    } catch { return error as? ClientError }
  }

  func register(_ user: String, _ token: String, _ more: String = "") throws {
    try call(user, "push.register", #"{"device":{"kind":"fcm","token":"\#(token)"}\#(more)}"#)
  }

  /// The fake app's view of a subject, without a notice.
  func set(
    _ user: String, _ subject: String, unacknowledged: Int, unseen: Int, since: Int64? = nil,
    topic: String = "clique.message", unseenSince: Int64? = nil, newest: UInt64? = nil
  ) {
    waiting[user + "|" + subject] = AppNotification(
      topic: topic, unacknowledged: unacknowledged, unseen: unseen, since: since ?? now, badge: unseen,
      sender: "Bob", text: "a secret", data: ["channel": subject],
      unseenSince: unseenSince, newest: newest)
  }

  func remove(_ user: String, _ subject: String) { waiting[user + "|" + subject] = nil }

  /// A notice of the fake app, or of a backend.
  @discardableResult
  func notice(
    _ user: String, _ subject: String, topic: String = "clique.message", content: PushIntent.Content? = nil
  ) throws -> PushIntent {
    nextOffset += 1
    let intent = PushIntent(
      offset: nextOffset, time: now, topic: topic, subject: subject, users: [user], content: content)
    try take([intent])
    return intent
  }

  func take(_ intents: [PushIntent]) throws { try perform(try app.take(intents, self)) }

  /// A message comes: the fake app has one more, and says so.
  func message(_ user: String, _ subject: String, topic: String = "clique.message") throws {
    let old = waiting[user + "|" + subject]
    let count = old?.unacknowledged ?? 0
    set(
      user, subject, unacknowledged: count + 1, unseen: (old?.unseen ?? 0) + 1,
      since: count > 0 ? old?.since : now, topic: topic)
    try notice(user, subject, topic: topic)
  }

  func look(_ user: String, _ subject: String) throws { try perform(try app.look(at: subject, of: user, self)) }

  func answer(_ send: PushSend, _ verdict: PushAnswer.Verdict = .taken) throws {
    try answer(send, Dictionary(uniqueKeysWithValues: send.devices.map { ($0.id, verdict) }))
  }

  func answer(_ send: PushSend, _ verdicts: [String: PushAnswer.Verdict]) throws {
    try perform(try app.answered(PushAnswer(user: send.user, number: send.number, verdicts: verdicts), self))
  }

  /// Lets time pass and runs what is due, each at its time.
  ///
  /// - Parameter answers: answers for services as soon as something is sent.
  func advance(_ milliseconds: Int64, answers: Bool = true) throws {
    let end = now + milliseconds
    var answered = sends.count
    while let next = dues.filter({ $0.value <= end }).min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      now = max(now, next.value)
      try perform(try app.due(next.key, self))
      if let due = dues[next.key], due <= now {
        Issue.record("a record is due again at once, for ever")
        return
      }
      while answers, answered < sends.count {
        answered += 1
        try answer(sends[answered - 1].send)
      }
    }
    now = end
  }

  func perform(_ decision: AppDecision) throws {
    for case .write(let key, let record) in decision.effects {
      writes += 1
      records[key] = try JSONEncoder().encode(record)
      dues[key] = record.due
    }
    for case .erase(let key) in decision.effects { (records[key], dues[key]) = (nil, nil) }
    for effect in decision.effects {
      switch effect {
      case .push(let send): sends.append((now, send))
      case .unsent(let notice): unsent.append(notice)
      case .refresh(let channel, let key, _):
        entries[channel.string, default: [:]][key] = try app.entry(key, of: channel, self)?.data
      default: break
      }
    }
  }

  func forget(_ user: String) throws {
    for key in records.keys.sorted() {
      if let decision = try app.forget(SoughtUsers([user]), in: key, self) { try perform(decision) }
    }
  }

  // MARK: Looking

  func notices(_ user: String) throws -> PushNotices? { try record(PushNotices.self, PushKeys.notices + user) }
  func lines(_ user: String) throws -> [PushNotices.Line.Event] { try notices(user)?.lines.map(\.event) ?? [] }
  func state(_ user: String, _ subject: String) throws -> NoticeState {
    try notices(user)?.subjects.first { $0.name == subject }?.state ?? .gone
  }
  func devices(_ user: String) throws -> [String] { try app.person(user, self).devices.map(\.id) }
  var storedText: String { records.values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") }
  var keys: [String] { records.keys.sorted() }
}
