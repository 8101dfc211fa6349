import Apps
import Log
import Testing
import Wire

@testable import Broker

/// What the broker makes of publications that backends have committed to the outbox.
@Suite("Messages of the outbox")
struct OutboxTests {
  private func message(
    _ row: Int64, on channel: String = "d:1", _ data: String? = "x", _ options: String = "{}", round: Int = 1
  ) -> OutboxMessage {
    OutboxMessage(
      id: .init(row: row, round: round), channel: channel, data: data.map { Array($0.utf8) },
      options: Array(options.utf8))
  }

  private func tell(_ scene: BrokerScene, _ messages: OutboxMessage...) {
    scene.disk.tell(.outbox(messages))
    scene.perform { scene.core.takeNews(in: &$0) }
  }

  private func rows(_ scene: BrokerScene, _ isOne: (OutboxFate) -> Bool) -> [Int64] {
    scene.disk.fates.filter { isOne($0.fate) }.map(\.row)
  }

  private func published(_ scene: BrokerScene) -> [Int64] { rows(scene) { $0 == .published } }
  private func refused(_ scene: BrokerScene) -> [Int64] {
    rows(scene) { if case .refused = $0 { true } else { false } }
  }
  private func failed(_ scene: BrokerScene) -> [Int64] { rows(scene) { if case .failed = $0 { true } else { false } } }

  @Test("A message is published as a service's is, and its row goes with the entry")
  func published() {
    let scene = BrokerScene()
    tell(scene, message(7, on: "d:1", "hello", #"{"tags": {"a": "b"}, "idempotency_key": "k"}"#), message(8, "again"))
    #expect(scene.disk.waiting.map(\.origin) == [RequestOrigin(outboxRow: 7), RequestOrigin(outboxRow: 8)])
    #expect(scene.disk.waiting.first?.publication.tags == ["a": "b"])
    #expect(published(scene).isEmpty, "nothing is on disk yet")
    scene.finish(2)
    #expect(published(scene) == [7, 8])
    #expect(scene.disk.written("d:1").map { String(decoding: $0.data, as: UTF8.self) } == ["hello", "again"])
    tell(scene, message(9, "hello", #"{"idempotency_key": "k"}"#))
    #expect(published(scene) == [7, 8, 9], "it was published before, so that its row can go")
    #expect(scene.disk.waiting.isEmpty)
  }

  @Test("In memory there is no entry, and the store is told that the row can go")
  func memory() {
    let scene = BrokerScene()
    tell(scene, message(1, on: "m"))
    #expect(published(scene) == [1])
  }

  @Test("What can never be published is refused with the reason")
  func refused() {
    let scene = BrokerScene()
    tell(
      scene, message(1, on: "nowhere:1"), message(2, on: ""), message(3, "x", #"{"tags": 1}"#), message(4, nil),
      message(5, "x", "no JSON"), message(6, "fine"))
    scene.finish()
    #expect(refused(scene) == [1, 2, 3, 4, 5])
    #expect(published(scene) == [6])
    let reasons = scene.disk.fates.compactMap { if case .refused(let error) = $0.fate { error.message } else { nil } }
    #expect(reasons.allSatisfy { $0.count > 20 }, "\(reasons)")
  }

  @Test("What cannot be published for now holds back all behind it, until the next round")
  func failed() {
    let scene = BrokerScene()
    scene.disk.refusal = .unavailable("it is away")
    tell(scene, message(1), message(2, on: "m"), message(3))
    #expect(failed(scene) == [1, 2, 3])
    scene.disk.refusal = nil
    tell(scene, message(4))
    #expect(failed(scene) == [1, 2, 3, 4], "of the same round nothing more is published")
    tell(scene, message(1, round: 2), message(2, on: "m", round: 2))
    scene.finish()
    #expect(published(scene).sorted() == [1, 2])
  }

  @Test("An entry that fails fails its message, and those behind it on the channel with it")
  func entryFailed() {
    let scene = BrokerScene()
    tell(scene, message(1), message(2))
    scene.finish(2, error: .unavailable("it is away"))
    #expect(failed(scene) == [1, 2])
  }

  @Test("Messages of one channel keep their order while it is loaded")
  func order() {
    let scene = BrokerScene()
    scene.disk.delays = true
    tell(scene, message(1, "a"), message(2, on: "d:2", "b"), message(3, "c"))
    tell(scene, message(4, "d"))
    scene.answer()
    let data = scene.disk.waiting.filter { $0.channel == "d:1" }.map(\.publication.data)
    #expect(data == ["a", "c", "d"].map { Array($0.utf8) })
    scene.finish(4)
    #expect(published(scene).sorted() == [1, 2, 3, 4])
  }

  @Test("What comes while the broker starts is published when it has started")
  func starting() {
    let scene = BrokerScene()
    scene.disk.delays = true
    scene.perform { scene.core.openRevocations(in: &$0) }
    #expect(scene.core.isStarting)
    tell(scene, message(1), message(2))
    scene.pass(100)
    #expect(scene.disk.fates.isEmpty && scene.disk.waiting.isEmpty)
    scene.disk.delays = false
    scene.answer()
    #expect(!scene.core.isStarting)
    // Before the tick in which those are published that came first.
    tell(scene, message(3))
    scene.pass(100)
    #expect(scene.disk.waiting.compactMap(\.origin?.outboxRow) == [1, 2, 3])
  }
}
