import TestSupport
import Testing
import Wire

/// Somebody who is blocked must see the same as somebody whom the other does not answer. Compares two runs that differ
/// only in the block.
@Suite("Being blocked looks like silence", .ownThread)
struct BlockedViewTests {
  @Test(
    "One who is blocked is answered and shown the same as one who is not answered",
    arguments: 1...40 as ClosedRange<UInt64>)
  func silence(seed: UInt64) {
    let (blocked, silent) = (Self.view(seed: seed, blocks: true), Self.view(seed: seed, blocks: false))
    #expect(blocked.count == silent.count)
    for (one, other) in zip(blocked, silent) where one != other {
      Issue.record("blocked: \(one)\nsilent: \(other)")
      return
    }
  }

  /// What ann sees step by step. Bob blocks her, or does not.
  private static func view(seed: UInt64, blocks: Bool) -> [String] {
    let world = AppWorld(seed: seed)
    world.faults = false
    world.notesPresence = true
    let pair = AppOracle.chat("ann", "bob").rest
    world.extraChannels = { phone in
      [
        "clique.receipts:\(pair)", "clique.typing:\(pair)", "clique.crossings:\(phone.user)",
        "clique.people:\(phone.user)",
      ].map(AppOracle.name)
    }
    var random = SeededRandom(seed: seed)
    let ann = world.phones.filter { $0.user == "ann" }
    let bob = world.phones.filter { $0.user == "bob" }[0]
    quiet(world, 100)
    for phone in [ann[0], bob] { world.ask(Self.profile("the \(phone.user)"), phone) }
    quiet(world, 300)
    let prelude = Int.random(in: 0..<4, using: &random)
    if prelude == 1 || prelude == 3 { world.say(ann[0], "bob") }
    if prelude == 2 { world.say(bob, "ann") }
    quiet(world, 300)
    if prelude == 1 { world.ask(Command(method: "clique.accept", data: #"{"person":"ann"}"#), bob) }
    if prelude == 2 { world.ask(Command(method: "clique.accept", data: #"{"person":"bob"}"#), ann[0]) }
    quiet(world, 300)
    let group = seed % 2 == 0 ? found(world) : nil
    if seed % 3 > 0 { world.ask(Command(method: "clique.enter", data: park), bob) }
    if seed % 3 > 1 { world.ask(Command(method: "clique.enter", data: park), ann[0]) }
    // What bob has proposed before ann hears no more of him.
    if seed % 4 == 1 { world.ask(Command(method: "clique.disappear", data: #"{"person":"ann","after":60000}"#), bob) }
    // Bob has the chat open, and leaves it open whatever he does.
    for phone in world.phones where phone.user == "bob" { world.follow(phone, all: true) }
    quiet(world, 300)
    if blocks {
      world.ask(Command(method: "clique.block", data: #"{"person":"ann"}"#), bob)
      world.ask(Command(method: "state.block", data: #"{"user":"ann"}"#), bob)
    }
    quiet(world, 300)
    world.answers = []
    var seen: [String] = []
    for phone in ann { phone.heard = [] }
    for step in 0..<16 {
      // Who is silent changes nothing; what is changed behind a block must not show.
      if step % 4 == 1 {
        if blocks { world.ask(Self.profile("another bob \(step)"), bob) }
        quiet(world, 300)
      }
      act(ann[Int.random(in: 0..<2, using: &random)], group, world, &random)
      quiet(world, Int64.random(in: 1...9000, using: &random))
      for phone in ann { world.follow(phone, all: true) }
      quiet(world, 300)
      look(ann[0], world)
      quiet(world, 30)
      seen += world.answers.filter { $0.hasPrefix("ann") }
      world.answers = []
      for phone in ann { seen.append(shown(phone)) }
      // All that came, one after another: also what is the same as before would tell of something.
      for phone in ann { seen.append("\(phone.name) \(comparable(phone.heard))") }
      for phone in ann { phone.heard = [] }
    }
    return seen
  }

  /// What came, channel by channel: in which order that of several channels comes depends on what else the broker does.
  ///
  /// Left out is what depends on the network alone, or on whether somebody else has a channel open, which one who is away has
  /// not either: which of one's own devices comes first, and the offset of a channel in memory, which begins anew where
  /// nobody had it open.
  static func comparable(_ heard: [String]) -> [String] {
    let lines = heard.filter { !($0.contains(" ann") && ($0.hasSuffix(" joins") || $0.hasSuffix(" leaves"))) }
      .map { line -> (channel: Substring, text: String) in
        var words = line.split(separator: " ", maxSplits: 2)
        let inMemory = ["clique.receipts:", "clique.typing:", "clique.crossings:", "clique.people:"]
          .contains { line.hasPrefix($0) }
        if inMemory, words.count == 3 { words.remove(at: 1) }
        return (words[0], words.joined(separator: " "))
      }
    return lines.enumerated().sorted { ($0.element.channel, $0.offset) < ($1.element.channel, $1.offset) }
      .map(\.element.text)
  }

  static let park = #"{"place":"park"}"#

  static func profile(_ name: String) -> Command {
    Command(method: "clique.profile.set", data: #"{"name":"\#(name)"}"#)
  }

  /// All three talk with each other, and cat founds a group of them.
  ///
  /// - Returns: its id; nil where it was not founded, because bob and ann do not talk.
  static func found(_ world: AppWorld) -> String? {
    let cat = world.phones.filter { $0.user == "cat" }[0]
    for other in ["ann", "bob"] {
      world.say(cat, other)
      quiet(world, 300)
      let phone = world.phones.filter { $0.user == other }[0]
      world.ask(Command(method: "clique.accept", data: #"{"person":"cat"}"#), phone)
      quiet(world, 300)
    }
    world.ask(Command(method: "clique.group.create", data: #"{"members":["ann","bob"]}"#), cat)
    quiet(world, 300)
    for phone in world.phones { world.follow(phone, all: true) }
    quiet(world, 300)
    let id = cat.following[AppOracle.name("clique.list:cat")]?.entries.keys.first { $0.hasPrefix("g") }
    guard let id else { return nil }
    let before = world.extraChannels
    world.extraChannels = { phone in
      before(phone) + ["chat", "receipts", "typing"].map { AppOracle.name("clique.\($0):\(id)") }
    }
    return id
  }

  /// Asks for everything that can be asked about the chat: its presence and history.
  private static func look(_ phone: Phone, _ world: AppWorld) {
    let chat = AppOracle.chat("ann", "bob")
    let presence = world.request(.presence(chat, viewer: "ann"), from: phone)
    phone.calls[presence] = Command(method: "presence", data: "")
    let history = world.request(.history(.init(channel: chat, limit: 1000, viewer: "ann")), from: phone)
    phone.calls[history] = Command(method: "history", data: "")
  }

  /// Changes or removes one of the phone's own messages.
  private static func change(_ phone: Phone, _ world: AppWorld, _ random: inout SeededRandom) {
    let chat = AppOracle.chat("ann", "bob")
    let own = (phone.following[chat]?.seen ?? []).filter { $0.info?.user == "ann" }
    guard !own.isEmpty else { return }
    let offset = own[Int.random(in: 0..<own.count, using: &random)].offset
    let data = random.chance(60) ? Array(#"{"text":"changed \#(offset)"}"#.utf8) : nil
    let edit = BrokerRequest.EditRequest(channel: chat, offset: offset, data: data, editor: phone.info)
    phone.calls[world.request(.edit(edit), from: phone)] = Command(method: "edit", data: "")
  }

  private static func act(_ phone: Phone, _ group: String?, _ world: AppWorld, _ random: inout SeededRandom) {
    let person = #"{"person":"bob"}"#
    let pair = AppOracle.chat("ann", "bob").rest
    switch Int.random(in: 0..<38, using: &random) {
    case 34: world.ask(Command(method: "clique.profiles", data: #"{"people":["bob","cat"]}"#), phone)
    case 35: world.ask(Command(method: "clique.people", data: #"{"text":"bob"}"#), phone)
    case 36, 37:
      let after = [0, 60_000, 120_000][Int.random(in: 0..<3, using: &random)]
      world.ask(Command(method: "clique.disappear", data: #"{"person":"bob","after":\#(after)}"#), phone)
    case 24, 25: world.ask(Command(method: "clique.enter", data: park), phone)
    case 26: world.ask(Command(method: "clique.leave", data: park), phone)
    case 27: world.ask(Command(method: "clique.typing", data: #"{"conversation":"\#(pair)"}"#), phone)
    case 28: world.ask(Command(method: "clique.crossings", data: "{}"), phone)
    case 29..<34:
      guard let group else { return world.mark(phone, "bob", reads: false) }
      let methods = [
        ("clique.send", #"{"conversation":"\#(group)","text":"to all"}"#),
        ("clique.read", #"{"conversation":"\#(group)","offset":1}"#),
        ("clique.typing", #"{"conversation":"\#(group)"}"#),
        ("clique.group.add", #"{"conversation":"\#(group)","members":["bob"]}"#),
      ]
      let (method, data) = methods[Int.random(in: 0..<methods.count, using: &random)]
      world.ask(Command(method: method, data: data), phone)
    case 20..<24: change(phone, world, &random)
    case 0..<8: world.say(phone, "bob")
    case 8: world.ask(Command(method: "clique.disconnect", data: person), phone)
    case 9: world.ask(Command(method: "clique.block", data: person), phone)
    case 10, 11: world.ask(Command(method: "clique.unblock", data: person), phone)
    case 12: world.mark(phone, "bob", reads: true)
    case 13: world.ask(Command(method: "clique.accept", data: person), phone)
    case 14: world.ask(Command(method: "clique.decline", data: person), phone)
    case 15..<18: world.seal(phone, "bob", asksForKey: false)
    case 18: world.ask(Command(method: "state.seen", data: #"{"with":"bob"}"#), phone)
    default: world.ask(Command(method: "state.block", data: #"{"user":"bob"}"#), phone)
    }
  }

  static func quiet(_ world: AppWorld, _ milliseconds: Int64) {
    // Time passes in steps so short that no link times out: sessions that begin anew would differ between the two runs
    // for reasons other than the block.
    let steps = max(3, milliseconds / 400)
    for _ in 0..<steps {
      world.runUntilQuiet()
      world.passTime(milliseconds / steps + 1)
    }
    world.runUntilQuiet()
  }

  private static func shown(_ phone: Phone) -> String {
    let channels = phone.following.values.filter { $0.channel.string.contains("cat") == false }
    return channels.sorted { $0.channel < $1.channel }.map { following in
      let texts = following.seen.map {
        let tags = $0.tags.sorted { $0.key < $1.key }
        return "\($0.offset) \(String(decoding: $0.data, as: UTF8.self)) \(tags)"
      }
      let entries = following.entries.sorted { $0.key < $1.key }
        .map { "\($0.key) \(String(decoding: $0.value, as: UTF8.self))" }
      return "\(phone.name) \(following.channel) \(following.state == .live) \(texts) \(entries)"
    }.joined(separator: "; ")
  }
}
