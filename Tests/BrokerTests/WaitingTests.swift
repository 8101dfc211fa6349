import Log
import Testing
import Wire

@testable import Broker

/// A store that takes its time to answer: nobody but those who ask waits for it, and all is done in order and once.
@Suite("Inputs that wait for a store")
struct WaitingTests {
  private func scene() -> BrokerScene {
    let scene = BrokerScene()
    for gateway in [1, 2] as [UInt64] { scene.hello(gateway) }
    _ = (scene.hears(1), scene.hears(2))
    scene.disk.delays = true
    return scene
  }

  private func texts(_ scene: BrokerScene) -> [String] {
    scene.disk.waiting.map { String(decoding: $0.publication.data, as: UTF8.self) }
  }

  @Test("a channel that is loaded parks what concerns it, in order; others go on")
  func order() {
    let scene = scene()
    scene.publish(1, "d:1", "a")
    scene.request(2, .subscribe("d:1", member: "c"))
    scene.publish(3, "d:1", "b")
    scene.request(4, .unsubscribe("d:1", member: "c", keeps: false))
    scene.publish(5, "m", "at once")
    #expect(scene.hears().count == 1 && scene.disk.waiting.isEmpty && scene.disk.questions.count == 1)
    scene.answer()
    #expect(texts(scene) == ["a", "b"])
    #expect(scene.hears() == [.reply(2, .subscribed(0)), .join("c"), .reply(4, .done)])
    scene.finish(2)
    #expect(scene.hears() == [.reply(1, .published(1)), .reply(3, .published(2))])
    #expect(scene.core.stores.room.isEmpty && scene.core.stores.room.count == 0)
  }

  @Test("publications overtake a subscription that waits for an old page: neither gap nor double")
  func recovery() {
    let scene = scene()
    scene.disk.delays = false
    for (id, text) in [(1, "a"), (2, "b"), (3, "c")] as [(UInt64, String)] { scene.publish(id, "d:1", text) }
    scene.finish(3)
    scene.request(4, .subscribe("d:1"), from: 2)
    _ = (scene.hears(1), scene.hears(2))
    scene.disk.delays = true
    scene.request(5, .subscribe("d:1", member: "c", since: .init(epoch: "disk", offset: 1)))
    scene.request(6, .unsubscribe("d:1", member: "c", keeps: false))
    scene.publish(7, "d:1", "d")
    scene.finish()
    #expect(scene.hears(1) == [.reply(7, .published(4))])
    #expect(scene.hears(2) == [.publication("d:1", 4, "d")])
    // The page goes to 3; the rest is asked for by itself.
    scene.answer()
    #expect(scene.hears(1).isEmpty && scene.disk.questions.count == 1)
    scene.answer()
    let heard = scene.hears(1)
    guard case .reply(5, .subscribed(let subscribed))? = heard.first else {
      Issue.record("\(heard)")
      return
    }
    #expect(subscribed.publications.map(\.offset) == [2, 3, 4] && subscribed.recovered)
    #expect(subscribed.position.offset == 4)
    #expect(heard.dropFirst().contains(.reply(6, .done)))
    #expect(scene.core.channels["d:1"]?.interest == [2])
  }

  @Test("what cannot be read is refused, and works when it can be")
  func failure() {
    let scene = scene()
    scene.publish(1, "d:1", "a")
    scene.publish(2, "d:1", "b")
    scene.answer(error: .failed("x"))
    #expect(scene.hears().compactMap(\.internalError) == [1, 2])
    scene.publish(3, "d:1", "c")
    scene.answer()
    scene.finish()
    #expect(scene.hears() == [.reply(3, .published(1))])
  }

  @Test("what came on a link that began anew is not answered there; a publication is done once all the same")
  func newSession() {
    let scene = scene()
    scene.publish(1, "d:1", "a")
    scene.request(2, .subscribe("d:1", member: "c"))
    scene.hello(1, session: 2)
    scene.publish(1, "d:1", "a", isRetry: true)
    _ = scene.hears()
    scene.answer()
    #expect(texts(scene) == ["a"])
    scene.finish()
    #expect(scene.hears() == [.reply(1, .published(1))])
    #expect(scene.core.channels["d:1"]?.interest == [])
  }

  @Test("what came from a gateway that was forgotten meanwhile is not done: it asks again when it is back")
  func forgotten() {
    let scene = scene()
    scene.publish(1, "d:1", "a")
    for _ in 0..<6 { scene.pass(8000) }
    scene.hello(1, session: 2)
    scene.publish(1, "d:1", "a", isRetry: true)
    scene.answer()
    scene.answer()
    #expect(texts(scene) == ["a"])
  }

  @Test("what waits for room on the link comes after all that waited for the store before it")
  func orderBehindReads() {
    let scene = BrokerScene { $0.linkWindowBytes = 8000 }
    scene.hello(1)
    scene.disk.delays = true
    scene.request(1, .history(.init(channel: "d:1", limit: 9)))
    scene.request(2, .history(.init(channel: "d:1", limit: 9)))
    scene.publish(3, "d:1", "first")
    scene.request(4, .history(.init(channel: "d:1", limit: 9)))
    scene.publish(5, "d:1", "second")
    for _ in 0..<4 { scene.answer() }
    #expect(texts(scene) == ["first", "second"])
  }

  @Test("inputs in line hold back room for their answers, and what they take is counted until they are done")
  func linesAreWeighed() {
    let scene = BrokerScene { $0.linkWindowBytes = 80_000 }
    scene.hello(1)
    scene.disk.delays = true
    for id in 1...400 as ClosedRange<UInt64> {
      let subscribe = BrokerRequest.SubscribeRequest(
        channel: "d:1", since: .init(epoch: "disk", offset: 0), recoveryLimit: 300,
        member: ClientInfo(user: "u", client: "c"), answer: AnswerLimit(bytes: 500))
      scene.request(id, .subscribe(subscribe))
    }
    #expect(scene.core.counters.requestsDeferred > 0)
    let (count, bytes) = (scene.core.stores.room.count, scene.core.stores.room.bytes)
    #expect(count > 1 && count < 400 && bytes >= 128 * count)
    for _ in 0..<400 where scene.core.stores.room.count > 0 || !scene.disk.questions.isEmpty {
      scene.answer()
      scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
    }
    #expect(scene.core.stores.room.isEmpty && scene.core.stores.room.count == 0 && scene.core.stores.room.bytes == 0)
  }

  @Test("requests that wait for a channel are not read beyond what may wait for the log")
  func bytesAreBounded() {
    let scene = BrokerScene { $0.pendingBytes = 3000 }
    scene.hello(1)
    scene.disk.delays = true
    for id in 1...10 as ClosedRange<UInt64> { scene.publish(id, "d:1", String(repeating: "x", count: 400)) }
    #expect(scene.core.shouldPauseIngress && scene.core.stores.bytesOfRoom == 0)
    scene.answer()
    scene.finish(10)
    #expect(!scene.core.shouldPauseIngress && scene.core.mayResumeIngress)
  }

  @Test("an app is refused, and its lists are left alone, while somebody else keeps its records")
  func appWithoutRecords() {
    let scene = BrokerScene(TinyApp())
    scene.hello(1)
    scene.call(1, "soon a 1")
    scene.finish(.max)
    scene.disk.delays = true
    scene.call(2, "get b")
    _ = scene.hears()
    scene.disk.tell(.lost)
    scene.answer(error: .fenced)
    #expect(scene.ask(TinyApp.request("get b"))?.errorCode == 100)
    scene.pass(2000)
    #expect(scene.ask(TinyApp.request("get b"))?.errorCode == 100)
    scene.disk.delays = false
    scene.disk.tell(.regained)
    scene.answer()
    scene.pass(2000)
    scene.hello(1, session: 2)
    scene.call(4, "get b")
    #expect(scene.hears().contains(.reply(4, .result(Array("\"nothing\"".utf8)))))
  }

  @Test("a resync is over when its subscriptions are, however long they wait")
  func resync() {
    let scene = scene()
    scene.request(1, .subscribe("d:1", member: "c"), isResync: true)
    scene.send(.resynced, from: 1)
    scene.request(2, .subscribe("m"))
    #expect(scene.hears().isEmpty)
    scene.answer()
    #expect(scene.hears().count == 2)
    #expect(scene.core.channels["d:1"]?.members.count == 1)
  }

  @Test("a store that is lost: those who wait are told, gateways begin anew, and all works when it is back")
  func lost() {
    let scene = scene()
    scene.disk.delays = false
    scene.request(1, .subscribe("d:1"))
    scene.publish(2, "d:1", "a")
    _ = scene.hears()
    scene.disk.tell(.lost)
    scene.answer()
    #expect(scene.hears(1) == [.reset] && scene.hears(2) == [.reset])
    #expect(scene.core.channels["d:1"] == nil)
    scene.finish(error: .fenced)
    scene.hello(1, session: 2)
    scene.hello(1, session: 3)
    #expect(scene.hears(1) == [], "another broker has the channels, and welcomes the gateway")
    scene.disk.term = 2
    scene.disk.tell(.regained)
    scene.answer()
    #expect(scene.hears(1) == [.welcome])
    scene.publish(3, "d:1", "b")
    scene.finish()
    #expect(scene.hears() == [.reply(3, .published(1))])
  }

  private func position(_ scene: BrokerScene) throws -> StreamPosition {
    let answer = scene.ask(.history(.init(channel: "m", limit: 0)))
    let page: HistoryPage? = if case .history(let page)? = answer { page } else { nil }
    return try #require(page).position
  }

  @Test("Channels in memory begin anew where another broker has had them in between, and go on where none has")
  func memory() throws {
    for others in [0, 1] as [UInt64] {
      let scene = scene()
      scene.disk.delays = false
      scene.publish(1, "m", "a")
      let before = try position(scene)
      scene.disk.tell(.lost)
      scene.answer()
      scene.disk.term = 1 + others
      scene.disk.tell(.regained)
      scene.answer()
      let after = try position(scene)
      #expect((after.epoch == before.epoch) == (others == 0) && after.offset == 1 - others, "\(before), \(after)")
    }
  }
}
