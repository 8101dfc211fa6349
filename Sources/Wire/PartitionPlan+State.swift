// Requests of State, where it is shared among partitions (docs/decisions/0073-state-in-all-partitions.md).

extension Partitioning {
  /// Where all that a command is about stands; nil: in several places.
  func onlyPlace(of command: StateCommand, by user: String) -> Int? {
    let person = place(ofUser: user)
    switch command {
    case .begin(let other), .seen(let other), .delivered(let other), .block(let other), .unblock(let other):
      return place(of: user, and: other)
    case .react(let reaction): return place(of: user, and: reaction.with)
    case .send(let send): return place(of: user, and: send.to) == person ? person : nil
    case .cancel(let cancel):
      let pair = place(of: user, and: cancel.to)
      return cancel.pictures.isEmpty || pair == person ? pair : nil
    case .settings, .discard, .discardUpload, .addPicture, .uploadKey, .lend, .giveBack: return person
    case .pictureKey, .gonePictures: return nil
    }
  }

  /// Somebody alone is no pair, which the app says wherever it is asked.
  func place(of user: String, and other: String) -> Int {
    user.hasSameBytes(as: other) ? place(ofUser: user) : place(ofPair: user, other)
  }

  func plan(for command: StateCommand, of call: BrokerRequest.CallRequest) -> PartitionPlan {
    let user = call.caller.user
    if let place = onlyPlace(of: command, by: user) {
      return PartitionPlan([.init(partition: place, request: .call(call))], .first)
    }
    let person = place(ofUser: user)
    func part(_ partition: Int, _ command: StateCommand, isGateways: Bool = false) -> PartitionPlan.Part {
      var call = call
      call.command = .state(command)
      if isGateways { (call.isGateways, call.attestedPlace) = (true, nil) }
      return PartitionPlan.Part(partition: partition, request: .call(call))
    }
    switch command {
    case .send(let send):
      let lending = StateCommand.Lending(
        to: send.to, front: send.front, rear: send.rear, attempt: .random(in: .min ... .max))
      return PartitionPlan(
        [
          part(person, .lend(lending), isGateways: true), part(place(of: user, and: send.to), command),
          part(person, .giveBack(lending), isGateways: true),
        ], .send)
    case .cancel(var cancel):
      let pictures = cancel.pictures
      cancel.pictures = []
      return PartitionPlan(
        [part(person, .discard(pictures)), part(place(of: user, and: cancel.to), .cancel(cancel))], .last,
        awaitsFirst: true)
    case .gonePictures: return each(.gone) { _ in .call(call) }
    default: return each(.any) { _ in .call(call) }
    }
  }
}

extension PartitionPlan {
  /// A send is asked whatever was lent, unless nobody knows now: it may be one that was done before, or be refused for
  /// another reason, which comes first. Pictures come back only where it is certain that this send has not taken them.
  func partsOfSend(after answers: [BrokerResponse]) -> [Part] {
    var lent: [UInt8]?
    if case .result(let bytes)? = answers.first { lent = bytes }
    switch answers.count {
    case 0: return [parts[0]]
    case 1 where answers[0].failure?.temporary != true:
      var part = parts[1]
      part.request = part.request.carrying(lent ?? [])
      return [part]
    case 2:
      guard lent != nil, let refusal = answers[1].failure, !refusal.temporary else { return [] }
      return [parts[2]]
    default: return []
    }
  }

  /// The first answer that grants it. Where none does: a partition that cannot tell now might have.
  static func any(_ answers: [BrokerResponse]) -> BrokerResponse {
    answers.first { $0.failure == nil } ?? answers.first { $0.failure?.temporary == true } ?? answers.first
      ?? .failed(.internalError)
  }
}

extension BrokerRequest {
  /// The request with the key by which a service knows it. Lending has another number each time, so it is no repeat: it
  /// may be done twice by itself.
  func done(onceAs key: OnceKey) -> BrokerRequest {
    if case .call(let call) = self, case .state(let command) = call.command {
      switch command {
      case .lend, .giveBack: return self
      default: break
      }
    }
    return .once(key, self)
  }

  /// A send with what was lent for it.
  func carrying(_ lent: [UInt8]) -> BrokerRequest {
    switch self {
    case .once(let key, let request): return .once(key, request.carrying(lent))
    case .call(var call):
      guard case .state(.send(var send)) = call.command, send.lent != lent else { return self }
      send.lent = lent
      call.command = .state(.send(send))
      return .call(call)
    default: return self
    }
  }

  /// The request as a client or a service has made it: two that differ only in what a gateway added are the same.
  public var asAsked: BrokerRequest { carrying([]) }
}

extension BrokerResponse {
  fileprivate var failure: ClientError? { if case .failed(let error) = self { error } else { nil } }
}
