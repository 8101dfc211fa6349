import TestSupport
import Testing
import Wire

@testable import Apps

/// Runs two worlds with the same steps. In one of them ann blocks bob, in the other she is silent. Everything that bob
/// gets must be the same: docs/CLIQUE.md has the table of it.
@Suite("Clique: a block leaves no trace")
struct CliqueTraceTests {
  private static let minute: Int64 = 60_000

  /// What ann does in the world of the block.
  private enum Course: CaseIterable {
    /// Goes on with her life behind the block, which stays.
    case livesOn
    /// Lays and lifts blocks.
    case wavers
    /// As ``wavers``, while bob blocks her at times, too.
    case bothWaver
  }

  private struct World {
    let scene = CliqueScene(.notifying)
    let pair: String
    var groups: [String] = []

    init() throws {
      pair = scene.pair("ann", "bob")
      _ = try scene.befriend("ann", "eve")
      _ = try scene.befriend("bob", "eve")
    }

    /// The answer, or the error with its code.
    func said(_ user: String, _ method: String, _ json: String, _ key: String) throws -> String {
      do { return try scene.call(user, method, json, key: key) } catch let error as ClientError {
        return "\(error.code) \(error.description)"
      }
    }

    func changed(_ user: String, _ id: String, _ offset: Int, _ json: String?) -> String {
      do {
        try scene.change(user, id, UInt64(offset), json)
        return "changed"
      } catch { return "\(error)" }
    }

    /// Everything that bob can look at, and all that was told to him, in order.
    func view() throws -> [String] {
      let own = Set(["list", "crossings", "blocked", "reports", "people", "profile"].map { "clique.\($0):bob" })
      var seen = scene.changes.filter { own.contains($0.channel.string) }.map { "\($0.channel) \($0.text)" }
      for id in [pair] + groups {
        let history = try scene.history("bob", id)?.map { publication in
          let tags = publication.tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
          let text = String(decoding: publication.data, as: UTF8.self)
          return "\(publication.offset) \(publication.time) \(text) \(tags)"
        }
        seen += [
          "entry \(try scene.entry("bob", "list", id) ?? "-")", "history \(history ?? ["-"])",
          "receipts \(try scene.members("bob", "receipts", id))", "typing \(try scene.members("bob", "typing", id))",
        ]
        for namespace in ["chat", "receipts", "typing"] {
          seen.append("\(namespace) \(try scene.isAdmitted("bob", "clique.\(namespace):\(id)"))")
        }
      }
      seen += try scene.devices("bob", [pair] + groups)
      seen.append("found \(try ["m", "e"].map { try scene.found("bob", $0) })")
      seen.append("blocked \(try scene.entry("bob", "blocked", "ann") ?? "-")")
      seen.append("crossing \(try scene.entry("bob", "crossings", "ann") ?? "-")")
      seen.append("person \(try scene.entry("bob", "people", "ann") ?? "-")")
      seen.append(try scene.call("bob", "profiles", #"{"people":["ann","eve","bob"]}"#, key: "look"))
      for text in ["ann", "an", "new", "e", "s"] {
        seen.append(try scene.call("bob", "people", #"{"text":"\#(text)"}"#, key: "look"))
      }
      for order in ["recent", "time"] {
        seen.append(try scene.call("bob", "crossings", #"{"order":"\#(order)"}"#, key: "look"))
      }
      return seen
    }
  }

  /// How it begins: in both worlds alike.
  private func begin(_ world: inout World, _ seed: Int) throws {
    let scene = world.scene
    if seed % 4 > 0 { try scene.call("ann", "profile.set", #"{"name":"Ann Silent","fields":{"university":"X"}}"#) }
    try scene.call("eve", "profile.set", #"{"name":"Eve"}"#)
    switch seed % 5 {
    case 1: try scene.call("ann", "send", #"{"to":"bob","text":"m by ann"}"#)
    case 2, 3:
      _ = try scene.befriend("ann", "bob")
      // What ann proposed before she went silent, or blocked him.
      if seed % 2 == 0 { try scene.call("ann", "disappear", #"{"person":"bob","after":3600000}"#) }
      try scene.call("ann", "send", #"{"to":"bob","text":"m by ann"}"#)
      let reply = try scene.call("eve", "group.create", #"{"members":["ann","bob"]}"#, key: "begin")
      world.groups.append(String(reply.split(separator: "\"")[3]))
    case 4: try scene.call("bob", "send", #"{"to":"ann","text":"m by bob"}"#)
    default: break
    }
    if seed / 3 % 3 > 0 { try scene.call("ann", "enter", #"{"place":"park"}"#) }
    if seed / 3 % 3 > 1 { try scene.call("bob", "enter", #"{"place":"park"}"#) }
    try scene.pass(20 * Self.minute)
  }

  private static let times: [Int64] = [0, 60_000, 3_600_000, 3_600_000, 24 * 3_600_000]

  /// What bob or eve does next: user, method and JSON.
  private func step(
    _ random: inout CliqueRandom, _ count: Int, _ world: World, _ course: Course
  ) -> (user: String, method: String, json: String) {
    let user = random.pick(["bob", "bob", "bob", "eve"])
    let id = random.pick([world.pair] + world.groups)
    let place = #"{"place":"\#(random.pick(["park", "café", "town"]))"}"#
    switch Int.random(in: 0..<27, using: &random) {
    case 24, 25: return ("bob", "disappear", #"{"person":"ann","after":\#(random.pick(Self.times))}"#)
    case 26: return (user, "disappear", #"{"conversation":"\#(id)","after":\#(random.pick(Self.times))}"#)
    case 22: return (user, "profile.set", #"{"name":"\#(user) \#(count)"}"#)
    case 23: return (user, "profile.set", #"{"fields":{"university":"\#(count % 2 == 0 ? "" : "Y")"}}"#)
    case 0...3: return ("bob", "send", #"{"to":"ann","text":"m\#(count)","key":"\#(count % 7)"}"#)
    case 4, 5: return (user, "send", #"{"conversation":"\#(id)","text":"m\#(count)"}"#)
    case 6: return ("bob", "accept", #"{"person":"ann"}"#)
    case 7: return ("bob", "decline", #"{"person":"ann"}"#)
    case 8: return ("bob", "disconnect", #"{"person":"ann"}"#)
    case 9: return (user, "read", #"{"conversation":"\#(id)","offset":\#(count % 4)}"#)
    case 10: return (user, "typing", #"{"conversation":"\#(id)"}"#)
    case 11...13: return (user, "enter", place)
    case 14: return (user, "leave", place)
    case 15: return ("bob", "keep", #"{"conversation":"\#(id)","muted":\#(count % 2 == 0),"archived":true}"#)
    case 16: return ("bob", "group.create", #"{"members":["ann","eve"],"name":"n\#(count)"}"#)
    case 17: return ("bob", "group.leave", #"{"conversation":"\#(id)"}"#)
    case 18 where course == .bothWaver: return ("bob", random.pick(["block", "unblock"]), #"{"person":"ann"}"#)
    case 18: return ("bob", "report", #"{"person":"ann","reason":"spam"}"#)
    case 19: return (user, "invisible", #"{"on":false}"#)
    default: return ("bob", "search", #"{"text":"m"}"#)
    }
  }

  /// What ann does in the world of the block alone.
  private func hide(_ world: World, _ random: inout CliqueRandom, _ course: Course, _ count: Int) throws {
    let person = #"{"person":"bob"}"#
    guard course == .livesOn else {
      _ = try world.said("ann", random.pick(["block", "unblock"]), person, "hidden-\(count)")
      // What she changes under the block does not show when it ends either.
      let pair = try world.scene.record(Clique.Pair.self, Clique.Key.pair(world.pair))
      if let pair, let side = pair.side(of: "ann"), pair.state.isBlocked(by: side), count % 2 == 0 {
        _ = try world.said("ann", "profile.set", #"{"name":"Ann New \#(count)"}"#, "hidden-\(count)-too")
      }
      return
    }
    _ = try world.said("ann", "block", person, "hidden-\(count)")
    let id = random.pick([world.pair] + world.groups)
    let steps = [
      ("enter", #"{"place":"\#(random.pick(["park", "café", "town"]))"}"#), ("leave", #"{"place":"park"}"#),
      ("read", #"{"conversation":"\#(id)","offset":1}"#), ("typing", #"{"conversation":"\#(id)"}"#),
      ("send", #"{"to":"bob","text":"m hidden"}"#), ("profile.set", #"{"name":"Ann New \#(count)"}"#),
      ("profile.set", #"{"name":"","fields":{"university":"New"}}"#),
    ]
    let (method, json) = random.pick(steps)
    _ = try world.said("ann", method, json, "hidden-\(count)-too")
  }

  @Test("bob is answered, shown and told the same, in the same order, as by somebody silent", arguments: 0..<120)
  func equal(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 7000)
    let course = Course.allCases[seed % 3]
    var (silent, other) = (try World(), try World())
    try begin(&silent, seed)
    try begin(&other, seed)
    var blocks = 0
    for count in 0..<60 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1:
        let before = other.scene.records.mapValues(\.data)
        try hide(other, &random, course, count)
        if other.scene.records.mapValues(\.data) != before { blocks += 1 }
      case 2:
        let time = random.pick([1, 7, 50, 200, 24 * 60, 4 * 24 * 60]) * Self.minute
        try silent.scene.pass(time)
        try other.scene.pass(time)
      case 3:
        let (id, offset) = (random.pick([silent.pair] + silent.groups), Int.random(in: 0...8, using: &random))
        let json = Bool.random(using: &random) ? #"{"text":"e\#(count)"}"# : nil
        #expect(silent.changed("bob", id, offset, json) == other.changed("bob", id, offset, json), "change \(offset)")
      default:
        let (user, method, json) = step(&random, count, silent, course)
        let one = try silent.said(user, method, json, "key-\(count)")
        #expect(try one == other.said(user, method, json, "key-\(count)"), "\(user) \(method) \(json)")
        if method == "group.create", one.hasPrefix("{") {
          let id = String(one.split(separator: "\"")[3])
          silent.groups.append(id)
          other.groups.append(id)
        }
      }
      let (mine, twin) = (try silent.view(), try other.view())
      if mine == twin { continue }
      let first = zip(mine, twin).first { $0 != $1 }
      let (silence, block) = (first?.0 ?? "\(mine.count) things", first?.1 ?? "\(twin.count) things")
      Issue.record("after \(count) steps of \(course): silent \(silence), blocked \(block)")
      return
    }
    #expect(blocks > 0)
  }
}
