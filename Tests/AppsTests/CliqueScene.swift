import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// Clique on a host in memory, with a clock that is moved by hand. Records go through JSON, as in the log.
final class CliqueScene: AppView {
  let app: Clique
  var now: Int64 = 1_700_000_000_000
  /// How much later it may be, as while the machine's clock is not confirmed.
  var doubt: Int64 = 0
  var latest: Int64 { now + doubt }
  private(set) var records: [String: (data: Data, due: Int64?)] = [:]
  private var decoded = DecodedRecords()
  /// As the log keeps them.
  private(set) var streams: [ChannelName: [Publication]] = [:]
  private(set) var maps: [ChannelName: [String: AppEntry]] = [:]
  private(set) var readmitted: [String] = []
  /// Changes of entries, in order, as the broker publishes them: none where an entry is worked out again and is the same.
  private(set) var changes: [(channel: ChannelName, text: String)] = []
  /// What webhooks were told.
  private(set) var told: [String] = []
  /// Who was notified of what, and who acknowledged what: `bob clique.message clique.chat:p…`, `bob clique.chat:p…`.
  private(set) var notified: [String] = []
  private(set) var acknowledged: [String] = []
  private var published: [String: UInt64] = [:]
  /// A command with a key that was used before finds its publication, as in the broker.
  var remembersKeys = false
  /// Pictures whose files gateways were told to delete, and how often the disk was to be overwritten.
  private(set) var discarded: [String] = []
  /// Pictures whose files were kept for moderators when they were discarded, and those whose files went then.
  private(set) var (keptAlone, released): ([String], [String]) = ([], [])
  private(set) var scrubs = 0
  private var calls = 0
  /// How often a record was asked for.
  private(set) var lookups = 0
  /// Of the last call that was not refused: a limit that it reached all the same.
  private(set) var reached: AppLimit?
  /// The channels that the broker has to have open before it answers the last call; none where that was refused.
  private(set) var awaited: Set<ChannelName> = []
  var isAskedAgain = false
  private let places: AppPlaces?
  /// What other partitions are sent, until somebody takes it along.
  var relays: [AppRelay] = []
  /// The ones that go with the transaction of the last call; without those of entries that are worked out later.
  private(set) var awaitedRelays: [AppRelay] = []
  /// An entry is being worked out for which nobody waits.
  private var isLater = false
  /// When users' data was deleted, in milliseconds since 1970.
  var forgotten: [String: Int64] = [:]

  init(_ rules: CliqueRules = .init(), vault: InvertingVault? = InvertingVault(), places: AppPlaces? = nil) {
    app = Clique(rules, vault: vault, places: places)
    self.places = places
  }

  // MARK: AppView

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    lookups += 1
    guard let stored = records[key] else { return nil }
    do { return try decoded.decode(type, key, from: stored.data) } catch { throw .internalError }
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 { UInt64(streams[channel]?.count ?? 0) }

  func offset(ofRepeated key: String?, on channel: ChannelName) throws(ClientError) -> UInt64? {
    remembersKeys ? key.flatMap { published[$0] } : nil
  }

  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] {
    stream(channel).suffix(count).reversed()
  }

  /// What stands on a channel, as it is read now.
  func stream(_ channel: ChannelName) -> [Publication] {
    (streams[channel] ?? []).map { app.opened($0, on: channel, at: latest) }
  }

  func publication(_ offset: UInt64, of channel: ChannelName) throws(ClientError) -> Publication? {
    guard let stream = streams[channel], offset > 0, offset <= UInt64(stream.count) else { return nil }
    return app.opened(stream[Int(offset) - 1], on: channel, at: latest)
  }

  func entries(of channel: ChannelName) throws(ClientError) -> [Publication] {
    (maps[channel] ?? [:]).map {
      Publication(data: $1.data, tags: $1.tags, change: KeyChange(key: $0, score: $1.score))
    }
  }

  func wasForgotten(_ user: String, since time: Int64) throws(ClientError) -> Bool {
    forgotten[user] ?? .min >= time
  }

  // MARK: What people do

  @discardableResult
  func call(
    _ user: String, _ method: String, _ json: String = "{}", key: String? = nil, source: AppCall.Source = .client,
    attestedPlace: String? = nil
  ) throws -> String {
    (awaited, awaitedRelays) = ([], [])
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    return try call(user, command, key: key, source: source, attestedPlace: attestedPlace)
  }

  @discardableResult
  func call(
    _ user: String, _ command: AppCommand, key: String? = nil, source: AppCall.Source = .client,
    attestedPlace: String? = nil
  ) throws -> String {
    calls += 1
    (awaited, awaitedRelays) = ([], [])
    let decision = try app.call(
      AppCall(
        command, caller: ClientInfo(user: user, client: "c-" + user), source: source, attestedPlace: attestedPlace,
        key: .text(key ?? "call-\(calls)")), self)
    reached = decision.reached
    awaited = Set(decision.effects.compactMap(\.openedChannel))
    try apply(decision.effects)
    switch decision.answer {
    case .reply(let bytes):
      try #require(JSONSyntax.isValid(bytes))
      return String(decoding: bytes, as: UTF8.self)
    case .search(let search): return "search \(search.channels.map(\.string).sorted())"
    case .later: throw ClientError.internalError
    }
  }

  /// The answer, or what was said instead.
  func said(_ user: String, _ method: String, _ json: String = "{}") throws -> String {
    do { return try call(user, method, json) } catch let error as ClientError { return error.description }
  }

  /// Moves the clock, with each timer at its time.
  func pass(_ milliseconds: Int64) throws {
    let end = now + milliseconds
    while let (key, due) = records.compactMap({ key, record in record.due.map { (key, $0) } })
      .min(by: { ($0.1, $0.0) < ($1.1, $1.0) }), due <= end
    {
      now = max(now, due)
      try apply(try app.due(key, self).effects)
      let later = records[key]?.due ?? .max
      try #require(later > now, "\(key) was due and asks for the same time again")
    }
    now = end
  }

  func apply(_ effects: [AppEffect]) throws {
    for effect in effects {
      switch effect {
      case .write(let key, let record): records[key] = (try JSONEncoder().encode(record), record.due)
      case .erase(let key): records[key] = nil
      case .publish(let publication): publish(publication)
      case .readmit(let user, let channel): readmitted.append("\(user) \(channel)")
      case .edit(let channel, let offset, let data, let concealment): edit(channel, offset, data, concealment)
      case .notify(let notice): notified += notice.users.map { "\($0) \(notice.topic) \(notice.subject)" }
      case .acknowledge(let user, let subject): acknowledged.append("\(user) \(subject)")
      case .pictureFates(let fates):
        discarded += fates.filter(\.isGone).map(\.id)
        keptAlone += fates.filter { !$0.kept.isEmpty }.map(\.id)
        released += fates.filter { !$0.released.isEmpty }.map(\.id)
      case .scrub: scrubs += 1
      case .relay(let relay):
        relays.append(relay)
        if !isLater { awaitedRelays.append(relay) }
      case .refresh, .open, .touch, .push, .unsent: break
      case .tell(let event, let data): told.append("\(event.name) \(String(decoding: data, as: UTF8.self))")
      }
    }
    for effect in effects {
      switch effect {
      case .refresh(let channel, let key, let timing): try refresh(channel, key, isAwaited: timing == .atomically)
      case .touch(let subject):
        for place in try app.entries(showing: subject, self) { try refresh(place.channel, place.key) }
      default: break
      }
    }
  }

  /// A record of an older data folder.
  func plant(_ key: String, _ record: any AppRecord) throws {
    records[key] = (try JSONEncoder().encode(record), record.due)
  }

  /// Takes in what another partition has sent.
  func receive(_ row: [UInt8]) throws { try apply(try app.receive(row, self).effects) }

  /// When the first record is due; nil: none ever is.
  var nextDue: Int64? { records.values.compactMap(\.due).min() }

  private func isHere(_ channel: ChannelName) -> Bool {
    places.map { $0.partitioning.partition(of: channel) == $0.own } ?? true
  }

  /// Of a channel in another partition, nothing is worked out but what follows for that partition.
  private func refresh(_ channel: ChannelName, _ key: String, isAwaited: Bool = false) throws {
    let wasLater = isLater
    defer { isLater = wasLater }
    isLater = isLater || !isAwaited
    let effects = try app.follows(key, of: channel, isAwaited: isAwaited, self)
    for effect in effects {
      switch effect {
      case .write, .erase, .relay: break
      default: Issue.record("an entry entails records and relays alone")
      }
    }
    try apply(effects)
    if isHere(channel) { try show(channel, key) }
  }

  private func show(_ channel: ChannelName, _ key: String) throws {
    let entry = try app.entry(key, of: channel, self)
    if let entry { try #require(JSONSyntax.isValid(entry.data)) }
    if maps[channel]?[key] != entry {
      changes.append((channel, "\(key) \(entry.map { String(decoding: $0.data, as: UTF8.self) } ?? "-")"))
    }
    maps[channel, default: [:]][key] = entry
    let totals = try ChannelName("clique.totals:\(channel.rest)")
    if app.source(of: totals) == channel, channel.string.hasPrefix("clique.list:") { try refresh(totals, "all") }
  }

  private func publish(_ publication: AppPublication) {
    #expect(isHere(publication.channel), "a partition publishes in its own channels")
    let offset = UInt64(streams[publication.channel]?.count ?? 0) + 1
    if let key = publication.idempotencyKey {
      if published[key] != nil { return }
      published[key] = offset
    }
    let entry = Publication(
      offset: offset, time: now, data: publication.data, info: publication.info, tags: publication.tags)
    streams[publication.channel, default: []].append(app.sealed(entry, on: publication.channel))
  }

  private func edit(_ channel: ChannelName, _ offset: UInt64, _ data: [UInt8]?, _ concealment: AppConcealment?) {
    guard let kept = streams[channel]?[Int(offset) - 1] else { return }
    var changed = app.opened(kept, on: channel, at: latest)
    var tags = changed.tags.filter { Publication.audienceTags.contains($0.key) }
    tags[data == nil ? "deletes" : "edits"] = String(offset)
    if data != nil { tags[Publication.vanishesTag] = changed.tags[Publication.vanishesTag] }
    tags.merge(concealment?.tags ?? [:]) { $1 }
    publish(AppPublication(channel: channel, data: data ?? Array("null".utf8), info: changed.info, tags: tags))
    var former = FormerVersions(changed.tags[FormerVersions.tag])
    former.keep(changed, for: data == nil ? [] : concealment?.users ?? [])
    changed.data = data ?? Array("null".utf8)
    changed.tags[data == nil ? "deleted" : "edited"] = String(now)
    changed.tags[FormerVersions.tag] = former.text
    if data == nil { changed.tags[Publication.vanishesTag] = nil }
    if data == nil, let target = changed.tags["edits"] ?? changed.tags["deletes"] {
      (changed.tags["edits"], changed.tags["deletes"], changed.tags["deleted"]) = (nil, target, nil)
    }
    streams[channel]?[Int(offset) - 1] = app.sealed(changed, on: channel)
  }

  /// The author changes what they published, or removes it. As the broker does, which looks first whether it is theirs.
  func change(_ user: String, _ id: String, _ offset: UInt64, _ json: String?) throws {
    let channel = try ChannelName("clique.chat:\(id)")
    guard try isAdmitted(user, channel.string) else { throw ClientError.permissionDenied }
    guard let original = try publication(offset, of: channel), original.info?.user == user,
      ["edits", "deletes", "deleted"].allSatisfy({ original.tags[$0] == nil })
    else { throw ClientError.badRequest }
    let decision = try app.edit(
      AppEdit(
        channel: channel, original: original, data: json.map { Array($0.utf8) },
        editor: ClientInfo(user: user, client: "c-" + user)), self)
    try apply(decision.effects)
  }

  // MARK: What people see

  func entry(_ user: String, _ namespace: String, _ key: String) throws -> String? {
    let entry = maps[try ChannelName("clique.\(namespace):\(user)")]?[key]
    return entry.map { "\(String(decoding: $0.data, as: UTF8.self)) \($0.score) \($0.expires)" }
  }

  func entries(_ user: String, _ namespace: String) throws -> [String: AppEntry] {
    maps[try ChannelName("clique.\(namespace):\(user)")] ?? [:]
  }

  /// A field of a list entry.
  func field(_ name: String, _ user: String, _ id: String) throws -> String? {
    guard let entry = maps[try ChannelName("clique.list:\(user)")]?[id] else { return nil }
    let object = try JSONSerialization.jsonObject(with: Data(entry.data)) as? [String: Any]
    // Of an object in one order: a dictionary is in any.
    return object?[name].map { value in
      (value as? [String: Any])?.map { "\($0)=\($1)" }.sorted().joined(separator: " ") ?? "\(value)"
    }
  }

  func state(_ user: String, _ id: String) throws -> String? { try field("state", user, id) }

  func isAdmitted(_ user: String, _ channel: String) throws -> Bool {
    let channel = try ChannelName(channel)
    do { return try app.admit(user, to: channel, self).refusal == nil } catch { return false }
  }

  /// What somebody reads of a conversation, nil where they are not admitted.
  func history(_ user: String, _ id: String) throws -> [Publication]? {
    let channel = try ChannelName("clique.chat:\(id)")
    guard try isAdmitted(user, channel.string) else { return nil }
    let audience = try app.admit(user, to: channel, self).audience
    return stream(channel).map { $0.shown(to: user) }.filter { audience?.passes($0) ?? true }
      .map(\.withoutAudienceTags)
  }

  /// The texts of it.
  func chat(_ user: String, _ id: String) throws -> [String]? {
    try history(user, id)?.map { publication in
      let object = try? JSONSerialization.jsonObject(with: Data(publication.data)) as? [String: Any]
      return object?["text"] as? String ?? String(decoding: publication.data, as: UTF8.self)
    }
  }

  /// Offsets of the messages with a text, as the index finds them for somebody.
  func found(_ user: String, _ text: String) throws -> [String] {
    let data = Array(#"{"text":"\#(text)"}"#.utf8)
    let command = try AppCommand("clique.search", data, by: user)
    let call = AppCall(command, caller: ClientInfo(user: user, client: "c"), key: .text(""))
    guard case .search(let search) = try app.call(call, self).answer else { return [] }
    return search.channels.flatMap { channel in
      // The index looks at what the log keeps.
      (streams[channel] ?? []).map { $0.shown(to: search.reader ?? "") }.filter { publication in
        let isMessage = ["edits", "deletes", "deleted"].allSatisfy { publication.tags[$0] == nil }
        return isMessage && publication.vanishes == nil
          && String(decoding: publication.data, as: UTF8.self).contains(text)
          && search.audience?.passes(publication) ?? true && search.audiences[channel]?.passes(publication) ?? true
      }.map { "\(channel) \($0.offset)" }
    }
  }

  /// A map channel of a conversation, as somebody reads it.
  func members(_ user: String, _ namespace: String, _ id: String) throws -> [String] {
    let channel = try ChannelName("clique.\(namespace):\(id)")
    guard try isAdmitted(user, channel.string) else { return ["-"] }
    let audience = try app.admit(user, to: channel, self).audience
    return (maps[channel] ?? [:]).sorted { $0.key < $1.key }.compactMap { key, entry in
      let change = KeyChange(key: key)
      let publication = Publication(data: entry.data, tags: entry.tags, change: change).shown(to: user)
      guard audience?.passes(publication) ?? true else { return nil }
      return "\(key) \(String(decoding: publication.data, as: UTF8.self)) \(entry.score)"
    }
  }

  /// All that somebody's devices are notified of, in order, and what there is to tell of conversations now.
  func devices(_ user: String, _ ids: [String]) throws -> [String] {
    try notified.filter { $0.hasPrefix(user + " ") }
      + acknowledged.filter { $0.hasPrefix(user + " ") }.map { "known " + $0 }
      + ids.map { "to tell \(try notification(user, $0).map(Self.text) ?? "-")" }
  }

  /// Without the order of a dictionary, which differs from one to the next.
  private static func text(_ notification: AppNotification) -> String {
    var plain = notification
    plain.data = [:]
    return "\(plain) \(notification.data.sorted { $0.key < $1.key })"
  }

  func notification(_ user: String, _ id: String) throws -> AppNotification? {
    try app.notification(about: "clique.chat:" + id, for: user, self)
  }

  func pair(_ a: String, _ b: String) -> String { CliqueIdentifier.ordered(a, b) }

  /// An open conversation.
  func befriend(_ a: String, _ b: String) throws -> String {
    try call(a, "send", #"{"to":"\#(b)","text":"hello"}"#)
    try call(b, "accept", #"{"person":"\#(a)"}"#)
    return pair(a, b)
  }
}

extension CliqueRules {
  /// As the others, and people are notified.
  static var notifying: CliqueRules {
    var rules = CliqueRules()
    rules.notifies = true
    return rules
  }
}

extension TagFilter {
  /// As the gateway does, for what Clique uses.
  func passes(_ publication: Publication) -> Bool {
    var tags = publication.tags
    tags["user"] = publication.info?.user
    if let key = publication.change?.key { tags["key"] = key }
    return passes(tags)
  }

  func passes(_ tags: [String: String]) -> Bool {
    switch self {
    case .all(let filters): filters.allSatisfy { $0.passes(tags) }
    case .any(let filters): filters.contains { $0.passes(tags) }
    case .not(let filter): !filter.passes(tags)
    case .equal(let key, let value): tags[key]?.hasSameBytes(as: value) ?? false
    case .oneOf(let key, let values): tags[key].map { tag in values.contains { $0.hasSameBytes(as: tag) } } ?? false
    case .exists(let key): tags[key] != nil
    case .contains(let key, let value): tags[key]?.contains(value) ?? false
    case .number(let key, .greaterOrEqual, let value):
      tags[key].flatMap { Int($0) } ?? .min >= Int(value) ?? .max
    case .hasPrefix, .hasSuffix, .number: false
    }
  }
}

/// SplitMix64.
struct CliqueRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 ^ 0xD1B5_4A32_D192_ED03 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &self)]
  }
}

extension AppEffect {
  /// The channel that the broker has to have open before it performs the effect; nil: none.
  var openedChannel: ChannelName? {
    switch self {
    case .publish(let publication): publication.channel
    case .edit(let channel, _, _, _), .refresh(let channel, _, .atomically), .open(let channel): channel
    case .write, .erase, .refresh(_, _, .soon), .touch, .readmit, .scrub, .pictureFates, .tell, .notify, .acknowledge,
      .push, .unsent, .relay:
      nil
    }
  }
}
