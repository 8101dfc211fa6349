import Apps
import Log
import Wire

/// What an app sees of the broker during one decision.
final class AppLens: AppView {
  private unowned let core: BrokerCore
  private let host: AppHost
  private let time: BrokerTime
  private let requester: Requester

  init(core: BrokerCore, host: AppHost, time: BrokerTime, requester: Requester = .broker) {
    self.core = core
    self.host = host
    self.time = time
    self.requester = requester
  }

  var now: Int64 { time.wall }
  var latest: Int64 { time.latest }

  var isAskedAgain: Bool {
    let known = host.recordsState.recentOrigins
    guard !known.isEmpty, let origin = requester.origin else { return false }
    return known[origin] != nil
  }

  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record? {
    // No record has such a key, whoever names one: nothing is looked up, and nothing remembered.
    if key.utf8.count > AppRecords.maximumKeyBytes { return nil }
    do { return try host.records.record(type, key, in: core.disk) } catch { throw core.clientError(for: error) }
  }

  func top(of channel: ChannelName) throws(ClientError) -> UInt64 {
    guard let state = try core.existing(channel, at: time) else { return 0 }
    guard let next = state.sequencer.peek() else { throw .draining }
    return next - 1
  }

  func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64? {
    guard let state = try core.existing(channel, at: time) else { return nil }
    if let key = idempotencyKey, let record = state.idempotency[IdentifierKey(key)]?.record, record.expires > time.wall
    {
      return record.offset
    }
    guard let origin = requester.origin else { return nil }
    return state.recentOrigins[origin]
  }

  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication] {
    guard let state = try core.existing(channel, at: time) else { return [] }
    let range = LogRange(
      since: nil, through: state.sequencer.top.offset, limit: count, reverse: true,
      notBefore: core.oldest(in: state, at: time))
    return try core.read(range, of: state)
  }
}
