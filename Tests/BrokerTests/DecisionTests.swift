import Log
import Testing
import Wire

@testable import Broker

@Suite("Sequencer")
struct SequencerTests {
  @Test("a kept entry moves the top at once")
  func kept() {
    var sequencer = Sequencer(position: .init(epoch: "e", offset: 4))
    #expect(sequencer.peek() == 5)
    sequencer.kept()
    #expect(sequencer.top.offset == 5)
    #expect(sequencer.peek() == 6)
    #expect(sequencer.isIdle)
  }

  @Test("a taken entry holds its offset, and moves the top when it is completed")
  func taken() {
    var sequencer = Sequencer(position: .init(epoch: "e", offset: 0))
    sequencer.begin()
    sequencer.begin()
    #expect(sequencer.peek() == 3)
    #expect(sequencer.top.offset == 0)
    #expect(!sequencer.isIdle)
    sequencer.completed(offset: 1)
    sequencer.completed(offset: 2)
    #expect(sequencer.top.offset == 2)
    #expect(sequencer.isIdle)
  }

  @Test("after a failure nothing is taken until the last pending entry is back; then its offset is given out again")
  func drain() {
    var sequencer = Sequencer(position: .init(epoch: "e", offset: 0))
    for _ in 0..<3 { sequencer.begin() }
    sequencer.completed(offset: 1)
    sequencer.failed()
    #expect(sequencer.isDraining)
    #expect(sequencer.peek() == nil)
    sequencer.failed()
    #expect(!sequencer.isDraining)
    #expect(sequencer.peek() == 2)
    #expect(sequencer.isIdle)
  }
}

@Suite("Decisions")
struct DecisionTests {
  @Test(
    "recovery: what may be read, what is whole without reading, and what cannot be had",
    arguments: [
      ("e", 5, 5, true, 10, RecoveryDecision.upToDate), ("e", 5, 5, false, 0, .upToDate),
      ("", 5, 5, false, 0, .upToDate), ("x", 5, 5, true, 10, .impossible(.init(.epoch))),
      ("e", 2, 5, true, 3, .read(after: 2, count: 3)), ("", 2, 5, true, 3, .read(after: 2, count: 3)),
      ("e", 2, 5, true, 2, .impossible(.init(3...5, .limit))),
      ("e", 2, 5, false, 10, .impossible(.init(3...5, .notKept))),
      ("e", 6, 5, true, 10, .impossible(.init(.ahead))), ("e", UInt64.max, 5, true, 10, .impossible(.init(.ahead))),
      ("e", 0, UInt64.max, true, 10, .impossible(.init(1...UInt64.max, .limit))),
      ("e\u{301}", 5, 5, true, 10, .impossible(.init(.epoch))), ("x", 0, 0, true, 10, .impossible(.init(.epoch))),
    ] as [(String, UInt64, UInt64, Bool, UInt32, RecoveryDecision)])
  func recovery(epoch: String, offset: UInt64, top: UInt64, keeps: Bool, limit: UInt32, expected: RecoveryDecision) {
    let decision = decideRecovery(
      since: .init(epoch: epoch, offset: offset), top: .init(epoch: "e", offset: top), keepsHistory: keeps,
      limit: limit)
    #expect(decision == expected)
  }

  @Test("canonically equal epochs are two epochs")
  func epochBytes() {
    let decision = decideRecovery(
      since: .init(epoch: "\u{E9}", offset: 1), top: .init(epoch: "e\u{301}", offset: 1), keepsHistory: true, limit: 9)
    #expect(decision == .impossible(.init(.epoch)))
  }

  @Test("a recovery is whole only with each offset once and in order")
  func whole() {
    func publications(_ offsets: [UInt64]) -> [Publication] { offsets.map { Publication(offset: $0, data: []) } }
    #expect(isWhole(publications([3, 4]), after: 2, through: 4))
    #expect(isWhole([], after: 2, through: 2))
    #expect(!isWhole(publications([4]), after: 2, through: 4))
    #expect(!isWhole(publications([4, 3]), after: 2, through: 4))
    #expect(!isWhole(publications([3, 3]), after: 2, through: 4))
    #expect(!isWhole(publications([3, 5]), after: 2, through: 4))
  }

  @Test("an idempotency key is new, known, in conflict, or over")
  func idempotency() {
    let held = IdempotencyRecord(key: "k", offset: 9, digest: 1, expires: 100)
    #expect(decideIdempotency(nil, digest: 1, now: 0) == .publish)
    #expect(decideIdempotency(held, digest: 1, now: 99) == .alreadyPublished(offset: 9))
    #expect(decideIdempotency(held, digest: 2, now: 99) == .conflict)
    #expect(decideIdempotency(held, digest: 2, now: 100) == .publish)
  }

  @Test("the digest is FNV-1a: the same number after every restart")
  func digests() {
    #expect(digest(of: []) == 0xcbf2_9ce4_8422_2325)
    #expect(digest(of: Array("a".utf8)) == 0xaf63_dc4c_8601_ec8c)
    #expect(digest(of: Array("foobar".utf8)) == 0x8594_4171_f739_67e8)
  }

  @Test("presence: who enters twice is there once, and canonically equal users are two")
  func presence() {
    var presence = Presence()
    func member(_ client: String, _ user: String, gateway: UInt64, session: UInt64) -> Presence.Member {
      .init(info: ClientInfo(user: user, client: client), gateway: gateway, session: session)
    }
    let first = presence.enter(member("a", "\u{E9}", gateway: 1, session: 1))
    let again = presence.enter(member("a", "\u{E9}", gateway: 1, session: 2))
    #expect(first && !again)
    _ = presence.enter(member("b", "e\u{301}", gateway: 1, session: 1))
    _ = presence.enter(member("c", "u", gateway: 2, session: 1))
    #expect(presence.count == 3)
    #expect(presence.userCount == 3)
    #expect(presence.hasMembers(of: 1) && presence.hasMembers(of: 2) && !presence.hasMembers(of: 3))
    #expect(presence.removeMembers(of: 1, notNamedIn: 2).map(\.client) == ["b"])
    #expect(presence.infos.map(\.client) == ["a", "c"])
    #expect(presence.leave(client: "b") == nil)
    #expect(presence.removeMembers(of: 1).map(\.client) == ["a"])
    #expect(!presence.hasMembers(of: 1))
    #expect(presence.leave(client: "c")?.client == "c")
    #expect(presence.isEmpty && !presence.hasMembers(of: 2))
  }
}

@Suite("PeerSession")
struct PeerSessionTests {
  /// A message that takes so much of the window.
  private func publication(of cost: Int) -> LinkBody {
    let empty = LinkPublication(channel: "m", publication: Publication(data: []))
    let data = Array(repeating: UInt8(0x31), count: cost - LinkBody.publication(empty).cost)
    return .publication(LinkPublication(channel: "m", publication: Publication(data: data)))
  }

  private func reply(of cost: Int) -> LinkReply {
    let empty = LinkReply(id: 1, response: .result([]))
    return LinkReply(id: 1, response: .result(Array(repeating: 0x31, count: cost - LinkBody.reply(empty).cost)))
  }

  @Test("the window closes over what is under way, and one message is always let through")
  func window() {
    let session = PeerSession(now: 0)
    let large = publication(of: 250)
    #expect(session.number(large, window: 200, now: 0) == 0)
    session.consumed(250)
    #expect(session.number(large, window: 500, now: 0) == 1)
    #expect(session.number(large, window: 500, now: 0) == 2)
    #expect(session.number(publication(of: 170), window: 500, now: 0) == nil)
    #expect(session.number(.reply(reply(of: 200)), window: 500, now: 0) == 3)
    #expect(session.number(publication(of: 170), window: 500, now: 0) == nil)
  }

  @Test("answers find room in half of the window, late ones in all of it")
  func answers() {
    let session = PeerSession(now: 0)
    #expect(session.hasRoom(forAnswerOf: 500, window: 1000))
    #expect(!session.hasRoom(forAnswerOf: 501, window: 1000))
    _ = session.number(publication(of: 600), window: 1000, now: 0)
    #expect(!session.hasRoom(forAnswerOf: 0, window: 1000))
    for cost in [200, 200, 100] { session.reply(later: reply(of: cost)) }
    #expect(session.takeLateReplies(window: 1000).map { LinkBody.reply($0).cost } == [200, 200])
    #expect(session.takeLateReplies(window: 650).isEmpty)
    #expect(session.takeLateReplies(window: 700).map { LinkBody.reply($0).cost } == [100])
    session.consumed(.max)
    session.reply(later: reply(of: 2000))
    #expect(session.takeLateReplies(window: 1000).count == 1)
    #expect(session.lateReplies.isEmpty)
  }

  @Test("a gateway that claims more than it was sent, or takes back what it said, is believed neither")
  func claims() {
    let session = PeerSession(now: 0)
    _ = session.number(publication(of: 200), window: 1000, now: 0)
    session.consumed(.max)
    #expect(session.hasRoom(for: 1001, window: 1000), "nothing is under way")
    session.consumed(5)
    #expect(session.hasRoom(for: 1001, window: 1000))
  }

  @Test("sequence numbers are taken in order only")
  func sequence() {
    let session = PeerSession(now: 0)
    let answers = [1, 2, 4, 2, 3].map { session.accept(sequence: $0) }
    #expect(answers == [true, true, false, false, true])
  }

  @Test("publish results are known until the gateway needs them no more")
  func results() {
    var results = PublishResults()
    results.started(3)
    #expect(results[3] == .underWay)
    results.remember(.done, for: 3)
    results.remember(.done, for: 9)
    #expect(results[3] == .answered(.done))
    results.forget(before: 4)
    #expect(results[3] == .over)
    #expect(results[9] == .answered(.done))
    results.remember(.done, for: 2)
    results.started(2)
    #expect(results[2] == .over)
    results.forget(before: .max)
    #expect(results[9] == .over)
  }
}
