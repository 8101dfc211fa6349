import Wire

/// Orders about connections, until every gateway has carried them out.
///
/// An order is answered when each gateway that has a link has confirmed it. A gateway whose link has overflowed gets
/// the order again with its new session. A gateway that has departed is not waited for, but gets the order if it comes
/// back before it is forgotten.
struct PendingOrders {
  struct Order {
    let id: UInt64
    let order: SessionOrder
    /// Who asked for the order; nil: has been answered.
    var requester: Requester?
    /// The requester's answer once the order is carried out.
    let response: BrokerResponse
    /// Gateways that have not confirmed it.
    var waiting: Set<UInt64>
    /// Monotonic milliseconds at which the requester is told that a gateway is late.
    let deadline: Int64
  }

  /// Most orders at a time; one more is refused.
  static let limit = 10_000

  private var byID: [UInt64: Order] = [:]
  private var nextID: UInt64 = 1
  /// The first order whose deadline has not been dealt with; those before it were late or are gone.
  private var oldestInTime: UInt64 = 1

  /// The id of the next order.
  var following: UInt64 { nextID }

  /// Whether a gateway that has a link has still to carry the order out.
  func isAwaited(_ id: UInt64, isLinked: (UInt64) -> Bool) -> Bool {
    byID[id]?.waiting.contains(where: isLinked) ?? false
  }

  var isEmpty: Bool { byID.isEmpty }
  var count: Int { byID.count }

  mutating func add(
    _ order: SessionOrder, then response: BrokerResponse, for requester: Requester, waiting: Set<UInt64>,
    deadline: Int64
  ) -> UInt64 {
    let id = nextID
    nextID += 1
    byID[id] = Order(
      id: id, order: order, requester: requester, response: response, waiting: waiting, deadline: deadline)
    return id
  }

  /// The orders that a gateway has not confirmed, oldest first.
  func waiting(for gateway: UInt64) -> [Order] {
    byID.values.filter { $0.waiting.contains(gateway) }.sorted { $0.id < $1.id }
  }

  /// Notes that a gateway has carried an order out.
  mutating func confirm(_ id: UInt64, by gateway: UInt64) { byID[id]?.waiting.remove(gateway) }

  /// Stops waiting for a gateway that is forgotten.
  mutating func forget(_ gateway: UInt64) {
    for id in byID.keys.sorted() {
      byID[id]?.waiting.remove(gateway)
      tidy(id)
    }
  }

  /// Takes the requesters off orders that every gateway with a link has confirmed, and returns these orders to be
  /// answered. An order itself stays only while a gateway that departed may still come back for it.
  ///
  /// - Parameter only: the id of the one order to look at; nil: all.
  mutating func takeCarriedOut(_ only: UInt64? = nil, isLinked: (UInt64) -> Bool) -> [Order] {
    var carriedOut: [Order] = []
    for id in only.map({ [$0] }) ?? byID.keys.sorted() {
      guard let order = byID[id], !order.waiting.contains(where: isLinked) else { continue }
      if order.requester != nil { carriedOut.append(order) }
      byID[id]?.requester = nil
      tidy(id)
    }
    return carriedOut
  }

  /// Takes the requesters off orders that were not carried out in time, and returns them. The orders stay, because the
  /// gateway that is late still has to carry them out.
  mutating func takeLate(at now: Int64) -> [Requester] {
    var late: [Requester] = []
    while oldestInTime < nextID {
      if let order = byID[oldestInTime] {
        if order.deadline > now { break }
        if let requester = order.requester { late.append(requester) }
        byID[oldestInTime]?.requester = nil
      }
      oldestInTime += 1
    }
    return late
  }

  private mutating func tidy(_ id: UInt64) {
    if let order = byID[id], order.requester == nil, order.waiting.isEmpty { byID[id] = nil }
  }
}
