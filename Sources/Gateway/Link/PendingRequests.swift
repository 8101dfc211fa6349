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
  /// A service asked.
  var isService = false

  /// How many bytes the request takes of the uplink's window.
  var byteCount: Int { 128 + request.payloadBytes }
}

/// Requests under way, in the order in which they were made.
///
/// Ids rise by one, so a request is found by counting back from the newest. Answered ones keep their places until there
/// are too many of them; where they were taken out, ids have holes, and a request is searched for.
struct PendingRequests {
  /// Rising. Those before `head` are answered.
  private var ids: [UInt64] = []
  /// Nil where it was answered.
  private var requests: [PendingRequest?] = []
  private var head = 0
  private var count = 0
  private(set) var bytes = 0
  private(set) var nextID: UInt64 = 1

  /// Places whose memory, some megabytes, is not given back: a busy gateway would ask for it again at once.
  private static let placesKept = 16_384

  var isEmpty: Bool { count == 0 }
  /// Places that the order takes, those of answered requests included.
  var places: Int { ids.count }

  /// Id of the oldest request without an answer; where there is none, of the next to be made.
  var oldest: UInt64 { head < ids.count ? ids[head] : nextID }

  /// - Returns: the id of the request, which is ``nextID`` before.
  mutating func add(
    _ request: consuming BrokerRequest, _ purpose: PendingRequest.Purpose, deadline: Int64, wasSent: Bool = false,
    isService: Bool = false
  ) -> UInt64 {
    let id = nextID
    let pending = PendingRequest(
      id: id, purpose: purpose, request: consume request, deadline: deadline, wasSent: wasSent, isService: isService)
    bytes += pending.byteCount
    ids.append(id)
    requests.append(consume pending)
    count += 1
    nextID += 1
    return id
  }

  mutating func markSent(_ id: UInt64) {
    if let place = place(of: id) { requests[place]?.wasSent = true }
  }

  mutating func abandon(_ id: UInt64) {
    if let place = place(of: id) { requests[place]?.purpose = .abandoned }
  }

  mutating func remove(_ id: UInt64) -> PendingRequest? {
    guard let place = place(of: id), let pending = requests[place].take() else { return nil }
    count -= 1
    bytes -= pending.byteCount
    trim()
    return pending
  }

  subscript(id: UInt64) -> PendingRequest? { place(of: id).flatMap { requests[$0] } }

  /// What a session's subscribe asks for; nil for every other request.
  func sessionSubscribe(_ id: UInt64) -> BrokerRequest.SubscribeRequest? {
    guard let place = place(of: id), case .subscribe(let subscribe)? = requests[place]?.request,
      case .session? = requests[place]?.purpose
    else { return nil }
    return subscribe
  }

  /// All of them, oldest first.
  var all: [PendingRequest] { requests[head...].compactMap { $0 } }

  /// Requests of sessions whose deadline has passed, oldest first. Deadlines rise with ids.
  func expired(at now: Int64) -> [PendingRequest] {
    var expired: [PendingRequest] = []
    for pending in requests[head...] {
      guard let pending else { continue }
      if pending.deadline > now { break }
      if case .session = pending.purpose { expired.append(pending) }
    }
    return expired
  }

  private func place(of id: UInt64) -> Int? {
    guard id < nextID else { return nil }
    // This guess is right where no later id has been taken out, as nearly always.
    let back = nextID - id
    if back <= UInt64(ids.count) {
      let place = ids.count - Int(back)
      if ids[place] == id { return place }
    }
    var (low, high) = (head, ids.count)
    while low < high {
      let middle = low + (high - low) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low < ids.count && ids[low] == id ? low : nil
  }

  private mutating func trim() {
    while head < ids.count && requests[head] == nil { head += 1 }
    if head == ids.count {
      ids.removeAll(keepingCapacity: ids.capacity <= Self.placesKept)
      requests.removeAll(keepingCapacity: requests.capacity <= Self.placesKept)
      head = 0
    } else if ids.count > 1024 && ids.count > 2 * count {
      // Needed where the oldest stays unanswered: the answered ones after it must not keep their places for ever.
      ids = ids.indices[head...].filter { requests[$0] != nil }.map { ids[$0] }
      requests = requests[head...].filter { $0 != nil }
      head = 0
    }
  }
}
