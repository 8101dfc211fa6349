import Wire

@testable import Broker
@testable import Gateway
@testable import Log

extension World {
  /// Does one thing, drawn by the seed.
  func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<26: carryToBroker()
    case 26..<52: carryToGateway()
    case 52..<66: run(Int.random(in: 0..<gateways.count, using: &random), Int.random(in: 0..<2, using: &random))
    case 66..<72:
      exchange(
        clients[Int.random(in: 0..<clients.count, using: &random)], bytes: Int.random(in: 1...400, using: &random),
        commands: Int.random(in: 0...3, using: &random))
    case 72..<82: act(clients[Int.random(in: 0..<clients.count, using: &random)])
    case 82..<85: read(Int.random(in: 1...4, using: &random))
    case 85..<88:
      step(Int.random(in: 1...4, using: &random))
      // An operator restarts a broker whose disk has failed.
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
    case 60..<76: breakDisk()
    case 80..<83:
      replaceGateway(gateway)
      coverage.gatewayCrashes += 1
    case 76..<80:
      coverage.cuts += 1
      clients[Int.random(in: 0..<clients.count, using: &random)].disconnect()
    case 83..<88:
      perform { $0.sendFailed(to: self.gateways[gateway].link.configuration.gateway, in: &$1) }
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
    takeRequests(index)
    for _ in 0..<Int.random(in: 1...3, using: &random) where !gateways[index].toBroker.isEmpty { carryToBroker(index) }
  }

  @discardableResult
  private func takeRequests(_ index: Int) -> Bool {
    defer { listen(to: gateways[index]) }
    return gateways[index].takeRequests(at: now)
  }

  private func carryToBroker(_ index: Int) {
    // A broker that is starting reads no messages before its records are loaded.
    if broker?.isStarting == true { return read() }
    let message = gateways[index].toBroker.removeFirst()
    let gateway = gateways[index].link.configuration.gateway
    perform { $0.receive(message, from: gateway, in: &$1) }
  }

  private func carryToGateway() {
    let index = Int.random(in: 0..<gateways.count, using: &random)
    for _ in 0..<Int.random(in: 1...3, using: &random) where !gateways[index].toGateway.isEmpty {
      carryToGateway(index)
    }
    if random.chance(70) { handOver(index) }
  }

  private func carryToGateway(_ index: Int) {
    let message = gateways[index].toGateway.removeFirst()
    perform(index) { $0.receive(message, at: self.now, into: &$1) }
  }

  @discardableResult
  private func handOver(_ index: Int) -> Bool {
    defer { listen(to: gateways[index]) }
    return gateways[index].handOver(at: now)
  }

  func passTime(_ milliseconds: Int64) {
    clock.pass(milliseconds)
    perform { $0.tick(ingressPaused: $0.isStarting, in: &$1) }
    for index in gateways.indices {
      for loop in gateways[index].loops { loop.pass(milliseconds) }
      if why != nil { for loop in gateways[index].loops { loop.shard.markCoverage() } }
      gateways[index].tick(at: now)
      listen(to: gateways[index])
    }
  }

  // MARK: Event loops

  /// Lets an event loop do what is due, and some of its clients read and write.
  private func run(_ gateway: Int, _ loop: Int) {
    let node = gateways[gateway].loops[loop]
    node.run()
    if node.shard.reads.waitingCount > 0 { coverage.readsWaited += 1 }
    if node.fanOut.keptBytes > 0 { coverage.lagged += 1 }
    for client in clients where client.gateway == gateway && client.loop == loop && random.chance(60) {
      exchange(
        client, bytes: Int.random(in: 1...600, using: &random), commands: Int.random(in: 0...4, using: &random))
    }
  }

  // MARK: The end

  /// Lets everything that is under way arrive and everybody catch up. Nothing breaks any more.
  func heal() {
    faults = false
    disk.heal()
    if log?.hasFailed == true { stopBroker(.clean) }
    if broker == nil { startBroker() }
    for _ in 0..<60 {
      runUntilQuiet()
      passTime(500)
    }
    for _ in 0..<3 {
      for client in clients where client.state == .down { connect(client) }
      runUntilQuiet()
      for client in clients where client.state == .up {
        for feed in client.feeds where feed.state == .idle { client.subscribe(feed) }
      }
      runUntilQuiet()
    }
  }

  /// Publishes on each channel when nothing else is under way, so that every subscriber must get it.
  func publishLast() {
    if mutation == .dropsBroadcasts { broker?.mutation = mutation }
    for channel in Self.channels {
      // Two clients publish, so that each filter lets at least one of the publishers through.
      for client in clients.filter({ $0.feeds[0].channel == channel }).prefix(2) {
        let before = coverage.acknowledged
        // Six publications are more than a small kernel takes at once, so the last of them wait on a tape.
        for _ in 0..<6 { publish(newPayload(), nil, on: channel, from: client) }
        runUntilQuiet()
        if coverage.acknowledged != before + 6 { fail("\(channel): the last publications were not taken") }
      }
    }
  }

  /// The top of a channel, as the broker knows it.
  func top(of channel: ChannelName) -> StreamPosition? { broker?.channels[channel]?.sequencer.top }

  private func runUntilQuiet() {
    var isQuiet = false
    while !isQuiet && violations.isEmpty {
      isQuiet = true
      while let broker, broker.isStarting || !broker.stores.room.isEmpty {
        isQuiet = false
        read()
        step(.max)
      }
      for index in gateways.indices {
        if takeRequests(index) { isQuiet = false }
        while !gateways[index].toBroker.isEmpty {
          isQuiet = false
          carryToBroker(index)
        }
        step(.max)
        while !gateways[index].toGateway.isEmpty {
          isQuiet = false
          carryToGateway(index)
        }
        if handOver(index) { isQuiet = false }
        for loop in gateways[index].loops {
          if !loop.isQuiet { isQuiet = false }
          loop.run()
        }
      }
      for client in clients where exchange(client, bytes: 0, commands: 2) { isQuiet = false }
      // Clients read only when all else is done, so that something waits for clients with small kernels.
      guard isQuiet else { continue }
      for client in clients where exchange(client, bytes: .max, commands: 2) { isQuiet = false }
    }
  }
}
