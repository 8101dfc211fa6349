import Wire

/// How far the telling of all revocations is in one session of a link.
///
/// States:
/// - told (nil): the gateway has all that are in force, and orders go out as they are given. Can transition to: telling
///   (the broker has read its revocations anew).
/// - telling: parts went out up to a place in the table; orders and what is taken back wait behind the last part. Can
///   transition to: told (the last part went out), waiting for room (the link's window takes no more).
/// - waiting for room: as telling, and no turn is spent on it. Can transition to: telling (the gateway has worked
///   something off).
///
/// A new session begins as telling. Until it is told, nothing that its gateway asks for is begun
/// (``LinkBacklog/Work/revocations``): no channel is of interest to the gateway, so that no publication reaches a client
/// whose token was revoked while the link was away, and no publish of such a client is taken.
struct RevocationTelling {
  /// Where the next part begins in the table.
  var place = 0
  /// Revocations that were taken back since the first part. The gateway may have heard of them.
  var readmitted: [Revocation] = []
  /// Whether orders that the gateway has not confirmed are to go out behind the last part.
  var owesOrders: Bool
  var waitsForRoom = false

  /// Most revocations that are taken back while a table is told; with more, the link begins a new session.
  static let mostReadmitted = 10_000
}

/// The links on which a table is being told, in the order in which their turns come.
struct RevocationTellings {
  private var queue: [(link: PeerLink, session: PeerSession)] = []

  var isEmpty: Bool { queue.isEmpty }

  mutating func add(_ link: PeerLink, _ session: PeerSession) {
    if !queue.contains(where: { $0.session === session }) { queue.append((link, session)) }
  }

  /// Takes the link whose turn it is; links whose session has ended are passed over.
  mutating func next() -> (link: PeerLink, session: PeerSession)? {
    while !queue.isEmpty {
      let (link, session) = queue.removeFirst()
      if link.open === session { return (link, session) }
    }
    return nil
  }
}

extension BrokerCore {
  /// Most revocations in one message. A turn makes one such message of a larger table: a hundred thousand of them, told to
  /// ten gateways after a restart of the broker, would hold up everybody's messages for seconds.
  static let revocationsPerMessage = 2000

  /// Begins to tell a gateway all revocations that are in force, and behind them the orders that it has not confirmed. A
  /// table that fits in one message goes out at once.
  ///
  /// - Parameter isNewSession: the gateway asks for its channels anew, which waits for the end of the table.
  func beginTelling(_ link: PeerLink, isNewSession: Bool, in turn: inout Turn) {
    guard let session = link.open else { return }
    guard let log = revocations else { return repeatOrders(to: link.gateway, in: &turn) }
    let owesOrders = isNewSession || session.telling?.owesOrders == true
    session.telling = RevocationTelling(owesOrders: owesOrders)
    if log.table.part(from: 0, limit: Self.revocationsPerMessage).next == nil {
      tellPart(to: link, session, in: &turn)
    } else {
      tellings.add(link, session)
    }
    if session.telling == nil { return goOn(link, session, in: &turn) }
    if isNewSession { session.backlog.append(.revocations, bytes: 0) }
  }

  /// Tells the next part on the link whose turn it is.
  func goOnTelling(in turn: inout Turn) {
    guard let (link, session) = tellings.next() else { return }
    tellPart(to: link, session, in: &turn)
    guard let telling = session.telling else { return goOn(link, session, in: &turn) }
    if !telling.waitsForRoom && link.open === session { tellings.add(link, session) }
  }

  /// Has a table told further that waited for room, because the gateway has worked something off.
  func resumeTelling(_ link: PeerLink, _ session: PeerSession) {
    guard session.telling?.waitsForRoom == true else { return }
    session.telling?.waitsForRoom = false
    tellings.add(link, session)
  }

  private func tellPart(to link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    guard let table = revocations?.table, let place = session.telling?.place else { return }
    let (part, next) = table.part(from: place, limit: Self.revocationsPerMessage)
    let order = SessionOrder.revoke(part, replacesAll: place == 0, isComplete: next == nil)
    let body = LinkBody.order(LinkOrder(id: 0, order: order))
    guard session.hasRoom(for: body.cost, window: configuration.linkWindowBytes) else {
      session.telling?.waitsForRoom = true
      return
    }
    links.send(body, to: link.gateway, in: &turn)
    if let next {
      session.telling?.place = next
    } else {
      endTelling(link, session, in: &turn)
    }
  }

  private func endTelling(_ link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    guard let telling = session.telling else { return }
    session.telling = nil
    // What was taken back and is in force again by now was told with the table, or is with the orders.
    let readmitted = telling.readmitted.filter { revocations?.table.contains($0) == false }
    if !readmitted.isEmpty {
      links.send(.order(LinkOrder(id: 0, order: .readmit(readmitted))), to: link.gateway, in: &turn)
    }
    if telling.owesOrders { repeatOrders(to: link.gateway, in: &turn) }
  }

  /// Has every gateway forget revocations. One that is being told the table hears of it behind the last part.
  func tellReadmitted(_ revocations: [Revocation], in turn: inout Turn) {
    for link in links.open {
      guard let session = link.open else { continue }
      guard session.telling != nil else {
        links.send(.order(LinkOrder(id: 0, order: .readmit(revocations))), to: link.gateway, in: &turn)
        continue
      }
      session.telling?.readmitted += revocations
      let count = session.telling?.readmitted.count ?? 0
      if count > RevocationTelling.mostReadmitted { links.overflow(link, in: &turn) }
    }
  }
}
