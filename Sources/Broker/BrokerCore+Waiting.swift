import Log
import Wire

/// Inputs that wait for a store, and how they go on.
extension BrokerCore {
  func input(
    _ request: BrokerRequest, _ requester: Requester, _ occasion: RequestOccasion
  ) -> WaitingRoom.Input {
    var link: PeerLink?
    if case .gateway(let gateway, _) = requester { link = links[gateway] }
    return .request(request, requester, occasion, link: link.map { .init($0) })
  }

  /// Runs an input beside the one under way.
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
        if case .gateway(_, let id) = requester { origin.link.neverStarted(id) }
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
    }
  }

  /// What came on a link that began anew is asked again, if anybody still wants it; what is remembered is done once,
  /// whatever session its answer finds.
  private func isWanted(_ request: BrokerRequest, by origin: WaitingRoom.LinkOrigin) -> Bool {
    // A link that has departed is about to be forgotten, with what it remembers.
    if case .departed = origin.link.state { return false }
    return request.isRemembered ? links[origin.link.gateway] === origin.link : origin.isOpen
  }

  // MARK: News

  /// A store has something to tell.
  public func takeNews(in turn: inout Turn) {
    for news in stores.disk.takeNews() {
      switch news {
      case .answered(let question, let answer): answered(question, answer, in: &turn)
      case .due(let names): for name in names { run(.openDue(name), in: &turn) }
      case .lost: storeIsLost(in: &turn)
      case .regained: storeIsBack(in: &turn)
      }
    }
  }

  private func answered(_ question: LogQuestion, _ answer: LogAnswer, in turn: inout Turn) {
    var origins: [WaitingRoom.LinkOrigin] = []
    stores.answered(question, answer) { waiting in goOn(with: waiting, freeing: &origins, in: &turn) }
    // What waits for room on a link came after all of these.
    for origin in origins { if let session = origin.open { goOn(origin.link, session, in: &turn) } }
  }

  /// - Parameter origins: links on which there is more room now.
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

  /// A map in which something is over is opened, and forgotten when that is gone.
  private func openDue(_ name: ChannelName, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let options = configuration.namespaces.options(for: name), options.kind == .map else { return }
    do throws(ClientError) { _ = try channel(name, in: &turn) } catch {
      if !turn.missing.isEmpty { stores.park(waiting, .openDue(name), in: &turn) }
    }
  }
}
