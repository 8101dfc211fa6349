import Log
import Testing
import Wire

@testable import Broker

@Suite("Orders about connections, through the broker")
struct SessionOrderTests {
  private static let target = SessionTarget(user: "ann")
  private static let order = SessionOrder.disconnect(target, .forceDisconnect)
  private static let request = BrokerRequest.disconnect(target, .forceDisconnect)

  private func scene(_ gateways: UInt64...) -> BrokerScene {
    let scene = BrokerScene()
    for gateway in gateways {
      scene.hello(gateway)
      _ = scene.hears(gateway)
    }
    return scene
  }

  private func obey(_ id: UInt64, _ gateway: UInt64, _ scene: BrokerScene) {
    scene.send(.obeyed(LinkObeyed(id: id)), from: gateway)
  }

  @Test("every gateway is told, and the service is answered when the last one has done it")
  func everyGateway() {
    let scene = scene(1, 2)
    #expect(scene.serve(1, Self.request) == nil)
    #expect(scene.hears(1) == [.order(1, Self.order)])
    #expect(scene.hears(2) == [.order(1, Self.order)])
    obey(1, 1, scene)
    obey(1, 1, scene)
    #expect(scene.answers[1] == nil)
    obey(1, 2, scene)
    #expect(scene.answers[1] == .done)
    #expect(scene.core.orders.isEmpty)
    #expect(scene.core.counters.orders == 1 && scene.core.counters.ordersLate == 0)
  }

  @Test("where there is no gateway, it is done at once")
  func noGateway() { #expect(BrokerScene().serve(1, Self.request) == .done) }

  @Test("a gateway whose session broke hears it again in the next one, and is waited for")
  func newSession() {
    let scene = scene(1)
    _ = scene.serve(1, Self.request)
    _ = scene.hears()
    scene.hello(1, session: 2)
    #expect(scene.hears() == [.welcome, .order(1, Self.order)])
    #expect(scene.answers[1] == nil)
    obey(1, 1, scene)
    #expect(scene.answers[1] == .done)
  }

  @Test("a gateway that departs is not waited for, and hears it when it comes back")
  func departed() {
    let scene = scene(1, 2)
    _ = scene.serve(1, Self.request)
    obey(1, 2, scene)
    scene.send(.goodbye, from: 1)
    #expect(scene.answers[1] == .done)
    _ = scene.hears()
    scene.hello(1, session: 2)
    #expect(scene.hears() == [.welcome, .order(1, Self.order)])
    obey(1, 1, scene)
    #expect(scene.core.orders.isEmpty)
  }

  @Test("an order for a gateway that never comes back is forgotten with it")
  func gone() {
    let scene = scene(1)
    _ = scene.serve(1, Self.request)
    scene.pass(scene.core.configuration.gatewayTimeout + 1)
    #expect(scene.answers[1] == .done)
    #expect(!scene.core.orders.isEmpty)
    scene.pass(2 * scene.core.configuration.gatewayTimeout + 1)
    #expect(scene.core.orders.isEmpty)
  }

  @Test("a gateway that lives and does not confirm makes the answer a temporary error, and it is still told")
  func late() {
    let scene = scene(1)
    _ = scene.serve(1, Self.request)
    let half = scene.core.configuration.gatewayTimeout / 2
    scene.pass(half)
    scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: 0)), from: 1)
    #expect(scene.answers[1] == nil)
    scene.pass(half)
    #expect(scene.answers[1]?.errorCode == 100)
    #expect(scene.core.counters.ordersLate == 1)
    obey(1, 1, scene)
    #expect(scene.core.orders.isEmpty)
  }

  @Test("so many orders wait at a time, and one more is refused as temporary")
  func limit() {
    let scene = scene(1)
    for number in 1...UInt64(PendingOrders.limit) { _ = scene.serve(number, Self.request) }
    #expect(scene.ask(Self.request)?.errorCode == 111)
    obey(1, 1, scene)
    #expect(scene.ask(Self.request) == nil)
  }

  @Test("to subscribe connections and to let them expire are orders like the others")
  func others() {
    let scene = scene(1, 2)
    let subscription = OrderedSubscription(channel: "chat", data: Array("1".utf8))
    _ = scene.serve(1, .beginSubscriptions(Self.target, subscription))
    _ = scene.serve(2, .refresh(Self.target, .at(5)))
    for gateway: UInt64 in [1, 2] {
      #expect(
        scene.hears(gateway)
          == [.order(1, .subscribe(Self.target, subscription)), .order(2, .refresh(Self.target, .at(5)))])
      obey(1, gateway, scene)
    }
    #expect(scene.answers[1] == .done && scene.answers[2] == nil)
    for gateway: UInt64 in [1, 2] { obey(2, gateway, scene) }
    #expect(scene.answers[2] == .done)
    #expect(scene.core.orders.isEmpty)
  }

  @Test("nobody is subscribed to an app's channel, or to one of an unknown namespace, and no gateway hears of it")
  func refusedChannels() {
    let scene = BrokerScene(TinyApp())
    scene.hello(1)
    _ = scene.hears()
    for (channel, code) in [(TinyApp.chat, UInt32(103)), ("nowhere:1", 102)] as [(ChannelName, UInt32)] {
      #expect(scene.ask(.beginSubscriptions(Self.target, .init(channel: channel)))?.errorCode == code, "\(channel)")
    }
    #expect(scene.hears().isEmpty)
    #expect(scene.core.orders.isEmpty && scene.core.counters.orders == 0)
  }

  private func read(_ method: String, _ parameters: String) throws -> BrokerRequest {
    try ServiceRequest.read([Array(method.utf8), Array(parameters.utf8)]).request
  }

  @Test("what a service writes is read as Centrifugo's server API has it, and refused in a sentence where it is not")
  func reading() throws {
    #expect(try read("disconnect", #"{"user":"ann"}"#) == Self.request)
    #expect(
      try read("disconnect", #"{"client":"c","session":"s","whitelist":["w"],"code":4001,"reason":"why"}"#)
        == .disconnect(
          SessionTarget(client: "c", session: "s", whitelist: ["w"]), DisconnectCode(code: 4001, reason: "why")))
    #expect(
      try read("unsubscribe", #"{"user":"ann","channel":"chat:1"}"#)
        == .endSubscriptions(Self.target, "chat:1", .server))
    #expect(
      try read("revoke_token", #"{"uid":"x","expire_at":5}"#) == .revoke(.init(.id("x"), expiresAt: 5)))
    #expect(
      try read("invalidate_user_tokens", #"{"user":"ann","issued_before":7,"channel":"c"}"#)
        == .revoke(.init(.user("ann", issuedBefore: 7, channel: "c"))))
    let wrong = [
      ("disconnect", "{}"), ("disconnect", #"{"user":""}"#), ("disconnect", #"{"user":"a","code":1000}"#),
      ("disconnect", #"{"user":"a","code":70000}"#), ("unsubscribe", #"{"user":"ann"}"#),
      ("disconnect", #"{"user":"a","reason":"\#(String(repeating: "x", count: 124))"}"#),
      ("unsubscribe", #"{"channel":"c"}"#), ("unsubscribe", #"{"user":"a","channel":"c","code":3000}"#),
      ("revoke_token", "{}"), ("invalidate_user_tokens", #"{"channel":"c"}"#),
    ]
    for (method, parameters) in wrong {
      #expect(throws: ClientError.self, "\(method) \(parameters)") { try read(method, parameters) }
    }
  }

  @Test("subscriptions and expiries are read likewise")
  func readingMore() throws {
    let everything = #"{"user":"ann","channel":"c","info":{"a": 1},"data":[],"recover_since":{"epoch":"e","offset":7}}"#
    #expect(
      try read("subscribe", everything)
        == .beginSubscriptions(
          Self.target,
          OrderedSubscription(
            channel: "c", info: Array(#"{"a": 1}"#.utf8), data: Array("[]".utf8), since: .init(epoch: "e", offset: 7))))
    #expect(
      try read("subscribe", #"{"user":"ann","channel":"c","info":null}"#)
        == .beginSubscriptions(Self.target, OrderedSubscription(channel: "c")))
    let expiries: [(String, ConnectionExpiry)] = [
      (#""expired":true"#, .now), (#""expired":true,"expire_at":7"#, .now), (#""expired":false,"expire_at":7"#, .at(7)),
      (#""expire_at":-1"#, .at(-1)), (#""expire_at":0"#, .never), (#""expired":false"#, .never),
    ]
    for (fields, expiry) in expiries {
      #expect(try read("refresh", #"{"user":"ann",\#(fields)}"#) == .refresh(Self.target, expiry), "\(fields)")
    }
    #expect(try read("refresh", #"{"user":"ann"}"#) == .refresh(Self.target, .never))
    let longest = String(repeating: "x", count: 16_382)
    #expect(throws: Never.self) { try read("subscribe", #"{"user":"a","channel":"c","data":"\#(longest)"}"#) }
    let wrong = [
      ("subscribe", #"{"channel":"c"}"#), ("subscribe", #"{"user":"ann"}"#),
      ("subscribe", #"{"user":"a","channel":"c","recover_since":7}"#),
      ("subscribe", #"{"user":"a","channel":"c","recover_since":{"epoch":"e","offset":-1}}"#),
      ("subscribe", #"{"user":"a","channel":"c","info":1,"data":"\#(longest)"}"#),
      ("refresh", "{}"), ("refresh", #"{"user":"a","expired":1}"#), ("refresh", #"{"user":"a","expire_at":1.5}"#),
    ]
    for (method, parameters) in wrong {
      #expect(throws: ClientError.self, "\(method) \(parameters.prefix(80))") { try read(method, parameters) }
    }
  }
}
