import Log
import Wire

/// Events that go into one transaction, each with its place in its outbox.
struct OutboxEntries {
  private(set) var entries: [LogEntry] = []
  private(set) var appends: [OutboxAppend] = []
  /// How many events each outbox gets in this transaction so far, and the bytes of all its events with them.
  private var places: [ObjectIdentifier: (count: UInt64, total: UInt64)] = [:]

  var isEmpty: Bool { entries.isEmpty }

  /// - Parameters:
  ///   - isAlone: the event belongs to no other entry of the transaction, so that it is tried again where that fails.
  ///   - usesReserve: the entry may be written where the disk is full.
  /// - Throws: ``ClientError/draining`` while the outbox takes nothing.
  mutating func add(
    _ draft: OutboxDraft, to outbox: Outbox, isAlone: Bool, _ ledger: AppendLedger
  ) throws(ClientError) {
    let place = places[ObjectIdentifier(outbox)]
    guard let publication = outbox.publication(of: draft, ahead: place?.count ?? 0, after: place?.total) else {
      throw .draining
    }
    add(publication, to: outbox, isAlone ? draft : nil, draft.origin, ledger)
  }

  /// Adds an event that was given up, as it was.
  mutating func add(
    again json: [UInt8], to outbox: Outbox, at time: Int64, _ ledger: AppendLedger
  ) throws(ClientError) {
    let place = places[ObjectIdentifier(outbox)]
    guard let next = outbox.waiting.sequencer.peek() else { throw .draining }
    let offset = next + (place?.count ?? 0)
    let publication = Outbox.publication(json, at: offset, time: time, after: place?.total ?? outbox.nextTotal)
    add(publication, to: outbox, nil, nil, ledger)
  }

  private mutating func add(
    _ publication: Publication, to outbox: Outbox, _ draft: OutboxDraft?, _ origin: RequestOrigin?,
    _ ledger: AppendLedger
  ) {
    let state = outbox.waiting
    entries.append(
      LogEntry(
        ticket: ledger.ticket(), channel: state.name, epoch: state.sequencer.top.epoch, publication: publication,
        durability: .durable, historySize: outbox.kept(at: publication.offset),
        historyTTLMilliseconds: Outbox.lifetime, origin: origin))
    appends.append(OutboxAppend(outbox: outbox, draft: draft))
    let total = Outbox.total(of: publication) ?? 0
    places[ObjectIdentifier(outbox)] = ((places[ObjectIdentifier(outbox)]?.count ?? 0) + 1, total)
  }
}

/// An event on its way to the disk.
final class OutboxAppend {
  let outbox: Outbox
  /// The event, where it belongs to no other entry and is to be tried again.
  let draft: OutboxDraft?

  init(outbox: Outbox, draft: OutboxDraft?) {
    self.outbox = outbox
    self.draft = draft
  }
}

/// How far an outbox is done, on its way to the disk.
final class OutboxCommit {
  enum Kind {
    /// The receiver took the batch, or it was given up.
    case sent(WebhookSender.Batch, OutboxRecord, givenUp: String?)
    /// Given-up events wait to be sent again.
    case resent(OutboxRecord, count: Int, Requester)
  }

  let outbox: Outbox
  let kind: Kind
  /// Entries that the log has still to answer for, but those in the outbox's own stream.
  var remaining: Int
  var error: LogError?

  init(_ outbox: Outbox, _ kind: Kind, count: Int) {
    self.outbox = outbox
    self.kind = kind
    remaining = count
  }
}

/// What is told of a channel's occupancy, on its way to the disk.
final class OccupancyAppend {
  let channel: ChannelName

  init(_ channel: ChannelName) { self.channel = channel }
}

extension BrokerCore {
  /// The events that webhooks want of entries which go to the log, for the same transaction.
  ///
  /// - Parameters:
  ///   - states: the channel of each entry, in the same order.
  ///   - drafts: what an app tells along with them.
  /// - Throws: ``ClientError/draining`` while an outbox takes nothing. Nothing has changed then.
  func events(
    of entries: [LogEntry], on states: [BrokerChannel], and drafts: [OutboxDraft]
  ) throws(ClientError) -> OutboxEntries {
    var events = OutboxEntries()
    guard let webhooks else { return events }
    for (entry, state) in zip(entries, states) {
      guard let hooks = state.hooks, !hooks.publication.isEmpty, state.options.durability == .durable else { continue }
      let draft = draft(of: entry.publication, on: state)
      for outbox in hooks.publication { try events.add(draft, to: outbox, isAlone: false, appends) }
    }
    for draft in drafts {
      for outbox in webhooks.outboxes(wanting: draft.event) {
        try events.add(draft, to: outbox, isAlone: false, appends)
      }
    }
    return events
  }

  func draft(of publication: Publication, on state: BrokerChannel) -> OutboxDraft {
    var draft = OutboxDraft(.publication, at: publication.time, channel: state.name)
    let isBinary = state.options.dataFormat == .binary
    draft.publication = (publication, state.sequencer.top.epoch, isBinary)
    return draft
  }

  /// Tells an event that belongs to no other entry. Where the log does not take it, it is kept in memory and tried
  /// again (``Outbox/mostHeld``): nobody is refused for it.
  ///
  /// - Returns: the ticket of the event's last entry; nil: it is kept in memory, or nobody wants it.
  @discardableResult
  func tell(_ draft: OutboxDraft, to outboxes: [Outbox], in turn: inout Turn) -> UInt64? {
    if outboxes.isEmpty { return nil }
    // What waits already goes first.
    if outboxes.allSatisfy({ $0.held.isEmpty }), let ticket = write(draft, to: outboxes, in: &turn) { return ticket }
    for outbox in outboxes { outbox.hold(draft) }
    return nil
  }

  /// - Returns: the ticket of the event's last entry; nil: the log does not take it.
  private func write(_ draft: OutboxDraft, to outboxes: [Outbox], in turn: inout Turn) -> UInt64? {
    do throws(ClientError) {
      var events = OutboxEntries()
      for outbox in outboxes { try events.add(draft, to: outbox, isAlone: true, appends) }
      let isKept = try store(
        events.entries.count == 1 ? .one(events.entries[0]) : .together(events.entries), in: stores.disk)
      note(events, isKept: isKept, in: &turn)
      return events.entries.last?.ticket
    } catch {
      return nil
    }
  }

  /// Notes events that the log has taken.
  func note(_ events: OutboxEntries, isKept: Bool, in turn: inout Turn) {
    for (entry, append) in zip(events.entries, events.appends) {
      append.outbox.taken(entry.publication)
      hops?.events.add(append.outbox.configuration.name, entry.publication.offset)
      noteAppended(entry, on: append.outbox.waiting, isKept: isKept, for: .outbox(append), in: &turn)
    }
  }

  /// Tries again to tell what the log did not take, a bounded part of it in one turn: after an hour without room on the
  /// disk ten thousand events may wait, and messages do not wait for all of them. What comes meanwhile stands behind.
  func tellHeld(in turn: inout Turn) {
    for outbox in webhooks?.outboxes ?? [] where !outbox.held.isEmpty {
      var left = Outbox.heldPerTurn
      while left > 0, let draft = outbox.held.first, write(draft, to: [outbox], in: &turn) != nil {
        outbox.toldHeld()
        left -= 1
      }
      // Where the log refuses one, the rest is tried with the next tick.
      outbox.tellsNext = left == 0 && !outbox.held.isEmpty ? turn.time.monotonic + 1 : .max
    }
  }

  // MARK: What gateways tell

  /// Writes down for webhooks what a gateway tells of a client. It is done once, however often the gateway asks.
  func report(
    _ event: ClientEvent, for requester: Requester, _ occasion: RequestOccasion, in turn: inout Turn
  ) {
    guard let webhooks else { return answerAndRemember(requester, .done, in: &turn) }
    if occasion == .retry, let origin = requester.origin,
      webhooks.outboxes.contains(where: { $0.waiting.recentOrigins[origin] != nil })
    {
      tally.counters.duplicatesAvoided += 1
      return answerAndRemember(requester, .done, in: &turn)
    }
    let outboxes =
      event.channel.map { webhooks.hooks(of: $0)?.subscribe ?? [] } ?? webhooks.outboxes(wanting: event.event)
    var draft = OutboxDraft(event.event, at: turn.time.wall, channel: event.channel, client: event)
    draft.origin = requester.origin
    let ticket = tell(draft, to: outboxes, in: &turn)
    answer(requester, .done, after: ticket, in: &turn)
  }
}
