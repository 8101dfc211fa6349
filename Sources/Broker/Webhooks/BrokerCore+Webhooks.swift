import Log
import Wire

/// Webhooks in the broker: loading them, and what time brings. Nothing here waits: the log is asked like any store, and
/// requests to receivers are effects whose answers come back as inputs.
extension BrokerCore {
  /// Switches the configured webhooks on and loads what was not sent; until it is loaded, ``isStarting`` is true. To be
  /// called before the first input.
  public func openWebhooks(in turn: inout Turn) {
    if configuration.webhooks.isEmpty { return }
    webhooks = Webhooks(configuration, store: stores.disk)
    run(.loadWebhooks, in: &turn)
  }

  func loadWebhooks(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let webhooks else { return }
    do throws(ClientError) {
      let disk = stores.disk
      if webhooks.needsRecords {
        webhooks.loaded(records: try stores.load(Webhooks.question, of: disk, in: &turn))
      }
      if let occupancy = webhooks.occupancy, webhooks.needsOccupancy {
        let found = try stores.load(Occupancy.question, of: disk, in: &turn)
        occupancy.loaded(found, at: turn.time.monotonic, patience: configuration.gatewayTimeout)
        webhooks.loadedOccupancy()
      }
      for outbox in webhooks.outboxes where !outbox.isOpen { try load(outbox, webhooks, in: &turn) }
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .loadWebhooks, in: &turn) }
    }
  }

  private func load(_ outbox: Outbox, _ webhooks: Webhooks, in turn: inout Turn) throws(ClientError) {
    if !outbox.hasWaiting {
      outbox.opened(waiting: try stores.load(outbox.waitingQuestion, of: stores.disk, in: &turn))
    }
    if !outbox.hasGivenUp {
      outbox.opened(givenUp: try stores.load(outbox.givenUpQuestion, of: stores.disk, in: &turn))
    }
    var newest: Publication?
    if let question = outbox.newestQuestion,
      case .page(let found) = try stores.ask(question, of: stores.disk, in: &turn)
    {
      newest = found.first { Outbox.total(of: $0) != nil }
    }
    if let resent = webhooks.record(outbox.resentKey),
      resent.epoch.hasSameBytes(as: outbox.givenUp.sequencer.top.epoch)
    {
      outbox.resentThrough = resent.offset
    }
    outbox.begin(after: webhooks.record(outbox.doneKey), newest: newest)
  }

  // MARK: Time

  /// Does what time brings to webhooks: events that the log did not take, channels that have been vacated, requests
  /// that are repeated.
  func tickWebhooks(in turn: inout Turn) {
    guard let webhooks, webhooks.isLoaded, !stores.isLost else { return }
    tellHeld(in: &turn)
    watchOccupancy(in: &turn)
    for outbox in webhooks.outboxes { drive(outbox, in: &turn) }
  }

  /// When webhooks have something to do next, in monotonic milliseconds; `.max`: nothing waits.
  var webhookDeadline: Int64 {
    guard let webhooks, webhooks.isLoaded else { return .max }
    let outboxes = webhooks.outboxes.map { min($0.sender.deadline ?? .max, $0.tellsNext) }.min() ?? .max
    return min(outboxes, webhooks.occupancy?.nextTime ?? .max)
  }

  /// How each webhook is doing, in the order of the settings.
  public var webhookStatuses: [WebhookStatus] { webhooks?.outboxes.map { $0.currentStatus() } ?? [] }

  // MARK: Occupancy

  private func isOccupied(_ name: ChannelName) -> Bool {
    channels[name].map { !$0.interest.isEmpty || !$0.members.isEmpty } ?? false
  }

  /// Somebody has come to a channel to which nobody was subscribed.
  func becameOccupied(_ state: BrokerChannel, in turn: inout Turn) {
    guard state.hooks?.watchesOccupancy == true, let notice = webhooks?.occupancy?.arrived(state.name) else { return }
    write(notice, of: state.name, in: &turn)
  }

  private func watchOccupancy(in turn: inout Turn) {
    let idle = channels.takeFellIdle()
    guard let occupancy = webhooks?.occupancy else { return }
    for name in idle where !isOccupied(name) { occupancy.left(name, at: turn.time.monotonic) }
    for _ in 0..<Occupancy.perTurn {
      guard let (name, notice) = occupancy.next(at: turn.time.monotonic, isOccupied) else { return }
      write(notice, of: name, in: &turn)
    }
  }

  /// Writes in one transaction that a channel is occupied or vacated, and the events that tell of it.
  private func write(_ notice: Occupancy.Notice, of name: ChannelName, in turn: inout Turn) {
    guard let webhooks, let occupancy = webhooks.occupancy else { return }
    let hooks = webhooks.hooks(of: name)
    let event: WebhookEvents = notice == .occupied ? .channelOccupied : .channelVacated
    let outboxes = (notice == .occupied ? hooks?.occupied : hooks?.vacated) ?? []
    do throws(ClientError) {
      var events = OutboxEntries()
      let draft = OutboxDraft(event, at: turn.time.wall, channel: name)
      for outbox in outboxes { try events.add(draft, to: outbox, isAlone: false, appends) }
      guard let offset = occupancy.state.sequencer.peek() else { throw .draining }
      let change = KeyChange(key: name.string, removed: notice == .vacated)
      let publication = Publication(offset: offset, time: turn.time.wall, data: Self.noData, change: change)
      let entry = entry(publication, nil, edit: nil, of: occupancy.state, for: .broker)
      let isKept = try store(events.isEmpty ? .one(entry) : .together([entry] + events.entries), in: stores.disk)
      let append = OccupancyAppend(name)
      noteAppended(entry, on: occupancy.state, isKept: isKept, for: .occupancy(append), in: &turn)
      note(events, isKept: isKept, in: &turn)
    } catch {
      occupancy.failed(name, at: turn.time.monotonic)
    }
  }

  /// The log has answered for what was told of a channel's occupancy.
  func settled(_ append: OccupancyAppend, error: LogError?, in turn: inout Turn) {
    guard let occupancy = webhooks?.occupancy else { return }
    let name = append.channel
    if error != nil { return occupancy.failed(name, at: turn.time.monotonic) }
    let next = occupancy.written(name, isThere: isOccupied(name), at: turn.time.monotonic)
    if let next { write(next, of: name, in: &turn) }
  }
}
