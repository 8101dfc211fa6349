import Foundation
import TestSupport
import Testing

/// Two people who talk in Clique under fire, with two devices each, at different gateways; and strangers who write to
/// them. Each step is done when it is acknowledged, and noted in ledgers.
final class FireCouple {
  /// What becomes of somebody who writes to one of the two for the first time.
  enum Reception: CaseIterable { case waiting, declined, blocked }

  struct Stranger {
    let device: FireDevice
    let host: String
    let reception: Reception
    let conversation: String
    /// The texts that the host is shown, in order.
    var shown: [String]
  }

  let people: [String]
  /// Two of each of the two.
  let devices: [[FireDevice]]
  var ledger = ChatLedger()
  private(set) var strangers: [Stranger] = []
  /// What nobody but its author was ever to be sent, by who must not have it.
  private(set) var secrets: [(text: String, from: String)] = []
  var faults: [String] = []
  private(set) var conversation = ""
  private var pictures: [String: (upload: PictureClient.Picture, clean: [UInt8])] = [:]
  let ground: any FireGround
  /// Clique is shared among partitions.
  private let isShared: Bool
  /// What the two write disappears, for a while now and then.
  let isFleeting: Bool
  let watch: FireWatch
  private let name: String
  var random: SeededGenerator
  private var count = 0
  private(set) var steps = 0
  /// How many messages were written since messages disappear; nil: they stay.
  var vanishing: Int?
  /// Devices that have seen the beginning of the chat, and nothing since.
  var sleepers: [FireDevice] = []

  init(
    _ name: String, _ ground: any FireGround, _ watch: FireWatch, _ random: SeededGenerator, isShared: Bool,
    isFleeting: Bool = false
  ) {
    (self.name, self.ground, self.watch, self.random, self.isShared) = (name, ground, watch, random, isShared)
    self.isFleeting = isFleeting
    people = ["\(name)-ann", "\(name)-bob"]
    devices = people.map { user in
      ["a", "b"].map { FireDevice(user, at: $0, of: ground, watch) }
    }
  }

  var chat: String { "clique.chat:\(conversation)" }
  private var reactions: String { "clique.reactions:\(conversation)" }

  // MARK: Steps

  /// One asks, perhaps is blocked for a while, and is accepted.
  func begin() async throws {
    for device in devices.flatMap({ $0 }) { try await device.follow(map: "clique.list:\(device.user)") }
    let texts = (0..<Int.random(in: 1...3, using: &random)).map { _ in next("asks") }
    for text in texts {
      let sent = try await any(0).call("clique.send", #"{"to":"\#(people[1])","text":"\#(text)","key":"\#(text)"}"#)
      conversation = try #require(sent.data["conversation"].string)
    }
    if Bool.random(using: &random) {
      for method in ["clique.block", "clique.unblock"] { try await any(1).call(method, #"{"person":"\#(people[0])"}"#) }
    }
    try await any(1).call("clique.accept", #"{"person":"\#(people[0])"}"#)
    for (place, text) in texts.enumerated() { ledger.add(.init(author: people[0], text: text), at: place + 1) }
    for device in devices.flatMap({ $0 }) { try await open(device) }
    if isFleeting { try await putToSleep() }
  }

  func step() async throws {
    if isFleeting { try await alternate() }
    steps += 1
    let author = Int.random(in: 0...1, using: &random)
    switch Int.random(in: 0..<20, using: &random) {
    case ..<5: try await say(author)
    case ..<7: try await burst()
    case ..<10: try await show(author)
    case ..<12: try await edit()
    case ..<14: try await remove()
    case ..<16: try await react(author)
    case ..<18: try await block(author)
    case ..<19: if isFleeting { try await show(author) } else { try await vanish() }
    default: try await receive(author)
    }
    for device in devices.flatMap({ $0 }) { try await device.mend() }
    if vanishing != nil { try await checkChat() }
  }

  private func next(_ what: String) -> String {
    count += 1
    return "\(name) \(what) \(count)."
  }

  /// A text of the two's own chat. What disappears is marked.
  private func text(_ what: String) -> String { next(vanishing == nil ? what : "\(what) \(Self.mark)") }

  func any(_ person: Int) -> FireDevice { devices[person][Int.random(in: 0...1, using: &random)] }

  private func open(_ device: FireDevice) async throws {
    try await device.follow(chat)
    try await device.follow(map: reactions)
  }

  /// Sends a message with a key of its own.
  ///
  /// - Returns: its offset.
  @discardableResult
  func send(
    _ text: String, from device: FireDevice, picture: String? = nil, hiddenFrom other: String? = nil
  ) async throws -> Int {
    let more = picture.map { #","picture":{"id":"\#($0)","hash":"LEHV6n"}"# } ?? ""
    let asked = FireClock.now
    let sent = try await device.call(
      "clique.send",
      #"{"conversation":"\#(conversation)","text":"\#(text)","key":"\#(Self.key(of: text))"\#(more)}"#)
    let offset = try #require(sent.data["offset"].int)
    ledger.add(.init(author: device.user, text: text, picture: picture, hiddenFrom: other), at: offset)
    if let other { secrets.append((text, other)) }
    if vanishing != nil { try await noteEnd(of: offset, askedAt: asked) }
    return offset
  }

  func say(_ author: Int) async throws { try await send(text("says"), from: any(author)) }

  /// Both write at the same time.
  private func burst() async throws {
    let devices = [any(0), any(1)]
    let texts = devices.map { _ in (0..<4).map { _ in text("calls") } }
    let (conversation, asked) = (conversation, FireClock.now)
    let offsets = try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
      for (person, device) in devices.enumerated() {
        group.addTask {
          var offsets: [Int] = []
          for text in texts[person] {
            let sent = try await device.call(
              "clique.send",
              #"{"conversation":"\#(conversation)","text":"\#(text)","key":"\#(FireCouple.key(of: text))"}"#)
            offsets.append(try #require(sent.data["offset"].int))
          }
          return (person, offsets)
        }
      }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for (person, offsets) in offsets {
      if offsets != offsets.sorted() { faults.append("\(people[person])'s messages stand in the order \(offsets)") }
      for (text, offset) in zip(texts[person], offsets) {
        ledger.add(.init(author: people[person], text: text), at: offset)
        if vanishing != nil { try await noteEnd(of: offset, askedAt: asked) }
      }
    }
  }

  /// Sends a picture.
  ///
  /// - Returns: its id, and where its message stands.
  @discardableResult
  func show(_ author: Int, hiddenFrom other: String? = nil) async throws -> (id: String, offset: Int) {
    let pixels = Int.random(in: 300...90_000, using: &random)
    let sample = PictureSample.jpeg(pixels: pixels, seed: random.next())
    let picture = PictureClient.Picture(sample.dirty)
    try await any(author).upload(picture, to: "clique")
    let offset = try await send(text("shows"), from: any(author), picture: picture.id, hiddenFrom: other)
    pictures[picture.id] = (picture, sample.clean)
    return (picture.id, offset)
  }

  /// A message that may be changed: it stays for a while, and its author is not alone in seeing it.
  private func message(_ isWanted: (ChatLedger.Message) -> Bool = { _ in true }) -> (Int, ChatLedger.Message)? {
    let soon = FireClock.now + Self.minute / 2
    let all = ledger.messages.filter {
      $0.value.isThere(at: soon) && $0.value.hiddenFrom == nil && isWanted($0.value)
    }
    guard let offset = all.keys.sorted().randomElement(using: &random), let message = all[offset] else { return nil }
    return (offset, message)
  }

  private func edit() async throws {
    guard let (offset, message) = message(), let author = people.firstIndex(of: message.author) else { return }
    let text = next(message.expires == nil ? "says better" : "says better \(Self.mark)")
    try await change(offset) {
      try await any(author).call(
        "publication.edit", #"{"channel":"\#(chat)","offset":\#(offset),"data":{"text":"\#(text)"}}"#)
    } then: {
      $0.edit(offset, text)
    }
  }

  private func remove() async throws {
    let shown = message { $0.picture != nil }
    guard let (offset, message) = shown ?? message(), let author = people.firstIndex(of: message.author) else { return }
    try await change(offset) {
      try await any(author).callOnce("publication.delete", #"{"channel":"\#(chat)","offset":\#(offset)}"#)
    } then: {
      $0.remove(offset)
    }
  }

  private func react(_ person: Int) async throws {
    guard let (offset, _) = message(), let reaction = ["👍", "🔥", ""].randomElement(using: &random) else { return }
    try await change(offset) {
      try await any(person).call(
        "clique.react", #"{"conversation":"\#(conversation)","offset":\#(offset),"reaction":"\#(reaction)"}"#)
    } then: {
      $0.react(people[person], to: offset, reaction.isEmpty ? nil : reaction)
    }
  }

  /// One blocks the other, who goes on writing and showing, and then does not any more.
  private func block(_ person: Int) async throws {
    let (mine, theirs) = (people[person], people[1 - person])
    let seen = message { $0.picture != nil && $0.author == theirs }?.1.picture
    for device in devices[person] { try await device.leave([chat, reactions]) }
    try await any(person).call("clique.block", #"{"person":"\#(theirs)"}"#)
    try await send(text("is not heard"), from: any(1 - person), hiddenFrom: mine)
    let unseen = try await show(1 - person, hiddenFrom: mine).id
    for id in [unseen] + (seen.map { [$0] } ?? []) {
      for place in 0...1 { faults += try await pictureFaults(id, any(place), openTo: [theirs]) }
    }
    try await any(person).call("clique.unblock", #"{"person":"\#(theirs)"}"#)
    for device in devices[person] { try await open(device) }
  }

  /// A stranger writes to one of the two, who leaves it, declines or blocks; and then writes more.
  private func receive(_ person: Int) async throws {
    guard let reception = Reception.allCases.randomElement(using: &random) else { return }
    let device = FireDevice(
      "\(name)-stranger\(strangers.count)", at: Bool.random(using: &random) ? "a" : "b", of: ground, watch)
    try await device.follow(map: "clique.list:\(device.user)")
    let texts = [next("wants to know"), next("asks again")]
    func ask(_ text: String) async throws -> String? {
      let sent = try await device.call(
        "clique.send", #"{"to":"\#(people[person])","text":"\#(text)","key":"\#(text)"}"#)
      return sent.data["conversation"].string
    }
    let conversation = try #require(try await ask(texts[0]))
    let who = #"{"person":"\#(device.user)"}"#
    switch reception {
    case .waiting: break
    case .declined: try await any(person).callOnce("clique.decline", who)
    case .blocked: try await any(person).call("clique.block", who)
    }
    _ = try await ask(texts[1])
    if reception != .waiting { secrets.append((texts[1], people[person])) }
    strangers.append(
      Stranger(
        device: device, host: people[person], reception: reception, conversation: conversation,
        shown: reception == .waiting ? texts : []))
  }

  // MARK: Looking

  private func look(at id: String, _ device: FireDevice) async throws -> PictureLook {
    guard let (picture, clean) = pictures[id] else { throw Failure("\(id) was never shown") }
    return try await device.look(at: picture, of: "clique", clean: clean)
  }

  /// What is wrong in the end with what devices show, when each of the two has read everything.
  func check() async throws {
    if vanishing != nil { try await stay() }
    if isFleeting { try await checkGone() }
    let newest = ledger.messages.keys.max() ?? 0
    for person in 0...1 {
      try await any(person).call("clique.read", #"{"conversation":"\#(conversation)","offset":\#(newest)}"#)
    }
    for device in devices.flatMap({ $0 }) {
      _ = try await eventually(within: .seconds(60)) {
        try await device.mend()
        return faults(of: device).isEmpty
      }
      faults += faults(of: device) + device.faults
    }
    for stranger in strangers {
      _ = try await eventually(within: .seconds(60)) {
        try await stranger.device.mend()
        return faults(of: stranger).isEmpty
      }
      faults += faults(of: stranger)
    }
    for person in 0...1 { try await checkTotals(of: person) }
    for (text, user) in secrets {
      let all = devices.flatMap { $0 }.filter { $0.user == user }
      if all.contains(where: { $0.heard.contains { $0.contains(text) } }) { faults.append("\(user) was sent \(text)") }
    }
  }

  /// What is unread adds up to what waits: the requests of strangers.
  private func checkTotals(of person: Int) async throws {
    let waiting = strangers.count { $0.host == people[person] && $0.reception == .waiting }
    var totals: [Int?] = []
    let agrees = try await eventually(within: .seconds(60)) {
      let answer = try await any(person).call("clique.totals", "{}")
      totals = ["conversations", "messages", "requests"].map { answer.data[$0].int }
      return totals == [0, 0, waiting]
    }
    if !agrees { faults.append("\(people[person])'s totals are \(totals), and \(waiting) requests wait") }
  }

  private func faults(of device: FireDevice) -> [String] {
    let now = FireClock.now
    var faults = ledger.faults(in: ChatView(device.seen(chat)), of: device.user, at: now)
    faults += ledger.faults(inEntry: device.map("clique.list:\(device.user)")[conversation], of: device.user, at: now)
    let said = device.map(reactions).mapValues { $0["reaction"].string ?? "" }
    let wanted = ledger.reactions(at: now)
    if said != wanted { faults.append("\(device.user) sees the reactions \(said) in place of \(wanted)") }
    return faults.map { "\(device.gateway): \($0)" }
  }

  private func faults(of stranger: Stranger) -> [String] {
    let own = stranger.device.map("clique.list:\(stranger.device.user)")[stranger.conversation]
    var faults: [String] = []
    if own?["state"].string != "request_out" {
      faults.append("\(stranger.device.user) sees \(String(describing: own))")
    }
    for device in devices.flatMap({ $0 }) where device.user == stranger.host {
      let entry = device.map("clique.list:\(device.user)")[stranger.conversation]
      let wanted: String? =
        switch stranger.reception {
        case .waiting: "request_in"
        case .declined: nil
        case .blocked: "blocked"
        }
      let texts = entry?["messages"].array.compactMap { $0["text"].string } ?? []
      if entry?["state"].string != wanted || texts != stranger.shown {
        let seen = String(describing: entry)
        faults.append("\(device.user) at \(device.gateway) sees \(seen), not \(wanted ?? "nothing")")
      }
    }
    return faults
  }

  /// What is wrong in the end with what people find who look for pictures.
  func checkPictures() async throws {
    let stranger = FireDevice("\(name)-eve", at: "a", of: ground, watch)
    for id in pictures.keys.sorted() {
      for device in [any(0), any(1), stranger] {
        var found = try await pictureFaults(id, device, openTo: people)
        // Pictures are at home. Whoever has removed one finds it until the message's partition has told home.
        if isShared,
          ledger.messages.values.contains(where: {
            $0.picture == id && !$0.isThere(at: FireClock.now) && $0.author == device.user
          })
        {
          _ = try await eventually(within: .seconds(60)) {
            found = try await pictureFaults(id, device, openTo: people)
            return found.isEmpty
          }
        }
        faults += found
      }
    }
  }

  /// - Parameter people: who of the two may see messages now.
  private func pictureFaults(_ id: String, _ device: FireDevice, openTo people: [String]) async throws -> [String] {
    let look = try await look(at: id, device)
    let (before, after) = (ledger.pictures(of: people, at: look.began), ledger.pictures(of: people, at: look.ended))
    // What goes at this moment may be found or not.
    return before.openTo[id] == after.openTo[id] ? before.faults(in: look) : []
  }
}
