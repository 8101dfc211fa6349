import Log
import Telemetry
import Wire

/// Sending what waits in outboxes. ``WebhookSender`` decides; here its actions are performed.
extension BrokerCore {
  /// Lets an outbox do what it can do now.
  func drive(_ outbox: Outbox, in turn: inout Turn) {
    guard outbox.isOpen, !outbox.isDriven, webhooks?.isLoaded == true else { return }
    outbox.isDriven = true
    defer { outbox.isDriven = false }
    while let action = outbox.sender.next(at: turn.time.monotonic, isOverfull: outbox.isOverfull) {
      perform(action, of: outbox, in: &turn)
    }
  }

  private func perform(_ action: WebhookSender.Action, of outbox: Outbox, in turn: inout Turn) {
    switch action {
    case .read(let count):
      outbox.reading = LogRange(
        since: outbox.sender.cursor, through: outbox.sender.top, limit: count, bytes: outbox.configuration.batchBytes)
      run(.readOutbox(outbox), in: &turn)
    case .post(let batch): post(batch, of: outbox, in: &turn)
    case .commit(let batch, let reason): commit(batch, givenUp: reason, of: outbox, in: &turn)
    }
  }

  // MARK: Reading

  func readOutbox(_ outbox: Outbox, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let range = outbox.reading else { return }
    do throws(ClientError) {
      let answer = try stores.ask(.page(outbox.waiting.name, range), of: stores.disk, in: &turn)
      outbox.reading = nil
      if case .page(let found) = answer { outbox.sender.found(batch(of: found, outbox)) }
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .readOutbox(outbox), in: &turn) }
      outbox.reading = nil
      outbox.sender.readFailed(at: turn.time.monotonic)
    }
    drive(outbox, in: &turn)
  }

  /// The events of one request: as many as its bytes allow, and at least one.
  private func batch(of found: [Publication], _ outbox: Outbox) -> [OutboxEvent] {
    var bytes = 0
    var events: [OutboxEvent] = []
    for publication in found {
      let json = publication.data == ErasureQuestion.emptied ? [] : Self.noEvent
      let total = events.last?.total ?? outbox.doneTotal
      let event =
        Outbox.event(publication)
        ?? OutboxEvent(offset: publication.offset, time: publication.time, total: total, json: json)
      bytes += event.json.count
      if bytes > outbox.configuration.batchBytes, !events.isEmpty { break }
      events.append(event)
    }
    return events
  }

  // MARK: Sending

  private func post(_ batch: WebhookSender.Batch, of outbox: Outbox, in turn: inout Turn) {
    guard let webhooks, let first = batch.events.first else { return }
    if batch.events.allSatisfy(\.json.isEmpty) {
      // All of it was erased with users' data.
      if let action = outbox.sender.answered(.status(200), at: turn.time, chance: 0) {
        perform(action, of: outbox, in: &turn)
      }
      return
    }
    let name = outbox.configuration.name
    let id = "\(name)-\(outbox.waiting.sequencer.top.epoch)-\(first.offset)-\(batch.last.offset)"
    let size = batch.events.reduce(128) { $0 + $1.json.count + 1 }
    var writer = JSONWriter(capacity: size)
    writer.open()
    writer.write("id", id)
    writer.write("webhook", name)
    writer.list("events") { writer in
      for event in batch.events where !event.json.isEmpty { writer.write(rawElement: event.json) }
    }
    writer.close()
    var post = WebhookPost(webhook: name, id: id, body: writer.bytes, number: webhooks.begin(of: outbox))
    if let hops {
      post.context = hops.events.post(post.number, to: name, first.offset...batch.last.offset, at: hops.recorder.now())
    }
    turn.effects.append(.post(post))
  }

  /// Stands for what this version cannot read.
  private static let noEvent = Array("{}".utf8)

  /// A receiver has answered, or could not be reached.
  public func answered(_ answer: WebhookAnswer, in turn: inout Turn) {
    if let hops {
      hops.events.answered(answer.number, isTaken: WebhookSender.failure(answer.result) == nil, hops.recorder)
    }
    guard let webhooks, let outbox = webhooks.end(answer.number), outbox.isOpen else { return }
    note(answer.result, of: outbox, at: turn.time)
    let chance = webhooks.chance()
    if let action = outbox.sender.answered(answer.result, at: turn.time, chance: chance) {
      perform(action, of: outbox, in: &turn)
    }
    drive(outbox, in: &turn)
  }

  private func note(_ result: WebhookAnswer.Result, of outbox: Outbox, at time: BrokerTime) {
    let name = outbox.configuration.name
    guard let failure = WebhookSender.failure(result) else {
      if outbox.status.failingSince != nil { webhooks?.note(WebhookNote(webhook: name, kind: .recovered)) }
      (outbox.status.failingSince, outbox.status.lastError) = (nil, nil)
      return
    }
    outbox.status.failures += 1
    outbox.status.lastError = failure
    if outbox.status.failingSince == nil {
      outbox.status.failingSince = time.wall
      webhooks?.note(WebhookNote(webhook: name, kind: .fails(failure)))
    }
  }

  // MARK: What is done

  /// Writes that a batch is done; where it was given up, together with its events for the list of those.
  private func commit(
    _ batch: WebhookSender.Batch, givenUp reason: String?, of outbox: Outbox, in turn: inout Turn
  ) {
    let epoch = outbox.waiting.sequencer.top.epoch
    let record = OutboxRecord(epoch: epoch, offset: batch.last.offset, total: batch.last.total)
    do throws(ClientError) {
      var entries = [try entry(record, outbox.doneKey, at: turn.time)]
      if let reason { entries += try givenUp(batch, reason, of: outbox, at: turn.time) }
      let isKept = try store(entries.count == 1 ? .one(entries[0]) : .together(entries), in: stores.disk)
      let commit = OutboxCommit(outbox, .sent(batch, record, givenUp: reason), count: entries.count)
      for (index, entry) in entries.enumerated() {
        guard let state = index == 0 ? webhooks?.records : outbox.givenUp else { break }
        noteAppended(entry, on: state, isKept: isKept, for: .delivery(commit), in: &turn)
      }
    } catch {
      outbox.sender.commitFailed(at: turn.time.monotonic)
    }
  }

  /// An entry of the map of records. It makes room, so a full disk takes it.
  private func entry(_ record: OutboxRecord, _ key: String, at time: BrokerTime) throws(ClientError) -> LogEntry {
    guard let state = webhooks?.records, let offset = state.sequencer.peek() else { throw .draining }
    let publication = Publication(offset: offset, time: time.wall, data: record.bytes, change: KeyChange(key: key))
    return entry(publication, nil, edit: nil, of: state, for: .broker)
  }

  private func givenUp(
    _ batch: WebhookSender.Batch, _ reason: String, of outbox: Outbox, at time: BrokerTime
  ) throws(ClientError) -> [LogEntry] {
    let state = outbox.givenUp
    guard let first = state.sequencer.peek() else { throw .draining }
    return batch.events.enumerated().map { index, event in
      let offset = first + UInt64(index)
      let publication = Publication(
        offset: offset, time: time.wall, data: event.json.isEmpty ? ErasureQuestion.emptied : event.json,
        tags: ["reason": reason])
      return LogEntry(
        ticket: appends.ticket(), channel: state.name, epoch: state.sequencer.top.epoch, publication: publication,
        durability: .durable, historySize: outbox.keptGivenUp(at: offset), historyTTLMilliseconds: Outbox.lifetime,
        mayUseReserve: true)
    }
  }

  /// The log has answered for one of the entries with which something is done.
  func settled(_ commit: OutboxCommit, error: LogError?, in turn: inout Turn) {
    commit.remaining -= 1
    if let error, commit.error == nil { commit.error = error }
    guard commit.remaining == 0 else { return }
    let outbox = commit.outbox
    switch (commit.kind, commit.error) {
    case (.sent, _?): outbox.sender.commitFailed(at: turn.time.monotonic)
    case (.sent(let batch, let record, let reason), nil):
      outbox.done(record)
      outbox.sender.committed()
      count(batch, givenUp: reason, of: outbox)
    case (.resent(_, _, let requester), let error?):
      outbox.isResending = false
      answer(requester, .failed(error.asClientError), in: &turn)
    case (.resent(let record, let count, let requester), nil):
      outbox.isResending = false
      outbox.resentThrough = max(outbox.resentThrough, record.offset)
      let (after, through) = outbox.givenUpRange
      answer(requester, .result(WebhookReplies.resent(count, left: through - after)), in: &turn)
    }
    drive(outbox, in: &turn)
  }

  private func count(_ batch: WebhookSender.Batch, givenUp reason: String?, of outbox: Outbox) {
    let events = batch.events.count
    guard let reason else { return outbox.status.sent += UInt64(events) }
    outbox.status.givenUp += UInt64(events)
    // The oldest in the list made room for these, if it was full.
    let top = outbox.givenUp.sequencer.top.offset
    let most = UInt64(outbox.configuration.mostGivenUp)
    let floor = max(outbox.resentThrough, top > most ? top - most : 0)
    let before = top - UInt64(events)
    let floorBefore = max(outbox.resentThrough, before > most ? before - most : 0)
    outbox.status.lost += floor - floorBefore
    webhooks?.note(WebhookNote(webhook: outbox.configuration.name, kind: .gaveUp(events, reason)))
  }

  // MARK: Questions of operators

  func webhooks(
    _ request: WebhookRequest, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    switch request {
    case .list: answer(requester, .result(WebhookReplies.list(webhookStatuses)), in: &turn)
    case .givenUp(let name, let since, let limit):
      let outbox = try outbox(named: name)
      let (after, through) = outbox.givenUpRange
      let start = min(through, max(after, since))
      let found = try givenUpPage(of: outbox, after: start, through: through, limit: limit, in: &turn)
      let left = through - (found.last?.offset ?? through)
      answer(requester, .result(WebhookReplies.givenUp(found, left: left)), in: &turn)
    case .resend(let name, let limit):
      try resend(try outbox(named: name), limit: limit, for: requester, in: &turn)
    }
  }

  private func outbox(named name: String) throws(ClientError) -> Outbox {
    guard let outbox = webhooks?.outbox(named: name) else {
      throw .badRequest.saying("there is no webhook \(name.prefix(64).debugDescription) in the settings of the broker")
    }
    return outbox
  }

  /// Most events of one page, and most bytes of them.
  private static let givenUpPage = 1000
  private static let givenUpBytes = 1 << 20

  private func givenUpPage(
    of outbox: Outbox, after: UInt64, through: UInt64, limit: UInt32, in turn: inout Turn
  ) throws(ClientError) -> [Publication] {
    if after == through { return [] }
    let count = limit == 0 ? Self.givenUpPage : min(Int(limit), Self.givenUpPage)
    let range = LogRange(since: after, through: through, limit: count, bytes: Self.givenUpBytes)
    guard case .page(let found) = try stores.ask(.page(outbox.givenUp.name, range), of: stores.disk, in: &turn) else {
      return []
    }
    return found
  }

  /// Puts the oldest given-up events back among those that wait, behind them, in one transaction.
  private func resend(
    _ outbox: Outbox, limit: UInt32, for requester: Requester, in turn: inout Turn
  ) throws(ClientError) {
    if outbox.isResending {
      throw .tooManyRequests.saying("events of this webhook are being put back; try again later")
    }
    let (after, through) = outbox.givenUpRange
    let found = try givenUpPage(of: outbox, after: after, through: through, limit: limit, in: &turn)
    guard let last = found.last else {
      return answer(requester, .result(WebhookReplies.resent(0, left: 0)), in: &turn)
    }
    let record = OutboxRecord(epoch: outbox.givenUp.sequencer.top.epoch, offset: last.offset, total: 0)
    let first = try entry(record, outbox.resentKey, at: turn.time)
    var events = OutboxEntries()
    for event in found where event.data != ErasureQuestion.emptied {
      try events.add(again: event.data, to: outbox, at: turn.time.wall, appends)
    }
    let isKept = try store(events.isEmpty ? .one(first) : .together([first] + events.entries), in: stores.disk)
    outbox.isResending = true
    let commit = OutboxCommit(outbox, .resent(record, count: events.entries.count, requester), count: 1)
    if let records = webhooks?.records {
      noteAppended(first, on: records, isKept: isKept, for: .delivery(commit), in: &turn)
    }
    note(events, isKept: isKept, in: &turn)
  }
}

/// Writes what is answered about webhooks.
enum WebhookReplies {
  static func list(_ statuses: [WebhookStatus]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("webhooks") { writer in for status in statuses { writer.object { write(status, &$0) } } }
    }
    return writer.bytes
  }

  private static func write(_ status: WebhookStatus, _ writer: inout JSONWriter) {
    writer.write("name", status.name)
    writer.write("waiting", status.waiting)
    writer.write("waiting_bytes", status.waitingBytes)
    if let oldest = status.oldest { writer.write("oldest", oldest) }
    if let since = status.failingSince { writer.write("failing_since", since) }
    if let error = status.lastError { writer.write("last_error", error) }
    writer.write("given_up", status.keptGivenUp)
    writer.write("sent_total", status.sent)
    writer.write("failed_total", status.failures)
    writer.write("given_up_total", status.givenUp)
    writer.write("lost_total", status.lost)
  }

  /// - Parameter left: how many follow.
  static func givenUp(_ events: [Publication], left: UInt64) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("events") { writer in
        for event in events where event.data != ErasureQuestion.emptied {
          writer.object { writer in
            writer.write("position", event.offset)
            writer.write("given_up_at", event.time)
            writer.write("reason", event.tags["reason"] ?? "")
            if !event.data.isEmpty { writer.write("event", raw: event.data) }
          }
        }
      }
      writer.write("left", left)
    }
    return writer.bytes
  }

  static func resent(_ count: Int, left: UInt64) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("resent", count)
      writer.write("left", left)
    }
    return writer.bytes
  }
}
