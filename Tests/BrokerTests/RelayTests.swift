import Apps
import Log
import Testing
import Wire

@testable import Broker

/// What apps send to themselves in other partitions, and how it is taken in there.
@Suite("Relays between partitions")
struct RelayTests {
  private let app = TinyApp()

  private func scene(partition: Int = 0) -> BrokerScene {
    BrokerScene(app) {
      $0.partitioning = Partitioning(count: 2, namespaces: $0.namespaces)
      $0.partition = partition
    }
  }

  private func relay(_ row: Int64, _ text: String, of app: String = "tiny", round: Int = 1) -> OutboxMessage {
    OutboxMessage(id: .init(row: row, round: round), channel: "", data: Array(text.utf8), options: [], app: app)
  }

  private func posting(_ row: Int64, on channel: String) -> OutboxMessage {
    OutboxMessage(
      id: .init(row: row, round: 1), channel: channel, data: Array("x".utf8), options: Array("{}".utf8))
  }

  private func tell(_ scene: BrokerScene, _ messages: OutboxMessage...) {
    tell(scene, .outbox(messages))
  }

  private func tell(_ scene: BrokerScene, _ news: LogNews) {
    scene.disk.tell(news)
    scene.perform { scene.core.takeNews(in: &$0) }
  }

  private func resume(_ scene: BrokerScene, error: ClientError? = nil) {
    scene.perform { scene.core.resume("tiny", error: error, in: &$0) }
  }

  private func published(_ scene: BrokerScene) -> [Int64] {
    scene.disk.fates.filter { $0.fate == .published }.map(\.row)
  }
  private func refused(_ scene: BrokerScene) -> [Int64] {
    scene.disk.fates.filter { if case .refused = $0.fate { true } else { false } }.map(\.row)
  }
  private func failed(_ scene: BrokerScene) -> [Int64] {
    scene.disk.fates.filter { if case .failed = $0.fate { true } else { false } }.map(\.row)
  }

  /// Rows that entries which wait for the disk delete.
  private func rows(_ scene: BrokerScene) -> [Int64] { scene.disk.waiting.compactMap(\.origin?.outboxRow) }

  // MARK: Sending

  @Test("What a decision sends goes with its transaction, and only with it")
  func sends() {
    let scene = scene()
    #expect(scene.serve(1, TinyApp.request("both a")) == nil)
    #expect(scene.disk.queue.map(\.count) == [1])
    #expect(scene.disk.relaysWaiting == [[LogRelay(to: 1, of: "tiny", Array("a".utf8))]])
    #expect(scene.core.counters.relaysSent == 0, "it is not on disk")
    scene.finish()
    #expect(scene.answers[1] == .result(Array("{}".utf8)))
    #expect(scene.disk.relayed == [LogRelay(to: 1, of: "tiny", Array("a".utf8))] && scene.core.counters.relaysSent == 1)
    #expect(scene.serve(2, TinyApp.request("both b")) == nil)
    scene.finish(error: .unavailable("it is away"))
    #expect(scene.answers[2]?.errorCode == 100)
    #expect(scene.disk.relayed.count == 1 && scene.core.counters.relaysSent == 1)
  }

  @Test("A decision that only sends has a transaction of its own, which fails with those before it")
  func sendsOnly() {
    let scene = scene()
    #expect(scene.serve(1, TinyApp.request("relay a")) == nil, "it is answered when it is on disk")
    #expect(scene.disk.queue.map(\.count) == [1] && scene.disk.relaysWaiting.map(\.count) == [1])
    #expect(scene.disk.waiting.map(\.channel) == ["tiny.records:all"])
    #expect(scene.disk.waiting.map { $0.publication.change?.removed } == [true])
    #expect(scene.serve(2, TinyApp.request("relay b")) == nil)
    scene.finish(1, error: .unavailable("it is away"))
    scene.finish()
    #expect(scene.answers[1]?.errorCode == 100 && scene.answers[2]?.errorCode == 100)
    #expect(scene.disk.relayed.isEmpty, "what was sent later overtakes nothing")
  }

  @Test("What is sent on goes with the transaction that takes in what came")
  func sendsOn() {
    let scene = scene()
    tell(scene, relay(7, "both a"))
    #expect(rows(scene) == [7] && scene.disk.relaysWaiting.map(\.count) == [1])
    scene.finish()
    #expect(published(scene) == [7] && scene.disk.relayed.count == 1)
  }

  // MARK: Taking in

  @Test("One entry of a decision deletes the row, however many there are")
  func deletedOnce() {
    let scene = scene()
    tell(scene, relay(7, "several a b c"), relay(8, "set a 1"), relay(9, "say 1 hello"))
    #expect(scene.disk.queue.map(\.count) == [3, 2, 2])
    #expect(rows(scene) == [7, 8, 9])
    #expect(published(scene).isEmpty && scene.core.counters.relaysReceived == 0, "nothing is on disk yet")
    scene.finish(3)
    #expect(published(scene) == [7, 8, 9] && scene.core.counters.relaysReceived == 3)
  }

  @Test("One that waits for the store holds up those behind it, and no publication of a backend")
  func order() {
    let scene = scene()
    scene.disk.delays = true
    tell(scene, relay(1, "get x"), relay(2, "several b"), posting(3, on: "m"))
    tell(scene, relay(4, "several c"))
    #expect(app.received == ["get x"] && scene.disk.waiting.isEmpty)
    #expect(published(scene) == [3])
    scene.answer()
    #expect(app.received == ["get x", "get x", "several b", "several c"])
    #expect(rows(scene) == [2, 4], "none waits for the disk")
    scene.finish(2)
    #expect(published(scene) == [3, 1, 2, 4])
  }

  @Test("Without entries the store is told that the row can go, after what is under way")
  func nothing() {
    let scene = scene()
    tell(scene, relay(1, "get a"))
    #expect(published(scene) == [1] && scene.core.counters.relaysReceived == 1)
    tell(scene, relay(2, "several a"), relay(3, "get a"))
    #expect(published(scene) == [1])
    scene.finish(error: .unavailable("it is away"))
    #expect(published(scene) == [1] && failed(scene) == [2, 3])
  }

  @Test("One that cannot be taken in for now holds back all behind it, until the next round")
  func failed() {
    let scene = scene()
    tell(scene, relay(1, "down"), relay(2, "several a"), relay(3, "get a"))
    tell(scene, relay(4, "get a"))
    #expect(failed(scene) == [1, 2, 3, 4] && app.received == ["down"] && scene.disk.waiting.isEmpty)
    tell(scene, relay(1, "get a", round: 2), relay(2, "several a", round: 2))
    scene.finish()
    #expect(published(scene) == [1, 2] && scene.core.counters.relaysRefused == 0)
  }

  @Test("A decision that the log loses takes those after it with it, whatever they write")
  func lost() {
    let scene = scene()
    tell(scene, relay(1, "say 1 a"), relay(2, "say 2 b"))
    scene.finish(1, error: .unavailable("it is away"))
    scene.finish()
    #expect(failed(scene) == [1, 2])
    #expect(scene.disk.written("tiny.chat:2").isEmpty)
  }

  @Test("What can never be taken in is refused, and those behind it go on")
  func refused() {
    let scene = scene()
    tell(scene, relay(1, "nonsense"), relay(2, "get a", of: "other"), relay(3, "several a"), relay(4, "full"))
    #expect(refused(scene) == [1, 2], "the last refusal may rest on what is under way")
    scene.finish()
    #expect(published(scene) == [3] && refused(scene) == [1, 2, 4] && failed(scene).isEmpty)
    #expect(scene.core.counters.relaysRefused == 3)
    for case .refused(let error) in scene.disk.fates.map(\.fate) { #expect(!error.message.isEmpty) }
  }

  @Test("What needs something that is on its way waits for it, and all behind it")
  func later() {
    let scene = scene()
    app.isReady = false
    tell(scene, relay(1, "later a"), relay(2, "several b"))
    resume(scene)
    scene.pass(100)
    #expect(app.received == ["later a", "later a"] && scene.disk.fates.isEmpty && scene.disk.waiting.isEmpty)
    app.isReady = true
    resume(scene)
    #expect(published(scene) == [1] && rows(scene) == [2])
    app.isReady = false
    tell(scene, relay(3, "later c"), relay(4, "several d"))
    resume(scene, error: .internalError)
    #expect(failed(scene) == [3, 4] && rows(scene) == [2])
  }

  @Test("With the lease all that waits is forgotten, and comes again with it")
  func lease() {
    let scene = scene()
    scene.disk.delays = true
    tell(scene, relay(1, "get a"), relay(2, "several b"))
    tell(scene, .lost)
    scene.answer(error: .fenced)
    scene.disk.delays = false
    #expect(app.received == ["get a"] && scene.disk.fates.isEmpty)
    tell(scene, .regained)
    tell(scene, relay(1, "get a", round: 2), relay(2, "several b", round: 2))
    scene.pass(100)
    #expect(app.received == ["get a", "get a", "several b"])
    #expect(published(scene) == [1] && rows(scene) == [2])
  }

  @Test("A turn takes some in, and the next comes at once")
  func turns() {
    let scene = scene()
    let most = BrokerCore.relaysPerTurn
    tell(scene, .outbox((1...Int64(most) + 1).map { relay($0, "get a") }))
    #expect(app.received.count == most && scene.core.nextDeadline(at: scene.time) == 0)
    scene.pass(0)
    #expect(app.received.count == most + 1 && scene.core.nextDeadline(at: scene.time) != 0)
    #expect(published(scene) == (1...Int64(most) + 1).map { $0 })
  }

  // MARK: What goes with it

  @Test("What backends commit for an app's channel is refused where it is elsewhere, and other channels are waited for")
  func elsewhere() throws {
    let scene = scene(partition: 1)
    let partitioning = scene.core.configuration.partitioning
    let there = try #require(
      (0..<100).lazy.compactMap { try? ChannelName("c\($0)") }.first { partitioning.partition(of: $0) == 0 })
    tell(scene, posting(1, on: "tiny.chat:1"), posting(2, on: there.string))
    #expect(refused(scene) == [1] && failed(scene) == [2])
    let error = scene.disk.fates.lazy.compactMap { if case .refused(let error) = $0.fate { error } else { nil } }.first
    #expect(error?.code == ClientError.permissionDenied.code)
  }

  @Test("An app sees whose data is being deleted, and was since a moment")
  func forgotten() throws {
    let scene = scene()
    let known = { (user: String, time: Int64) in scene.ask(TinyApp.request("known \(user) \(time)")) }
    let (yes, no) = (BrokerResponse.result(Array("true".utf8)), BrokerResponse.result(Array("false".utf8)))
    #expect(known("eve", 0) == no)
    scene.perform { scene.core.openDeletions(in: &$0) }
    #expect(known("eve", 0) == no)
    let deletions = try #require(scene.core.deletions)
    let job = UserDeletions.Job(user: "eve", since: 500)
    deletions.waiting = [job]
    #expect(known("eve", 5000) == yes && known("bob", 0) == no)
    deletions.waiting = []
    deletions.begin([job], owned: [])
    deletions.phase = .dropping
    #expect(known("eve", 5000) == yes && known("bob", 0) == no)
    // The user may come back from here on.
    deletions.pepper = [1]
    deletions.done.insert(.init(since: 500, at: 1000, number: 1), for: deletions.digest(of: "eve"))
    for phase in [UserDeletions.Phase.closing, .resting] {
      deletions.phase = phase
      #expect(known("eve", 1000) == yes && known("eve", 1001) == no && known("bob", 0) == no)
    }
  }
}
