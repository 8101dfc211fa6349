import Log
import Testing
import Wire

@testable import Broker

/// What an app says to another partition because an entry of a list is worked out again (``App/follows(_:of:isAwaited:_:)``).
/// The list is in partition 0, and the broker in that one or in 1: then there is nothing of the list but what is said.
@Suite("What entries of lists entail in other partitions")
struct FollowingTests {
  private let app = TinyApp()

  private func scene(_ partition: Int, _ disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    app.told = 1 - partition
    return BrokerScene(app, disk: disk) {
      $0.partitioning = Partitioning(count: 2, namespaces: $0.namespaces)
      $0.partition = partition
    }
  }

  /// What has gone to the other partition.
  private func said(_ scene: BrokerScene) -> [String] { scene.disk.relayed.map(Self.text) }

  /// What waits for the disk, with each of the transactions.
  private func saying(_ scene: BrokerScene) -> [[String]] { scene.disk.relaysWaiting.map { $0.map(Self.text) } }

  private static func text(_ relay: LogRelay) -> String { String(decoding: relay.data, as: UTF8.self) }

  /// A record that is on the disk, with what follows from it.
  private func begin(_ scene: BrokerScene) {
    #expect(scene.serve(1, TinyApp.request("set a 1")) == nil)
    scene.finish()
    #expect(said(scene) == ["a 1 true"])
  }

  @Test("it goes with the transaction of what it follows from, or not at all, wherever the list is", arguments: [0, 1])
  func awaited(partition: Int) {
    let scene = scene(partition)
    #expect(scene.serve(1, TinyApp.request("set a 1")) == nil)
    #expect(scene.disk.queue.count == 1 && saying(scene) == [["a 1 true"]])
    let channels: [ChannelName] = partition == 0 ? ["tiny.records:all", "tiny.list:all"] : ["tiny.records:all"]
    #expect(scene.disk.waiting.map(\.channel) == channels)
    #expect(said(scene) == [] && scene.core.counters.relaysSent == 0, "it is not on disk")
    scene.finish()
    #expect(said(scene) == ["a 1 true"] && scene.core.counters.relaysSent == 1)
    #expect((scene.core.channels[TinyApp.list] == nil) == (partition == 1), "a list elsewhere is not opened")
    #expect(scene.serve(2, TinyApp.request("set a 2")) == nil)
    scene.finish(error: .unavailable("it is away"))
    #expect(scene.answers[2]?.errorCode == 100)
    #expect(said(scene) == ["a 1 true"] && scene.core.counters.relaysSent == 1)
  }

  @Test("what is worked out a moment later is said then, once, and is marked until then", arguments: [0, 1])
  func later(partition: Int) {
    let scene = scene(partition)
    begin(scene)
    #expect(scene.serve(2, TinyApp.request("soon a 2")) == nil)
    #expect(scene.disk.waiting.map(\.channel) == ["tiny.records:all", "tiny.marks:all"] && saying(scene) == [[]])
    scene.turn(3, by: 1000)
    #expect(said(scene) == ["a 1 true", "a 2 false"] && scene.core.counters.relaysSent == 2)
    scene.turn(3, by: 1000)
    #expect(said(scene).count == 2, "once")
  }

  @Test("what a broker was killed before it had said is said by the next one", arguments: [0, 1])
  func killed(partition: Int) {
    let before = scene(partition)
    begin(before)
    #expect(before.serve(2, TinyApp.request("soon a 2")) == nil)
    _ = before.disk.finish()
    let after = scene(partition, before.disk)
    after.turn(3, by: 1000)
    #expect(said(after) == ["a 1 true", "a 2 false"])
  }

  @Test("while the log fails, it is tried again and again, wherever the list is", arguments: [0, 1])
  func failing(partition: Int) {
    let scene = scene(partition)
    begin(scene)
    #expect(scene.serve(2, TinyApp.request("soon a 2")) == nil)
    scene.finish()
    for _ in 0..<3 {
      #expect(saying(scene) == [["a 2 false"]])
      scene.finish(.max, error: .unavailable("it is away"))
      scene.pass(2 * BrokerCore.refreshAgain)
    }
    scene.finish(.max)
    #expect(said(scene) == ["a 1 true", "a 2 false"])
    scene.turn(3, by: 1000)
    #expect(said(scene).count == 2, "once")
  }
}
