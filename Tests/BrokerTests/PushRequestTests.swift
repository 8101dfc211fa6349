import Foundation
import Log
import Testing
import Wire

@testable import Broker

/// What the broker does about `push_send`: it counts, hands on, and answers.
@Suite("Notifications for services")
struct PushRequestTests {
  private static let device = #"{"kind":"fcm","token":"t"}"#

  private static func read(_ json: String) throws -> BrokerRequest {
    try ServiceRequest.read([Array("push_send".utf8), Array(json.utf8)]).request
  }

  private static func arguments(_ request: BrokerRequest) -> String? {
    guard case .push(let push) = request else { return nil }
    return String(decoding: push.arguments, as: UTF8.self)
  }

  @Test("Devices and message are handed on as they came, and what is unknown is left out")
  func handsOn() throws {
    let request = try Self.read(#"{"title":"Ad\u0061","x":1,"devices":[{"kind": "fcm"}],"ttl":7,"body":null}"#)
    #expect(Self.arguments(request) == #"{"devices":[{"kind": "fcm"}],"title":"Ad\u0061","ttl":7}"#)
    let once = try Self.read(#"{"devices":[1],"idempotency_key":"k"}"#)
    #expect(once == .once(OnceKey(owner: "", key: "k"), .push(PushRequest(arguments: Array(#"{"devices":[1]}"#.utf8)))))
  }

  @Test("A hundred devices are taken; none, one more, something else and too many bytes are error 107")
  func limits() throws {
    func list(_ count: Int) -> String { Array(repeating: Self.device, count: count).joined(separator: ",") }
    #expect(try Self.arguments(Self.read(#"{"devices":[\#(list(100))]}"#)) != nil)
    let long = String(repeating: "x", count: PushRequest.mostBytes)
    for json in [
      "{}", #"{"devices":[]}"#, #"{"devices":{}}"#, #"{"devices":[\#(list(101))]}"#,
      #"{"devices":[\#(Self.device)],"title":"\#(long)"}"#,
    ] {
      do throws(ClientError) {
        _ = try ServiceRequest.read([Array("push_send".utf8), Array(json.utf8)]).request
        Issue.record("\(json.prefix(60)) was taken")
      } catch {
        #expect(error.code == 107 && error.message.contains("push_send"), "\(error.message)")
      }
    }
  }

  @Test("A request goes out as it is, and is answered with what the notifier says of it, in whatever order")
  func answers() throws {
    let scene = BrokerScene()
    let request = try Self.read(#"{"devices":[\#(Self.device)],"title":"Ada"}"#)
    for tag in 1...2 as ClosedRange<UInt64> { #expect(scene.serve(tag, request) == nil) }
    try #require(scene.notifications.count == 2)
    #expect(scene.notifications.allSatisfy { .push($0.request) == request })
    let (first, second) = (scene.notifications[0].number, scene.notifications[1].number)
    scene.perform { scene.core.notified(.success(Array("{}".utf8)), for: second, in: &$0) }
    scene.perform { scene.core.notified(.failure(.badRequest.saying("devices[0]: no")), for: first, in: &$0) }
    #expect(scene.answers[2] == .result(Array("{}".utf8)))
    #expect(scene.answers[1] == .failed(.badRequest.saying("devices[0]: no")))
    // The scene fails where a service is answered twice.
    scene.perform { scene.core.notified(.success([]), for: first, in: &$0) }
  }

  @Test("So many requests may be under way, one more is error 111, and each answer makes room for another")
  func underWay() throws {
    let scene = BrokerScene()
    let request = try Self.read(#"{"devices":[\#(Self.device)],"title":"Ada"}"#)
    for _ in 0..<PushRequests.most { #expect(scene.ask(request) == nil) }
    #expect(scene.ask(request)?.errorCode == 111 && scene.notifications.count == PushRequests.most)
    let number = try #require(scene.notifications.first?.number)
    scene.perform { scene.core.notified(.success([]), for: number, in: &$0) }
    #expect(scene.ask(request) == nil && scene.ask(request)?.errorCode == 111)
  }

  @Test("A repeat with the same idempotency key is sent once, also while the first is under way")
  func once() throws {
    let scene = BrokerScene()
    let request = try Self.read(#"{"devices":[\#(Self.device)],"title":"Ada","idempotency_key":"k"}"#)
    for tag in 1...2 as ClosedRange<UInt64> { #expect(scene.serve(tag, request) == nil) }
    let number = try #require(scene.notifications.first?.number)
    scene.perform { scene.core.notified(.success(Array("{}".utf8)), for: number, in: &$0) }
    #expect(scene.serve(3, request) == .result(Array("{}".utf8)) && scene.answers[2] == scene.answers[1])
    #expect(scene.notifications.count == 1)
  }

  @Test("A gateway, which asks in clients' names, has no notifications sent")
  func gateways() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.request(1, .push(PushRequest(arguments: Array("{}".utf8))))
    #expect(scene.hears() == [.reply(1, .failed(.methodNotFound))] && scene.notifications.isEmpty)
  }
}
