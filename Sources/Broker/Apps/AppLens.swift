import Apps
import Log
import Wire

/// What an app sees of the broker during one decision.
///
/// Where the app looks at something that is not in memory, the store is asked for it, and the app is run again when it
/// is there. Apps are pure, so the first run has done nothing. Its result is thrown away, even if the app went on
/// without what was missing.
final class AppLens: AppView {
  private unowned let core: BrokerCore
  private let host: AppHost
  private let requester: Requester
  /// The answers that the input under way has got from the store, and the questions that are missing.
  fileprivate var turn: Turn

  fileprivate init(core: BrokerCore, host: AppHost, requester: Requester, in turn: Turn) {
    self.core = core
    self.host = host
    self.requester = requester
    self.turn = Turn(at: turn.time)
    self.turn.known = turn.known
  }

  var now: Int64 { turn.time.wall }
  var latest: Int64 { turn.time.latest }

  var isAskedAgain: Bool {
    let known = host.recordsState.recentOrigins
    guard !known.isEmpty, let origin = requester.origin else { return false }
    return known[origin] != nil
  }

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    // No record has so long a key, so neither is the store asked nor the absence remembered.
    if key.utf8.count > AppRecords.maximumKeyBytes { return nil }
    if let known = host.records.known(key) { return AppRecords.record(type, key, in: known) }
    let question = LogQuestion.entry(host.recordsState.name, IdentifierKey(key))
    guard case .entry(let stored, _) = try core.stores.ask(question, of: core.stores.disk, in: &turn) else {
      preconditionFailure("a store answers with an entry where it is asked for one")
    }
    do { return try host.records.load(type, key, from: stored) } catch { throw error.asClientError }
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 {
    guard let state = try core.existing(channel, in: &turn) else { return 0 }
    guard let next = state.sequencer.peek() else { throw .draining }
    return next - 1
  }

  func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64? {
    guard let state = try core.existing(channel, in: &turn) else { return nil }
    if let key = idempotencyKey, let record = state.idempotency[IdentifierKey(key)]?.record, record.expires > now {
      return record.offset
    }
    guard let origin = requester.origin else { return nil }
    return state.recentOrigins[origin]
  }

  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] {
    try newest(count, through: .max, of: channel)
  }

  func newest(_ count: Int, through offset: UInt64, of channel: ChannelName) throws(ClientError) -> [Publication] {
    guard let state = try core.existing(channel, in: &turn) else { return [] }
    let range = LogRange(
      since: nil, through: min(offset, state.sequencer.top.offset), limit: count, reverse: true,
      notBefore: core.oldest(in: state, at: turn.time))
    return try core.readNewest(range, of: state, in: &turn)
  }

  func publication(_ offset: UInt64, of channel: ChannelName) throws(ClientError) -> Publication? {
    guard offset > 0, let state = try core.existing(channel, in: &turn), offset <= state.sequencer.top.offset else {
      return nil
    }
    let range = LogRange(
      since: offset - 1, through: offset, limit: 1, notBefore: core.oldest(in: state, at: turn.time))
    guard let stored = try core.read(range, of: state, in: &turn).publications.first, stored.offset == offset else {
      return nil
    }
    return state.editsUnderWay[offset]?.replacement ?? stored
  }

  func entries(of channel: ChannelName) throws(ClientError) -> [Publication] {
    try core.existing(channel, in: &turn)?.map?.publications ?? []
  }

  func isSuspended(_ user: String) throws(ClientError) -> Bool {
    core.revocations?.table.suspension(of: user) != nil
  }

  func wasForgotten(_ user: String, since time: Int64) throws(ClientError) -> Bool {
    core.deletions?.hasForgotten(user, since: time) ?? false
  }

  func notification(
    of topic: String, about subject: String, for user: String
  ) throws(ClientError) -> AppNotification? {
    guard let end = topic.utf8.firstIndex(of: UInt8(ascii: ".")), let other = core.hosts[String(topic[..<end])],
      other !== host
    else { return nil }
    return try core.consult(other, in: &turn) { (lens) throws(ClientError) in
      try other.app.notification(about: subject, for: user, lens)
    }
  }

  func shownName(of user: String, to reader: String) throws(ClientError) -> String {
    guard let other = core.hosts["clique"], other !== host else { return user }
    let name = try core.consult(other, in: &turn) { (lens) throws(ClientError) in
      try other.app.shownName(of: user, to: reader, lens)
    }
    return name ?? user
  }

  /// Looks at one of several things. Returns nil where the store has to be asked for it, so that the caller goes on
  /// with the others and the store is asked for all of them together.
  func unlessMissing<Result>(_ body: () throws(ClientError) -> Result?) throws(ClientError) -> Result? {
    do throws(ClientError) { return try body() } catch {
      if turn.missing.isEmpty { throw error }
      return nil
    }
  }
}

extension BrokerCore {
  /// Runs a function of an app, with a view of the broker.
  ///
  /// - Throws: what the app throws; ``ClientError/waits`` where the store has to be asked for something first.
  func consult<Result>(
    _ host: AppHost, for requester: Requester = .broker, in turn: inout Turn,
    _ body: (AppLens) throws(ClientError) -> Result
  ) throws(ClientError) -> Result {
    if !host.isLoaded {
      // The store is not being asked for the records while another broker keeps them, nor for a moment after they could
      // not be read: then there is nothing to wait for.
      guard let question = host.question, stores.isAsked(question) else { throw LogError.fenced.asClientError }
      turn.missing.append(question)
      throw .waits
    }
    let lens = AppLens(core: self, host: host, requester: requester, in: turn)
    var refusal: ClientError?
    var result: Result?
    do throws(ClientError) { result = try body(lens) } catch { refusal = error }
    if !lens.turn.missing.isEmpty {
      turn.missing += lens.turn.missing
      throw .waits
    }
    if let refusal { throw refusal }
    guard let result else { preconditionFailure("an app answers, or throws") }
    return result
  }
}
