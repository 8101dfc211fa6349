import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: messages that disappear")
struct CliqueVanishingTests {
  private static let minute: Int64 = 60_000
  private static let hour: Int64 = 3_600_000

  // MARK: The table

  private static let lifetime = CliqueVanishing.proposalLifetime

  private func waiting(_ by: PairState.Side, _ after: Int64, heard: Bool = true) -> CliqueVanishing {
    CliqueVanishing(after: 5, proposal: .init(by: by, after: after, ends: 100, isHeard: heard))
  }

  /// What stands after side a has said something at time 1.
  private func said(_ state: CliqueVanishing, _ wanted: Int64, heard: Bool = true) -> CliqueVanishing {
    state.after(wanted, by: .a, heard: heard, now: 1).state
  }

  private func outcome(_ state: CliqueVanishing, _ wanted: Int64, heard: Bool = true) -> CliqueVanishing.Outcome {
    state.after(wanted, by: .a, heard: heard, now: 1).outcome
  }

  @Test("each cell of the table of what two people say")
  func table() {
    let quiet = CliqueVanishing(after: 5)
    let mine = { (after: Int64, heard: Bool) in
      CliqueVanishing(after: 5, proposal: .init(by: .a, after: after, ends: 1 + Self.lifetime, isHeard: heard))
    }
    for heard in [true, false] {
      #expect(said(quiet, 5, heard: heard) == quiet && outcome(quiet, 5, heard: heard) == .unchanged)
      #expect(said(quiet, 7, heard: heard) == mine(7, heard) && outcome(quiet, 7, heard: heard) == .proposed)
      #expect(said(quiet, 0, heard: heard) == mine(0, heard) && outcome(quiet, 0, heard: heard) == .proposed)
      for wasHeard in [true, false] {
        let own = waiting(.a, 7, heard: wasHeard)
        #expect(said(own, 5, heard: heard) == quiet && outcome(own, 5, heard: heard) == .takenBack)
        #expect(said(own, 7, heard: heard) == waiting(.a, 7, heard: wasHeard || heard), "and its end stays")
        #expect(outcome(own, 7, heard: heard) == .unchanged)
        #expect(said(own, 9, heard: heard) == mine(9, heard) && outcome(own, 9, heard: heard) == .proposed)
        let theirs = waiting(.b, 7, heard: wasHeard)
        #expect(said(theirs, 7, heard: heard) == CliqueVanishing(after: 7))
        #expect(outcome(theirs, 7, heard: heard) == .agreed)
        #expect(said(theirs, 9, heard: heard) == mine(9, heard) && outcome(theirs, 9, heard: heard) == .proposed)
      }
      #expect(said(waiting(.b, 7), 5, heard: heard) == quiet)
      #expect(outcome(waiting(.b, 7), 5, heard: heard) == .declined)
      let unheard = waiting(.b, 7, heard: false)
      #expect(said(unheard, 5, heard: heard) == unheard && outcome(unheard, 5, heard: heard) == .unchanged)
    }
    for side in PairState.Side.allCases {
      #expect(waiting(side, 7).advanced(to: 99) == waiting(side, 7))
      #expect(waiting(side, 7).advanced(to: 100) == quiet)
      #expect(waiting(side, 7, heard: false).waiting(for: side.other) == nil)
      #expect(waiting(side, 7, heard: false).waiting(for: side) != nil)
      #expect(waiting(side, 7).waiting(for: side.other) != nil)
    }
  }

  // MARK: What runs do

  private typealias Look = CliqueVanishingLook

  private func messages(_ offsets: ClosedRange<UInt64>, after: Int64 = 10) -> [Look.Message] {
    offsets.map { .init(offset: $0, time: Int64($0), vanishes: Int64($0) + after) }
  }

  private func look(
    _ messages: [Look.Message], next: UInt64 = 1, top: UInt64, now: Int64, settled: UInt64? = nil
  ) -> Look {
    Look.at(messages, of: .init(after: 10, next: next, due: 0, settled: settled), top: top, now: now)
  }

  @Test("a run takes what is over, and waits for the first that is not")
  func runs() {
    let all = messages(1...5)
    #expect(look(all, top: 5, now: 10) == Look(run: .init(after: 10, next: 1, due: 11)))
    #expect(look(all, top: 5, now: 11) == Look(gone: [1], run: .init(after: 10, next: 2, due: 12)))
    #expect(look(all, top: 5, now: 15) == Look(gone: [1, 2, 3, 4, 5]), "and ends with the newest")
    #expect(look([], top: 5, now: 15, settled: 5) == Look(), "where nothing is left on the disk")
    let others = messages(1...5, after: 99)
    #expect(look(others, top: 5, now: 15) == Look(), "those of another run are not its own")
    #expect(look(others + messages(6...6), top: 6, now: 15).run == .init(after: 10, next: 6, due: 16))
    let change = Look.Message(offset: 2, time: 9, vanishes: 11, isChange: true)
    #expect(look([all[0], change], top: 2, now: 11).gone == [1, 2], "what tells of a change goes with it")
    #expect(look([change], top: 2, now: 10).run == .init(after: 10, next: 2, due: 11))
  }

  @Test("many at once go some at a time, page after page")
  func batches() throws {
    var run = CliqueVanishingRuns.Run(after: 10, next: 1, due: 0)
    var (left, gone, now) = (messages(1...200), [UInt64](), Int64(1000))
    for _ in 0..<40 {
      let page = left.filter { $0.offset >= run.next && $0.offset < run.next + UInt64(Look.page) }
      let look = Look.at(page, of: run, top: 200, now: now)
      #expect(look.gone.count <= Look.most)
      gone += look.gone
      left = left.map { look.gone.contains($0.offset) ? .init(offset: $0.offset, time: 0) : $0 }
      guard let next = look.run else { break }
      #expect(next.due > now)
      (run, now) = (next, next.due)
    }
    #expect(gone == Array(1...200))
  }

  @Test("a run does not end before the newest message is on the disk")
  func settling() {
    let first = look(messages(1...2), top: 4, now: 100)
    #expect(first.gone == [1, 2])
    #expect(first.run == .init(after: 10, next: 3, due: 100 + Look.settling, settled: 4))
    #expect(look([], next: 3, top: 4, now: 200, settled: 4).run == nil, "both failed")
    let third = Look.Message(offset: 3, time: 195, vanishes: 205)
    #expect(look([third], next: 3, top: 4, now: 200, settled: 4).run?.due == 205)
  }

  // MARK: Two people

  private func agree(_ scene: CliqueScene, _ a: String, _ b: String, _ after: Int64) throws {
    try scene.call(a, "disappear", #"{"person":"\#(b)","after":\#(after)}"#)
    try scene.call(b, "disappear", #"{"person":"\#(a)","after":\#(after)}"#)
  }

  private func send(_ scene: CliqueScene, _ user: String, _ id: String, _ text: String) throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"\#(text)"}"#)
  }

  @Test("it takes both, both see what waits and from which message on it holds")
  func agreement() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "disappear", #"{"person":"bob","after":60000}"#)
    for user in ["ann", "bob"] {
      #expect(try scene.field("disappear", user, id) == nil)
      let entry = try #require(try scene.entry(user, "list", id))
      #expect(entry.contains(#""disappear_asked":{"after":60000,"by":"ann"}"#))
    }
    try send(scene, "ann", id, "stays")
    try scene.call("bob", "disappear", #"{"person":"ann","after":60000}"#)
    for user in ["ann", "bob"] {
      #expect(try scene.field("disappear", user, id) == "60000")
      #expect(try scene.field("disappear_asked", user, id) == nil)
    }
    try send(scene, "bob", id, "goes")
    let event = #"{"event":"disappear","user":"bob","after":60000}"#
    #expect(try scene.chat("ann", id) == ["hello", "stays", event, "goes"])
    let last = try #require(try scene.history("ann", id)?.last)
    #expect(String(decoding: last.data, as: UTF8.self) == #"{"text":"goes","expires":\#(scene.now + Self.minute)}"#)
    #expect(last.tags.isEmpty, "clients see no tag")
    #expect(try scene.field("last", "ann", id) == nil, "the list holds no text of it")
    #expect(try scene.field("expires", "ann", id) == "\(scene.now + Self.minute)")
    #expect(try scene.field("unread", "ann", id) == "1")
    try agree(scene, "ann", "bob", 0)
    try send(scene, "ann", id, "stays too")
    try scene.pass(40 * 24 * Self.hour)
    #expect(try scene.chat("bob", id)?.filter { $0.hasPrefix("stays") } == ["stays", "stays too"])
    #expect(try scene.chat("bob", id)?.contains("goes") == false)
  }

  @Test("proposals are taken back, declined, answered with another, and end after 14 days or with the conversation")
  func proposals() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    let say = { (user: String, other: String, after: Int64) in
      _ = try scene.call(user, "disappear", #"{"person":"\#(other)","after":\#(after)}"#)
      return try scene.entry("bob", "list", id).map { $0.contains("disappear_asked") } ?? false
    }
    #expect(try say("ann", "bob", 60_000))
    #expect(try !say("ann", "bob", 0))
    #expect(try say("ann", "bob", 60_000))
    #expect(try !say("bob", "ann", 0))
    #expect(try say("ann", "bob", 60_000))
    #expect(try say("bob", "ann", 120_000))
    #expect(try scene.entry("ann", "list", id)?.contains(#"{"after":120000,"by":"bob"}"#) == true)
    try scene.pass(CliqueVanishing.proposalLifetime - 1)
    #expect(try scene.entry("ann", "list", id)?.contains("disappear_asked") == true)
    try scene.pass(1)
    #expect(try scene.entry("ann", "list", id)?.contains("disappear_asked") == false)
    try agree(scene, "ann", "bob", 60_000)
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    #expect(try scene.field("disappear", "ann", id) == nil)
    #expect(try scene.said("ann", "disappear", #"{"person":"bob","after":0}"#).contains("has left"))
    try scene.call("ann", "send", #"{"to":"bob","text":"again"}"#)
    #expect(try scene.said("ann", "disappear", #"{"person":"bob","after":0}"#).contains("request"))
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    #expect(try scene.field("disappear", "ann", id) == nil, "it ended with the conversation")
    #expect(try scene.chat("bob", id)?.last == "again", "what waited in a request stays")
    for wrong in ["1", "59999", "2592000001", "-1", "\"x\"", "null"] {
      #expect(throws: ClientError.self) { try scene.call("ann", "disappear", #"{"person":"bob","after":\#(wrong)}"#) }
    }
    #expect(throws: ClientError.self) { try scene.call("eve", "disappear", #"{"conversation":"\#(id)","after":0}"#) }
  }

  @Test("at its time, to the millisecond, a message is gone for everybody, with all that belongs to it")
  func expiry() throws {
    let scene = CliqueScene(.notifying)
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.minute)
    try send(scene, "ann", id, "goes")
    try scene.call("bob", "react", #"{"conversation":"\#(id)","offset":3,"reaction":"👍"}"#)
    try scene.pass(1000)
    try scene.change("ann", id, 3, #"{"text":"changed"}"#)
    let changed = try #require(try scene.history("bob", id)?[2])
    let end = scene.now - 1000 + Self.minute
    #expect(String(decoding: changed.data, as: UTF8.self) == #"{"text":"changed","expires":\#(end)}"#)
    #expect(try scene.notification("bob", id)?.unseen == 1)
    #expect(try scene.notification("bob", id)?.text == nil, "the text is sent to no device")
    #expect(try scene.members("bob", "reactions", id).count == 1)
    try scene.pass(end - scene.now - 1)
    #expect(try scene.chat("bob", id)?[2] == "changed")
    try scene.pass(1)
    #expect(try scene.chat("bob", id)?.contains("changed") == false)
    #expect(try scene.members("bob", "reactions", id).isEmpty)
    #expect(try scene.notification("bob", id) == nil)
    for user in ["ann", "bob"] {
      #expect(try scene.field("last", user, id) == "hello")
      #expect(try scene.field("unread", user, id) == "0")
    }
    #expect(scene.scrubs > 0)
    #expect(scene.acknowledged.last?.hasPrefix("bob ") == true)
    let kept = scene.streams[try ChannelName("clique.chat:\(id)")] ?? []
    #expect(kept.allSatisfy { $0.vanishes == nil }, "nothing of it is left, what told of the change neither")
    try scene.pass(2 * Self.hour)
    #expect(try scene.record(CliqueVanishingRuns.self, Clique.Key.vanishing(id)) == nil)
  }

  @Test("the log holds no text of a message that disappears, in its tags, lists and records neither")
  func ciphertext() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.minute)
    try send(scene, "ann", id, "plaintext one")
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.change("ann", id, 3, #"{"text":"plaintext two"}"#)
    #expect(try scene.chat("ann", id)?[2] == "plaintext two")
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.chat("bob", id)?[2] == "plaintext one")
    #expect(try scene.found("ann", "plaintext").isEmpty, "it is not found either")
    let chat = try #require(scene.streams[try ChannelName("clique.chat:\(id)")])
    for publication in chat {
      #expect(!String(decoding: publication.data, as: UTF8.self).contains("plaintext"))
      #expect(publication.tags.values.allSatisfy { !$0.contains("plaintext") })
    }
    #expect(scene.records.values.allSatisfy { !String(decoding: $0.data, as: UTF8.self).contains("plaintext") })
    #expect(scene.changes.allSatisfy { !$0.text.contains("plaintext") })
    // Whose data is deleted is found by their names all the same.
    #expect(chat[2].tags[FormerVersions.tag].map { FormerVersions($0).users } == ["bob"])
    try scene.pass(Self.minute)
    #expect(try scene.chat("bob", id)?.contains { $0.contains("plaintext") } == false)
  }

  @Test("where the key of its hour is gone, a message is gone")
  func destroyedKey() throws {
    let scene = CliqueScene(vault: InvertingVault { _ in true })
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.minute)
    try send(scene, "ann", id, "goes")
    #expect(try scene.chat("bob", id)?.last == "null")
    try scene.pass(Self.minute)
    #expect(try scene.record(CliqueVanishingRuns.self, Clique.Key.vanishing(id))?.runs.count ?? 0 <= 1)
    let none = CliqueScene(vault: nil)
    _ = try none.befriend("ann", "bob")
    #expect(throws: ClientError.self) { try none.call("ann", "disappear", #"{"person":"bob","after":60000}"#) }
  }

  @Test("while the clock is in doubt, what may be over is not shown, and what may not be is not destroyed")
  func doubt() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.hour)
    try send(scene, "ann", id, "goes")
    scene.doubt = Self.hour
    #expect(try scene.chat("bob", id)?.last == "null")
    #expect(throws: ClientError.self) { try scene.change("ann", id, 3, #"{"text":"x"}"#) }
    try scene.pass(Self.minute)
    scene.doubt = 0
    #expect(try scene.chat("bob", id)?.last == "goes")
    scene.doubt = 2 * Self.hour
    try scene.pass(Self.hour)
    scene.doubt = 0
    #expect(try scene.chat("bob", id)?.contains("goes") == false)
    #expect(scene.streams[try ChannelName("clique.chat:\(id)")]?.contains { $0.vanishes != nil } == false)
  }

  @Test("what is sent again with its key is known, also when the time has gone on or the rule has changed")
  func retries() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.minute)
    let data = #"{"conversation":"\#(id)","text":"once","key":"k"}"#
    let command = try AppCommand("clique.send", Array(data.utf8), by: "ann")
    let call = AppCall(command, caller: ClientInfo(user: "ann", client: "c"), key: .text("1"))
    var identities: [[UInt8]] = []
    for _ in 0..<3 {
      for case .publish(let publication) in try scene.app.call(call, scene).effects {
        identities.append(publication.identity ?? publication.data)
      }
      try scene.pass(10)
      if identities.count == 2 { try agree(scene, "ann", "bob", 0) }
    }
    #expect(identities.count == 3 && Set(identities).count == 1)
  }

  @Test("runs of sixteen different times are kept apart, and a seventeenth is refused")
  func times() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for count in 0..<CliqueVanishingRuns.most {
      try agree(scene, "ann", "bob", Self.hour + Int64(count))
      try send(scene, "ann", id, "m\(count)")
    }
    do {
      try scene.call("ann", "disappear", #"{"person":"bob","after":60000}"#)
      Issue.record("a seventeenth time was taken")
    } catch let error as ClientError { #expect(error.limit == .cliqueDisappearTimes) }
    try scene.call("ann", "disappear", #"{"person":"bob","after":\#(Self.hour)}"#)
    try scene.pass(2 * Self.hour)
    #expect(try scene.chat("bob", id)?.contains { $0.hasPrefix("m") } == false)
    try scene.call("ann", "disappear", #"{"person":"bob","after":60000}"#)
  }

  // MARK: Blocks

  @Test("what is proposed under a block reaches nobody, and what was proposed before it may be agreed to")
  func blocks() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.call("ann", "disappear", #"{"person":"bob","after":60000}"#)
    #expect(try scene.entry("ann", "list", id)?.contains("disappear_asked") == true)
    #expect(try scene.said("bob", "disappear", #"{"person":"ann","after":60000}"#).contains("blocked"))
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.entry("bob", "list", id)?.contains("disappear") == false)
    try scene.call("bob", "disappear", #"{"person":"ann","after":3600000}"#)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    let changes = scene.changes.filter { $0.channel.string == "clique.list:bob" }.count
    try scene.call("ann", "disappear", #"{"person":"bob","after":3600000}"#)
    try send(scene, "ann", id, "void")
    #expect(try scene.field("disappear", "ann", id) == "3600000")
    #expect(scene.changes.filter { $0.channel.string == "clique.list:bob" }.count == changes)
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.field("disappear", "bob", id) == "3600000", "he had proposed it himself")
    #expect(try scene.chat("bob", id) == ["hello"])
    #expect(try scene.chat("ann", id)?.last == "void")
    try scene.pass(Self.hour)
    #expect(try scene.chat("ann", id)?.contains("void") == false)
  }

  // MARK: Groups

  @Test("in a group an administrator decides, and all are told; what was said before stays")
  func groups() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let id = String(reply.split(separator: "\"")[3])
    try send(scene, "bob", id, "stays")
    let command = #"{"conversation":"\#(id)","after":60000}"#
    #expect(try scene.said("bob", "disappear", command).contains("administrators"))
    #expect(throws: ClientError.self) { try scene.call("joe", "disappear", command) }
    try scene.call("ann", "disappear", command)
    try scene.call("ann", "disappear", command)
    let event = #"{"event":"disappear","user":"ann","after":60000}"#
    #expect(try scene.chat("eve", id) == ["stays", event], "and once")
    for user in ["ann", "bob", "eve"] { #expect(try scene.field("disappear", user, id) == "60000") }
    try scene.call("eve", "block", #"{"person":"bob"}"#)
    try send(scene, "bob", id, "goes")
    #expect(try scene.chat("eve", id) == ["stays", event])
    #expect(try scene.chat("ann", id) == ["stays", event, "goes"])
    try scene.pass(Self.minute)
    #expect(try scene.chat("eve", id) == ["stays", event], "nothing of it reaches whom it was hidden from")
    #expect(try scene.chat("ann", id) == ["stays", event, "null", "null"])
    try scene.call("ann", "disappear", #"{"conversation":"\#(id)","after":0}"#)
    #expect(try scene.field("disappear", "eve", id) == nil)
  }

  @Test("a report keeps what was reported, as it was")
  func reports() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try agree(scene, "ann", "bob", Self.minute)
    try send(scene, "bob", id, "a threat")
    try scene.call("ann", "report", #"{"conversation":"\#(id)","offset":3,"reason":"threat"}"#)
    try scene.pass(2 * Self.minute)
    let report = try #require(try scene.record(Clique.Report.self, Clique.Report.key(1)))
    #expect(report.messages.map(\.text) == ["a threat"])
  }
}
