import Gateway
import Wire

@testable import Broker
@testable import Log

extension World {
  /// One thing happens, drawn by the seed.
  func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30: carryToBroker()
    case 30..<60: carryToGateway()
    case 60..<72: workOff(Int.random(in: 0..<gateways.count, using: &random), Int.random(in: 0..<2, using: &random))
    case 72..<82: act(clients[Int.random(in: 0..<clients.count, using: &random)])
    case 82..<88:
      step(Int.random(in: 1...4, using: &random))
      // Somebody looks after a broker whose disk has failed.
      if log?.hasFailed == true, random.chance(20) { stopBroker(.clean) }
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
    case 60..<78: breakDisk()
    case 78..<83:
      replaceGateway(gateway)
      coverage.gatewayCrashes += 1
    case 83..<88:
      perform { $0.sendFailed(to: self.gateways[gateway].link.configuration.gateway, at: self.time, into: &$1) }
    case 88..<94:
      coverage.clockJumps += 1
      clock.jump(Int64.random(in: -600_000...10_000, using: &random))
    default: passTime(Int64.random(in: 3000...6000, using: &random))
    }
  }

  private func breakDisk() {
    switch Int.random(in: 0..<18, using: &random) {
    case 0..<5: disk.isFull.toggle()
    case 5:
      coverage.diskFaults += 1
      disk.failWrite(after: Int.random(in: 0...30, using: &random))
    case 6:
      coverage.diskFaults += 1
      disk.failSync(after: Int.random(in: 0...3, using: &random))
    case 7..<10:
      coverage.brokerCrashes += 1
      stopBroker(.killed)
    case 10..<14:
      coverage.powerCuts += 1
      stopBroker(.powerCut)
    default:
      coverage.brokerRestarts += 1
      stopBroker(.clean)
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
    clock.pass(milliseconds)
    for client in clients where client.session?.nextDeadline.map({ $0 <= now }) ?? false { feed(.deadline, to: client) }
    perform { $0.tick(at: self.time, into: &$1) }
    for index in gateways.indices {
      let queued = gateways[index].queuedBytes
      perform(index) { $0.tick(at: self.now, queuedBytes: queued, into: &$1) }
    }
  }

  func publish(from client: SimulatedClient) {
    var data = newPayload()
    var key: String?
    if random.chance(30) {
      let used = oracle.keys(of: client.channel, usedSince: clock.forward - 200_000)
      if !used.isEmpty, random.chance(50) {
        // Once more, as an app does that got no answer; or by mistake, for something else.
        let again = used[Int.random(in: 0..<used.count, using: &random)]
        key = again.key
        if random.chance(70) { data = again.payload }
      } else {
        let new = "key of " + String(decoding: data, as: UTF8.self)
        oracle.uses(new, for: data, on: client.channel, at: clock.forward)
        key = new
      }
    }
    publish(data, key, from: client)
  }

  // MARK: Event loops

  func workOff(_ gateway: Int, _ loop: Int) {
    var count = Int.random(in: 1...12, using: &random)
    while count > 0 && !gateways[gateway].loops[loop].isEmpty {
      count -= 1
      handle(gateways[gateway].loops[loop].removeFirst(), gateway, loop)
    }
  }

  // MARK: The end

  /// Nothing breaks any more: everything that is under way arrives, and everybody catches up.
  func heal() {
    faults = false
    disk.heal()
    if log?.hasFailed == true { stopBroker(.clean) }
    if broker == nil { startBroker() }
    for _ in 0..<60 {
      settle()
      passTime(500)
    }
    for client in clients where client.state == .idle { subscribe(client) }
    settle()
  }

  /// When all is quiet, something is published on each channel: whoever is subscribed gets it.
  func publishLast() {
    if mutation == .dropsBroadcasts { broker?.mutation = mutation }
    for channel in Self.channels {
      guard let client = clients.first(where: { $0.channel == channel }) else { continue }
      let before = coverage.acknowledged
      publish(newPayload(), nil, from: client)
      settle()
      if coverage.acknowledged == before { fail("\(channel): the last publication was not taken") }
    }
    settle()
  }

  /// Where the channel ends, as the broker knows it.
  func top(of channel: ChannelName) -> StreamPosition? { broker?.channels[channel]?.sequencer.top }

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
        step(.max)
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
