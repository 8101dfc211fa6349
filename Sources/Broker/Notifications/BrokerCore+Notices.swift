import Apps
import Log
import Wire

/// Notices that somebody may have to be notified: written with what they tell, read in order, and handed to the app of
/// notifications. Nothing here waits, and nothing of it is done where notifications are off.
extension BrokerCore {
  /// Switches notices on, because the app of notifications is installed.
  func openNotices(_ app: any NotifyingApp, _ host: AppHost, in turn: inout Turn) {
    notices = NoticeOutbox(app, host, store: stores.disk, at: turn.time.monotonic)
    run(.loadNotices, in: &turn)
  }

  func loadNotices(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let notices, !notices.isOpen else { return }
    do throws(ClientError) {
      if !notices.hasStream { notices.opened(try stores.load(NoticeOutbox.question, of: stores.disk, in: &turn)) }
      let cursor = try consult(notices.host, in: &turn) { (lens) throws(ClientError) in
        try lens.record(NoticeCursor.self, NoticeCursor.key)
      }
      notices.begin(after: cursor)
    } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .loadNotices, in: &turn) }
      return
    }
    drive(notices, in: &turn)
  }

  /// Asks again for the outbox, if it could not be loaded.
  func loadNoticesAgain(in turn: inout Turn) {
    guard let notices, !notices.isOpen, notices.host.isLoaded, !stores.isAsked(NoticeOutbox.question) else { return }
    let cursor = LogQuestion.entry(notices.host.recordsState.name, IdentifierKey(NoticeCursor.key))
    if !stores.isAsked(cursor) { run(.loadNotices, in: &turn) }
  }

  /// Does what time brings to notices.
  func tickNotices(in turn: inout Turn) {
    guard let notices, notices.isOpen, !stores.isLost else { return }
    writeHeld(notices, in: &turn)
    drive(notices, in: &turn)
    for _ in 0..<Acknowledgements.perTurn {
      guard let place = notices.acknowledgements.next(upTo: turn.time.monotonic) else { break }
      run(.acknowledged(place), in: &turn)
    }
    let now = turn.time.monotonic
    let again = notices.answersAgain.filter { $0.time <= now }
    if again.isEmpty { return }
    notices.answersAgain.removeAll { $0.time <= now }
    for answer in again { run(.pushAnswered(answer), in: &turn) }
  }

  /// How the outbox of notices is doing; nil where notifications are off.
  public var noticeStatus: NoticeStatus? { notices?.status }

  // MARK: Writing

  /// Whether publications on a channel are told to the people whom its name names.
  func tellsUsers(of name: ChannelName, _ options: ChannelOptions) -> Bool {
    options.push && notices != nil && options.app == nil && options.kind == .stream && name.limitedToUsers != nil
  }

  /// The notice of a publication on a channel whose name names people; nil where it is for nobody, or changes an
  /// earlier one. What the publication says stays out of it: it may be a secret.
  func notice(of publication: Publication, on state: BrokerChannel) -> PushIntent? {
    if publication.tags["edits"] != nil || publication.tags["deletes"] != nil { return nil }
    var users: [String] = []
    for user in state.name.limitedToUsers ?? [] where !user.isEmpty {
      let user = String(user)
      if publication.info?.user.hasSameBytes(as: user) == true { continue }
      if !users.contains(where: { $0.hasSameBytes(as: user) }) { users.append(user) }
    }
    if users.isEmpty { return nil }
    let data = ["channel": state.name.string, "offset": String(publication.offset)]
    // Without a title it says what the texts of its topic say, in the language of each device.
    let content = PushIntent.Content(title: "", data: data, offset: publication.offset)
    return PushIntent(
      offset: 0, time: publication.time, topic: ChannelTopic.name(of: state.name), subject: state.name.string,
      users: users, content: content)
  }

  /// The entries for notices that go into the log with what they tell.
  ///
  /// - Throws: ``ClientError/draining`` while the outbox takes nothing.
  func entries(of intents: [PushIntent], in notices: NoticeOutbox) throws(ClientError) -> [LogEntry] {
    var entries: [LogEntry] = []
    for intent in intents {
      for portion in NoticeOutbox.portions(of: intent) {
        guard notices.isOpen, let next = notices.stream.sequencer.peek() else { throw .draining }
        let offset = next + UInt64(entries.count)
        entries.append(notices.entry(portion, at: offset, ticket: appends.ticket()))
      }
    }
    return entries
  }

  /// The entries for notices of publications that go to the log, for the same transaction.
  func notices(of entries: [LogEntry], on states: [BrokerChannel]) throws(ClientError) -> [LogEntry] {
    guard let notices else { return [] }
    var intents: [PushIntent] = []
    for (entry, state) in zip(entries, states) where state.tellsUsers && state.options.durability == .durable {
      if let intent = notice(of: entry.publication, on: state) { intents.append(intent) }
    }
    return intents.isEmpty ? [] : try self.entries(of: intents, in: notices)
  }

  /// Notes notices that the log has taken.
  func note(notices entries: [LogEntry], isKept: Bool, in turn: inout Turn) {
    guard let notices else { return }
    for entry in entries { noteAppended(entry, on: notices.stream, isKept: isKept, for: .notice, in: &turn) }
  }

  /// Tells of a publication that is in no transaction with its notice. Where the log does not take that, it is kept in
  /// memory and tried again (``NoticeOutbox/mostHeld``): nobody is refused for it.
  func tellUsers(of publication: Publication, on state: BrokerChannel, in turn: inout Turn) {
    guard let notices, let intent = notice(of: publication, on: state) else { return }
    // What waits already goes first.
    if notices.held.isEmpty, write(intent, to: notices, in: &turn) != nil { return }
    notices.hold(intent)
  }

  /// Writes a notice by itself.
  ///
  /// - Returns: the ticket of its last entry; nil: the log does not take it.
  private func write(_ intent: PushIntent, to notices: NoticeOutbox, in turn: inout Turn) -> UInt64? {
    do throws(ClientError) { return try append(intent, to: notices, in: &turn) } catch { return nil }
  }

  /// - Returns: the ticket of the notice's last entry.
  /// - Throws: why the log does not take it.
  func append(
    _ intent: PushIntent, to notices: NoticeOutbox, in turn: inout Turn
  ) throws(ClientError) -> UInt64? {
    let entries = try entries(of: [intent], in: notices)
    guard let last = entries.last else { return nil }
    let isKept = try store(entries.count == 1 ? .one(last) : .together(entries), in: stores.disk)
    note(notices: entries, isKept: isKept, in: &turn)
    return last.ticket
  }

  private func writeHeld(_ notices: NoticeOutbox, in turn: inout Turn) {
    var left = NoticeOutbox.heldPerTurn
    while left > 0, let intent = notices.held.first, write(intent, to: notices, in: &turn) != nil {
      notices.toldHeld()
      left -= 1
    }
  }

  /// A notice did not get to the disk. One that belonged to a publication went with it, or with its sender's error;
  /// only those of publications that are delivered without the disk are tried again.
  func noticeFailed(_ publication: Publication) {
    guard let notices, let intent = PushIntent(publication), ChannelTopic.isOne(intent.topic),
      let channel = try? ChannelName(intent.subject),
      let options = configuration.namespaces.options(for: channel), options.durability != .durable
    else { return }
    notices.hold(intent)
  }

  /// The log has answered for an entry of a decision: the outbox has one more notice, or another app's records have
  /// come to rest with an entry that the app of notifications has put behind them.
  func cameBack(
    _ publication: Publication, of state: BrokerChannel, _ decision: PendingDecision, _ notices: NoticeOutbox,
    failed: Bool, in turn: inout Turn
  ) {
    if state === notices.stream {
      if !failed { notices.reader.appended(publication.offset) }
      return
    }
    guard decision.host === notices.host, state !== decision.host.recordsState else { return }
    for other in hosts.all where other.recordsState === state && state.sequencer.isIdle {
      recordsCameToRest(other, failed: failed, in: &turn)
    }
  }

  // MARK: Reading

  /// Lets the outbox do what it can do now.
  func drive(_ notices: NoticeOutbox, in turn: inout Turn) {
    guard notices.isOpen, !notices.isDriven, !stores.isLost else { return }
    notices.isDriven = true
    defer { notices.isDriven = false }
    while let action = notices.reader.next(at: turn.time.monotonic) { perform(action, in: &turn) }
  }

  private func perform(_ action: NoticeReader.Action, in turn: inout Turn) {
    switch action {
    case .read: run(.readNotices, in: &turn)
    case .decide: run(.takeNotices, in: &turn)
    }
  }

  func readNotices(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let notices, case .reading(let range) = notices.reader.state else { return }
    do throws(ClientError) {
      let answer = try stores.ask(.page(NoticeOutbox.channel, range), of: stores.disk, in: &turn)
      guard case .page(let found) = answer else {
        preconditionFailure("a store answers with a page where it is asked for one")
      }
      let intents = found.map { (offset: $0.offset, intent: PushIntent($0)) }
      if let action = notices.reader.found(intents) { perform(action, in: &turn) }
    } catch {
      if !turn.missing.isEmpty { return stores.park(waiting, .readNotices, in: &turn) }
      notices.reader.failed(at: turn.time.monotonic)
    }
    drive(notices, in: &turn)
  }

  /// Has the app decide about a batch. Its decision and the cursor are one transaction.
  func takeNotices(waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let notices, case .deciding(let batch) = notices.reader.state else { return }
    do throws(ClientError) {
      var decision = try consult(notices.host, in: &turn) { (lens) throws(ClientError) in
        try notices.app.take(batch.intents, lens)
      }
      let cursor = NoticeCursor(epoch: notices.stream.sequencer.top.epoch, offset: batch.through)
      decision.effects.append(.write(key: NoticeCursor.key, cursor))
      notices.reader.decided()
      try carryOut(decision, of: notices.host, for: .broker, in: &turn)
      notices.tally.taken += UInt64(batch.intents.count)
    } catch {
      if !turn.missing.isEmpty {
        notices.reader.waits(batch)
        return stores.park(waiting, .takeNotices, in: &turn)
      }
      notices.reader.failed(at: turn.time.monotonic)
    }
    drive(notices, in: &turn)
  }

  /// The log has answered for a decision of an app. Where it is about a batch of notices, the cursor has moved with it;
  /// in any case there may be more notices.
  func goOnWithNotices(after decision: PendingDecision, error: LogError?, in turn: inout Turn) {
    guard let notices else { return }
    if decision.host === notices.host, decision.records.contains(where: { $0.key == NoticeCursor.key }) {
      if error == nil { notices.reader.committed() } else { notices.reader.failed(at: turn.time.monotonic) }
    }
    drive(notices, in: &turn)
  }
}
