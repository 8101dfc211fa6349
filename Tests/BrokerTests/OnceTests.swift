import Log
import Testing
import Wire

@testable import Broker

@Suite("Requests that are done once")
struct OnceTests {
  private func once(_ key: String, _ request: BrokerRequest, by owner: String = "billing") -> BrokerRequest {
    .once(OnceKey(owner: owner, key: key), request)
  }

  private let disconnect = BrokerRequest.disconnect(SessionTarget(user: "ann"), .forceDisconnect)

  @Test("a repeat is answered as the first time, and nothing is done again; another key or another owner is a new one")
  func repeats() {
    let scene = BrokerScene()
    #expect(scene.ask(once("k", disconnect)) == .done)
    #expect(scene.ask(once("k", disconnect)) == .done)
    #expect(scene.core.counters.orders == 1)
    #expect(scene.ask(once("k", disconnect, by: "other")) == .done)
    #expect(scene.ask(once("l", disconnect)) == .done)
    #expect(scene.core.counters.orders == 3 && scene.core.counters.duplicatesAvoided == 1)
  }

  @Test("the same key with other arguments is a conflict")
  func conflict() {
    let scene = BrokerScene()
    _ = scene.ask(once("k", disconnect))
    let other = BrokerRequest.disconnect(SessionTarget(user: "ben"), .forceDisconnect)
    #expect(scene.ask(once("k", other))?.errorCode == 107)
    #expect(scene.core.counters.orders == 1)
  }

  @Test("a repeat that comes while the first is under way waits for the same answer")
  func underWay() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    #expect(scene.serve(1, once("k", disconnect)) == nil)
    #expect(scene.serve(2, once("k", disconnect)) == nil)
    guard case .order(let id, _)? = scene.hears().first else {
      Issue.record("the gateway got no order")
      return
    }
    scene.send(.obeyed(LinkObeyed(id: id)), from: 1)
    #expect(scene.answers[1] == .done && scene.answers[2] == .done)
    #expect(scene.core.counters.orders == 1 && !scene.core.calls.areUnderWay)
  }

  @Test("a request that failed may be tried again with its key")
  func failed() {
    let scene = BrokerScene()
    let nowhere = BrokerRequest.historyRemove("nowhere:x")
    #expect(scene.ask(once("k", nowhere))?.errorCode == 102)
    #expect(scene.ask(once("k", disconnect)) == .done)
  }

  @Test("a key is held for five minutes, and then a repeat is done again")
  func ends() {
    let scene = BrokerScene()
    _ = scene.ask(once("k", disconnect))
    scene.pass(OnceCalls.lifetime - 1)
    _ = scene.ask(once("k", disconnect))
    #expect(scene.core.counters.orders == 1)
    scene.pass(1)
    #expect(scene.core.calls.count == 0 && scene.core.calls.bytes == 0)
    _ = scene.ask(once("k", disconnect))
    #expect(scene.core.counters.orders == 2)
  }

  @Test("a send is the same one, whatever a gateway has lent for it")
  func lent() throws {
    func send(lent: [UInt8], to other: String = "ben") throws -> BrokerRequest {
      let data = #"{"to":"\#(other)","front":"front-of-the-picture-0","rear":"rear-of-the-picture-01"}"#
      var command = try AppCommand("state.send", Array(data.utf8), by: "ann")
      if case .state(.send(var send)) = command {
        send.lent = lent
        command = .state(.send(send))
      }
      return .call(.init(command, caller: ClientInfo(user: "ann", client: "service")))
    }
    var calls = OnceCalls()
    let (key, service) = (OnceKey(owner: "o", key: "k"), Requester.remoteService(7, request: 1))
    #expect(calls.decide(key, try send(lent: [1]), by: service, at: 0) == .begin)
    _ = calls.answered(service, .result([2]))
    #expect(calls.decide(key, try send(lent: []), by: service, at: 0) == .answer(.result([2])))
    #expect(calls.decide(key, try send(lent: [1], to: "eve"), by: service, at: 0) == .conflict)
  }

  @Test("the five minutes of a key whose first request failed begin with the one that did not")
  func endsAfterFailure() {
    let scene = BrokerScene()
    #expect(scene.ask(once("k", .historyRemove("nowhere:x")))?.errorCode == 102)
    scene.pass(OnceCalls.lifetime - 1)
    #expect(scene.ask(once("k", disconnect)) == .done)
    scene.pass(1)
    #expect(scene.ask(once("k", disconnect)) == .done)
    #expect(scene.core.counters.orders == 1 && scene.core.counters.duplicatesAvoided == 1)
    scene.pass(OnceCalls.lifetime - 1)
    #expect(scene.core.calls.count == 0 && scene.core.calls.bytes == 0)
  }

  @Test("as many keys are held as may be, and one more is refused for the moment")
  func full() {
    var calls = OnceCalls()
    for number in 0..<UInt64(OnceCalls.mostKeys) {
      let key = OnceKey(owner: "o", key: "\(number)")
      #expect(calls.decide(key, disconnect, by: .service(ServiceTag(number: number)), at: 0) == .begin)
      _ = calls.answered(.service(ServiceTag(number: number)), .done)
    }
    let key = OnceKey(owner: "o", key: "one more")
    #expect(calls.decide(key, disconnect, by: .service(ServiceTag(number: 1 << 40)), at: 0) == .full)
    var now = OnceCalls.lifetime
    while calls.count > 0 {
      calls.forget(at: now)
      now += 1
    }
    #expect(calls.decide(key, disconnect, by: .service(ServiceTag(number: 1 << 40)), at: now) == .begin)
  }

  @Test("an edit with a key is made once, and the same key for another edit is a conflict")
  func edits() {
    let scene = BrokerScene()
    _ = scene.ask(.publish(.init(channel: "room", data: Array("1".utf8))))
    func edit(_ text: String?, _ key: String?) -> BrokerResponse? {
      scene.ask(
        .edit(
          .init(channel: "room", offset: 1, data: text.map { Array($0.utf8) }, editor: nil, idempotencyKey: key)))
    }
    guard case .published(let position)? = edit("2", "k") else {
      Issue.record("the edit was refused")
      return
    }
    #expect(edit("3", nil) != .published(position))
    #expect(edit("2", "k") == .published(position))
    #expect(edit("4", "k")?.errorCode == ClientError.idempotencyConflict.code)
    #expect(edit(nil, "k")?.errorCode == ClientError.idempotencyConflict.code)
    guard case .history(let page)? = scene.ask(.history(.init(channel: "room", limit: 10))) else { return }
    #expect(page.publications.first?.data == Array("3".utf8))
  }
}
