import Foundation
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Webhooks: channels that are occupied and vacated")
struct OccupancyTests {
  private func scene(_ disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    .withWebhook([.channelOccupied, .channelVacated], disk: disk)
  }

  /// All that was told of channels, each event once.
  private func told(_ scene: BrokerScene) -> [String] {
    while true {
      if !scene.disk.waiting.isEmpty {
        scene.finish()
      } else if scene.status.waiting > 0 {
        scene.receiverAnswers()
      } else {
        break
      }
    }
    return scene.posts.flatMap(BrokerScene.events).compactMap { event in
      guard let type = event["type"] as? String, let channel = event["channel"] as? String else { return nil }
      return "\(type) \(channel)"
    }
  }

  @Test("The first subscriber occupies a channel; it is vacated when nobody was there for the time set")
  func both() {
    let scene = scene()
    scene.request(1, .subscribe("a", member: "c1"))
    scene.hello(2)
    scene.request(1, .subscribe("a", member: "c2"), from: 2)
    #expect(told(scene) == ["channel_occupied a"])
    scene.request(2, .unsubscribe("a", member: "c1", keeps: false))
    scene.pass(6_000)
    #expect(told(scene).count == 1, "the other gateway still has a subscriber")
    scene.request(2, .unsubscribe("a", member: "c2", keeps: false), from: 2)
    scene.pass(500)
    scene.pass(4_000)
    #expect(told(scene).count == 1)
    scene.pass(1_000)
    #expect(told(scene) == ["channel_occupied a", "channel_vacated a"])
    scene.request(3, .subscribe("a", member: "c2"), from: 2)
    #expect(told(scene).count == 3 && told(scene).last == "channel_occupied a")
  }

  @Test("A page that is loaded again is no pair of events")
  func reload() {
    let scene = scene()
    scene.request(1, .subscribe("a", member: "c1"))
    for id in UInt64(0)..<5 {
      scene.request(10 + 2 * id, .unsubscribe("a", member: "c1", keeps: false))
      scene.pass(1_000)
      scene.request(11 + 2 * id, .subscribe("a", member: "c1"))
      scene.pass(1_000)
    }
    scene.pass(6_000)
    #expect(told(scene) == ["channel_occupied a"])
  }

  @Test("After a restart nothing is told twice, and what nobody came back to is vacated")
  func restart() {
    let disk = ScriptedStore()
    let first = scene(disk)
    for (id, channel) in [(1, "a"), (2, "b")] as [(UInt64, ChannelName)] {
      first.request(id, .subscribe(channel, member: "c1"))
    }
    #expect(told(first).sorted() == ["channel_occupied a", "channel_occupied b"])
    let next = scene(disk)
    next.request(1, .subscribe("a", member: "c1"), isResync: true)
    next.request(2, .subscribe("a"), isResync: true)
    next.send(.resynced, from: 1)
    next.pass(9_000)
    #expect(told(next).isEmpty)
    next.pass(2_000)
    #expect(told(next) == ["channel_vacated b"])
  }

  @Test("A notice that the disk does not take is tried again, and what came after counts")
  func trouble() {
    let scene = scene()
    scene.request(1, .subscribe("a", member: "c1"))
    scene.finish(error: .full("no room"))
    scene.pass(1_500)
    #expect(told(scene) == ["channel_occupied a"])
    scene.request(2, .unsubscribe("a", member: "c1", keeps: false))
    scene.pass(500)
    scene.pass(5_000)
    scene.request(3, .subscribe("a", member: "c1"))
    scene.finish()
    #expect(told(scene) == ["channel_occupied a", "channel_vacated a", "channel_occupied a"])
  }

  @Test("A channel of which no webhook wants to know stands in no table")
  func unwanted() {
    let scene = BrokerScene.withWebhook(.publication)
    scene.request(1, .subscribe("a", member: "c1"))
    #expect(scene.core.webhooks?.occupancy == nil && scene.disk.waiting.isEmpty)
  }
}
