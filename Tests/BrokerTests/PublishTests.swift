import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore publishes")
struct PublishTests {
  let disk: ChannelName = "d:1"
  let memory: ChannelName = "m"

  @Test("a durable publication is delivered and acknowledged when the log has it, not before")
  func durable() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe(disk))
    _ = scene.hears()
    scene.publish(2, disk, "1")
    #expect(scene.hears() == [])
    #expect(scene.core.pendingBytes == 1)
    scene.finish()
    #expect(scene.hears() == [.publication(disk, 1, "1"), .reply(2, .published(1))])
    #expect(scene.tapped == [1])
    #expect(scene.core.pendingBytes == 0)
  }

  @Test("publications are counted by namespace, and when they are delivered")
  func namespaces() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.publish(1, memory, "1")
    scene.publish(2, "n", "1")
    scene.publish(3, disk, "1")
    let tally = scene.core.tally
    #expect(tally.namespaces[""]?.published == 2)
    #expect(tally.namespaces["d"]?.published == 0)
    scene.finish()
    #expect(tally.namespaces["d"]?.published == 1)
    #expect(tally.namespaces.count == 2)
  }

  @Test("what was published before a subscribe is in its position, what comes after is live, once")
  func beforeAndAfter() throws {
    let scene = BrokerScene()
    scene.hello(1)
    scene.publish(1, memory, "1")
    scene.request(2, .subscribe(memory))
    scene.publish(3, memory, "2")
    let heard = scene.hears()
    #expect(heard.count == 5)
    guard case .reply(2, .subscribed(let answer)) = heard[2] else {
      Issue.record("\(heard[2])")
      return
    }
    #expect(answer.position.offset == 1)
    #expect(heard[3] == .publication(memory, 2, "2"))
  }

  @Test("a failed entry takes those behind it along, and their offsets are given out again")
  func failure() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "1")
    scene.publish(2, disk, "2")
    scene.finish(error: .full("x"))
    scene.publish(3, disk, "3")
    scene.finish(error: .notContiguous)
    #expect(scene.hears().map(\.internalError) == [1, 3, 2])
    scene.publish(4, disk, "4")
    scene.finish()
    #expect(scene.hears() == [.reply(4, .published(1))])
    #expect(scene.tapped == [1])
  }

  @Test(
    "a refusal of the log reaches the publisher with the code that fits, and takes no offset",
    arguments: [
      (LogError.full(""), 100), (.readOnly(""), 100), (.backlog(bytes: 1), 111), (.closed, 100), (.failed(""), 100),
    ] as [(LogError, UInt32)])
  func refusal(error: LogError, code: UInt32) {
    let scene = BrokerScene()
    scene.disk.refusal = error
    let publish = BrokerRequest.publish(.init(channel: disk, data: [0x31]))
    #expect(scene.serve(1, publish)?.errorCode == code)
    scene.disk.refusal = nil
    _ = scene.serve(2, publish)
    scene.finish()
    #expect(scene.answers[2] == .published(1))
  }

  @Test("a duplicate gets the answer of the first, also while that is pending; other data is a conflict")
  func idempotency() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "1", key: "k")
    scene.publish(2, disk, "1", key: "k")
    scene.publish(3, disk, "other", key: "k")
    scene.finish()
    scene.publish(4, disk, "1", key: "k")
    #expect(
      scene.hears() == [
        .reply(1, .published(1)), .reply(2, .published(1)), .reply(3, .failed(.idempotencyConflict)),
        .reply(4, .published(1)),
      ])
    #expect(scene.tapped == [1])
  }

  @Test("a key whose publication failed is free again, and its duplicates fail with it")
  func failedKey() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "1", key: "k")
    scene.publish(2, disk, "1", key: "k")
    scene.finish(error: .full(""))
    #expect(scene.hears().count == 2)
    scene.publish(3, disk, "2", key: "k")
    scene.finish()
    #expect(scene.hears() == [.reply(3, .published(1))])
  }

  @Test("keys are told apart by their bytes: two spellings of one character are two publications")
  func canonicallyEqualKeys() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "1", key: "\u{E9}")
    scene.publish(2, disk, "1", key: "e\u{301}")
    scene.finish(2)
    #expect(scene.hears() == [.reply(1, .published(1)), .reply(2, .published(2))])
  }

  @Test("a key is free after the window, also when the wall clock was set back meanwhile")
  func keysEnd() {
    let scene = BrokerScene { $0.idempotencyWindow = 1000 }
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "1", key: "k")
    scene.finish()
    scene.time.wall -= 86_400_000
    scene.pass(999)
    scene.publish(2, disk, "1", key: "k")
    #expect(scene.hears() == [.reply(1, .published(1)), .reply(2, .published(1))])
    scene.pass(1)
    scene.publish(3, disk, "2", key: "k")
    scene.finish()
    #expect(scene.hears().contains(.reply(3, .published(2))))
  }

  @Test("a request that is sent twice is done once, whether it is under way, answered or only in the log")
  func retries() {
    let scene = BrokerScene()
    scene.disk.origins[RequestOrigin(gateway: 1, request: 1)] = 3
    scene.disk.position.offset = 4
    scene.hello(1)
    _ = scene.hears()
    scene.publish(1, disk, "old", isRetry: true)
    scene.publish(2, disk, "2")
    scene.hello(1, session: 2)
    scene.publish(2, disk, "2", isRetry: true)
    scene.finish()
    scene.hello(1, session: 3)
    scene.publish(2, disk, "2", isRetry: true)
    scene.publish(3, disk, "3", isRetry: true)
    scene.finish()
    #expect(
      scene.hears() == [
        .reply(1, .published(3)), .welcome, .reply(2, .published(5)), .welcome, .reply(2, .published(5)),
        .reply(3, .published(6)),
      ])
    #expect(scene.tapped == [5, 6])
  }

  @Test("an unknown namespace is 102, and data over the limit 106")
  func refusedBeforeTheLog() {
    let scene = BrokerScene { $0.maximumPayloadBytes = 3 }
    #expect(scene.serve(1, .publish(.init(channel: "nobody:1", data: [0x31])))?.errorCode == 102)
    #expect(scene.serve(2, .publish(.init(channel: disk, data: [1, 2, 3, 4])))?.errorCode == 106)
    #expect(scene.disk.opened.isEmpty)
  }

  @Test("requests are read later while too much waits for the log")
  func pause() {
    let scene = BrokerScene { $0.pendingBytes = 4 }
    scene.hello(1)
    scene.publish(1, disk, "12")
    #expect(!scene.core.shouldPauseIngress)
    scene.publish(2, disk, "34")
    #expect(scene.core.shouldPauseIngress && !scene.core.mayResumeIngress)
    // A disk that refuses is waited for by nobody.
    scene.disk.isRefusing = true
    #expect(!scene.core.shouldPauseIngress && scene.core.mayResumeIngress && scene.core.stores.bytesOfRoom > 0)
    scene.disk.isRefusing = false
    scene.finish()
    #expect(!scene.core.shouldPauseIngress)
  }
}
