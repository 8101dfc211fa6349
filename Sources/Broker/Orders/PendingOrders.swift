import Wire

/// Orders about connections, until every gateway has carried them out.
///
/// An order is answered when each gateway that has a link has confirmed it. One whose link is broken has to open another
/// and hears it then; one that has departed is not waited for any more, but hears it should it come back before it is
/// forgotten.
struct PendingOrders {
  struct Order {
    let id: UInt64
    let order: SessionOrder
    /// Nil: was answered.
    var requester: Requester?
    /// What it is answered with once it is carried out.
    let response: BrokerResponse
    /// Gateways that have not confirmed it.
    var waiting: Set<UInt64>
    /// Monotonic milliseconds at which the requester is told that a gateway is late.
    let deadline: Int64
  }

  /// So many at a time; one more is refused.
  static let limit = 10_000

  private var byID: [UInt64: Order] = [:]
  private var nextID: UInt64 = 1
  /// Those before it were looked at when they were late, or are gone.
  private var oldestInTime: UInt64 = 1

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

  /// What a gateway has not confirmed, in the order in which it was to be done.
  func waiting(for gateway: UInt64) -> [Order] {
    byID.values.filter { $0.waiting.contains(gateway) }.sorted { $0.id < $1.id }
  }

  /// A gateway has carried an order out.
  mutating func confirm(_ id: UInt64, by gateway: UInt64) { byID[id]?.waiting.remove(gateway) }

  /// The gateway will not come back.
  mutating func forget(_ gateway: UInt64) {
    for id in byID.keys.sorted() {
      byID[id]?.waiting.remove(gateway)
      tidy(id)
    }
  }

  /// Orders whose requesters can be answered: nobody who has a link is waited for. They stay only while a gateway that
  /// departed may still come back for them.
  ///
  /// - Parameter only: the one to look at; nil: all of them.
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

  /// Those who asked for what was not carried out in time. The orders stay: the gateway that is late has still to hear
  /// them.
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
