import Wire

/// What a decision has written so far. Its later steps see what the earlier ones wrote, and each record is written
/// once.
final class CliqueDraft {
  let view: any AppView
  private var written: [String: (any AppRecord)?] = [:]
  private var order: [String] = []
  private var publications: [AppEffect] = []
  private var changes: [AppEffect] = []
  private var refreshed: Set<Refresh> = []

  private struct Refresh: Hashable {
    var channel: ChannelName
    var key: String
    var isAtomic: Bool
  }

  init(_ view: any AppView) { self.view = view }

  var now: Int64 { view.now }

  func read<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    if let record = written[key] { return record as? Record }
    return try view.record(type, key)
  }

  func write(_ key: String, _ record: any AppRecord) { set(key, .some(record)) }

  func erase(_ key: String) { set(key, nil) }

  private func set(_ key: String, _ record: (any AppRecord)?) {
    if written.updateValue(record, forKey: key) == nil { order.append(key) }
  }

  func publish(_ publication: AppPublication) { publications.append(.publish(publication)) }

  /// Adds a refresh, once for each entry and timing. An entry may need both: within the transaction it cannot show yet
  /// what is read from the disk.
  func refresh(_ channel: ChannelName, key: String, _ timing: AppTiming) {
    if refreshed.insert(Refresh(channel: channel, key: key, isAtomic: timing == .atomically)).inserted {
      changes.append(.refresh(channel, key: key, timing))
    }
  }

  /// Has the entries worked out again that show a subject: for a conversation, those in the lists of all its members.
  func touch(_ conversation: String) { changes.append(.touch(conversation)) }

  func readmit(_ user: String, _ channel: ChannelName) { changes.append(.readmit(user: user, channel)) }

  /// Adds an effect that follows from what is written.
  func add(_ effect: AppEffect) { changes.append(effect) }

  /// Tells webhooks, once for each change of a pair.
  func tell(_ event: WebhookEvents, _ data: [UInt8]) { changes.append(.tell(event, data)) }

  /// All effects: records first, then publications, then what follows from both.
  var effects: [AppEffect] {
    let records: [AppEffect] = order.map { key in
      if let record = written[key] ?? nil { return .write(key: key, record) }
      return .erase(key: key)
    }
    return records + publications + changes
  }

  func decision(reply: [UInt8] = Array("{}".utf8)) -> AppDecision { AppDecision(effects, reply: reply) }
}

extension CliqueDraft {
  func person(_ user: String) throws(ClientError) -> Clique.Person {
    try read(Clique.Person.self, Clique.Key.person(user)) ?? Clique.Person()
  }

  func update(_ user: String, _ change: (inout Clique.Person) throws(ClientError) -> Void) throws(ClientError) {
    let old = try person(user)
    var new = old
    try change(&new)
    if new != old { writeOrErase(new, Clique.Key.person(user)) }
  }

  /// Writes a person's record without marks that have passed, or erases it where nothing is left.
  func writeOrErase(_ person: Clique.Person, _ key: String) {
    let person = person.advanced(to: now)
    if person == Clique.Person() { erase(key) } else { write(key, person) }
  }
}

extension [String] {
  /// Whether the array holds the text, byte for byte, as users and ids are compared.
  func containsBytes(of other: String) -> Bool { contains { $0.hasSameBytes(as: other) } }

  mutating func drop(_ other: String) { removeAll { $0.hasSameBytes(as: other) } }
}
