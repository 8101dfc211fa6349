import Foundation
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

extension BrokerScene {
  /// A broker with one webhook, on a disk that answers when the test says so.
  static func withWebhook(
    _ events: WebhookEvents, disk: ScriptedStore = ScriptedStore(),
    _ change: (inout WebhookConfiguration) -> Void = { _ in }
  ) -> BrokerScene {
    let scene = BrokerScene(disk: disk) { configuration in
      var webhook = WebhookConfiguration(name: "hook", events: events)
      change(&webhook)
      configuration.webhooks = [webhook]
    }
    scene.perform { scene.core.openWebhooks(in: &$0) }
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  /// The events of the newest request to the receiver.
  var posted: [[String: Any]] { posts.last.map(Self.events) ?? [] }

  static func events(_ post: WebhookPost) -> [[String: Any]] {
    let body = (try? JSONSerialization.jsonObject(with: Data(post.body))) as? [String: Any]
    return body?["events"] as? [[String: Any]] ?? []
  }

  /// The receiver answers the newest request.
  func receiverAnswers(_ result: WebhookAnswer.Result = .status(200)) {
    guard let post = posts.last else { return }
    perform { core.answered(WebhookAnswer(webhook: post.webhook, number: post.number, result: result), in: &$0) }
  }

  var status: WebhookStatus { core.webhookStatuses[0] }
}

/// What stands in outboxes, and when.
@Suite("Webhooks: the outbox")
struct WebhookTests {
  private let outbox: ChannelName = "fanfare.webhook:hook"

  @Test("A durable publication and its event are one transaction, and are acknowledged when both are on disk")
  func oneTransaction() throws {
    let scene = BrokerScene.withWebhook(.publication)
    scene.publish(1, "d:a", "\"x\"")
    #expect(scene.disk.queue.map { $0.map(\.channel) } == [["d:a", outbox]])
    #expect(scene.hears().isEmpty && scene.posts.isEmpty)
    scene.finish()
    #expect(scene.hears().contains(.reply(1, .published(1))))
    let event = try #require(scene.posted.first)
    #expect(event["type"] as? String == "publication" && event["channel"] as? String == "d:a")
    #expect(event["data"] as? String == "x" && event["offset"] as? Int == 1)
    #expect(event["id"] as? String == "hook-disk-1" && event["time"] as? Int64 == scene.time.wall)
  }

  @Test("Where the transaction fails, there is neither publication nor event, and both go on afterwards")
  func failure() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.publish(1, "d:a", "\"x\"")
    scene.finish(error: .full("no room"))
    #expect(scene.hears().compactMap(\.internalError) == [1])
    #expect(scene.posts.isEmpty && scene.status.waiting == 0)
    scene.publish(2, "d:a", "\"y\"")
    scene.finish()
    #expect(scene.hears().contains(.reply(2, .published(1))))
    #expect(scene.posted.compactMap { $0["data"] as? String } == ["y"])
  }

  @Test("A publication in memory is delivered at once, and its event is an entry by itself")
  func memory() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.publish(1, "m", "\"x\"")
    #expect(scene.hears().count == 1)
    #expect(scene.disk.queue.map { $0.map(\.channel) } == [[outbox]])
    scene.finish()
    #expect(scene.posted.count == 1)
  }

  @Test(
    "While the disk refuses, events of publications in memory wait, in order, and are told when it takes them again")
  func refusal() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.disk.refusal = .full("no room")
    for id in 1...3 { scene.publish(UInt64(id), "m", "\"\(id)\"") }
    #expect(scene.hears().count == 3 && scene.status.waiting == 3)
    scene.disk.refusal = nil
    scene.pass(500)
    scene.finish(3)
    scene.receiverAnswers()
    scene.finish()
    let data = scene.posts.flatMap(BrokerScene.events).compactMap { $0["data"] as? String }
    #expect(data == ["1", "2", "3"] && scene.status.lost == 0)
  }

  @Test("Of many events that waited for the disk a turn tells some, and the next turn follows at once, in order")
  func manyRefused() {
    let scene = BrokerScene.withWebhook(.publication) { $0.batchEvents = 10_000 }
    scene.disk.refusal = .full("no room")
    let count = 2 * Outbox.heldPerTurn + 3
    for id in 1...count { scene.publish(UInt64(id), "m", "\"\(id)\"") }
    scene.disk.refusal = nil
    var turns: [Int] = []
    scene.pass(500)
    while !scene.disk.queue.isEmpty, turns.count < 10 {
      turns.append(scene.disk.queue.count)
      // An event that comes between two turns waits behind those that waited before.
      if turns.count == 1 { scene.publish(UInt64(count + 1), "m", "\"\(count + 1)\"") }
      scene.finish(scene.disk.queue.count)
      guard let next = scene.core.nextDeadline(at: scene.time), next <= scene.time.monotonic + 1 else { break }
      scene.pass(1)
    }
    #expect(turns == [Outbox.heldPerTurn, Outbox.heldPerTurn, 4])
    let numbers = scene.disk.written(outbox).compactMap { Outbox.event($0) }.compactMap { event in
      (try? JSONValue(parsing: event.json))?.object?["data"]?.string
    }
    #expect(numbers == (1...count + 1).map(String.init))
    #expect(scene.status.lost == 0)
  }

  @Test("One batch is under way at a time; when it is taken, the cursor is written before the next goes out")
  func batches() {
    let scene = BrokerScene.withWebhook(.publication) { $0.batchEvents = 2 }
    for id in 1...5 { scene.publish(UInt64(id), "d:a", "\"\(id)\"") }
    scene.finish(5)
    #expect(scene.posts.count == 1)
    var ids = [scene.posts[0].id]
    while scene.status.waiting > 0, scene.posts.count < 10 {
      scene.receiverAnswers()
      scene.finish()
      if let id = scene.posts.last?.id, id != ids.last { ids.append(id) }
    }
    #expect(ids == ["hook-disk-1-1", "hook-disk-2-3", "hook-disk-4-5"])
    #expect(scene.status.sent == 5)
  }

  @Test("A broker that was killed after the receiver took a batch sends it again, with the same ids")
  func killed() {
    let disk = ScriptedStore()
    let scene = BrokerScene.withWebhook(.publication, disk: disk)
    scene.publish(1, "d:a", "\"x\"")
    scene.finish()
    let before = scene.posts
    scene.receiverAnswers()
    disk.crash()
    let next = BrokerScene.withWebhook(.publication, disk: disk)
    next.pass(500)
    #expect(next.posts.map(\.id) == before.map(\.id) && next.posts.map(\.body) == before.map(\.body))
    next.receiverAnswers()
    next.finish()
    let third = BrokerScene.withWebhook(.publication, disk: disk)
    third.pass(500)
    #expect(third.posts.isEmpty && third.status.waiting == 0 && third.status.waitingBytes == 0)
  }

  @Test("After a restart it is known how many bytes wait, though the newest events were erased with a user's data")
  func erasedNewest() {
    let disk = ScriptedStore()
    let scene = BrokerScene.withWebhook(.publication, disk: disk)
    for id in 1...3 { scene.publish(UInt64(id), "d:a", "\"\(id)\"") }
    scene.finish(3)
    let bytes = scene.status.waitingBytes
    for offset: UInt64 in [2, 3] { disk.empty(outbox, at: offset) }
    disk.crash()
    let next = BrokerScene.withWebhook(.publication, disk: disk)
    // The first of three that are as long.
    #expect(bytes > 0 && next.status.waiting == 3 && next.status.waitingBytes == bytes / 3)
    next.publish(4, "d:a", "\"4\"")
    next.finish()
    #expect(next.status.waiting == 4 && next.status.waitingBytes == 2 * (bytes / 3))
  }

  @Test("What nobody wants costs no entry: other events, other namespaces, and channels of apps")
  func unwanted() {
    let scene = BrokerScene.withWebhook([.publication, .cliqueRequest]) { $0.namespaces = ["bare"] }
    scene.publish(1, "d:a", "\"x\"")
    #expect(scene.disk.queue.map { $0.map(\.channel) } == [["d:a"]])
    #expect(scene.core.webhooks?.hooks(of: "d:a") == nil)
  }

  @Test("What a gateway tells of a client is told once, though it asks again, also of the next broker")
  func reports() {
    let disk = ScriptedStore()
    let scene = BrokerScene.withWebhook([.connect, .disconnect], disk: disk)
    let report = BrokerRequest.report(ClientEvent(.connected, user: "ann", client: "c1"))
    scene.request(7, report)
    #expect(scene.hears().isEmpty, "it is acknowledged when it is on disk")
    scene.finish()
    #expect(scene.hears() == [.reply(7, .done)])
    scene.request(7, report, isRetry: true)
    #expect(scene.disk.waiting.isEmpty && scene.hears() == [.reply(7, .done)])
    let next = BrokerScene.withWebhook([.connect, .disconnect], disk: disk)
    next.request(7, report, isRetry: true)
    #expect(next.disk.waiting.isEmpty && next.hears() == [.reply(7, .done)])
    next.pass(500)
    #expect(next.posted.compactMap { $0["user"] as? String } == ["ann"])
    #expect(next.posted.compactMap { $0["type"] as? String } == ["connect"])
  }

  @Test("A disconnect carries its code and reason, a subscription its channel")
  func clientEvents() {
    let scene = BrokerScene.withWebhook([.disconnect, .subscribe])
    scene.request(1, .report(ClientEvent(.subscribed, user: "ann", client: "c1", channel: "d:a")))
    scene.request(2, .report(ClientEvent(.disconnected, user: "ann", client: "c1", code: 3005, reason: "stale")))
    scene.finish(2)
    scene.receiverAnswers()
    scene.finish()
    let events = scene.posts.flatMap(BrokerScene.events)
    #expect(events.compactMap { $0["type"] as? String } == ["subscribe", "disconnect"])
    #expect(events.first?["channel"] as? String == "d:a")
    #expect(events.last?["code"] as? Int == 3005 && events.last?["reason"] as? String == "stale")
  }

  @Test("What is read for a webhook is not taken for another's while the disk is slow")
  func slowDisk() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.disk.delays = true
    scene.publish(1, "m", "\"x\"")
    scene.finish()
    #expect(scene.posts.isEmpty)
    scene.publish(2, "m", "\"y\"")
    scene.finish()
    scene.answer()
    #expect(scene.posted.compactMap { $0["data"] as? String } == ["x"])
    scene.receiverAnswers()
    scene.finish()
    scene.answer()
    #expect(scene.posted.compactMap { $0["data"] as? String } == ["y"])
  }

  @Test("Where another broker takes the store over and gives it back, nothing is sent meanwhile and nothing is lost")
  func fenced() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.publish(1, "m", "\"x\"")
    scene.finish()
    scene.disk.tell(.lost)
    scene.perform { scene.core.takeNews(in: &$0) }
    scene.receiverAnswers()
    #expect(scene.disk.waiting.isEmpty)
    scene.disk.tell(.regained)
    scene.perform { scene.core.takeNews(in: &$0) }
    scene.pass(500)
    #expect(scene.posts.count == 2 && scene.posts[0].id == scene.posts[1].id)
  }
}
