import Broker
import Gateway
import Wire

extension World {
  /// One thing happens, drawn by the seed.
  func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30: carryToBroker()
    case 30..<60: carryToGateway()
    case 60..<72: workOff(Int.random(in: 0..<gateways.count, using: &random), Int.random(in: 0..<2, using: &random))
    case 72..<82: act(clients[Int.random(in: 0..<clients.count, using: &random)])
    case 82..<88:
      perform { $0.complete(self.log.commit(Int.random(in: 1...4, using: &self.random)), at: self.time, into: &$1) }
    case 88..<94: passTime(Int64.random(in: 1...700, using: &random))
    default: if faults { breakSomething() }
    }
  }

  private func breakSomething() {
    let gateway = Int.random(in: 0..<gateways.count, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<25:
      coverage.lostMessages += 1
      if gateways[gateway].toGateway.isEmpty { break }
      gateways[gateway].toGateway.remove(at: Int.random(in: 0..<gateways[gateway].toGateway.count, using: &random))
    case 25..<45:
      coverage.lostMessages += 1
      if gateways[gateway].toBroker.isEmpty { break }
      gateways[gateway].toBroker.remove(at: Int.random(in: 0..<gateways[gateway].toBroker.count, using: &random))
    case 45..<60:
      gateways[gateway].toBroker = []
      gateways[gateway].toGateway = []
    case 60..<70: log.isFull.toggle()
    case 70..<80:
      if broker != nil { stopBroker(cleanly: false) }
      coverage.brokerCrashes += 1
    case 80..<85:
      if broker != nil { stopBroker(cleanly: true) }
      coverage.brokerRestarts += 1
    case 85..<90:
      replaceGateway(gateway)
      coverage.gatewayCrashes += 1
    case 90..<95:
      perform { $0.sendFailed(to: self.gateways[gateway].link.configuration.gateway, at: self.time, into: &$1) }
    default: passTime(Int64.random(in: 3000...6000, using: &random))
    }
  }

  private func carryToBroker() {
    if broker == nil {
      if random.chance(20) { startBroker() }
      return
    }
    let index = Int.random(in: 0..<gateways.count, using: &random)
    guard !gateways[index].toBroker.isEmpty else { return }
    let message = gateways[index].toBroker.removeFirst()
    let gateway = gateways[index].link.configuration.gateway
    perform { $0.receive(message, from: gateway, at: self.time, into: &$1) }
  }

  private func carryToGateway() {
    let index = Int.random(in: 0..<gateways.count, using: &random)
    guard !gateways[index].toGateway.isEmpty else { return }
    let message = gateways[index].toGateway.removeFirst()
    perform(index) { $0.receive(message, at: self.now, into: &$1) }
    let queued = gateways[index].queuedBytes
    perform(index) { $0.acknowledge(queuedBytes: queued, at: self.now, into: &$1) }
  }

  func passTime(_ milliseconds: Int64) {
    now += milliseconds
    perform { $0.tick(at: self.time, into: &$1) }
    for index in gateways.indices {
      let queued = gateways[index].queuedBytes
      perform(index) { $0.tick(at: self.now, queuedBytes: queued, into: &$1) }
    }
  }

  private func act(_ client: SimulatedClient) {
    switch client.state {
    case .idle: subscribe(client)
    case .subscribing: break
    case .live where random.chance(10):
      unsubscribe(client)
      client.state = .idle
    default: break
    }
    if random.chance(70) { publish(from: client) }
    if faults && random.chance(2) { _ = request(.historyRemove(client.channel), from: client) }
  }

  func subscribe(_ client: SimulatedClient) {
    let since = client.position
    // As a gateway does that has no room for large answers now, and asks again where the answer is one.
    let answer = client.triesSmall && faults && random.chance(50) ? AnswerLimit(bytes: 500, isTry: true) : .most
    let subscribe = BrokerRequest.SubscribeRequest(
      channel: client.channel, since: since, member: client.info, answer: answer)
    let tag = request(.subscribe(subscribe), from: client)
    client.state = .subscribing(tag: tag, since: since)
  }

  private func unsubscribe(_ client: SimulatedClient) {
    _ = request(
      .unsubscribe(.init(channel: client.channel, member: client.info, keepsInterest: false)), from: client)
  }

  private func publish(from client: SimulatedClient) {
    let data = newPayload()
    let key = random.chance(20) ? String(decoding: data, as: UTF8.self) : nil
    let tag = request(.publish(.init(channel: client.channel, data: data, idempotencyKey: key)), from: client)
    client.publishing[tag] = data
  }

  // MARK: Event loops

  func workOff(_ gateway: Int, _ loop: Int) {
    var count = Int.random(in: 1...12, using: &random)
    while count > 0 && !gateways[gateway].loops[loop].isEmpty {
      count -= 1
      handle(gateways[gateway].loops[loop].removeFirst(), gateway, loop)
    }
  }

  private func handle(_ handover: Handover, _ gateway: Int, _ loop: Int) {
    let here = clients.filter { $0.gateway == gateway && $0.loop == loop }
    switch handover {
    case .publication(let channel, let publication):
      for client in here where client.channel == channel && client.state == .live {
        if let complaint = client.received(publication) { fail(complaint) }
        guard let epoch = client.position?.epoch else { continue }
        if let complaint = oracle.seen(channel, epoch, publication) { fail(complaint) }
      }
    case .lost(let channel):
      for client in here where client.channel == channel && client.state == .live {
        coverage.lostPositions += 1
        unsubscribe(client)
        client.state = .idle
      }
    case .answer(let source, let response):
      guard let client = here.first(where: { $0.connection == source.connection }) else { return }
      handle(response, tag: source.tag, for: client)
    }
  }

  private func handle(_ response: BrokerResponse, tag: UInt64, for client: SimulatedClient) {
    if let payload = client.publishing.removeValue(forKey: tag) {
      switch response {
      case .published(let position):
        coverage.acknowledged += 1
        oracle.acknowledged(client.channel, position, payload)
      case .failed: coverage.refused += 1
      default: fail("\(client.name): a publish was answered with \(response)")
      }
      return
    }
    guard case .subscribing(tag, let since) = client.state else { return }
    switch response {
    case .subscribed(let subscribed):
      if since != nil { if subscribed.recovered { coverage.recovered += 1 } else { coverage.notRecovered += 1 } }
      client.triesSmall = true
      if let complaint = client.subscribed(subscribed, since: since) { fail(complaint) }
      for publication in subscribed.publications {
        if let complaint = oracle.seen(client.channel, subscribed.position.epoch, publication) { fail(complaint) }
      }
    case .failed: client.state = .idle
    case .tooLarge:
      coverage.tooLarge += 1
      client.triesSmall = false
      client.state = .idle
    default: fail("\(client.name): a subscribe was answered with \(response)")
    }
  }

  // MARK: The end

  /// Nothing breaks any more: everything that is under way arrives, and everybody catches up.
  func heal() {
    faults = false
    log.isFull = false
    if broker == nil { startBroker() }
    for _ in 0..<60 {
      settle()
      passTime(500)
    }
    for client in clients where client.state == .idle { subscribe(client) }
    settle()
  }

  private func settle() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      for index in gateways.indices {
        while !gateways[index].toBroker.isEmpty {
          isQuiet = false
          let message = gateways[index].toBroker.removeFirst()
          let gateway = gateways[index].link.configuration.gateway
          perform { $0.receive(message, from: gateway, at: self.time, into: &$1) }
        }
        perform { $0.complete(self.log.commit(.max), at: self.time, into: &$1) }
        while !gateways[index].toGateway.isEmpty {
          isQuiet = false
          let message = gateways[index].toGateway.removeFirst()
          perform(index) { $0.receive(message, at: self.now, into: &$1) }
        }
        for loop in 0..<2 { while !gateways[index].loops[loop].isEmpty { workOff(index, loop) } }
        let queued = gateways[index].queuedBytes
        perform(index) { $0.acknowledge(queuedBytes: queued, at: self.now, into: &$1) }
      }
    }
  }
}
