import Broker
import Gateway
import Wire

extension AppWorld {
  /// Does one thing, drawn by the seed.
  func step() {
    if disk.isFull, random.chance(4) { disk.isFull = false }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<24: for _ in 0..<Int.random(in: 1...6, using: &random) { carryToBroker() }
    case 24..<48: for _ in 0..<Int.random(in: 1...6, using: &random) { carryToGateway() }
    case 48..<58: workOff(Int.random(in: 0..<2, using: &random), Int.random(in: 0..<2, using: &random))
    case 58..<70: act(phones[Int.random(in: 0..<phones.count, using: &random)])
    // Often enough for most requests to be answered before they are given up: what looks at many records asks the disk
    // several times, one after another.
    case 70..<80: read(Int.random(in: 1...12, using: &random))
    case 80..<89:
      commit(Int.random(in: 1...12, using: &random))
      // An operator restarts a broker whose disk has failed.
      if log?.hasFailed == true, random.chance(10) { stopBroker(.clean) }
    case 89..<95: passTime(Int64.random(in: 1...700, using: &random))
    default: if faults && random.chance(40) { breakSomething() }
    }
  }

  private func breakSomething() {
    let gateway = Int.random(in: 0..<gateways.count, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<20:
      if gateways[gateway].toGateway.isEmpty { break }
      gateways[gateway].toGateway.remove(at: Int.random(in: 0..<gateways[gateway].toGateway.count, using: &random))
    case 20..<35:
      if gateways[gateway].toBroker.isEmpty { break }
      gateways[gateway].toBroker.remove(at: Int.random(in: 0..<gateways[gateway].toBroker.count, using: &random))
    case 35..<45:
      gateways[gateway].toBroker = []
      gateways[gateway].toGateway = []
    case 45..<58: disk.isFull = true
    case 58..<62:
      coverage.diskFaults += 1
      if random.chance(70) {
        disk.failWrite(after: Int.random(in: 0...30, using: &random))
      } else {
        disk.failSync(after: Int.random(in: 0...3, using: &random))
      }
    case 62..<68:
      coverage.brokerCrashes += 1
      stopBroker(.killed)
    case 68..<74:
      coverage.powerCuts += 1
      stopBroker(.powerCut)
    case 74..<80:
      coverage.clean += 1
      stopBroker(.clean)
    case 80..<86:
      replaceGateway(gateway)
      coverage.gatewayCrashes += 1
    case 86..<92:
      perform { $0.sendFailed(to: self.gateways[gateway].link.configuration.gateway, in: &$1) }
    default: passTime(Int64.random(in: 3000...9000, using: &random))
    }
  }

  private func carryToBroker() {
    if broker == nil {
      if random.chance(20) { startBroker() }
      return
    }
    let index = Int.random(in: 0..<gateways.count, using: &random)
    guard !gateways[index].toBroker.isEmpty else { return }
    // A broker that is starting reads no messages before its records are loaded.
    if broker?.isStarting == true { return read() }
    let message = gateways[index].toBroker.removeFirst()
    let gateway = gateways[index].link.configuration.gateway
    perform { $0.receive(message, from: gateway, in: &$1) }
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
    perform { $0.tick(ingressPaused: $0.isStarting, in: &$1) }
    for index in gateways.indices {
      let queued = gateways[index].queuedBytes
      perform(index) { $0.tick(at: self.now, queuedBytes: queued, into: &$1) }
    }
  }

  // MARK: What people do

  private func act(_ phone: Phone) {
    if random.chance(40) { follow(phone) }
    if !phone.unclear.isEmpty, random.chance(50) {
      let command = phone.unclear.removeFirst()
      // Keys are remembered for five minutes, so only a younger command may be repeated.
      if wall - command.time < 200_000 {
        coverage.repeated += 1
        return ask(command, phone)
      }
    }
    let others = Self.people.filter { $0 != phone.user }
    let other = others[Int.random(in: 0..<others.count, using: &random)]
    if hasPictures, random.chance(pictureShare) { return actWithPicture(phone, other) }
    if hasGroups, random.chance(groupShare) { return actInGroup(phone, other) }
    if hasVanishing, random.chance(8) { return vanish(phone, other) }
    let person = #"{"person":"\#(other)"}"#
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<36: say(phone, other)
    case 36..<48: ask(Command(method: "clique.accept", data: person), phone)
    case 48..<51: ask(Command(method: "clique.decline", data: person), phone)
    case 51..<53: ask(Command(method: "clique.disconnect", data: person), phone)
    case 53..<55:
      coverage.blocks += 1
      ask(Command(method: "clique.block", data: person), phone)
    case 55..<60: ask(Command(method: "clique.unblock", data: person), phone)
    case 60..<66: mark(phone, other)
    case 66..<86: seal(phone, other)
    case 86..<91: ask(Command(method: "state.seen", data: #"{"with":"\#(other)"}"#), phone)
    case 91..<93: ask(Command(method: "state.block", data: #"{"user":"\#(other)"}"#), phone)
    case 93..<97: ask(Command(method: "state.unblock", data: #"{"user":"\#(other)"}"#), phone)
    default:
      ask(Command(method: "clique.typing", data: #"{"conversation":"\#(Self.conversation(phone, other))"}"#), phone)
    }
  }

  static func conversation(_ phone: Phone, _ other: String) -> String {
    String(AppOracle.chat(phone.user, other).rest)
  }

  func say(_ phone: Phone, _ other: String) {
    let text = newText("message")
    var command = Command(
      method: "clique.send", data: #"{"to":"\#(other)","text":"\#(text)","key":"\#(text)"}"#, text: text, time: wall)
    command.mayBeAskedAgain = true
    ask(command, phone)
  }

  func mark(_ phone: Phone, _ other: String, reads: Bool? = nil) {
    let chat = AppOracle.chat(phone.user, other)
    let offset = phone.following[chat]?.seen.last?.offset ?? 0
    let data = #"{"conversation":"\#(Self.conversation(phone, other))","offset":\#(offset)}"#
    ask(Command(method: reads ?? random.chance(50) ? "clique.read" : "clique.delivered", data: data), phone)
  }

  /// Opens the recorder, uploads, and sends.
  func seal(_ phone: Phone, _ other: String, asksForKey: Bool = true) {
    let text = newText("secret")
    ask(Command(method: "state.begin", data: #"{"to":"\#(other)"}"#), phone)
    let pictures = ["front", "rear"].map { "\($0)-of-picture-\(text.filter(\.isNumber))-0000000000" }
    for picture in pictures {
      let key = [UInt8](repeating: 1, count: 32)
      let added = StateCommand.Picture(id: picture, type: "image/png", bytes: 9, key: key, upload: nil)
      ask(Command(method: "state.picture.added", data: "", gateways: .state(.addPicture(added))), phone)
    }
    var command = Command(method: "state.send", data: "", text: text, time: wall)
    command.data =
      #"{"to":"\#(other)","front":"\#(pictures[0])","rear":"\#(pictures[1])","caption":"\#(text)","key":"k\#(text.filter(\.isNumber))"}"#
    command.mayBeAskedAgain = true
    oracle.sending(text, by: phone.user, to: other, time: wall)
    ask(command, phone)
    if asksForKey, random.chance(30) {
      let id = "front-of-picture-\(Int.random(in: 1...40, using: &random))-0000000000"
      ask(Command(method: "state.picture.key", data: "", gateways: .state(.pictureKey(id: id))), phone)
    }
  }

  func ask(_ command: Command, _ phone: Phone) {
    if hasPictures { noteAsked(command, phone) }
    if case .remove(let channel, let offset) = command.picture?.kind {
      let removal = BrokerRequest.EditRequest(channel: channel, offset: offset, data: nil, editor: phone.info)
      phone.calls[request(.edit(removal), from: phone)] = command
      return
    }
    let read = try? command.gateways ?? AppCommand(command.method, Array(command.data.utf8), by: phone.user)
    guard let read else { return fail("\(phone.name): \(command.method) \(command.data) is refused by its form") }
    let call = BrokerRequest.CallRequest(read, caller: phone.info, isGateways: command.gateways != nil)
    phone.calls[request(.call(call), from: phone)] = command
  }

  // MARK: Channels

  /// The channels that a phone tries to follow: its own lists, and its conversations with everybody.
  func channels(of phone: Phone) -> [ChannelName] {
    let own = ["clique.list", "clique.blocked", "state.threads", "state.events"]
      .map { AppOracle.name($0 + ":" + phone.user) }
    return own + Self.people.filter { $0 != phone.user }.map { AppOracle.chat(phone.user, $0) } + groupChats(of: phone)
      + extraChannels(phone)
  }

  func follow(_ phone: Phone, all: Bool = false) {
    for channel in channels(of: phone) where all || random.chance(30) {
      let following = phone.following[channel] ?? Following(channel)
      phone.following[channel] = following
      if following.state == .idle {
        subscribe(phone, following)
      } else if faults, following.state == .live, random.chance(10) {
        leave(phone, following)
      }
    }
    guard faults, random.chance(10) else { return }
    // The phone also tries a list of somebody else, which it must not get.
    let other = Self.people.first { $0 != phone.user } ?? ""
    let foreign = Following(AppOracle.threads(other))
    phone.following[foreign.channel] = foreign
    subscribe(phone, foreign)
  }

  func subscribe(_ phone: Phone, _ following: Following) {
    var subscribe = following.request
    subscribe.member = phone.info
    subscribe.isPresent = !following.isMap
    following.state = .asked(tag: request(.subscribe(subscribe), from: phone))
  }

  func leave(_ phone: Phone, _ following: Following) {
    request(.unsubscribe(.init(channel: following.channel, member: phone.info, keepsInterest: false)), from: phone)
    following.state = .idle
  }
}
