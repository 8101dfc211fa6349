import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// A broker in memory that performs what the app decides, the way the real one does: all of it or nothing.
final class StateScene: AppView {
  struct Failure: Error {}

  var now: Int64 = 1_700_000_000_000
  /// Later than ``now`` while the clock waits to be confirmed.
  var latest: Int64 {
    get { max(now, doubt) }
    set { doubt = newValue }
  }
  private var doubt: Int64 = 0
  let vault = StateFakeVault()
  let rules: StateRules
  private(set) var app: StateApp
  private var records: [[UInt8]: (data: Data, due: Int64?)] = [:]
  private var decoded = DecodedRecords()
  /// By channel, then by key: the JSON that a map channel holds.
  private(set) var lists: [String: [[UInt8]: [String: Any]]] = [:]
  /// The entries of ``lists`` as the log keeps them.
  private var kept: [String: [[UInt8]: [UInt8]]] = [:]
  private(set) var published: [(channel: String, data: [String: Any])] = []
  private(set) var discarded: Set<String> = []
  private(set) var scrubs = 0
  /// What webhooks were told.
  private(set) var told: [String] = []
  /// Who was notified of what, and who acknowledged what: `bob state.sealed state.with:ada`, `bob state.with:ada`.
  private(set) var notified: [String] = []
  private(set) var acknowledged: [String] = []
  private(set) var writesOfLastDecision: [String] = []
  /// How often a record was asked for.
  private(set) var lookups = 0
  /// The channels that the broker has to have open before it answers the last call; none where that was refused.
  var awaited: Set<ChannelName> = []
  /// What other partitions are sent.
  var relays: [AppRelay] = []
  /// When users' data was deleted, in milliseconds since 1970.
  var forgotten: [String: Int64] = [:]
  private var nextPicture = 0
  private var nextCall = 0

  init(places: AppPlaces? = nil, _ configure: (inout StateRules) -> Void = { _ in }) {
    var rules = StateRules()
    configure(&rules)
    self.rules = rules
    app = StateApp(rules: rules, vault: vault, places: places)
  }

  // MARK: AppView

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    lookups += 1
    guard let stored = records[Array(key.utf8)] else { return nil }
    do {
      return try decoded.decode(type, key, from: stored.data)
    } catch {
      Issue.record("a record does not survive being stored: \(error)")
      throw .internalError
    }
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 { 0 }
  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] { [] }

  func wasForgotten(_ user: String, since time: Int64) throws(ClientError) -> Bool {
    forgotten[user] ?? .min >= time
  }

  // MARK: Doing

  @discardableResult
  func call(
    _ user: String, _ method: String, _ json: String = "{}", source: AppCall.Source = .client, key: String? = nil
  ) throws -> [String: Any] {
    let reply = try call(user, try Self.command(method, json, by: user, source), source: source, key: key)
    guard let object = try JSONSerialization.jsonObject(with: Data(reply)) as? [String: Any] else { throw Failure() }
    return object
  }

  @discardableResult
  func call(
    _ user: String, _ command: AppCommand, source: AppCall.Source = .client, key: String? = nil
  ) throws -> [UInt8] {
    nextCall += 1
    awaited = []
    let call = AppCall(
      command, caller: ClientInfo(user: user, client: "c"), source: source, key: .text(key ?? "call-\(nextCall)"))
    let decision = try app.call(call, self)
    awaited = Set(decision.effects.compactMap(\.openedChannel))
    try perform(decision)
    guard case .reply(let reply) = decision.answer else { throw Failure() }
    return reply
  }

  /// Takes in what another partition has sent.
  func receive(_ data: [UInt8]) throws { try perform(try app.receive(data, self)) }

  /// Deletes a user's data, record by record.
  func forget(_ user: String) throws {
    forgotten[user] = now
    for key in records.keys.map({ String(decoding: $0, as: UTF8.self) }).sorted() {
      if let decision = try app.forget(SoughtUsers([user]), in: key, self) { try perform(decision) }
    }
  }

  /// When the first record is due.
  var nextDue: Int64? { records.values.compactMap(\.due).min() }

  /// What a client says in JSON, or what a gateway would say of the same.
  static func command(
    _ method: String, _ json: String, by user: String, _ source: AppCall.Source
  ) throws -> AppCommand {
    guard source == .gateway else { return try AppCommand(method, Array(json.utf8), by: user) }
    struct Fields: Decodable {
      var id: String?
      var ids: [String]?
      var type: String?
      var bytes: Int64?
      var key: Bytes64?
      var upload: Bytes64?
    }
    let fields = try JSONDecoder().decode(Fields.self, from: Data(json.utf8))
    switch method {
    case "state.picture.added":
      return .state(
        .addPicture(
          .init(
            id: fields.id ?? "", type: fields.type, bytes: fields.bytes ?? 0, key: fields.key?.bytes ?? [],
            upload: fields.upload?.bytes)))
    case "state.picture.upload":
      return .state(.uploadKey(id: fields.id ?? "", upload: fields.upload?.bytes ?? []))
    case "state.picture.key": return .state(.pictureKey(id: fields.id ?? ""))
    case "state.picture.discard": return .state(.discardUpload(id: fields.id ?? ""))
    case "state.picture.gone": return .state(.gonePictures(fields.ids ?? []))
    default: return try AppCommand(method, Array(json.utf8), by: user)
    }
  }

  /// The error that a call is refused with.
  func refusal(
    _ user: String, _ method: String, _ json: String = "{}", source: AppCall.Source = .client, key: String? = nil
  ) -> ClientError? {
    do {
      try call(user, method, json, source: source, key: key)
      return nil
    } catch {
      return error as? ClientError
    }
  }

  /// A picture of the user's that a gateway took in.
  func upload(_ user: String) throws -> String {
    nextPicture += 1
    let id = "picture-of-\(nextPicture)-" + String(repeating: "0", count: 16)
    let key = Data(repeating: UInt8(truncatingIfNeeded: nextPicture), count: 32).base64EncodedString()
    try call(
      user, "state.picture.added", #"{"id":"\#(id)","type":"image/jpeg","bytes":1000,"key":"\#(key)"}"#,
      source: .gateway)
    return id
  }

  struct Sending {
    var front: String
    var rear: String
    var json: String
  }

  func prepare(_ user: String, to other: String, _ more: String = "") throws -> Sending {
    let (front, rear) = (try upload(user), try upload(user))
    return Sending(
      front: front, rear: rear, json: #"{"to":"\#(other)","front":"\#(front)","rear":"\#(rear)"\#(more)}"#)
  }

  /// Opens the recorder, uploads and sends.
  @discardableResult
  func send(_ user: String, to other: String, _ more: String = "") throws -> [String: Any] {
    try call(user, "state.begin", #"{"to":"\#(other)"}"#)
    return try call(user, "state.send", try prepare(user, to: other, more).json)
  }

  /// - Parameter runsTimers: false for a broker whose timers are late.
  func advance(_ milliseconds: Int64, runsTimers: Bool = true) throws {
    let end = now + milliseconds
    while runsTimers, let next = records.filter({ ($0.value.due ?? .max) <= end }).min(by: Self.isSooner) {
      now = max(now, next.value.due ?? now)
      try perform(try app.due(String(decoding: next.key, as: UTF8.self), self))
      if let due = records[next.key]?.due, due <= now {
        Issue.record("a record is due again at once, for ever")
        throw Failure()
      }
    }
    now = end
  }

  private static func isSooner(
    _ a: (key: [UInt8], value: (data: Data, due: Int64?)), _ b: (key: [UInt8], value: (data: Data, due: Int64?))
  ) -> Bool {
    (a.value.due ?? .max, a.key.count) < (b.value.due ?? .max, b.key.count)
  }

  /// Runs what is due, as after a restart.
  func runTimers() throws { try advance(0) }

  private func perform(_ decision: AppDecision) throws {
    writesOfLastDecision = []
    for case .write(let key, let record) in decision.effects {
      records[Array(key.utf8)] = (try JSONEncoder().encode(record), record.due)
      writesOfLastDecision.append(key)
    }
    for effect in decision.effects {
      switch effect {
      case .write, .open, .push, .unsent: break
      case .notify(let notice): notified += notice.users.map { "\($0) \(notice.topic) \(notice.subject)" }
      case .acknowledge(let user, let subject): acknowledged.append("\(user) \(subject)")
      case .erase(let key): records[Array(key.utf8)] = nil
      case .publish(let publication):
        let object = try JSONSerialization.jsonObject(with: Data(publication.data))
        published.append((publication.channel.string, object as? [String: Any] ?? [:]))
      case .refresh(let channel, let key, let timing):
        #expect(timing == .atomically)
        let entry = try app.entry(key, of: channel, self)
        let object = try entry.map { try JSONSerialization.jsonObject(with: Data($0.data)) as? [String: Any] } ?? nil
        lists[channel.string, default: [:]][Array(key.utf8)] = object
        kept[channel.string, default: [:]][Array(key.utf8)] = entry.map { $0.kept ?? $0.data }
        if let entry {
          let again = try JSONSerialization.jsonObject(with: Data(app.shown(entry.kept ?? entry.data, of: channel)))
          #expect(again as? NSDictionary == object as NSDictionary?, "what is kept shows the same after a restart")
        }
      case .scrub: scrubs += 1
      case .pictureFates(let fates): discarded.formUnion(fates.map(\.id))
      case .tell(let event, let data): told.append("\(event.name) \(String(decoding: data, as: UTF8.self))")
      case .relay(let relay): relays.append(relay)
      case .edit, .readmit, .touch: throw Failure()
      }
    }
  }

  // MARK: Looking

  /// The entry of a user's list as the last refresh left it.
  func entry(_ user: String, _ other: String) -> [String: Any]? { lists["state.threads:" + user]?[Array(other.utf8)] }

  func phase(_ user: String, _ other: String) -> String { entry(user, other)?["phase"] as? String ?? "idle" }

  func phases(_ user: String, _ other: String) -> String { phase(user, other) + "/" + phase(other, user) }

  func notices(_ user: String) -> [String] {
    published.filter { $0.channel == "state.events:" + user }.compactMap { $0.data["event"] as? String }
  }

  /// What there is to tell a user of the thread with another now.
  func notification(_ user: String, _ other: String) throws -> AppNotification? {
    try app.notification(about: "state.with:" + other, for: user, self)
  }

  /// The key that a gateway gets for a user, or nil.
  func pictureKey(_ id: String, for user: String) -> [UInt8]? {
    guard let reply = try? call(user, "state.picture.key", #"{"id":"\#(id)"}"#, source: .gateway),
      let key = reply["key"] as? String, let data = Data(base64Encoded: key)
    else { return nil }
    return Array(data)
  }

  /// Everything that is stored, records and lists, as one text.
  var storedText: String {
    let lists = kept.values.flatMap(\.values).map { String(decoding: $0, as: UTF8.self) }
    return (records.values.map { String(decoding: $0.data, as: UTF8.self) } + lists).joined(separator: "\n")
  }

  /// Bytes of the pictures of a user that are kept.
  func pictureBytes(of user: String) throws -> Int64 {
    try records.filter { $0.key.starts(with: Array(StateKeys.picture.utf8)) }
      .map { try JSONDecoder().decode(StatePicture.self, from: $0.value.data) }
      .reduce(0) { $0 + ($1.owner.hasSameBytes(as: user) ? $1.bytes : 0) }
  }

  /// What is kept of a user.
  func person(_ user: String) throws -> StatePerson? { try record(StatePerson.self, StateKeys.person + user) }

  var recordCount: Int { records.count }
  /// Entries in all lists.
  var listedCount: Int { lists.values.reduce(0) { $0 + $1.count } }
}

/// Wraps by turning bits over, and forgets hours when told to.
final class StateFakeVault: KeyVault, @unchecked Sendable {  // Used by one test's thread alone.
  var destroyedHours: Set<Int64> = []
  var isUnavailable = false
  /// The key of the hour is on the disk.
  var isPrepared = true
  private(set) var released = 0

  private func turned(_ bytes: [UInt8], _ mask: UInt8) -> [UInt8] { bytes.map { $0 ^ mask } }

  func seal(_ key: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedKey {
    if isUnavailable { throw .unavailable("the vault is away") }
    return SealedKey(hour: now / 3_600_000, box: Bytes64(turned(key, 0xA5)))
  }

  func release(_ key: SealedKey) throws(KeyVaultError) -> ReleasedKey {
    if isUnavailable { throw .unavailable("the vault is away") }
    if destroyedHours.contains(key.hour) { throw .destroyed }
    released += 1
    return ReleasedKey(box: Bytes64(turned(turned(key.box.bytes, 0xA5), 0x3C)))
  }

  func open(_ key: ReleasedKey) throws(KeyVaultError) -> [UInt8] { turned(key.box.bytes, 0x3C) }

  func open(_ key: SealedKey) throws(KeyVaultError) -> [UInt8] {
    if destroyedHours.contains(key.hour) { throw .destroyed }
    return turned(key.box.bytes, 0xA5)
  }

  func isReady(at now: Int64) -> Bool { isPrepared }

  func encrypt(_ text: [UInt8], at now: Int64) throws(KeyVaultError) -> SealedText {
    SealedText(key: try seal(Array(repeating: 7, count: 32), at: now), box: Bytes64(turned(text, 0x11)))
  }

  func decrypt(_ box: Bytes64, with key: ReleasedKey) throws(KeyVaultError) -> [UInt8] {
    guard try open(key) == Array(repeating: 7, count: 32) else { throw .damaged }
    return turned(box.bytes, 0x11)
  }
}
