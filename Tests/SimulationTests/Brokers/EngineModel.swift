import Wire

@testable import Log

/// The database that brokers share, as far as they rely on it: a lock that ends with its session, a lease with an end by
/// the database's own clock, and transactions that are committed under an epoch and a sequence.
final class EngineModel {
  struct Channel {
    var publications: [Publication] = []
    var origins: [RequestOrigin: UInt64] = [:]
    var top: UInt64 { publications.last?.offset ?? 0 }
  }

  struct Lease: Equatable {
    var epoch: UInt64
    /// Transactions that were committed under leases.
    var seq: UInt64
  }

  enum Outcome: Equatable {
    case committed
    case fenced
  }

  static let life: Int64 = 3000

  /// Milliseconds of the database's clock.
  var now: Int64 = 0
  /// A fault that is put in on purpose: nothing is held against epoch and sequence.
  var isUnfenced = false
  private(set) var channels: [ChannelName: Channel] = [:]
  private(set) var epoch: UInt64 = 0
  private(set) var owner = -1
  private var seq: UInt64 = 0
  private var expires: Int64 = -1
  /// The session that has the lock.
  private var holder: Int?
  private var sessions: Set<Int> = []
  private var nextSession = 0
  /// What is wrong with what was committed.
  private(set) var violations: [String] = []

  static func channelEpoch(_ name: ChannelName) -> String { "epoch of \(name)" }

  func note(_ violation: String) { violations.append(violation) }

  // MARK: Sessions

  func connect() -> Int {
    nextSession += 1
    sessions.insert(nextSession)
    return nextSession
  }

  /// The session ends, and what it has.
  func end(_ session: Int) {
    sessions.remove(session)
    if holder == session { holder = nil }
  }

  // MARK: The lease

  /// - Returns: nil where another session has the lock and the lease is not over.
  func take(_ session: Int, for broker: Int) -> Lease? {
    guard sessions.contains(session) else { return nil }
    // The former session is told to end, and may do something all the same before it has heard of it: the fence is for that.
    if let holder, holder != session, expires >= now { return nil }
    holder = session
    epoch += 1
    owner = broker
    expires = now + Self.life
    return Lease(epoch: epoch, seq: seq)
  }

  /// Takes the lock again after a connection was lost.
  ///
  /// - Returns: nil where another broker has taken the lease.
  func reclaim(_ session: Int, _ epoch: UInt64) -> Lease? {
    guard sessions.contains(session), self.epoch == epoch else { return nil }
    if let holder, holder != session { end(holder) }
    holder = session
    expires = now + Self.life
    return Lease(epoch: epoch, seq: seq)
  }

  // MARK: Transactions

  /// - Returns: nil where the session has ended.
  func commit(_ entries: [LogEntry], _ session: Int, epoch: UInt64, seq: UInt64) -> Outcome? {
    guard sessions.contains(session) else { return nil }
    if !isUnfenced, self.epoch != epoch || self.seq != seq { return .fenced }
    self.seq += 1
    expires = now + Self.life
    for entry in entries {
      var channel = channels[entry.channel] ?? Channel()
      if entry.publication.offset != channel.top + 1 {
        violations.append("\(entry.channel): \(entry.publication.offset) was committed after \(channel.top)")
      }
      if channel.publications.contains(where: { $0.data == entry.publication.data }) {
        violations.append("\(entry.channel): \(String(decoding: entry.publication.data, as: UTF8.self)) twice")
      }
      channel.publications.append(entry.publication)
      if let origin = entry.origin { channel.origins[origin] = entry.publication.offset }
      channels[entry.channel] = channel
    }
    return .committed
  }
}
