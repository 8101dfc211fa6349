import Wire

/// What event loops post to the backbone.
enum UplinkMessage: Sendable {
  case request(GatewayRequest)
  /// The request that this loop posts next is measured. Indirect, so that requests stay small.
  indirect case measured(RequestSource, HopTrace)
  /// A loop has worked off so much that the broker should hear of it soon.
  case workedOff
  /// A loop has carried an order out.
  case obeyed(OrderNumber)
  /// Nothing is kept any more of the users of an order that came in this session of its link.
  case forgot(OrderNumber, session: UInt64)
  /// Through which deletion nothing is kept any more of users, as was asked in this session of home's link. Indirect, so
  /// that requests stay small.
  indirect case hasForgotten(DeletionMark?, session: UInt64)
  /// All loops have told what they found for a survey that a partition's broker asked in this session of its link.
  /// Indirect, so that requests stay small.
  indirect case found(LinkFindings, partition: Int, session: UInt64)
  /// A loop wants to hear that everything it posted before was taken.
  case mark(loop: Int)
}

/// The number of an order, which each partition counts for itself; 0: nobody waits for it to be carried out.
struct OrderNumber: Sendable, Hashable {
  var partition: Int
  var id: UInt64
}
