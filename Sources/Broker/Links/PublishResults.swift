import Wire

/// What became of a gateway's publish requests, calls and their like, so that one that is sent twice is done once.
///
/// Limited by what a gateway may have outstanding: each request names the oldest one that the gateway still waits for.
struct PublishResults {
  enum Known: Equatable {
    case nothing
    case underWay
    case answered(BrokerResponse)
    /// The gateway has the answer, or gave the request up, so the answer is forgotten.
    case over
  }

  /// How many requests, from `oldest` on, stand in `near`: as many as a gateway under load has under way. Requests are
  /// numbered almost without holes, so a place for each number is cheaper than a dictionary; a gateway that jumps ahead
  /// must not make the array hold all numbers between.
  static let nearLimit = 32_768

  /// A place for each request by number; the one at `head` is for `oldest`.
  private var near: [Known] = []
  private var head = 0
  /// Requests that were too far from the oldest when they came.
  private var far: [UInt64: Known] = [:]
  private var oldest: UInt64 = 0

  subscript(request: UInt64) -> Known {
    if request < oldest { return .over }
    if request - oldest < UInt64(near.count - head) {
      let known = near[head + Int(request - oldest)]
      if known != .nothing { return known }
    }
    return far[request] ?? .nothing
  }

  mutating func started(_ request: UInt64) { set(.underWay, for: request) }

  mutating func neverStarted(_ request: UInt64) { set(.nothing, for: request) }

  mutating func remember(_ response: BrokerResponse, for request: UInt64) { set(.answered(response), for: request) }

  private mutating func set(_ known: Known, for request: UInt64) {
    guard request >= oldest else { return }
    guard request - oldest < UInt64(Self.nearLimit), far.isEmpty || far[request] == nil else {
      far[request] = known
      return
    }
    let index = head + Int(request - oldest)
    while near.count <= index { near.append(.nothing) }
    near[index] = known
  }

  mutating func forget(before request: UInt64) {
    guard request > oldest else { return }
    forgetNear(request - oldest)
    if !far.isEmpty { forgetFar(before: request) }
    oldest = request
  }

  private mutating func forgetNear(_ count: UInt64) {
    guard count < UInt64(near.count - head) else {
      near.removeAll(keepingCapacity: true)
      head = 0
      return
    }
    for _ in 0..<count {
      near[head] = .nothing
      head += 1
    }
    // The array is shortened often enough that its front stays in the processor's caches, and only when at least half
    // of it is to go, so that no more is moved than was walked over.
    if head > 1024 && head > near.count / 2 {
      near.removeFirst(head)
      head = 0
    }
  }

  private mutating func forgetFar(before request: UInt64) {
    // Removing number by number is cheaper than filtering the dictionary, unless the gateway jumped ahead.
    if request - oldest <= UInt64(far.count) {
      for number in oldest..<request { far[number] = nil }
    } else {
      far = far.filter { $0.key >= request }
    }
  }
}
