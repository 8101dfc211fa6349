// What apps that are shared among partitions ask one after another, each step with what the one before has answered.

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

  /// Home is told with what the caller could read. Where the other partition refuses, there is nothing to tell of.
  func partsOfReport(after answers: [BrokerResponse]) -> [Part] {
    switch (answers.count, answers.first) {
    case (0, _): return [parts[0]]
    case (1, .result(let evidence)):
      var part = parts[1]
      part.request = part.request.carrying(evidence)
      return [part]
    default: return []
    }
  }

  /// The first answer that grants it. Where none does: a partition that cannot tell now might have.
  static func any(_ answers: [BrokerResponse]) -> BrokerResponse {
    answers.first { $0.failure == nil } ?? answers.first { $0.failure?.temporary == true } ?? answers.first
      ?? .failed(.internalError)
  }
}

extension BrokerRequest.CallRequest {
  /// What is asked for the same caller. No token attests a place for what a gateway asks itself.
  func asking(_ command: AppCommand, isGateways: Bool = false) -> BrokerRequest {
    var call = self
    call.command = command
    if isGateways { (call.isGateways, call.attestedPlace) = (true, nil) }
    return .call(call)
  }
}

extension BrokerRequest {
  /// The request with the key by which a service knows it. Lending has another number each time, and evidence is only
  /// read: neither is a repeat, and each may be done twice by itself.
  func done(onceAs key: OnceKey) -> BrokerRequest {
    switch calling?.command {
    case .state(.lend), .state(.giveBack), .clique(.lend), .clique(.giveBack), .clique(.evidence): self
    default: .once(key, self)
    }
  }

  /// The call of an app that the request is, by whatever key a service knows it.
  var calling: CallRequest? {
    switch self {
    case .call(let call): call
    case .once(_, let request): request.calling
    default: nil
    }
  }

  /// A send with what was lent for it, or a report with what the caller could read.
  func carrying(_ bytes: [UInt8]) -> BrokerRequest {
    switch self {
    case .once(let key, let request): return .once(key, request.carrying(bytes))
    case .call(let call):
      switch call.command {
      case .state(.send(var send)) where send.lent != bytes:
        send.lent = bytes
        return call.asking(.state(.send(send)))
      case .clique(.send(var send)) where send.lent != bytes:
        send.lent = bytes
        return call.asking(.clique(.send(send)))
      case .clique(.report(var report)) where report.evidence != bytes:
        report.evidence = bytes
        return call.asking(.clique(.report(report)))
      default: return self
      }
    default: return self
    }
  }

  /// The request as a client or a service has made it: two that differ only in what a gateway added are the same.
  public var asAsked: BrokerRequest { carrying([]) }
}

extension BrokerResponse {
  fileprivate var failure: ClientError? { if case .failed(let error) = self { error } else { nil } }
}
