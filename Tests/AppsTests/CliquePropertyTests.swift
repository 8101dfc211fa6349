import Testing
import Wire

@testable import Apps

@Suite("Clique: whatever happens")
struct CliquePropertyTests {
  private static let hour: Int64 = 3_600_000
  /// Pictures that there may be: the first of ann's profile, two of hers in a message, and bob's.
  private static let pictures = 8

  /// Everything that one of the two gets to see of the other.
  private func view(_ scene: CliqueScene, of user: String, with other: String) throws -> [String] {
    let id = scene.pair(user, other)
    var seen = [
      "list \(try scene.entry(user, "list", id) ?? "-")", "blocked \(try scene.entry(user, "blocked", other) ?? "-")",
      "draft \(try scene.entry(user, "drafts", id) ?? "-")",
      "totals \(try scene.said(user, "totals"))",
      "chat \(try scene.chat(user, id) ?? ["-"])", "receipts \(try scene.entry(id, "receipts", other) ?? "-")",
    ]
    for namespace in ["chat", "reactions", "receipts", "typing"] {
      seen.append("\(namespace) \(try scene.isAdmitted(user, "clique.\(namespace):\(id)"))")
    }
    seen.append("person \(try scene.entry(user, "people", other) ?? "-")")
    seen.append(try scene.said(user, "profiles", #"{"people":["\#(other)"]}"#))
    let pictures = (0..<Self.pictures).map { CliqueScene.picture($0) }
    seen.append("pictures \(try pictures.filter { try !scene.viewers([user], $0).isEmpty })")
    seen.append("discarded \(scene.discarded.filter { $0 != pictures[0] }.sorted())")
    let own = try scene.pictures(of: user)
    seen.append("own \(own?.unsent ?? []) \(own?.bytes ?? 0)")
    for text in ["an", "b"] { seen.append(try scene.said(user, "people", #"{"text":"\#(text)"}"#)) }
    seen.append("readmitted \(scene.readmitted.filter { $0.hasPrefix(user + " ") })")
    seen.append(try scene.said(user, "search", #"{"text":"m"}"#))
    return seen + (try contents(scene, of: user, id))
  }

  /// Everything that somebody can read of a conversation.
  private func contents(_ scene: CliqueScene, of user: String, _ id: String) throws -> [String] {
    let history = try scene.history(user, id)?.map { publication in
      let tags = publication.tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return "\(publication.offset) \(publication.time) \(String(decoding: publication.data, as: UTF8.self)) \(tags)"
    }
    return [
      "history \(history ?? ["-"])", "found \(try ["m", "c", "e"].map { try scene.found(user, $0) })",
      "receipts \(try scene.members(user, "receipts", id))", "typing \(try scene.members(user, "typing", id))",
      "reactions \(try scene.members(user, "reactions", id))",
      "list \(try scene.entry(user, "list", id) ?? "-")", "devices \(try scene.devices(user, [id]))",
    ]
  }

  private func changed(_ scene: CliqueScene, _ user: String, _ id: String, _ offset: Int, _ json: String?) -> String {
    do {
      try scene.change(user, id, UInt64(offset), json)
      return "changed"
    } catch { return "\(error)" }
  }

  /// What bob does next, as method and JSON.
  private func step(_ random: inout CliqueRandom, _ count: Int, id: String) -> (String, String) {
    switch Int.random(in: 0..<20, using: &random) {
    case 18, 19:
      ("disappear", #"{"person":"ann","after":\#([0, 60_000, 3_600_000, 3_600_000, 86_400_000][count % 5])}"#)
    case 16, 17:
      ("react", #"{"conversation":"\#(id)","offset":\#(1 + count % 5),"reaction":"\#(count % 4 == 0 ? "" : "👍")"}"#)
    case 0...4: ("send", #"{"to":"ann","text":"m\#(count)","key":"\#(count % 7)"}"#)
    case 14: ("draft", #"{"person":"ann","text":"d\#(count)"}"#)
    case 15: ("draft", #"{"conversation":"\#(id)","text":"\#(count % 3 == 0 ? "" : "d")"}"#)
    case 5: ("send", #"{"conversation":"\#(id)","text":"c\#(count)"}"#)
    case 6: ("accept", #"{"person":"ann"}"#)
    case 7: ("decline", #"{"person":"ann"}"#)
    case 8: ("disconnect", #"{"person":"ann"}"#)
    case 9: ("read", #"{"conversation":"\#(id)","offset":\#(count % 4)}"#)
    case 10: ("typing", #"{"conversation":"\#(id)"}"#)
    case 11: ("block", #"{"person":"ann"}"#)
    case 12: ("unblock", #"{"person":"ann"}"#)
    default: ("accept", #"{"conversation":"\#(id)"}"#)
    }
  }

  /// How it begins: in both worlds alike.
  private func begin(_ scene: CliqueScene, _ beginning: Int) throws {
    for number in 0..<2 { try scene.upload("ann", CliqueScene.picture(number)) }
    try scene.call(
      "ann", "profile.set",
      #"{"name":"Ann","fields":{"university":"X"},"picture":{"id":"\#(CliqueScene.picture(0))"}}"#)
    switch beginning {
    case 1: try scene.call("ann", "send", #"{"to":"bob","text":"from ann"}"#)
    case 2:
      let id = try scene.befriend("ann", "bob")
      try scene.send("ann", id, picture: CliqueScene.picture(1))
      try scene.call("ann", "disappear", #"{"person":"bob","after":3600000}"#)
    case 3:
      _ = try scene.befriend("bob", "ann")
      try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    default: break
    }
  }

  @Test("bob cannot tell whether ann is silent, declines or blocks", arguments: 0..<80)
  func indistinguishable(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed))
    let (silent, other) = (CliqueScene(.notifying), CliqueScene(.notifying))
    for scene in [silent, other] { try begin(scene, seed % 4) }
    let id = silent.pair("ann", "bob")
    var (hostile, sent) = (0, 0)
    for count in 0..<60 {
      // Where they talk, bob sends pictures first: later one of them may have left.
      let sendsPicture = seed % 4 == 2 && count < 3
      if !sendsPicture, Int.random(in: 0..<4, using: &random) == 0 {
        let method = random.pick(["decline", "block", "unblock", "block"])
        let before = other.records.mapValues(\.data)
        _ = try other.said("ann", method, #"{"person":"bob"}"#)
        let pair = try other.record(Clique.Pair.self, Clique.Key.pair(id))
        if let pair, let side = pair.side(of: "ann"), pair.state.isBlocked(by: side) {
          let picture = count % 3 == 0 ? #","picture":null"# : ""
          _ = try other.said("ann", "profile.set", #"{"name":"Anna \#(count)"\#(picture)}"#)
        }
        if other.records.mapValues(\.data) != before { hostile += 1 }
      } else if !sendsPicture, Int.random(in: 0..<8, using: &random) == 0 {
        let time = random.pick([1, 24, 4 * 24, 9 * 24, 15 * 24]) * Self.hour
        try silent.pass(time)
        try other.pass(time)
      } else if !sendsPicture, Int.random(in: 0..<3, using: &random) == 0 {
        let offset = Int.random(in: 0...12, using: &random)
        let json = Bool.random(using: &random) ? #"{"text":"e\#(count)"}"# : nil
        #expect(changed(silent, "bob", id, offset, json) == changed(other, "bob", id, offset, json), "change \(offset)")
      } else if sendsPicture || Int.random(in: 0..<5, using: &random) == 0 {
        let picture = CliqueScene.picture(2 + count % 6)
        let added = PictureCommand.add(
          .init(
            id: picture, type: "image/jpeg", bytes: 1000, width: 640, height: 640, key: CliqueScene.key, upload: [1]))
        #expect(try silent.refusal("bob", added) == other.refusal("bob", added))
        let said = try silent.send("bob", id, picture: picture)
        #expect(try said == other.send("bob", id, picture: picture))
        if said.contains("offset") { sent += 1 }
      } else {
        let (method, json) = step(&random, count, id: id)
        #expect(try silent.said("bob", method, json) == other.said("bob", method, json), "\(method) \(json)")
        // What is not open has to be read from the disk, and he could measure that.
        #expect(silent.awaited == other.awaited, "\(method) \(json) after \(count) steps")
      }
      let (mine, twin) = (try view(silent, of: "bob", with: "ann"), try view(other, of: "bob", with: "ann"))
      try #require(mine == twin, "after \(count) steps")
    }
    #expect(hostile > 0)
    if seed % 4 == 2 { #expect(sent > 0) }
  }

  @Test("in a group, bob cannot tell whether ann is silent or has blocked him", arguments: 0..<40)
  func indistinguishableInGroup(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 500)
    let (silent, other) = (CliqueScene(.notifying), CliqueScene(.notifying))
    var id = ""
    for scene in [silent, other] {
      for (a, b) in [("ann", "bob"), ("ann", "eve"), ("bob", "eve")] { _ = try scene.befriend(a, b) }
      let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
      id = String(reply.split(separator: "\"")[3])
      try scene.call("ann", "profile.set", #"{"name":"Ann","fields":{"university":"X"}}"#)
      if seed % 2 == 0 { try scene.call("ann", "disappear", #"{"conversation":"\#(id)","after":7200000}"#) }
      try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"m by ann"}"#)
      let first = try scene.top(of: ChannelName("clique.chat:\(id)"))
      try scene.call("ann", "read", #"{"conversation":"\#(id)","offset":\#(first)}"#)
      try scene.call("ann", "react", #"{"conversation":"\#(id)","offset":\#(first),"reaction":"👍"}"#)
    }
    let blockAt = Int.random(in: 0..<15, using: &random)
    for count in 0..<50 {
      let user = random.pick(["bob", "bob", "eve"])
      let offset = Int.random(in: 0...14, using: &random)
      if count == blockAt { try other.call("ann", "block", #"{"person":"bob"}"#) }
      if count > blockAt, count % 7 == 0 {
        // What ann does then is kept from him.
        let top = try other.top(of: ChannelName("clique.chat:\(id)"))
        try other.call("ann", "read", #"{"conversation":"\#(id)","offset":\#(top)}"#)
        try other.call("ann", "typing", #"{"conversation":"\#(id)"}"#)
        _ = try other.said("ann", "react", #"{"conversation":"\#(id)","offset":\#(1 + count % 3),"reaction":"🎉"}"#)
        try other.call("ann", "profile.set", #"{"name":"Ann \#(count)"}"#)
      }
      switch Int.random(in: 0..<10, using: &random) {
      case 8, 9:
        let json = #"{"conversation":"\#(id)","offset":\#(offset),"reaction":"\#(count % 3 == 0 ? "" : "👍")"}"#
        #expect(try silent.said(user, "react", json) == other.said(user, "react", json))
      case 0..<3:
        let json = #"{"conversation":"\#(id)","text":"m\#(count)"}"#
        #expect(try silent.said(user, "send", json) == other.said(user, "send", json))
      case 3, 4:
        let json = #"{"text":"e\#(count)"}"#
        #expect(changed(silent, user, id, offset, json) == changed(other, user, id, offset, json))
      case 5: #expect(changed(silent, user, id, offset, nil) == changed(other, user, id, offset, nil))
      case 6:
        let json = #"{"conversation":"\#(id)","offset":\#(offset % 4)}"#
        #expect(try silent.said(user, "read", json) == other.said(user, "read", json))
      default: for scene in [silent, other] { try scene.pass(Self.hour) }
      }
      let channel = try ChannelName("clique.chat:\(id)")
      var views: [[String]] = []
      for scene in [silent, other] {
        let audience = try scene.app.admit("bob", to: channel, scene).audience
        let present = ["ann", "bob", "eve"].filter { audience?.passes(["user": $0]) ?? true }
        let profiles = [
          try scene.entry("bob", "people", "ann") ?? "-", try scene.said("bob", "people", #"{"text":"ann"}"#),
          try scene.said("bob", "profiles", #"{"people":["ann","eve"]}"#),
        ]
        views.append(try contents(scene, of: "bob", id) + present + profiles)
      }
      try #require(views[0] == views[1], "after \(count) steps")
    }
  }

  // MARK: Both act

  private func act(_ scene: CliqueScene, _ random: inout CliqueRandom, _ count: Int) throws {
    let (user, other) = Bool.random(using: &random) ? ("ann", "bob") : ("bob", "ann")
    let id = scene.pair(user, other)
    let method = random.pick([
      "send", "send", "send", "send", "accept", "accept", "decline", "block", "unblock", "unblock", "disconnect",
      "read", "time", "draft", "profile.set", "disappear",
    ])
    switch method {
    case "send", "draft": _ = try scene.said(user, method, #"{"to":"\#(other)","text":"\#(user) \#(count)"}"#)
    case "profile.set": _ = try scene.said(user, method, #"{"name":"\#(user) \#(count)"}"#)
    case "read":
      let top = try scene.top(of: try ChannelName("clique.chat:\(id)"))
      _ = try scene.said(user, method, #"{"conversation":"\#(id)","offset":\#(top)}"#)
    case "disappear":
      let after = random.pick([0, 60_000, Self.hour, Self.hour])
      _ = try scene.said(user, method, #"{"person":"\#(other)","after":\#(after)}"#)
    case "time": try scene.pass(random.pick([1, Self.hour, 10 * 24 * Self.hour, 20 * 24 * Self.hour]))
    default: _ = try scene.said(user, method, #"{"person":"\#(other)"}"#)
    }
  }

  /// What stands in both lists.
  private static let together: Set<[String]> = [
    ["-", "-"], ["request_out", "request_in"], ["request_in", "request_out"], ["request_out", "-"],
    ["-", "request_out"], ["active", "active"], ["ended", "-"], ["-", "ended"],
  ]

  @Test("both sides' lists, channels and counts fit together at each step", arguments: 0..<80)
  func consistent(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 1000)
    let scene = CliqueScene(.notifying)
    let id = scene.pair("ann", "bob")
    let channel = try ChannelName("clique.chat:\(id)")
    var unheard: Set<String> = []
    for count in 0..<120 {
      let known = scene.stream(channel).count
      try act(scene, &random, count)
      let pair = try scene.record(Clique.Pair.self, Clique.Key.pair(id)) ?? Clique.Pair("ann", "bob")
      let states = try ["ann", "bob"].map { try scene.state($0, id) ?? "-" }
      if pair.state.isBlocked {
        for message in scene.stream(channel).dropFirst(known) where Clique.isMessage(message) {
          let author = try #require(pair.side(of: message.info?.user ?? ""))
          if !pair.state.isBlocked(by: author.other) { continue }
          unheard.insert(String(decoding: message.data, as: UTF8.self))
        }
      } else {
        #expect(Self.together.contains(states), "\(states) in \(pair.state)")
      }
      for (user, state, other) in [("ann", states[0], "bob"), ("bob", states[1], "ann")] {
        try check(scene, user, state, other, pair, id)
      }
    }
    // Nobody but its author ever gets what was written under a block, and what was written comes in its order.
    for user in ["ann", "bob"] {
      let seen = scene.stream(channel).filter { Clique.notForOthers(user).passes($0) }
      for message in seen where unheard.contains(String(decoding: message.data, as: UTF8.self)) {
        #expect(message.info?.user == user)
      }
      for author in ["ann", "bob"] {
        let numbers = seen.filter { $0.info?.user == author }.compactMap { Int(number(in: $0.data)) }
        #expect(numbers == numbers.sorted())
      }
    }
  }

  private func number(in data: [UInt8]) -> Substring {
    let text = String(decoding: data, as: UTF8.self).split(separator: "\"").dropFirst(3).first ?? ""
    return text.split(separator: " ").last ?? ""
  }

  private func check(
    _ scene: CliqueScene, _ user: String, _ state: String, _ other: String, _ pair: Clique.Pair, _ id: String
  ) throws {
    let side = try #require(pair.side(of: user))
    let sight = pair.state.sight(of: side)
    let mayRead = state == "active" || state == "ended"
    let channel = try ChannelName("clique.chat:\(id)")
    #expect(try scene.isAdmitted(user, channel.string) == mayRead)
    if mayRead {
      let audience = try scene.app.admit(user, to: channel, scene).audience
      for message in scene.streams[channel] ?? [] where audience?.passes(message.shown(to: user)) ?? true {
        #expect(message.tags["only"] == nil || message.info?.user == user)
      }
    }
    #expect(try scene.isAdmitted(user, "clique.typing:\(id)") == (state == "active"))
    #expect((try scene.entry(user, "blocked", other) != nil) == (sight == .blocked))
    if sight == .blocked { #expect(state == "blocked" || state == "-") }
    let person = try scene.record(Clique.Person.self, Clique.Key.person(user)) ?? Clique.Person()
    #expect(person.open == (mayRead ? [id] : []))
    let isSeen = pair.state.isShownAlone(to: side.other)
    #expect(person.seenIn ?? [] == (isSeen ? [id] : []))
    #expect(pair[mark: side].frozen == nil || sight == .blocked || person.behind == [other])
    #expect(person.asking == (state == "request_out" ? 1 : 0))
    #expect(person.asked == (state == "request_in" ? 1 : 0))
    #expect(person.blocked == (sight == .blocked ? [other] : []))
    let unsent = try scene.record(Clique.Unsent.self, Clique.Key.draft(of: user, in: id))
    #expect((unsent != nil) == pair.hasDraft(side))
    #expect((try scene.entry(user, "drafts", id) != nil) == (unsent != nil))
    #expect(unsent == nil || pair.state.isListedBeneath(side))
    let index = try scene.record(Clique.UnsentIndex.self, Clique.Key.drafts(of: user))
    #expect(index?.conversations ?? [] == (unsent == nil ? [] : [id]))
    #expect(pair.waiting.count <= 3)
    #expect(pair.waiting.isEmpty == (pair.state.asker == nil))
    #expect(pair.advanced(to: scene.now) == pair)
  }

  // MARK: Bad input

  private static let methods = [
    "send", "accept", "decline", "block", "unblock", "disconnect", "read", "delivered", "typing", "group.create",
    "group.leave", "group.add", "group.remove", "group.rename", "group.appoint", "group.dismiss", "group.link",
    "group.links", "group.revoke", "group.join", "keep", "draft", "totals", "react", "report", "disappear", "search",
    "enter",
    "leave",
    "invisible", "crossings", "profile.set", "profiles", "people", "nothing",
  ]

  @Test("no input traps, and bad input is answered with a client's error", arguments: 0..<40)
  func fuzz(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 2000)
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    let valid = [
      #"{"to":"bob","text":"a\u00e9\ud83d\ude00\ud800","key":"k"}"#, #"{"conversation":"\#(id)","text":"hi"}"#,
      #"{"person":"bob"}"#, #"{"conversation":"\#(id)","offset":18446744073709551616}"#,
      #"{"conversation":"\#(id)","offset":1}"#, #"{"members":["bob","eve"],"name":"x"}"#,
      #"{"text":"hi","person":"bob","limit":9223372036854775807}"#, #"{"place":"café","on":true,"order":"time"}"#,
      #"{"a":[1,{"b":[]}],"to":null,"text":{"x":"}"},"conversation":["g"]}"#, "", "[]", "{}", "nul", "{\"text\":\"\\",
      #"{"name":"\u202eé\u0000","fields":{"university":"x","b":null},"picture":null,"people":["bob","eve"]}"#,
      #"{"conversation":"g","text":"x","offset":-1}"#, #"{"person":"bob","after":60000}"#,
      #"{"conversation":"\#(id)","after":0}"#, #"{"person":"bob","reason":"spam","text":"é","offset":2}"#,
    ]
    for _ in 0..<300 {
      var bytes = Array(random.pick(valid).utf8)
      for _ in 0..<Int.random(in: 0..<3, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.removeSubrange(place...)
        }
      }
      let user = random.pick(["ann", "bob", "eve", "", String(repeating: "u", count: 300), "a\nb"])
      let method = "clique." + random.pick(Self.methods)
      let key = AppCall.Key.text(random.pick(["", "k"]))
      do {
        let command = try AppCommand(method, bytes, by: user)
        let call = AppCall(command, caller: ClientInfo(user: user, client: "c"), key: key)
        try scene.apply(try scene.app.call(call, scene).effects)
      } catch let error as ClientError {
        #expect(error.code != 100)
      }
    }
    try scene.pass(60 * 24 * Self.hour)
  }
}
