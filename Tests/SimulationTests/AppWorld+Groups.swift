import Wire

@testable import Apps

/// What people do with groups, and what must hold of them in the end.
extension AppWorld {
  /// The groups in the list of a phone's user, as the phone sees it.
  private func groups(of phone: Phone) -> [String] {
    let list = phone.following[AppOracle.list(phone.user)]
    return (list?.entries.keys.filter { $0.hasPrefix("g") } ?? []).sorted()
  }

  func groupChats(of phone: Phone) -> [ChannelName] {
    hasGroups ? groups(of: phone).map { AppOracle.name("clique.chat:" + $0) } : []
  }

  /// Makes everybody friends of the first, who founds a group of all, before anything goes wrong; and people do more
  /// with groups. Under these faults few seeds come so far by themselves, and what follows a founding would hardly be
  /// met under any of them.
  func beginInGroup() {
    groupShare = 40
    let canBreak = faults
    faults = false
    defer { faults = canBreak }
    settle()
    let first = phones[0]
    for phone in phones where phone.user != first.user && phone.gateway == 0 {
      say(first, phone.user)
      settle()
      ask(Command(method: "clique.accept", data: #"{"person":"\#(first.user)"}"#), phone)
      settle()
    }
    foundGroup(first, ofAll: true)
    settle()
  }

  /// Everything arrives, and lists are brought up to date.
  private func settle() {
    for phone in phones { follow(phone, all: true) }
    for _ in 0..<4 {
      runUntilQuiet()
      passTime(300)
    }
    runUntilQuiet()
  }

  func actInGroup(_ phone: Phone, _ other: String) {
    let groups = groups(of: phone)
    // Most people are members of most groups: who is none of a group that can be joined now is to do so now and then.
    if let fresh = freshLink, !groups.contains(where: { fresh.made.contains($0) }), random.chance(50) {
      freshLink = nil
      return ask(Command(method: "clique.group.join", data: #"{"link":"\#(fresh.link)"}"#), phone)
    }
    if groups.isEmpty || groups.count < 3 && random.chance(10) {
      return random.chance(40) ? joinGroup(phone) : foundGroup(phone)
    }
    let id = groups[Int.random(in: 0..<groups.count, using: &random)]
    let person = #"{"conversation":"\#(id)","person":"\#(other)"}"#
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<34: sayInGroup(phone, id)
    case 34..<46: ask(Command(method: "clique.group.add", data: members(id, [other])), phone)
    case 46..<54: ask(Command(method: "clique.group.remove", data: person), phone)
    case 54..<60: ask(Command(method: "clique.group.appoint", data: person), phone)
    case 60..<63: ask(Command(method: "clique.group.dismiss", data: person), phone)
    case 63..<73:
      let lifetime = Int64.random(in: 2000...60_000, using: &random)
      let data = #"{"conversation":"\#(id)","lifetime":\#(lifetime),"uses":\#(random.chance(50) ? 1 : 3)}"#
      ask(Command(method: "clique.group.link", data: data), phone)
    case 73..<83: joinGroup(phone)
    case 83..<88: ask(Command(method: "clique.group.leave", data: #"{"conversation":"\#(id)"}"#), phone)
    case 88 where hasVanishing: vanishInGroup(phone, id)
    case 88..<92: ask(Command(method: "clique.group.revoke", data: #"{"conversation":"\#(id)"}"#), phone)
    case 92..<95:
      let data = #"{"conversation":"\#(id)","name":"\#(newText("name"))"}"#
      ask(Command(method: "clique.group.rename", data: data), phone)
    default:
      let offset = phone.following[AppOracle.name("clique.chat:" + id)]?.seen.last?.offset ?? 0
      let data = #"{"conversation":"\#(id)","offset":\#(offset)}"#
      ask(Command(method: random.chance(50) ? "clique.read" : "clique.delivered", data: data), phone)
    }
  }

  private func members(_ id: String, _ users: [String]) -> String {
    #"{"conversation":"\#(id)","members":[\#(users.map { "\"\($0)\"" }.joined(separator: ","))]}"#
  }

  /// Founds a group of those with whom the phone's user talks.
  private func foundGroup(_ phone: Phone, ofAll isOfAll: Bool = false) {
    let list = phone.following[AppOracle.list(phone.user)]
    let friends = Self.people.filter { other in
      guard other != phone.user else { return false }
      let entry = list?.entries[Self.conversation(phone, other)]
      return AppOracle.object(entry)?["state"] as? String == "active"
    }
    guard !friends.isEmpty else { return say(phone, Self.people.first { $0 != phone.user } ?? "") }
    let users = !isOfAll && random.chance(50) ? [friends[0]] : friends
    let names = users.map { "\"\($0)\"" }.joined(separator: ",")
    let key = newText("group")
    var command = Command(
      method: "clique.group.create", data: #"{"members":[\#(names)],"name":"\#(key)","key":"\#(key)"}"#, time: wall)
    command.mayBeAskedAgain = true
    ask(command, phone)
  }

  private func joinGroup(_ phone: Phone) {
    guard !groupLinks.isEmpty else { return }
    let link = groupLinks[Int.random(in: 0..<groupLinks.count, using: &random)]
    ask(Command(method: "clique.group.join", data: #"{"link":"\#(link)"}"#), phone)
  }

  private func sayInGroup(_ phone: Phone, _ id: String) {
    let text = newText("message")
    var command = Command(
      method: "clique.send", data: #"{"conversation":"\#(id)","text":"\#(text)","key":"\#(text)"}"#, text: text,
      time: wall)
    command.mayBeAskedAgain = true
    ask(command, phone)
  }

  func answeredInGroup(_ command: Command, _ object: [String: Any]?) {
    switch command.method {
    case "clique.group.create": coverage.groups += 1
    case "clique.group.join": coverage.joined += 1
    case "clique.group.leave", "clique.group.remove": coverage.left += 1
    case "clique.group.link":
      guard let link = object?["link"] as? String else { return }
      groupLinks = Array((groupLinks + [link]).suffix(8))
      freshLink = (command.data, link)
    default: break
    }
  }

  // MARK: In the end

  /// Checks that groups, their members' records, their lists and what their phones got fit together.
  func judgeGroups() {
    guard hasGroups else { return }
    let view = DiskView(ledger: ledger, now: wall, clique: clique)
    let keys = ledger.channels[AppOracle.name("clique.records:all")]?.entries.keys.filter { $0.hasPrefix("group/") }
    let ids = (keys ?? []).map { String($0.dropFirst("group/".count)) }.sorted()
    for id in ids {
      guard let group = AppOracle.record(Clique.Group.self, "group/" + id, ledger, of: "clique") else {
        fail("the record of \(id) cannot be read")
        continue
      }
      if group.present.isEmpty { fail("\(id) has nobody in it") }
      if !group.members.contains(where: \.isAdministrator) { fail("\(id) has no administrator") }
      if Set(group.members.map(\.user)).count != group.members.count { fail("\(id) has a member twice") }
      for user in Self.people { judge(user, in: group, id, view) }
    }
    for phone in phones {
      for id in Set(groups(of: phone)).subtracting(ids) { fail("\(phone.name) lists \(id), which is gone") }
    }
    for (name, channel) in ledger.channels where String(name.rest).hasPrefix("g") && name.namespace == "clique.chat" {
      coverage.groupMessages += channel.kept.count { AppOracle.object($0.data)?["text"] != nil }
    }
  }

  private func judge(_ user: String, in group: Clique.Group, _ id: String, _ view: DiskView) {
    let person = AppOracle.record(Clique.Person.self, Clique.Key.person(user), ledger, of: "clique")
    let isThere = group.index(of: user) != nil
    if (person?.groups ?? []).contains(id) != isThere { fail("\(user)'s record and \(id) differ on who is there") }
    let expected = try? clique.entry(id, of: AppOracle.list(user), view)?.data
    let stored = ledger.channels[AppOracle.list(user)]?.entries[id]?.data
    if expected != stored {
      let texts = [expected, stored].map { $0.map { String(decoding: $0, as: UTF8.self) } ?? "nothing" }
      fail("\(user)'s list should show of \(id) \(texts[0]), and shows \(texts[1])")
    }
    let channel = AppOracle.name("clique.chat:" + id)
    // What was said since the user came, and what of that is for the user.
    let term = person?.terms?[id] ?? 0
    let since = (ledger.channels[channel]?.kept ?? []).filter { Int($0.tags[Clique.Tag.term] ?? "0") ?? 0 >= term }
    let seen = since.filter { Clique.isSeen($0.shown(to: user), by: user, since: nil) }.map(\.offset)
    let hidden = Set(since.map(\.offset)).subtracting(seen)
    for phone in phones where phone.user == user {
      let following = phone.following[channel]
      guard isThere else {
        if following?.state == .live { fail("\(phone.name) is on \(channel), and not in the group") }
        continue
      }
      guard let following, following.state == .live else {
        fail("\(phone.name) never came back to \(channel)")
        continue
      }
      let got = following.seen.map(\.offset).filter { offset in since.contains { $0.offset == offset } }
      if !hidden.isDisjoint(with: got) { fail("\(phone.name) got of \(channel) what is hidden from \(user)") }
      if got != seen { fail("\(phone.name) saw \(got) of \(channel), and there are \(seen)") }
    }
  }
}
