import Gateway
import TestSupport
import Wire

@testable import Broker

/// Ann does things with bob, who is silent, or of whom something else is true that she must not learn. Both worlds of a
/// seed differ in nothing else.
final class LeakWorld {
  /// What is true of bob in the other world.
  enum Secret: CaseIterable {
    /// He has blocked her.
    case block
    /// He has declined her request.
    case decline
    /// He has never been on this server. Where he is silent, he has a profile, and a conversation with cat.
    case absence
    /// He has left their conversation: she is told, so this one is no secret.
    case leaving

    static let kept: [Secret] = [.block, .decline, .absence]
  }

  /// What stands between the two before.
  private enum Beginning: CaseIterable {
    case strangers, askedByHer, askedByHim, open, inGroup
  }

  private let world: AppWorld
  private let secret: Secret
  private let isOther: Bool
  /// Bob has no channel open.
  private let isAway: Bool
  private var random: SeededRandom
  private let beginning: Beginning
  private var group: String?
  private var texts = 10_000
  private var looks = 0
  private var hasLeft = false
  private var probe = Probe(action: "")

  private var ann: [Phone] { world.phones.filter { $0.user == "ann" } }
  private var bob: Phone? { world.phones.first { $0.user == "bob" } }
  private var cat: Phone? { world.phones.first { $0.user == "cat" } }
  private let chat = AppOracle.chat("ann", "bob")
  private var pair: String { chat.rest }

  /// - Parameter isAway: bob has no channel open.
  init(seed: UInt64, _ secret: Secret, isOther: Bool, isAway: Bool) {
    world = AppWorld(seed: seed)
    self.secret = secret
    self.isOther = isOther
    self.isAway = isAway
    random = SeededRandom(seed: seed)
    beginning =
      switch secret {
      case .block: Beginning.allCases[Int(seed % 5)]
      case .decline: .askedByHer
      case .absence: .strangers
      case .leaving: .open
      }
    world.faults = false
    world.notesPresence = true
    let pair = pair
    let isCrowded = secret != .absence
    world.extraChannels = { phone in
      var names = ["clique.crossings:\(phone.user)", "clique.people:\(phone.user)", "clique.totals:\(phone.user)"]
      if phone.user == "ann" || isCrowded { names += ["clique.receipts:\(pair)", "clique.typing:\(pair)"] }
      return names.map(AppOracle.name)
    }
    begin()
    warmUp()
    keepSecret()
    if isAway { leave() }
    followAll()
    world.onAnswer = { [unowned self] phone, response in
      guard phone.user == "ann" else { return }
      switch response {
      case .result(let data): probe.answerBytes += data.count
      case .failed(let error):
        probe.errors.append(Int(error.code))
        probe.answerBytes += error.message.utf8.count
      default: probe.answerBytes += world.answers.last?.utf8.count ?? 0
      }
    }
  }

  // MARK: What happens before

  private func begin() {
    BlockedViewTests.quiet(world, 100)
    let isThere = !(secret == .absence && isOther)
    for phone in [ann[0], bob, cat].compactMap({ $0 }) where phone.user != "bob" || isThere {
      happens("clique.profile.set", #"{"name":"the \#(phone.user)"}"#, phone)
    }
    if secret == .absence {
      if isThere, let bob { open(between: "cat", and: bob) }
      open(between: "ann", and: cat)
      return followAll()
    }
    switch beginning {
    case .strangers: break
    case .askedByHer: happens("clique.send", message(to: "bob"), ann[0])
    case .askedByHim: happens("clique.send", message(to: "ann"), bob)
    case .open, .inGroup: open(between: "ann", and: bob)
    }
    if beginning == .inGroup { group = BlockedViewTests.found(world) }
    if beginning == .open, Bool.random(using: &random) {
      happens("clique.disappear", #"{"person":"ann","after":60000}"#, bob)
    }
    if Bool.random(using: &random) { happens("clique.enter", BlockedViewTests.park, bob) }
    if Bool.random(using: &random) { happens("clique.enter", BlockedViewTests.park, ann[0]) }
    followAll()
  }

  /// One has asked the other, who has accepted.
  private func open(between one: String, and other: Phone?) {
    guard let other, let first = world.phones.first(where: { $0.user == one }) else { return }
    happens("clique.send", message(to: other.user), first)
    happens("clique.accept", #"{"person":"\#(one)"}"#, other)
  }

  /// Ann writes to bob, and sends him a State, so that what the two have to do with each other is in the broker's memory in
  /// both worlds: what is not, is read from the disk first, and whoever has looked at it lately changes that.
  private func warmUp() {
    if beginning == .strangers {
      happens("clique.send", message(to: "bob"), ann[0])
      happens("clique.disconnect", #"{"person":"bob"}"#, ann[0])
    }
    _ = seal(ann[0])
    BlockedViewTests.quiet(world, 300)
  }

  private func keepSecret() {
    guard isOther else { return BlockedViewTests.quiet(world, 600) }
    switch secret {
    case .block:
      happens("clique.block", #"{"person":"ann"}"#, bob)
      happens("state.block", #"{"user":"ann"}"#, bob)
    case .decline:
      happens("clique.decline", #"{"person":"ann"}"#, bob)
      BlockedViewTests.quiet(world, 300)
    case .absence: BlockedViewTests.quiet(world, 600)
    case .leaving:
      happens("clique.disconnect", #"{"person":"ann"}"#, bob)
      BlockedViewTests.quiet(world, 300)
    }
  }

  /// Bob's phones leave all their channels, long enough ago for the broker to have forgotten that they had them.
  private func leave() {
    hasLeft = true
    for phone in world.phones where phone.user == "bob" {
      for following in phone.following.values.sorted(by: { $0.channel < $1.channel }) {
        if following.state == .live { world.leave(phone, following) }
        following.forget()
      }
    }
    pass(4000)
  }

  private func happens(_ method: String, _ data: String, _ phone: Phone?) {
    if let phone { world.ask(Command(method: method, data: data), phone) }
    BlockedViewTests.quiet(world, 300)
  }

  private func message(to user: String) -> String {
    texts += 1
    return #"{"to":"\#(user)","text":"message-\#(texts)","key":"k\#(texts)"}"#
  }

  private func followAll() {
    for phone in world.phones where phone.user != "bob" || !hasLeft && !(secret == .absence && isOther) {
      world.follow(phone, all: true)
    }
    BlockedViewTests.quiet(world, 300)
  }

  // MARK: Probes

  func run(_ count: Int) -> [Probe] {
    (0..<count).map { step in
      // What somebody does behind a block must not show.
      if step % 4 == 3, secret == .block, isOther {
        happens("clique.profile.set", #"{"name":"another bob \#(step)"}"#, bob)
      } else {
        pass(300)
      }
      return look(ann[Int.random(in: 0..<2, using: &random)])
    }
  }

  /// Does one thing, and notes all that comes of it.
  private func look(_ phone: Phone) -> Probe {
    world.answers = []
    for phone in ann { phone.heard = [] }
    looks = 0
    let written = world.ledger.written
    probe = Probe(action: "")
    probe.action = act(phone)
    while !phone.calls.isEmpty && probe.rounds < 500 { round(phone) }
    note()
    for _ in 0..<5 {
      looks += 1
      pass(240)
      note()
    }
    pass(Int64.random(in: 1...4000, using: &random))
    for phone in ann { world.follow(phone, all: true) }
    pass(240)
    looks += 1
    note()
    for following in ann.flatMap(\.following.values) where following.state == .live {
      let namespace = following.channel.namespace ?? ""
      probe.standing["live \(namespace)", default: 0] += 1
      probe.standing["entries \(namespace)", default: 0] += following.entries.count
    }
    probe.written = world.ledger.written - written
    return probe
  }

  /// Broker, log, link and phones each do what waits for them, once.
  private func round(_ phone: Phone) {
    probe.rounds += 1
    for index in world.gateways.indices {
      let (messages, gateway) = (
        world.gateways[index].toBroker, world.gateways[index].link.configuration.gateway
      )
      world.gateways[index].toBroker = []
      for message in messages { world.perform { $0.receive(message, from: gateway, in: &$1) } }
    }
    if world.broker?.stores.room.isEmpty == false {
      probe.reads += 1
      world.read(1)
    }
    world.commit(1)
    for index in world.gateways.indices {
      while !world.gateways[index].toGateway.isEmpty {
        if index == phone.gateway { probe.messages += 1 }
        let message = world.gateways[index].toGateway.removeFirst()
        world.perform(index) { $0.receive(message, at: self.world.now, into: &$1) }
      }
      for loop in 0..<2 { while !world.gateways[index].loops[loop].isEmpty { world.workOff(index, loop) } }
    }
    // What waits for its time would wait for ever.
    if probe.rounds % 50 == 0 { world.passTime(50) }
  }

  /// Lets time pass, in steps so short that no link times out.
  private func pass(_ milliseconds: Int64) {
    var left = milliseconds
    world.runUntilQuiet()
    while left > 0 {
      world.passTime(min(left, 400))
      world.runUntilQuiet()
      left -= 400
    }
  }

  /// Takes in what has come on the channels of both phones.
  private func note() {
    for phone in ann {
      for line in BlockedViewTests.comparable(phone.heard) {
        let namespace = String(line.prefix { $0 != ":" })
        var push = probe.pushes[namespace] ?? Probe.Pushes(first: looks)
        push.count += 1
        push.bytes += line.utf8.count
        push.last = looks
        probe.pushes[namespace] = push
      }
      phone.heard = []
    }
  }

  // MARK: What she does

  /// - Returns: what it was.
  private func act(_ phone: Phone) -> String {
    switch Int.random(in: 0..<30, using: &random) {
    case 0..<6: ask("clique.send", message(to: "bob"), phone)
    case 6..<8: seal(phone)
    case 8: query("presence", .presence(chat, viewer: "ann"), phone)
    case 9: query("history", .history(.init(channel: chat, limit: 1000, viewer: "ann")), phone)
    case 10, 11: change(phone)
    case 12 where group != nil: actInGroup(phone, group ?? "")
    case 12, 13: mark(phone)
    default: command(phone)
    }
  }

  private func command(_ phone: Phone) -> String {
    let (person, conversation) = (#"{"person":"bob"}"#, #"{"conversation":"\#(pair)"}"#)
    let commands = [
      ("clique.accept", person), ("clique.decline", person), ("clique.disconnect", person), ("clique.block", person),
      ("clique.unblock", person), ("clique.unblock", person), ("clique.typing", conversation),
      ("clique.enter", BlockedViewTests.park), ("clique.leave", BlockedViewTests.park), ("clique.crossings", "{}"),
      ("clique.profiles", #"{"people":["bob","cat"]}"#), ("clique.people", #"{"text":"bob"}"#), ("clique.totals", "{}"),
      ("clique.disappear", #"{"person":"bob","after":120000}"#), ("clique.disappear", #"{"person":"bob","after":0}"#),
      ("clique.group.create", #"{"members":["bob"],"key":"k\#(texts)"}"#),
      ("clique.draft", #"{"conversation":"\#(pair)","text":"see y"}"#),
      ("clique.react", #"{"conversation":"\#(pair)","offset":1,"reaction":"👍"}"#),
      ("clique.keep", #"{"conversation":"\#(pair)","muted":true}"#),
      ("clique.report", #"{"person":"bob","reason":"spam"}"#),
      ("state.begin", #"{"to":"bob"}"#), ("state.cancel", #"{"to":"bob"}"#), ("state.seen", #"{"with":"bob"}"#),
      ("state.delivered", #"{"with":"bob"}"#), ("state.react", #"{"with":"bob","reaction":"🔥"}"#),
      ("state.block", #"{"user":"bob"}"#), ("state.unblock", #"{"user":"bob"}"#),
    ]
    let (method, data) = commands[Int.random(in: 0..<commands.count, using: &random)]
    return ask(method, data, phone)
  }

  private func ask(_ method: String, _ data: String, _ phone: Phone) -> String {
    world.ask(Command(method: method, data: data), phone)
    return method
  }

  private func query(_ name: String, _ request: BrokerRequest, _ phone: Phone) -> String {
    phone.calls[world.request(request, from: phone)] = Command(method: name, data: "")
    return name
  }

  /// Says that something was read or has arrived: one of her own messages, too.
  private func mark(_ phone: Phone) -> String {
    let data = #"{"conversation":"\#(pair)","offset":\#(Int.random(in: 1...4, using: &random))}"#
    return ask(Bool.random(using: &random) ? "clique.read" : "clique.delivered", data, phone)
  }

  /// Changes or removes a message, or something that is none.
  private func change(_ phone: Phone) -> String {
    let offset = UInt64.random(in: 1...6, using: &random)
    let data = Bool.random(using: &random) ? Array(#"{"text":"changed \#(offset)"}"#.utf8) : nil
    return query(
      data == nil ? "delete" : "edit",
      .edit(.init(channel: chat, offset: offset, data: data, editor: phone.info)), phone)
  }

  private func actInGroup(_ phone: Phone, _ group: String) -> String {
    let commands = [
      ("clique.send", #"{"conversation":"\#(group)","text":"to all"}"#),
      ("clique.read", #"{"conversation":"\#(group)","offset":1}"#), ("clique.typing", #"{"conversation":"\#(group)"}"#),
      ("clique.group.add", #"{"conversation":"\#(group)","members":["bob"]}"#),
    ]
    let (method, data) = commands[Int.random(in: 0..<commands.count, using: &random)]
    return ask(method, data, phone) + " in a group"
  }

  /// Opens the recorder, uploads two pictures, and sends them.
  private func seal(_ phone: Phone) -> String {
    texts += 1
    world.ask(Command(method: "state.begin", data: #"{"to":"bob"}"#), phone)
    let pictures = ["front", "rear"].map { "\($0)-of-picture-\(texts)-0000000000" }
    for picture in pictures {
      let key = [UInt8](repeating: 1, count: 32)
      let added = StateCommand.Picture(id: picture, type: "image/png", bytes: 9, key: key, upload: nil)
      world.ask(Command(method: "state.picture.added", data: "", gateways: .state(.addPicture(added))), phone)
    }
    let data = #"{"to":"bob","front":"\#(pictures[0])","rear":"\#(pictures[1])","caption":"see","key":"k\#(texts)"}"#
    world.ask(Command(method: "state.send", data: data), phone)
    return "state.send"
  }
}
