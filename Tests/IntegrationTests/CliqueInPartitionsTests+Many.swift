import Apps
import TestSupport
import Testing

/// What is of many people is at home, and goes by what stands between two people elsewhere.
extension CliqueInPartitionsTests {
  @Test(
    """
    Wherever two people and their conversation are: crossings, profiles, groups, reports and searches go by what stands \
    between them, and a block holds in all of it
    """)
  func around() async throws {
    try await Machines.withClique { machines, _ in
      let joe = try await PlacedFriend("joe", of: machines)
      try await joe.tell(name: joe.name)
      try await everywhere("a", machines) { couple in
        try await cross(couple)
        let group = try await gather(couple, joe)
        try await search(couple, joe, group)
        try await block(couple, machines)
        try await blockInGroup(couple, joe, group)
        try await report(couple, machines)
        try await unblock(couple, group)
      }
    }
  }

  /// The two cross, and one writes to the other.
  private func cross(_ couple: PlacedCouple) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let place = "park of \(ada.user)"
    for friend in couple.people {
      try await friend.tell(name: friend.name)
      let entered = try await friend.phone.call("clique.enter", #"{"place":"\#(place)"}"#)
      #expect(entered["visible"].bool, "\(what)")
    }
    for (friend, other) in [(ada, bob), (bob, ada)] {
      let people = try await friend.tablet.call("clique.crossings")["people"].array
      #expect(people.map { $0["user"].string } == [other.user], "\(what): \(people)")
      let isShown = await friend.shows("crossings", other.user) { $0["latest"][0]["place"].string == place }
      #expect(isShown, "\(what): \(friend.shown("crossings", other.user))")
      #expect(await friend.shows("people", other.user) { $0["name"].string == other.name }, "\(what)")
    }
    try await ada.phone.call("clique.send", #"{"to":"\#(bob.user)","text":"we met"}"#)
    for (friend, state) in [(bob, "request_in"), (ada, "request_out")] {
      let isShown = await friend.shows("list", id) {
        $0["state"].string == state && $0["crossing"]["place"].string == place
      }
      #expect(isShown, "\(what): \(friend.shown("list", id))")
    }
    try await bob.phone.call("clique.accept", #"{"person":"\#(ada.user)"}"#)
    for friend in couple.people {
      let isShown = await friend.shows("list", id) {
        $0["state"].string == "active" && $0["crossing"]["place"].string == place
      }
      #expect(isShown, "\(what): \(friend.shown("list", id))")
      try await friend.follow(id)
    }
  }

  /// One founds a group with the other and somebody else.
  private func gather(_ couple: PlacedCouple, _ joe: PlacedFriend) async throws -> String {
    let (ada, bob, what) = (couple.one, couple.other, couple.what)
    try await ada.befriend(joe)
    let members = [ada.user, bob.user, joe.user]
    let group = try await ada.found([bob.user, joe.user])
    for friend in [ada, bob, joe] {
      let isShown = await friend.shows("list", group) { $0["members"].array.compactMap { $0.string } == members }
      #expect(isShown, "\(what): \(friend.user) sees \(friend.shown("list", group))")
      try await friend.follow(group)
    }
    try await bob.say("to all", in: group)
    for friend in [ada, bob, joe] {
      #expect(await friend.hears(["to all"], in: group), "\(what): \(friend.user)")
      #expect(await friend.shows("list", group) { $0["last"].string == "to all" }, "\(what): \(friend.user)")
    }
    return group
  }

  /// What is said in several conversations is found, the newest first, by whoever reads it.
  private func search(_ couple: PlacedCouple, _ joe: PlacedFriend, _ group: String) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let other = Clique.conversationID(ada.user, joe.user)
    let said = [(bob, id, "the lake at dawn"), (joe, other, "a lake in the hills"), (joe, group, "to the lake again")]
    for (author, conversation, text) in said { try await author.say(text, in: conversation) }
    let all = try await found(ada)
    #expect(
      Set(all.map { "\($0["channel"].string ?? "") \($0["data"]["text"].string ?? "")" })
        == Set(said.map { "clique.chat:\($0.1) \($0.2)" }), "\(what): \(all)")
    let times = all.compactMap { $0["time"].int }
    #expect(all.count == 3 && times.count == 3 && times == times.sorted(by: >), "\(what): \(all)")
    #expect(try await found(ada, #","limit":2"#).map(\.description) == all.prefix(2).map(\.description), "\(what)")
    let inOne = try await found(ada, #","conversation":"\#(id)""#)
    #expect(inOne.map { $0["user"].string } == [bob.user], "\(what): \(inOne)")
    #expect(try await found(bob).count == 2, "\(what)")
    let refusal = try await joe.refusal(of: "clique.search", #"{"text":"lake","conversation":"\#(id)"}"#)
    #expect(refusal == 103, "\(what): it is none of joe's")
  }

  private func found(_ friend: PlacedFriend, _ more: String = "") async throws -> [JSON] {
    try await friend.tablet.call("clique.search", #"{"text":"LAK"\#(more)}"#)["messages"].array
  }

  /// One blocks the other, for whom all goes on as with somebody silent.
  private func block(_ couple: PlacedCouple, _ machines: Machines) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let (chat, person) = ("clique.chat:\(id)", #"{"person":"\#(bob.user)"}"#)
    try await ada.say("leave me alone", in: id)
    try await ada.phone.call("clique.block", person)
    let refused = try await ada.refusal(of: "clique.send", #"{"conversation":"\#(id)","text":"x"}"#)
    #expect(refused == 103, "\(what): she has blocked him")
    #expect(await ada.shows(state: "blocked", of: id), "\(what): \(ada.shown("list", id))")
    // From here on home knows of it.
    #expect(await ada.shows("blocked", bob.user) { $0["name"].string == bob.name }, "\(what)")
    for list in ["crossings", "people"] { #expect(await ada.shows(list, bob.user, \.isNull), "\(what): \(list)") }
    let standing = try machines.call("clique_pair", #"{"user":"\#(bob.user)","other":"\#(ada.user)"}"#)
    #expect(standing["blocked_by"].array.compactMap { $0.string } == [ada.user], "\(what): \(standing)")
    // To be thrown out at this moment would tell bob, who sees her in the chat.
    #expect(ada.devices.allSatisfy { $0.unsubscribed(chat) == nil }, "\(what)")
    _ = try await ada.phone.ask(#""unsubscribe":{"channel":"\#(chat)"}"#)
    #expect(try await ada.refusal { try await $0.phone.subscribe(chat) } == 103, "\(what)")
    try await bob.say("hello?", in: id)
    for device in bob.devices {
      #expect(await eventually { bob.heard(id, on: device).last == "hello?" }, "\(what)")
      #expect(device.publications(chat).last?["tags"].isNull == true, "\(what): nothing tells")
    }
    let goesOn = await bob.shows("list", id) { $0["state"].string == "active" && $0["last"].string == "hello?" }
    #expect(goesOn, "\(what): \(bob.shown("list", id))")
    #expect(!bob.shown("list", id)["crossing"].isNull, "\(what): \(bob.shown("list", id))")
    let met = try await bob.phone.call("clique.crossings")["people"].array.map { $0["user"].string }
    #expect(met == [ada.user], "\(what): he goes on seeing her where she was")
    #expect(try await ada.phone.call("clique.crossings")["people"].array.isEmpty, "\(what)")
  }

  /// In their group neither gets what the other says, and profiles stay as they were.
  private func blockInGroup(_ couple: PlacedCouple, _ joe: PlacedFriend, _ group: String) async throws {
    let (ada, bob, what) = (couple.one, couple.other, couple.what)
    let before = ["to all", "to the lake again"]
    for (author, text) in [(bob, "of bob"), (joe, "of joe"), (ada, "of ada"), (joe, "of joe again")] {
      try await author.say(text, in: group)
    }
    #expect(await ada.hears(before + ["of joe", "of ada", "of joe again"], in: group), "\(what)")
    #expect(await bob.hears(before + ["of bob", "of joe", "of joe again"], in: group), "\(what)")
    #expect(await joe.hears(before + ["of bob", "of joe", "of ada", "of joe again"], in: group), "\(what)")
    try await ada.tell(name: "Another \(ada.name)")
    let isSeen = await joe.shows("people", ada.user) { $0["name"].string == "Another \(ada.name)" }
    #expect(isSeen, "\(what): \(joe.shown("people", ada.user))")
    #expect(bob.shown("people", ada.user)["name"].string == ada.name, "\(what): \(bob.shown("people", ada.user))")
    let found = try await bob.phone.call("clique.people", #"{"text":"another"}"#)["people"].array
    #expect(found.allSatisfy { $0["user"].string != ada.user }, "\(what): \(found)")
  }

  /// Whoever is blocked reports what they can read, and moderators see that.
  private func report(_ couple: PlacedCouple, _ machines: Machines) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let read = bob.phone.publications("clique.chat:\(id)").first { $0["data"]["text"].string == "leave me alone" }
    let offset = try #require(read?["offset"].int)
    let about = #""person":"\#(ada.user)","offset":\#(offset),"reason":"other""#
    let made = try await bob.tablet.call("clique.report", #"{\#(about),"text":"rude"}"#)
    let again = try await bob.phone.call("clique.report", #"{\#(about),"text":"rude"}"#)
    #expect(!made["report"].isNull && again["report"].string == made["report"].string, "\(what): the same once more")
    let hidden = #"{"person":"\#(bob.user)","offset":\#(offset + 1),"reason":"other"}"#
    #expect(try await ada.refusal(of: "clique.report", hidden) == 107, "\(what): she cannot read it")
    let reports = try machines.call("clique_reports", #"{"user":"\#(ada.user)"}"#)["reports"].array
    #expect(reports.map { $0["by"].string } == [bob.user], "\(what): \(reports)")
    let number = try #require(reports.first?["report"].int)
    let report = try machines.call("clique_report", #"{"report":\#(number)}"#)
    #expect(report["messages"].array.map { $0["text"].string } == ["we met", "leave me alone"], "\(what): \(report)")
    #expect(report["conversation"].string == id && report["text"].string == "rude", "\(what): \(report)")
    #expect(report["profile"]["name"].string == ada.name, "\(what): as he sees it")
    try await bob.phone.subscribeMap("clique.reports:\(bob.user)")
    let entry = bob.phone.map("clique.reports:\(bob.user)")[made["report"].string ?? ""]
    #expect(entry?["state"].string == "open" && entry?["user"].string == ada.user, "\(what)")
  }

  /// What was said under the block stays with who said it.
  private func unblock(_ couple: PlacedCouple, _ group: String) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let chat = "clique.chat:\(id)"
    try await ada.tablet.call("clique.unblock", #"{"person":"\#(bob.user)"}"#)
    let isBack = await ada.shows("list", id) {
      $0["state"].string == "active" && $0["unread"].int == 0 && $0["last"].string == "leave me alone"
    }
    #expect(isBack, "\(what): \(ada.shown("list", id))")
    #expect(await ada.shows("blocked", bob.user, \.isNull), "\(what): \(ada.shown("blocked", bob.user))")
    #expect(await ada.shows("people", bob.user) { $0["name"].string == bob.name }, "\(what)")
    try await ada.phone.subscribe(chat)
    try await bob.say("back", in: id)
    try await bob.say("back in the group", in: group)
    let history = try await ada.phone.ask(#""history":{"channel":"\#(chat)","limit":100}"#)["history"]
    let all = ["we met", "the lake at dawn", "leave me alone"]
    let kept = history["publications"].array.compactMap { $0["data"]["text"].string }
    #expect(kept == all + ["back"], "\(what): \(history)")
    for device in ada.devices {
      #expect(await eventually { ada.heard(id, on: device).last == "back" }, "\(what)")
      #expect(ada.heard(id, on: device) == all + ["back"], "\(what): \(ada.heard(id, on: device))")
      #expect(await eventually { ada.heard(group, on: device).last == "back in the group" }, "\(what)")
      #expect(!ada.heard(group, on: device).contains("of bob"), "\(what): \(ada.heard(group, on: device))")
    }
    #expect(await bob.hears(all + ["hello?", "back"], in: id), "\(what): \(bob.heard(id, on: bob.phone))")
    #expect(bob.shown("people", ada.user)["name"].string == ada.name, "\(what): until she changes it")
    try await ada.tell(name: "Ada at last")
    #expect(await bob.shows("people", ada.user) { $0["name"].string == "Ada at last" }, "\(what)")
    let names = bob.phone.publications("clique.people:\(bob.user)").compactMap { $0["data"]["name"].string }
    #expect(!names.contains("Another \(ada.name)"), "\(what): \(names)")
    try await bob.phone.call("clique.disconnect", #"{"conversation":"\#(id)"}"#)
    #expect(await ada.shows(state: "ended", of: id), "\(what): \(ada.shown("list", id))")
  }
}
