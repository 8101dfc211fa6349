import Foundation
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Webhooks: what is given up")
struct WebhookGivenUpTests {
  private func answer(_ scene: BrokerScene, _ request: WebhookRequest) -> [String: Any] {
    guard case .result(let json)? = scene.ask(.webhooks(request)) else { return [:] }
    return (try? JSONSerialization.jsonObject(with: Data(json))) as? [String: Any] ?? [:]
  }

  /// A broker whose receiver has refused so many publications for longer than they are kept for.
  private func gaveUp(_ count: Int, most: Int = 100, disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let scene = BrokerScene.withWebhook(.publication, disk: disk) { webhook in
      webhook.batchEvents = 1
      webhook.giveUpAfter = 1
      webhook.mostGivenUp = most
      (webhook.minimumBackoff, webhook.maximumBackoff) = (10, 10)
    }
    for id in 1...count { scene.publish(UInt64(id), "d:a", "\"\(id)\"") }
    scene.finish(count)
    for _ in 0..<(count * WebhookSender.leastAttempts) {
      scene.pass(500)
      scene.receiverAnswers(.status(500))
      scene.finish()
    }
    return scene
  }

  @Test("What the receiver does not take is listed with the reason, and the rest goes on")
  func listed() throws {
    let scene = gaveUp(3)
    #expect(scene.status.givenUp == 3 && scene.status.keptGivenUp == 3 && scene.status.waiting == 0)
    let page = answer(scene, .givenUp("hook", since: 0, limit: 2))
    let events = try #require(page["events"] as? [[String: Any]])
    #expect(events.map { $0["reason"] as? String } == Array(repeating: "the receiver answered 500", count: 2))
    #expect(events.compactMap { ($0["event"] as? [String: Any])?["data"] as? String } == ["1", "2"])
    #expect(page["left"] as? Int == 1)
    let rest = answer(scene, .givenUp("hook", since: 2, limit: 0))
    #expect((rest["events"] as? [[String: Any]])?.count == 1 && rest["left"] as? Int == 0)
    let state = try #require((answer(scene, .list)["webhooks"] as? [[String: Any]])?.first)
    #expect(state["name"] as? String == "hook" && state["last_error"] as? String == "the receiver answered 500")
    #expect(state["given_up"] as? Int == 3 && state["failing_since"] != nil)
  }

  @Test("What is sent again has the ids that it had, behind what waits, and leaves the list in the same transaction")
  func resent() {
    let disk = ScriptedStore()
    let scene = gaveUp(3, disk: disk)
    let number: UInt64 = 99
    #expect(scene.serve(number, .webhooks(.resend("hook", limit: 2))) == nil, "it is acknowledged when it is on disk")
    #expect(
      disk.queue.map { $0.map(\.channel.string) } == [
        ["fanfare.webhooks:records", "fanfare.webhook:hook", "fanfare.webhook:hook"]
      ])
    scene.finish()
    #expect(scene.answers[number] == .result(Array(#"{"resent":2,"left":1}"#.utf8)))
    scene.receiverAnswers()
    #expect(scene.posted.compactMap { $0["id"] as? String } == ["hook-disk-1"])
    scene.finish()
    scene.receiverAnswers()
    scene.finish()
    #expect(scene.status.waiting == 0 && scene.status.keptGivenUp == 1 && scene.status.failingSince == nil)
    let next = BrokerScene.withWebhook(.publication, disk: disk)
    #expect(next.status.keptGivenUp == 1, "the next broker knows what was sent again")
  }

  @Test("Where the disk refuses, nothing is sent again and nothing leaves the list")
  func refused() {
    let scene = gaveUp(2)
    _ = scene.serve(99, .webhooks(.resend("hook", limit: 0)))
    scene.finish(error: .full("no room"))
    #expect(scene.answers[99]?.errorCode == 100 && scene.status.keptGivenUp == 2)
    _ = scene.serve(100, .webhooks(.resend("hook", limit: 0)))
    scene.finish()
    #expect(scene.answers[100] == .result(Array(#"{"resent":2,"left":0}"#.utf8)))
  }

  @Test("The list is bounded: with one more, the oldest is lost and counted")
  func bounded() {
    let scene = gaveUp(5, most: 2)
    #expect(scene.status.keptGivenUp == 2 && scene.status.givenUp == 5 && scene.status.lost == 3)
  }

  @Test("With more than may wait, the oldest are given up, and the newest wait")
  func tooMany() {
    let scene = BrokerScene.withWebhook(.publication) { webhook in
      webhook.mostWaiting = 3
      webhook.batchEvents = 1
    }
    for id in 1...6 { scene.publish(UInt64(id), "d:a", "\"\(id)\"") }
    scene.finish(6)
    scene.receiverAnswers(.failed("nobody is there"))
    while !scene.disk.waiting.isEmpty { scene.finish() }
    #expect(scene.status.waiting == 3 && scene.status.givenUp == 3 && scene.status.lost == 0)
    #expect(scene.posted.compactMap { $0["data"] as? String } == ["4"])
  }

  @Test("A webhook that is not configured is refused with a sentence")
  func unknown() {
    let scene = BrokerScene.withWebhook(.publication)
    for request in [WebhookRequest.givenUp("other", since: 0, limit: 0), .resend("other", limit: 0)] {
      #expect(scene.ask(.webhooks(request))?.errorCode == 107)
    }
    #expect(BrokerScene().ask(.webhooks(.list)) == .result(Array(#"{"webhooks":[]}"#.utf8)))
  }

  @Test("An operator is told when a receiver begins to fail, when it takes events again, and what was given up")
  func notes() {
    let scene = gaveUp(1)
    let notes = scene.core.webhooks?.takeNotes()
    #expect(
      notes == [
        WebhookNote(webhook: "hook", kind: .fails("the receiver answered 500")),
        WebhookNote(webhook: "hook", kind: .gaveUp(1, "the receiver answered 500")),
      ])
    scene.publish(9, "d:a", "\"x\"")
    scene.finish()
    scene.receiverAnswers()
    #expect(scene.core.webhooks?.takeNotes() == [WebhookNote(webhook: "hook", kind: .recovered)])
  }
}
