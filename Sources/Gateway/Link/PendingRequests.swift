import Wire

/// A request that the broker has not answered yet.
struct PendingRequest {
  enum Purpose: Equatable {
    /// A session asked, and subscribers of this encoding follow from it.
    case session(RequestSource, WireFormat)
    /// The session got an error because the broker took too long; if it subscribed after all, that is undone.
    case abandoned
    /// The link's own: brings a channel up to date after a new session, or names a member again.
    case resync
  }

  var id: UInt64
  var purpose: Purpose
  var request: BrokerRequest
  var deadline: Int64
  /// True once it was given to the pipe: the broker may have done it.
  var wasSent = false

  /// What it takes of the uplink's window.
  var byteCount: Int {
    guard case .publish(let publish) = request else { return 128 }
    return 128 + publish.data.count
  }
}

/// Requests under way, in the order in which they were made.
struct PendingRequests {
  private var byID: [UInt64: PendingRequest] = [:]
  private var order: [UInt64] = []
  private var head = 0
  private(set) var bytes = 0
  private var nextID: UInt64 = 1

  var isEmpty: Bool { byID.isEmpty }

  /// The oldest without an answer; where there is none, the next to be made.
  var oldest: UInt64 { head < order.count ? order[head] : nextID }

  /// The id that the next request will have.
  mutating func add(_ request: BrokerRequest, _ purpose: PendingRequest.Purpose, deadline: Int64) -> PendingRequest {
    let pending = PendingRequest(id: nextID, purpose: purpose, request: request, deadline: deadline)
    byID[nextID] = pending
    order.append(nextID)
    nextID += 1
    bytes += pending.byteCount
    return pending
  }

  mutating func markSent(_ id: UInt64) { byID[id]?.wasSent = true }

  mutating func abandon(_ id: UInt64) { byID[id]?.purpose = .abandoned }

  mutating func remove(_ id: UInt64) -> PendingRequest? {
    guard let pending = byID.removeValue(forKey: id) else { return nil }
    bytes -= pending.byteCount
    trim()
    return pending
  }

  subscript(id: UInt64) -> PendingRequest? { byID[id] }

  /// All of them, oldest first.
  var all: [PendingRequest] { order[head...].compactMap { byID[$0] } }

  /// The oldest whose deadline has passed, in order. Deadlines rise with ids.
  func expired(at now: Int64) -> [PendingRequest] {
    var expired: [PendingRequest] = []
    for id in order[head...] {
      guard let pending = byID[id] else { continue }
      if pending.deadline > now { break }
      if case .session = pending.purpose { expired.append(pending) }
    }
    return expired
  }

  private mutating func trim() {
    while head < order.count && byID[order[head]] == nil { head += 1 }
    if head > 1024 && head * 2 > order.count {
      order.removeFirst(head)
      head = 0
    }
  }
}
