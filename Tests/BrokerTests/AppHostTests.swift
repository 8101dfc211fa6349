import Log
import Testing
import Wire

@testable import Broker

@Suite("Apps decide, the log has the last word")
struct AppHostTests {
  private func scene(_ app: TinyApp = TinyApp(), disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let scene = BrokerScene(app, disk: disk)
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  @Test("a decision is one transaction, answered when all of it is on disk")
  func oneTransaction() {
    let scene = scene()
    scene.call(1, "set a 1")
    #expect(scene.disk.queue.map(\.count) == [2])
    #expect(scene.hears() == [])
    #expect(scene.shown() == [:])
    scene.finish()
    #expect(scene.hears() == [.result(1, "\"set\"")])
    #expect(scene.shown() == ["a": "\"1\""])
  }

  @Test("a command that changes nothing is answered at once, but not before what it may tell of is on disk")
  func waitsForWhatItTells() {
    let scene = scene()
    scene.call(1, "get a")
    #expect(scene.hears() == [.result(1, "\"nothing\"")])
    scene.call(2, "set a 1")
    scene.call(3, "get a")
    #expect(scene.hears() == [])
    scene.finish()
    #expect(scene.hears() == [.result(2, "\"set\""), .result(3, "\"1\"")])
  }

  @Test("what told of a failed decision fails with it, and then everything is as on disk")
  func failure() {
    let scene = scene()
    scene.call(1, "set a 1")
    scene.finish()
    _ = scene.hears()
    scene.call(2, "set a 2")
    scene.call(3, "get a")
    scene.call(4, "set b 1")
    scene.finish(error: .full("x"))
    #expect(scene.hears().map(\.internalError) == [2, 3])
    scene.finish()
    #expect(scene.hears().map(\.internalError) == [4])
    scene.call(5, "get a")
    scene.call(6, "get b")
    #expect(scene.hears() == [.result(5, "\"1\""), .result(6, "\"nothing\"")])
    #expect(scene.shown() == ["a": "\"1\""])
  }

  @Test("a publication that was decided upon a record fails with it, and so does the next one")
  func chain() {
    let scene = scene()
    scene.call(1, "set a 1")
    scene.call(2, "say 1 x")
    scene.call(3, "say 2 y")
    scene.finish(error: .full("x"))
    scene.finish(2)
    #expect(scene.hears().map(\.internalError) == [1, 2, 3])
    #expect(scene.disk.written("tiny.chat:1") == [])
    #expect(scene.disk.written("tiny.chat:2") == [])
  }

  @Test("publications that nothing is under way for are entries of their own")
  func plainPublication() {
    let scene = scene()
    scene.call(1, "say 1 x")
    scene.call(2, "say 2 y")
    #expect(scene.disk.queue.map(\.count) == [1, 1])
    scene.finish(2)
    #expect(scene.hears() == [.result(1, "1"), .result(2, "1")])
  }

  @Test("records are as on disk as soon as the last that failed is back, before the rest of its decision is")
  func failureInParts() {
    let scene = scene()
    scene.call(1, "set a 1")
    let completions = scene.disk.finish(error: .full("x"))
    scene.perform { scene.core.complete([completions[0]], in: &$0) }
    scene.call(2, "get a")
    scene.perform { scene.core.complete([completions[1]], in: &$0) }
    scene.call(3, "get a")
    #expect(scene.hears().last == .result(3, "\"nothing\""))
  }

  @Test("what the log refuses leaves no trace")
  func refused() {
    let scene = scene()
    scene.disk.refusal = .full("x")
    scene.call(1, "set a 1")
    #expect(scene.hears().map(\.internalError) == [1])
    scene.disk.refusal = nil
    scene.call(2, "get a")
    #expect(scene.hears() == [.result(2, "\"nothing\"")])
    scene.call(3, "set a 2")
    scene.finish()
    #expect(scene.hears() == [.result(3, "\"set\"")])
    #expect(scene.shown() == ["a": "\"2\""])
  }

  @Test("a refusal takes back the change of the command alone, not that of the one before")
  func refusedUponAnother() {
    let scene = scene()
    scene.call(1, "set a 1")
    scene.disk.refusal = .backlog(bytes: 1)
    scene.call(2, "set a 2")
    scene.disk.refusal = nil
    scene.call(3, "get a")
    scene.finish()
    #expect(scene.hears().last == .result(3, "\"1\""))
  }

  @Test("records survive the broker")
  func restart() {
    let before = scene()
    before.call(1, "set a 1")
    before.finish()
    before.call(2, "set a 2")
    before.disk.crash()
    let after = scene(disk: before.disk)
    after.call(3, "get a")
    #expect(after.hears() == [.result(3, "\"1\"")])
  }

  @Test("a person without a name, an app that is not there and a method that is not are told so")
  func strangers() {
    let scene = scene()
    scene.call(1, "get a", by: "")
    scene.request(
      2, .call(.init(.other(.init(method: "other.x", data: [])), caller: ClientInfo(user: "ann", client: "c"))))
    scene.call(3, "nothing")
    #expect(scene.hears().compactMap(\.error) == [103, 104, 104])
  }

  // MARK: Repeated

  @Test("the same idempotency key publishes once, whoever of the two is answered first")
  func idempotency() {
    let scene = scene()
    scene.call(1, "say 1 x key")
    scene.call(2, "say 1 x key")
    scene.call(3, "say 1 z key")
    #expect(scene.disk.queue.count == 1)
    scene.finish()
    let heard = scene.hears()
    #expect(heard.contains { $0.error == 400 })
    #expect(heard.filter { if case .reply(_, .result) = $0 { true } else { false } }.count == 2)
    #expect(scene.disk.written(TinyApp.chat).count == 1)
  }

  @Test("what is sent again while it is under way fails with it, though what came between them does not")
  func idempotencyUnderWay() {
    let scene = scene()
    scene.call(1, "say 1 x key")
    scene.call(2, "say 2 y")
    scene.call(3, "say 1 x key")
    _ = scene.hears()
    scene.finish(error: .full("x"))
    #expect(scene.hears().map(\.internalError) == [1, 3])
    scene.finish()
    #expect(scene.hears().contains(.result(2, "1")))
  }

  @Test("what is sent again when it is on disk is answered, though what came between them is not on disk yet")
  func idempotencyOnDisk() {
    let scene = scene()
    scene.call(1, "say 1 x key")
    scene.finish()
    scene.call(2, "say 2 y")
    _ = scene.hears()
    scene.call(3, "say 1 x key")
    #expect(scene.hears() == [.result(3, "2")])
  }

  @Test("an idempotency key whose publication failed is free again")
  func idempotencyAfterFailure() {
    let scene = scene()
    scene.call(1, "say 1 x key")
    scene.finish(error: .full("x"))
    scene.call(2, "say 1 x key")
    scene.finish()
    #expect(scene.hears().last == .result(2, "1"))
  }

  @Test("a command that a gateway asks again in a session is done once")
  func retry() {
    let scene = scene()
    scene.call(1, "say 1 x")
    scene.call(1, "say 1 x", isRetry: true)
    #expect(scene.disk.queue.count == 1)
    scene.finish()
    #expect(scene.hears() == [.result(1, "1")])
    scene.call(1, "say 1 x", isRetry: true)
    #expect(scene.hears() == [.result(1, "1")])
    #expect(scene.disk.queue.isEmpty)
  }

  @Test("a command whose publication is on disk is not done again for a broker that was restarted")
  func origin() {
    let before = scene()
    before.call(7, "say 1 x")
    _ = before.disk.finish()
    let after = scene(disk: before.disk)
    after.call(7, "say 1 x", isRetry: true)
    #expect(after.disk.queue.isEmpty)
    #expect(after.hears().count == 1)
    after.call(8, "say 1 y")
    after.finish()
    #expect(after.disk.written(TinyApp.chat).map(\.data) == [Array("\"x\"".utf8), Array("\"y\"".utf8)])
  }

  // MARK: Afterwards

  @Test("who lost their admission, and what is to be discarded, gateways hear when it is on disk")
  func afterwards() {
    let scene = scene()
    scene.request(1, .subscribe(.init(channel: TinyApp.chat, member: ClientInfo(user: "bob", client: "b"))))
    _ = scene.hears()
    scene.call(2, "bar bob")
    #expect(scene.hears() == [])
    scene.finish()
    #expect(scene.hears() == [.audience("bob", .refused), .reply(2, .result(Array("{}".utf8)))])
    scene.call(3, "discard picture")
    #expect(scene.hears() == [])
    scene.finish()
    #expect(scene.hears() == [.discard([PictureFate(gone: "picture")]), .reply(3, .result(Array("{}".utf8)))])
  }

  @Test("a readmission is not told of when it failed")
  func readmissionFails() {
    let scene = scene()
    scene.request(1, .subscribe(.init(channel: TinyApp.chat, member: ClientInfo(user: "bob", client: "b"))))
    _ = scene.hears()
    scene.call(2, "bar bob")
    scene.finish(error: .full("x"))
    #expect(scene.hears().map(\.internalError) == [2])
  }

  @Test("old bytes are scrubbed after the erasure is on disk")
  func scrub() {
    let scene = scene()
    scene.call(1, "erase a")
    #expect(scene.disk.scrubs == 0)
    scene.finish()
    #expect(scene.disk.scrubs == 1)
  }

  @Test("who was let in upon something that did not get to the disk is let go")
  func admissionUponFailure() {
    let scene = scene()
    scene.call(1, "bar bob")
    scene.finish(.max)
    scene.call(2, "erase bar/bob")
    let bob = ClientInfo(user: "bob", client: "1")
    scene.request(3, .subscribe(.init(channel: TinyApp.chat, recoveryLimit: 10, member: bob)))
    #expect(scene.hears().contains { if case .reply(3, .subscribed) = $0 { true } else { false } })
    scene.finish(error: .full("x"))
    #expect(scene.hears().contains(.audience("bob", .refused)))
  }

  @Test("whose admission has to be looked for on a slow disk is made to subscribe again, not let go")
  func admissionIsUnknown() {
    let scene = scene()
    scene.call(1, "set a 1")
    let bob = ClientInfo(user: "bob", client: "1")
    let subscribe = BrokerRequest.subscribe(.init(channel: TinyApp.chat, recoveryLimit: 10, member: bob))
    scene.request(2, subscribe)
    _ = scene.hears()
    scene.disk.delays = true
    scene.finish(error: .full("x"))
    #expect(scene.hears().contains(.audience("bob", .unknown)))
    scene.request(3, subscribe)
    #expect(!scene.hears().contains { if case .reply(3, _) = $0 { true } else { false } })
    // The store answers for one record after the other.
    for _ in 0..<2 { scene.answer() }
    #expect(scene.hears().contains { if case .reply(3, .subscribed) = $0 { true } else { false } })
  }

  @Test("an app that waits for the newest messages gets those that came meanwhile, too")
  func newestGrows() {
    let scene = scene()
    scene.call(1, "say 1 one")
    scene.finish()
    scene.disk.delays = true
    scene.call(2, "last 1")
    // Commands of one person are done in their order.
    scene.call(3, "say 1 two", by: "bob")
    scene.finish()
    _ = scene.hears()
    // The page ends where the channel ended when it was asked for.
    scene.answer()
    #expect(scene.hears().isEmpty && scene.disk.questions.count == 1)
    scene.answer()
    #expect(scene.hears() == [.reply(2, .result(Array("\"two\"".utf8)))])
  }

  @Test("who was let in upon something that got to the disk is left alone, whatever fails later")
  func admissionUponSuccess() {
    let scene = scene()
    scene.call(1, "set a 1")
    let bob = ClientInfo(user: "bob", client: "1")
    scene.request(2, .subscribe(.init(channel: TinyApp.chat, recoveryLimit: 10, member: bob)))
    scene.finish(.max)
    scene.call(3, "set a 2")
    scene.finish(error: .full("x"))
    #expect(!scene.hears().contains { if case .audience = $0 { true } else { false } })
  }

  @Test("no more admissions are remembered than records under way can undo")
  func fewDoubts() throws {
    var admissions = DoubtfulAdmissions()
    var records = Sequencer(position: StreamPosition(epoch: "e", offset: 0))
    for number in 0..<10_000 as Range<UInt64> {
      _ = records.peek()
      records.begin()
      admissions.add("user-\(number)", to: TinyApp.chat, upon: records)
      records.completed(offset: number + 1)
    }
    #expect(admissions.count <= 1025)
  }

  @Test("what is to be discarded is said again, once, by a broker that comes back")
  func discardedAgain() {
    let before = scene()
    before.call(1, "discard picture")
    before.finish()
    let after = BrokerScene(TinyApp(), disk: before.disk)
    after.time.wall += BrokerCore.discardInterval
    after.hello(1)
    _ = after.hears()
    after.pass(10)
    #expect(after.hears() == [.discard([PictureFate(gone: "picture")])])
    after.finish()
    after.pass(1000)
    #expect(!after.hears().contains(.discard([PictureFate(gone: "picture")])))
  }

  @Test("many erasures within a moment are scrubbed at once for the first, and together for the rest")
  func scrubTogether() {
    let scene = scene()
    for index in 0..<10 {
      scene.call(UInt64(1 + index), "erase k\(index)")
      scene.finish()
    }
    #expect(scene.disk.scrubs == 1)
    scene.pass(1000)
    #expect(scene.disk.scrubs == 2)
    scene.pass(1000)
    #expect(scene.disk.scrubs == 2)
  }

  // MARK: Around the rules

  @Test("services and clients cannot write to an app's channels around it")
  func around() {
    let scene = scene()
    scene.call(1, "say 1 x")
    scene.finish()
    _ = scene.hears()
    let reader = ClientInfo(user: "ann", client: "c")
    let attempts: [BrokerRequest] = [
      .publish(.init(channel: TinyApp.chat, data: [0x31])),
      .publish(.init(channel: TinyApp.list, data: [0x31], write: MapWrite(key: "a"))),
      .publish(.init(channel: TinyApp.live, data: [0x31], write: MapWrite(key: "a"))),
      .publish(.init(channel: "tiny.records:all", data: [0x31], write: MapWrite(key: "a"))),
      .edit(.init(channel: TinyApp.chat, offset: 1, data: nil, editor: nil)),
      .edit(.init(channel: TinyApp.chat, offset: 1, data: nil, editor: ClientInfo(user: "bob", client: "b"))),
      .receipt(.init(channel: TinyApp.list, read: 1, reader: reader)),
      .historyRemove(TinyApp.chat),
      .historyRemove("tiny.records:all"),
    ]
    for (index, attempt) in attempts.enumerated() {
      let code = scene.ask(attempt)?.errorCode
      #expect(code == 103 || code == 102, "attempt \(index): \(String(describing: code))")
      scene.request(UInt64(10 + index), attempt)
      let heard = scene.hears().compactMap(\.error)
      #expect(heard == [103] || heard == [102], "attempt \(index): \(heard)")
    }
    #expect(scene.disk.queue.isEmpty)
    #expect(scene.disk.written(TinyApp.chat).count == 1)
  }

  @Test("the tags that say who may see are shown to nobody, and what one may not see is not there")
  func audienceTags() throws {
    let scene = scene()
    scene.call(1, "secret 1", by: "ann")
    scene.finish()
    _ = scene.hears()
    for (viewer, count) in [("ann", 1), ("bob", 0)] {
      let history = scene.ask(.history(.init(channel: TinyApp.chat, limit: 10, viewer: viewer)))
      guard case .history(let page)? = history else {
        Issue.record("\(String(describing: history))")
        return
      }
      #expect(page.publications.map(\.tags) == Array(repeating: ["colour": "red"], count: count))
      let since = StreamPosition(epoch: "disk", offset: 0)
      let member = ClientInfo(user: viewer, client: "c-" + viewer)
      scene.request(2, .subscribe(.init(channel: TinyApp.chat, since: since, recoveryLimit: 300, member: member)))
      guard case .reply(2, .subscribed(let answer))? = scene.hears().first else {
        Issue.record("not subscribed")
        return
      }
      #expect(answer.recovered)
      #expect(answer.publications.map(\.tags) == Array(repeating: ["colour": "red"], count: count))
    }
  }
}

extension Heard {
  var error: UInt32? { if case .reply(_, let response) = self { response.errorCode } else { nil } }
}
