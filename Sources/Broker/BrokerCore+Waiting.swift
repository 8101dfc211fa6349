import Log
import Wire

/// Inputs that wait for a store, and how they go on when it has answered.
extension BrokerCore {
  func input(
    _ request: BrokerRequest, _ requester: Requester, _ occasion: RequestOccasion
  ) -> WaitingRoom.Input {
    var link: PeerLink?
    if let gateway = requester.link?.gateway { link = links[gateway] }
    return .request(request, requester, occasion, link: link.map { .init($0) })
  }

  /// Runs another input in the middle of the one under way, whose questions and answers are kept apart meanwhile.
  func run(_ input: WaitingRoom.Input, in turn: inout Turn) {
    let outer = (turn.known, turn.missing)
    (turn.known, turn.missing) = ([], [])
    run(input, waiting: nil, in: &turn)
    (turn.known, turn.missing) = outer
  }

  private func run(_ input: WaitingRoom.Input, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    switch input {
    case .request(let request, let requester, let occasion, let origin):
      if let origin, !isWanted(request, by: origin) {
        if let id = requester.link?.request { origin.link.neverStarted(id) }
        return
      }
      run(request, for: requester, occasion, waiting: waiting, in: &turn)
    case .refresh(let host, let place): refresh(place, of: host, waiting: waiting, in: &turn)
    case .fill(let host, let name): fill(name, of: host, waiting: waiting, in: &turn)
    case .look(let host, let look): self.look(look, of: host, waiting: waiting, in: &turn)
    case .due(let host, let key): wake(key, of: host, waiting: waiting, in: &turn)
    case .openDue(let name): openDue(name, waiting: waiting, in: &turn)
    case .loadRecords(let host): loadRecords(of: host, waiting: waiting, in: &turn)
    case .loadRevocations: loadRevocations(waiting: waiting, in: &turn)
    case .loadWebhooks: loadWebhooks(waiting: waiting, in: &turn)
    case .readOutbox(let outbox): readOutbox(outbox, waiting: waiting, in: &turn)
    case .loadDeletions: loadDeletions(waiting: waiting, in: &turn)
    case .deletion: goOnDeleting(waiting: waiting, in: &turn)
    case .lookAtUser(let look): goOn(look, waiting: waiting, in: &turn)
    case .loadNotices: loadNotices(waiting: waiting, in: &turn)
    case .readNotices: readNotices(waiting: waiting, in: &turn)
    case .takeNotices: takeNotices(waiting: waiting, in: &turn)
    case .pushAnswered(let answer): pushAnswered(answer, waiting: waiting, in: &turn)
    case .acknowledged(let place): acknowledged(place, waiting: waiting, in: &turn)
    case .eraseRow(let row): eraseRow(row, waiting: waiting, in: &turn)
    case .relay(let relay): takeIn(relay, waiting: waiting, in: &turn)
    }
  }

  /// Whether a request that has waited is still to be done. After a link has begun a new session, its gateway asks
  /// again for what it still wants, so an ordinary request of the old session is dropped. A request whose answer is
  /// remembered is done all the same, as it is done once only: its answer goes out in whatever session the link has
  /// then.
  private func isWanted(_ request: BrokerRequest, by origin: WaitingRoom.LinkOrigin) -> Bool {
    // A link that has departed is about to be forgotten, with what it remembers.
    if case .departed = origin.link.state { return false }
    return request.isRemembered ? links[origin.link.gateway] === origin.link : origin.isOpen
  }

  // MARK: News

  /// Takes in what a store has to tell.
  public func takeNews(in turn: inout Turn) {
    for news in stores.disk.takeNews() {
      switch news {
      case .answered(let question, let answer): answered(question, answer, in: &turn)
      case .due(let names): for name in names { run(.openDue(name), in: &turn) }
      case .lost: storeIsLost(in: &turn)
      case .regained: storeIsBack(in: &turn)
      case .outbox(let messages): publish(messages, in: &turn)
      }
    }
  }

  private func answered(_ question: LogQuestion, _ answer: LogAnswer, in turn: inout Turn) {
    var origins: [WaitingRoom.LinkOrigin] = []
    stores.answered(question, answer) { waiting in goOn(with: waiting, freeing: &origins, in: &turn) }
    // Requests in a link's backlog came after all inputs that waited for the store, so they go on last.
    for origin in origins { if let session = origin.open { goOn(origin.link, session, in: &turn) } }
  }

  /// Runs an input that has waited, then those in line behind it.
  ///
  /// - Parameter origins: gets the links on which there is more room now.
  private func goOn(
    with waiting: WaitingRoom.Waiting, freeing origins: inout [WaitingRoom.LinkOrigin], in turn: inout Turn
  ) {
    var next: WaitingRoom.Waiting? = waiting
    while let waiting = next {
      (turn.known, turn.missing) = (waiting.takeKnown(), [])
      run(waiting.input, waiting: waiting, in: &turn)
      (turn.known, turn.missing) = ([], [])
      if waiting.missing > 0 { return }
      if case .request(_, _, _, let origin?) = waiting.input {
        origin.session?.giveBack(waiting.reserved)
        if !origins.contains(where: { $0.session === origin.session }) { origins.append(origin) }
      }
      next = stores.left(waiting)
    }
  }

  /// Opens a map of which an entry's time is over, so that the entry is removed; the map is forgotten as any idle
  /// channel.
  private func openDue(_ name: ChannelName, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let options = configuration.namespaces.options(for: name), options.kind == .map else { return }
    do throws(ClientError) { _ = try channel(name, in: &turn) } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .openDue(name), in: &turn) }
    }
  }
}
