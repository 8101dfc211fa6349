import Log
import Wire

/// The webhooks that are configured, and what they share.
final class Webhooks {
  let outboxes: [Outbox]
  /// Nil where no webhook wants to know which channels are occupied.
  let occupancy: Occupancy?
  /// How far each outbox is sent: a hidden map.
  private(set) var records: BrokerChannel
  private var opened: [IdentifierKey: Publication] = [:]
  private var hasRecords = false
  private var hasOccupancy = false
  /// Which webhooks want what of the channels of a namespace, by its name: no more than are configured.
  private var byNamespace: [String: ChannelHooks] = [:]
  /// For the time until a request is repeated.
  private var randomness: UInt64
  private var nextPost: UInt64 = 0
  /// Requests under way, by their numbers, to the places of their outboxes.
  var underWay: [UInt64: Int] = [:]
  /// What an operator is to be told.
  private(set) var notes: [WebhookNote] = []
  private let namespaces: NamespaceTable

  static let recordsChannel: ChannelName = {
    guard let name = try? ChannelName("fanfare.webhooks:records") else {
      preconditionFailure("the name of the webhooks' records is a valid one")
    }
    return name
  }()

  init(_ configuration: BrokerConfiguration, store: any LogStore) {
    outboxes = configuration.webhooks.map { Outbox($0, store: store) }
    let told: WebhookEvents = [.channelOccupied, .channelVacated]
    let isWatched = configuration.webhooks.contains { !$0.events.isDisjoint(with: told) }
    occupancy = isWatched ? Occupancy(settleTime: configuration.vacatedAfter, store: store) : nil
    records = Self.state(store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
    randomness = configuration.instance
    namespaces = configuration.namespaces
  }

  private static func state(_ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    BrokerChannel(
      name: recordsChannel, options: AppHost.recordsOptions, store: store, opened: opened, isHidden: true)
  }

  // MARK: Loading

  /// Everything is loaded. Until then the broker reads no requests.
  var isLoaded: Bool { hasRecords && (occupancy == nil || hasOccupancy) && outboxes.allSatisfy { $0.isOpen } }

  /// Whether one of the questions with which the webhooks are loaded has no answer yet.
  func isLoading(_ isAsked: (LogQuestion) -> Bool) -> Bool {
    let channels = [Self.question, Occupancy.question] + outboxes.flatMap { [$0.waitingQuestion, $0.givenUpQuestion] }
    return channels.contains(where: isAsked) || outboxes.contains { $0.newestQuestion.map(isAsked) ?? false }
  }

  static let question = LogQuestion.open(recordsChannel, .durable, withEntries: true, ifExists: false)

  var needsRecords: Bool { !hasRecords }
  var needsOccupancy: Bool { occupancy != nil && !hasOccupancy }

  func loaded(records found: OpenedChannel) {
    records = Self.state(records.store, found)
    opened = [:]
    for entry in found.entries { if let key = entry.change?.key { opened[IdentifierKey(key)] = entry } }
    hasRecords = true
  }

  func loadedOccupancy() { hasOccupancy = true }

  /// What the map says of a webhook: how far its events, and its given-up events, are done.
  func record(_ key: String) -> OutboxRecord? { opened[IdentifierKey(key)].flatMap { OutboxRecord($0.data) } }

  /// Another broker keeps the channels now.
  func lost() {
    (hasRecords, hasOccupancy) = (false, false)
    underWay = [:]
    for outbox in outboxes { outbox.lost() }
  }

  // MARK: Who wants what

  /// Nil where no webhook wants to know anything of the channel.
  func hooks(of channel: ChannelName, _ options: ChannelOptions) -> ChannelHooks? {
    // What apps' channels carry is told of by the apps, and only in so far as it may leave them.
    guard options.app == nil else { return nil }
    let namespace = channel.namespace.map(String.init) ?? ""
    if let known = byNamespace[namespace] { return known.isEmpty ? nil : known }
    let hooks = ChannelHooks(namespace, outboxes)
    byNamespace[namespace] = hooks
    return hooks.isEmpty ? nil : hooks
  }

  func hooks(of channel: ChannelName) -> ChannelHooks? {
    namespaces.options(for: channel).flatMap { hooks(of: channel, $0) }
  }

  /// The outboxes that want an event which belongs to no channel.
  func outboxes(wanting event: WebhookEvents) -> [Outbox] {
    outboxes.filter { $0.configuration.events.contains(event) }
  }

  func outbox(named name: String) -> Outbox? { outboxes.first { $0.configuration.name.hasSameBytes(as: name) } }

  // MARK: Requests

  /// A number from 0 to 1 (SplitMix64).
  func chance() -> Double {
    randomness &+= 0x9E37_79B9_7F4A_7C15
    var word = randomness
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return Double((word ^ (word >> 31)) >> 11) / Double(1 << 53)
  }

  /// The number of another request of the outbox.
  func begin(of outbox: Outbox) -> UInt64 {
    nextPost += 1
    underWay[nextPost] = outboxes.firstIndex { $0 === outbox }
    return nextPost
  }

  /// The outbox of a request that was answered; nil where nobody waits for the answer.
  func end(_ number: UInt64) -> Outbox? { underWay.removeValue(forKey: number).map { outboxes[$0] } }

  /// Most notes that wait to be logged: three of each webhook in a turn are many.
  private static let mostNotes = 256

  func note(_ note: WebhookNote) { if notes.count < Self.mostNotes { notes.append(note) } }

  func takeNotes() -> [WebhookNote] {
    if notes.isEmpty { return [] }
    defer { notes = [] }
    return notes
  }
}

/// Something about a webhook that an operator is told when it happens.
struct WebhookNote: Equatable {
  enum Kind: Equatable {
    case fails(String)
    case recovered
    case gaveUp(Int, String)
  }

  var webhook: String
  var kind: Kind
}

/// Which webhooks want what of the channels of one namespace. Each of its channels in use has a reference to it, so
/// that a publication costs one look where nobody wants it.
final class ChannelHooks {
  let publication: [Outbox]
  let subscribe: [Outbox]
  let occupied: [Outbox]
  let vacated: [Outbox]

  init(_ namespace: String, _ outboxes: [Outbox]) {
    func wanting(_ event: WebhookEvents) -> [Outbox] {
      outboxes.filter { $0.configuration.wants(event, in: namespace) }
    }
    publication = wanting(.publication)
    subscribe = wanting(.subscribe)
    occupied = wanting(.channelOccupied)
    vacated = wanting(.channelVacated)
  }

  var watchesOccupancy: Bool { !occupied.isEmpty || !vacated.isEmpty }

  var isEmpty: Bool { publication.isEmpty && subscribe.isEmpty && !watchesOccupancy }
}

extension Outbox {
  var waitingQuestion: LogQuestion { .open(waiting.name, .durable, withEntries: false, ifExists: false) }
  var givenUpQuestion: LogQuestion { .open(givenUp.name, .durable, withEntries: false, ifExists: false) }

  /// Asks for the newest events, of which the first that was not erased knows the bytes of all; nil where there is none.
  var newestQuestion: LogQuestion? {
    let top = waiting.sequencer.top.offset
    if top == 0 { return nil }
    return .page(waiting.name, LogRange(since: nil, through: top, limit: 64, reverse: true))
  }

  /// The keys of the outbox's records.
  var doneKey: String { "done/\(configuration.name)" }
  var resentKey: String { "resent/\(configuration.name)" }
}
