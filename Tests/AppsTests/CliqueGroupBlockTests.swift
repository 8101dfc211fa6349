import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: blocks and changes of groups")
struct CliqueGroupBlockTests {
  /// A group of the founder and the members. Everybody talks with everybody.
  private func found(_ scene: CliqueScene, _ founder: String, _ members: [String]) throws -> String {
    let people = Self.people
    for (index, a) in people.enumerated() { for b in people[(index + 1)...] { _ = try scene.befriend(a, b) } }
    let names = members.map { "\"\($0)\"" }.joined(separator: ",")
    let reply = try scene.call(founder, "group.create", #"{"members":[\#(names)]}"#)
    return String(reply.split(separator: "\"")[3])
  }

  private static let people = ["ann", "bob", "eve", "joe"]

  private func add(_ scene: CliqueScene, _ user: String, _ id: String, _ member: String) throws {
    try scene.call(user, "group.add", #"{"conversation":"\#(id)","members":["\#(member)"]}"#)
  }

  private func say(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String) throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  @Test("who has blocked the one who adds them knows nothing of the group, and comes when somebody else adds them")
  func absentComes() throws {
    let scene = CliqueScene()
    let id = try found(scene, "ann", ["eve"])
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try add(scene, "ann", id, "bob")
    #expect(try scene.chat("bob", id) == nil)
    #expect(try scene.state("bob", id) == nil)
    let shown = try scene.entry("ann", "list", id)
    let heard = try scene.chat("ann", id)
    try scene.call("ann", "group.appoint", #"{"conversation":"\#(id)","person":"eve"}"#)
    let told = try scene.chat("ann", id)
    try add(scene, "eve", id, "bob")
    #expect(try scene.chat("ann", id) == told, "nobody sees that bob comes only now")
    #expect(heard?.last == #"{"event":"added","user":"bob"}"# && shown?.contains("bob") == true)
    #expect(try scene.state("bob", id) == "active")
    try say(scene, "bob", id, "by bob")
    try say(scene, "ann", id, "by ann")
    try say(scene, "eve", id, "by eve")
    #expect(try scene.chat("bob", id) == ["by bob", "by eve"])
    #expect(try scene.chat("ann", id)?.suffix(2) == ["by ann", "by eve"])
  }

  @Test("a link lets in also whom a member has blocked, or who has blocked one: the block lies between the two there")
  func link() throws {
    for (blocker, blocked) in [("ann", "bob"), ("bob", "ann")] {
      let scene = CliqueScene()
      let id = try found(scene, "ann", ["eve"])
      let reply = try scene.call("ann", "group.link", #"{"conversation":"\#(id)"}"#)
      try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"first"}"#)
      try scene.call("ann", "read", #"{"conversation":"\#(id)","offset":1}"#)
      try scene.call(blocker, "block", #"{"person":"\#(blocked)"}"#)
      try scene.call("bob", "group.join", #"{"link":"\#(reply.split(separator: "\"")[3])"}"#)
      try say(scene, "bob", id, "by bob")
      try say(scene, "ann", id, "by ann")
      #expect(try scene.chat("bob", id) == [#"{"event":"joined","user":"bob"}"#, "by bob"])
      #expect(try scene.chat("ann", id)?.last == "by ann")
      #expect(try scene.chat("ann", id)?.contains("by bob") == false)
      #expect(try scene.chat("eve", id)?.suffix(2) == ["by bob", "by ann"])
      // What was read before is shown as it was when bob came, and nothing newer.
      try scene.call("ann", "read", #"{"conversation":"\#(id)","offset":4}"#)
      let receipts = try scene.members("bob", "receipts", id)
      #expect(receipts == (blocker == "ann" ? ["ann {\"read\":1,\"delivered\":1} 0"] : []))
    }
  }

  @Test("an absent person who joins by a link uses none of it up, and nobody sees them come")
  func absentJoins() throws {
    let scene = CliqueScene()
    let id = try found(scene, "ann", ["eve"])
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try add(scene, "ann", id, "bob")
    let reply = try scene.call("ann", "group.link", #"{"conversation":"\#(id)","uses":1}"#)
    let listed = try scene.call("ann", "group.links", #"{"conversation":"\#(id)"}"#)
    let heard = try scene.chat("ann", id)
    try scene.call("bob", "group.join", #"{"link":"\#(reply.split(separator: "\"")[3])"}"#)
    #expect(try scene.state("bob", id) == "active")
    #expect(try scene.chat("ann", id) == heard)
    #expect(try scene.call("ann", "group.links", #"{"conversation":"\#(id)"}"#) == listed)
  }

  // MARK: Whatever happens

  /// Everything that bob sees of the group.
  private func view(_ scene: CliqueScene, _ id: String) throws -> [String] {
    let history = try scene.history("bob", id)?.map { publication in
      let tags = publication.tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return "\(publication.offset) \(String(decoding: publication.data, as: UTF8.self)) \(tags)"
    }
    var seen = [
      "list \(try scene.entry("bob", "list", id) ?? "-")", "history \(history ?? ["-"])",
      "found \(try scene.found("bob", "m")) \(try scene.found("bob", "e"))",
      "receipts \(try scene.members("bob", "receipts", id))", "typing \(try scene.members("bob", "typing", id))",
    ]
    if history != nil {
      let audience = try scene.app.admit("bob", to: ChannelName("clique.chat:\(id)"), scene).audience
      seen.append("present \(Self.people.filter { audience?.passes(["user": $0]) ?? true })")
    }
    return seen
  }

  /// A command that both worlds are given alike, since a link's secret is drawn when its command is read.
  private func answer(_ scene: CliqueScene, _ command: AppCommand, by user: String, _ count: Int) throws -> String {
    do throws(ClientError) {
      let call = AppCall(command, caller: ClientInfo(user: user, client: "c-" + user), key: .text("key-\(count)"))
      let decision = try scene.app.call(call, scene)
      guard case .reply(let reply) = decision.answer else { return "no reply" }
      do { try scene.apply(decision.effects) } catch { return "not applied: \(error)" }
      return String(decoding: reply, as: UTF8.self)
    } catch {
      return error.description
    }
  }

  private func step(
    _ random: inout CliqueRandom, _ count: Int, _ id: String, _ link: String
  ) -> (user: String, method: String, json: String) {
    let user = random.pick(["bob", "bob", "eve", "joe"])
    let other = random.pick(Self.people.filter { $0 != user })
    let about = #"{"conversation":"\#(id)","person":"\#(other)"}"#
    let own = #"{"conversation":"\#(id)"}"#
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4: return (user, "send", #"{"conversation":"\#(id)","text":"m\#(count)"}"#)
    case 4..<8: return (user, "group.add", #"{"conversation":"\#(id)","members":["\#(other)"]}"#)
    case 8, 9: return (user, "group.remove", about)
    case 10, 11: return (user, "group.appoint", about)
    case 12: return (user, "group.dismiss", #"{"conversation":"\#(id)","person":"\#(random.pick(Self.people))"}"#)
    case 13: return (user, "group.rename", #"{"conversation":"\#(id)","name":"n\#(count)"}"#)
    case 14: return (user, "group.link", #"{"conversation":"\#(id)","uses":\#(1 + count % 3)}"#)
    case 15, 16: return (user, "group.join", #"{"link":"\#(link)"}"#)
    case 17: return (user, "group.links", own)
    case 18: return (user, "read", #"{"conversation":"\#(id)","offset":\#(count % 4)}"#)
    default: return (user, "group.leave", own)
    }
  }

  @Test("bob cannot tell whether ann is silent or has blocked him, whatever becomes of the group", arguments: 0..<60)
  func indistinguishable(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 3000)
    let (silent, other) = (CliqueScene(), CliqueScene())
    let founder = random.pick(["bob", "eve"])
    let members = random.pick([["ann", "joe"], ["joe"], ["ann", "bob", "eve"].filter { $0 != founder }])
    var id = ""
    for scene in [silent, other] { id = try found(scene, founder, members) }
    var link = "\(id).\(String(repeating: "0", count: 32))"
    let (blockAt, unblockAt) = (Int.random(in: 0..<20, using: &random), Int.random(in: 20..<80, using: &random))
    var changes = 0
    for count in 0..<60 {
      if count == blockAt { try other.call("ann", "block", #"{"person":"bob"}"#) }
      if count == unblockAt { try other.call("ann", "unblock", #"{"person":"bob"}"#) }
      let (user, method, json) = step(&random, count, id, link)
      let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
      let (one, two) = (
        try answer(silent, command, by: user, count), try answer(other, command, by: user, count)
      )
      #expect(one == two, "\(user) \(method) \(json)")
      if method == "group.link", one.contains("\"link\"") { link = String(one.split(separator: "\"")[3]) }
      if method.hasPrefix("group."), one.hasPrefix("{") { changes += 1 }
      if count % 9 == 0 { for scene in [silent, other] { try scene.pass(3_600_000) } }
      let (mine, twin) = (try view(silent, id), try view(other, id))
      try #require(mine == twin, "after \(count) steps: \(user) \(method) \(json)")
    }
    #expect(changes > 0)
  }
}
