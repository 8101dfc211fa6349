import Log
import Wire

extension ClientError {
  /// An input is given up until a store has answered (``Turn/missing``). Nobody is ever told.
  static let waits = ClientError.internalError.saying("the server waits for its store")
}

/// What is asked of a store, and inputs that wait for it.
extension BrokerCore {
  /// What a store knows.
  ///
  /// - Throws: ``ClientError/waits`` where it has to look; what the client is told where it cannot.
  func ask(_ question: LogQuestion, of store: any LogStore, in turn: inout Turn) throws(ClientError) -> LogAnswer {
    guard let answer = turn.answer(to: question) ?? askNow(question, of: store) else {
      turn.missing.append(question)
      throw .waits
    }
    if case .failed(let error) = answer { throw clientError(for: error) }
    return answer
  }

  /// Nil where the answer comes later.
  private func askNow(_ question: LogQuestion, of store: any LogStore) -> LogAnswer? {
    if room.isAsked(question) { return nil }
    if let answer = store.ask(question) { return answer }
    room.asked(question)
    return nil
  }

  func input(
    _ request: BrokerRequest, _ requester: Requester, _ occasion: RequestOccasion
  ) -> WaitingRoom.Input {
    var link: PeerLink?
    if case .gateway(let gateway, _) = requester { link = links[gateway] }
    return .request(request, requester, occasion, link: link.map { .init($0) })
  }

  /// The input under way needs something that is not there. Nothing of it has been done.
  ///
  /// - Parameter waiting: nil: it is parked for the first time.
  func park(
    _ waiting: WaitingRoom.Waiting?, _ input: @autoclosure () -> WaitingRoom.Input, in turn: inout Turn
  ) {
    room.park(waiting ?? enter(input()), until: turn.missing, known: turn.known)
    turn.missing = []
  }

  /// The input needs nothing yet, and must not overtake one that does.
  func lineUp(_ input: WaitingRoom.Input) { room.lineUp(enter(input)) }

  private func enter(_ input: WaitingRoom.Input) -> WaitingRoom.Waiting {
    var (reserved, taken) = (0, 0)
    if case .request(let request, _, _, let origin) = input {
      let answer = request.answerLimit.map { bytes(of: $0) } ?? 0
      if let origin, origin.isOpen {
        reserved = answer
        origin.link.holdBack(reserved)
      }
      taken = request.cost + answer - reserved
    }
    let waiting = WaitingRoom.Waiting(input, reserved: reserved, bytes: taken)
    room.entered(waiting)
    return waiting
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
    for news in disk.takeNews() {
      switch news {
      case .answered(let question, let answer): answered(question, answer, in: &turn)
      case .due(let names): for name in names { run(.openDue(name), in: &turn) }
      case .lost: storeIsLost(in: &turn)
      case .regained: storeIsBack(in: &turn)
      }
    }
  }

  private func answered(_ question: LogQuestion, _ answer: LogAnswer, in turn: inout Turn) {
    var answer = answer
    if room.takeSpoiled(question) {
      guard let now = disk.ask(question) else { return }
      answer = now
    }
    var links: [PeerLink] = []
    for waiting in room.answered(question, answer) { goOn(with: waiting, freeing: &links, in: &turn) }
    room.handedOutAll()
    // What waits for room on a link came after all of these.
    for link in links { goOn(link, in: &turn) }
    // Nobody wanted it after all.
    if case .open(let name, _, _, _) = question, room.takeOpened(name) != nil { disk.release(name) }
  }

  /// - Parameter links: on which there is more room now.
  private func goOn(with waiting: WaitingRoom.Waiting, freeing links: inout [PeerLink], in turn: inout Turn) {
    var next: WaitingRoom.Waiting? = waiting
    while let waiting = next {
      (turn.known, turn.missing) = (waiting.takeKnown(), [])
      run(waiting.input, waiting: waiting, in: &turn)
      (turn.known, turn.missing) = ([], [])
      if waiting.missing > 0 { return }
      room.left(waiting)
      if case .request(_, _, _, let origin?) = waiting.input, origin.isOpen {
        origin.link.giveBack(waiting.reserved)
        if !links.contains(where: { $0 === origin.link }) { links.append(origin.link) }
      }
      next = waiting.line.flatMap { room.next(in: $0) }
    }
  }

  /// A map in which something is over is opened, and forgotten when that is gone.
  private func openDue(_ name: ChannelName, waiting: WaitingRoom.Waiting?, in turn: inout Turn) {
    guard let options = configuration.namespaces.options(for: name), options.kind == .map else { return }
    do throws(ClientError) { _ = try channel(name, in: &turn) } catch {
      if !turn.missing.isEmpty { park(waiting, .openDue(name), in: &turn) }
    }
  }
}
