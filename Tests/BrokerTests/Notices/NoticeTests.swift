import Apps
import Log
import Testing
import Wire

@testable import Broker

/// How notices get into their outbox, and out of it.
@Suite("Notices: the outbox")
struct NoticeTests {
  private let push = TinyPush()
  private let outbox = NoticeOutbox.channel

  private func channels(_ scene: BrokerScene) -> [[ChannelName]] { scene.disk.queue.map { $0.map(\.channel) } }

  @Test("A decision of one publication and its notice are one transaction; the app takes it when that is on disk")
  func oneTransaction() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "say bob,cat")
    #expect(channels(scene) == [[TellingApp.chat, outbox]])
    #expect(push.taken.isEmpty && scene.sends.isEmpty)
    scene.finish()
    #expect(push.taken.map { $0.map(\.users) } == [[["bob", "cat"]]])
    #expect(push.taken.first?.first?.topic == "tell.said" && push.taken.first?.first?.offset == 1)
    #expect(scene.sends.isEmpty, "nothing is sent before the decision is on disk")
    #expect(scene.disk.queue.map { $0.map { $0.publication.change?.key } } == [["n/bob", "n/cat", NoticeCursor.key]])
    scene.finish()
    #expect(scene.sends.map(\.user) == ["bob", "cat"] && scene.core.noticeStatus?.waiting == 0)
  }

  @Test("A decision of a notice alone is written; where notifications are off, nothing of it is")
  func noticeAlone() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "quiet bob")
    #expect(channels(scene) == [[outbox]] && scene.hears() == [])
    scene.settle()
    #expect(scene.hears() == [.result(1, "{}")] && push.taken.count == 1)
    let off = BrokerScene.telling(nil)
    off.tell(1, "quiet bob")
    #expect(off.hears() == [.result(1, "{}")] && off.disk.queue.isEmpty)
    off.tell(2, "say bob")
    #expect(channels(off) == [[TellingApp.chat]] && off.core.noticeStatus == nil)
  }

  @Test("A notice for many is written as several, in order, and each person is told once")
  func many() {
    let scene = BrokerScene.telling(push)
    let users = (0..<100).map { "u\($0)" }
    scene.tell(1, "quiet \(users.joined(separator: ","))")
    #expect(scene.disk.waiting.count == 4)
    scene.settle()
    #expect(push.taken.flatMap { $0 }.flatMap(\.users) == users && push.taken.count == 2)
    #expect(scene.sends.count == 100)
  }

  @Test("Where the transaction fails, the notice is gone with what it tells, and the next ones are taken")
  func fails() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "say bob")
    scene.tell(2, "say cat")
    scene.finish(1, error: .full("test"))
    scene.finish(1)
    #expect(scene.hears().compactMap(\.internalError) == [1, 2])
    scene.settle()
    #expect(push.taken.isEmpty)
    scene.tell(3, "say dan")
    scene.settle()
    #expect(push.taken.flatMap { $0 }.flatMap(\.users) == ["dan"])
  }

  @Test("Where the app cannot decide, or its decision fails, the notices stay and are taken later")
  func retries() {
    push.failures = 2
    let scene = BrokerScene.telling(push)
    scene.tell(1, "say bob")
    scene.settle()
    #expect(push.taken.isEmpty && scene.core.noticeStatus?.waiting == 1)
    #expect(scene.core.nextDeadline(at: scene.time) ?? .max <= scene.time.monotonic + NoticeReader.firstRest)
    scene.pass(1000)
    scene.pass(1999)
    #expect(push.taken.isEmpty)
    scene.pass(1)
    #expect(push.taken.count == 1)
    scene.finish(1, error: .full("test"))
    #expect(scene.sends.isEmpty && scene.core.noticeStatus?.waiting == 1)
    scene.pass(4000)
    scene.settle()
    #expect(push.taken.count == 2 && scene.sends.count == 1 && scene.core.noticeStatus?.waiting == 0)
  }

  @Test("A broker that was killed goes on where the disk stands, at every point of the way", arguments: 0...3)
  func restarts(after transactions: Int) {
    let before = BrokerScene.telling(TinyPush())
    before.tell(1, "say bob")
    before.tell(2, "say cat")
    for _ in 0..<transactions { before.finish() }
    before.disk.crash()
    let after = BrokerScene.telling(push, disk: before.disk)
    after.settle()
    let heard = ["bob", "cat"].map { user in
      before.disk.changes(of: TinyPush.records).count { $0.key == "n/" + user }
    }
    #expect(heard == [transactions >= 1 ? 1 : 0, transactions >= 2 ? 1 : 0], "once, as the cursor is beside it")
    #expect(after.core.noticeStatus?.waiting == 0)
    after.tell(3, "say dan")
    after.settle()
    #expect(push.taken.last?.flatMap(\.users) == ["dan"])
  }

  @Test("On a disk whose answers come late, all notices are taken, in order, once")
  func slow() {
    let scene = BrokerScene.telling(push)
    scene.disk.delays = true
    for id in 1...40 as ClosedRange<UInt64> {
      scene.tell(id, "say u\(id)")
      if id % 3 == 0 { scene.finish(2) }
      if id % 5 == 0 { scene.answer(1) }
    }
    for _ in 0..<400 {
      scene.answer()
      scene.finish(.max)
    }
    #expect(scene.sends.map(\.user) == (1...40).map { "u\($0)" })
    #expect(scene.core.stores.room.isEmpty)
  }

  @Test("Asked what another app has to say, it hears that app's records as they will be")
  func asksOthers() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "left bob 3")
    scene.tell(2, "quiet bob")
    scene.settle()
    scene.disk.delays = true
    let slow = BrokerScene.telling(push, disk: scene.disk)
    for _ in 0..<20 {
      slow.answer()
      slow.settle()
    }
    slow.tell(3, "quiet bob,x")
    for _ in 0..<20 {
      slow.settle()
      slow.answer()
    }
    slow.tell(4, "quiet x")
    for _ in 0..<20 {
      slow.settle()
      slow.answer()
    }
    #expect(push.asked == [3, 3, nil])
  }

  @Test("A decision that rests on another app's records which fail fails with them")
  func chained() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "quiet bob")
    scene.tell(2, "left bob 0")
    scene.finish(1)
    #expect(channels(scene).last == [TinyPush.records, TinyPush.records, TellingApp.records])
    #expect(push.asked == [0])
    scene.finish(1, error: .full("test"))
    scene.finish(1)
    #expect(scene.sends.isEmpty, "it rested on what did not get to the disk")
    scene.pass(NoticeReader.firstRest)
    scene.settle()
    #expect(push.asked == [0, nil] && scene.sends.count == 1)
    scene.tell(3, "left bob 2")
    scene.settle()
    #expect(scene.hears().contains(.result(3, "{}")))
  }
}

/// Publications on channels whose names say for whom they are.
@Suite("Notices: channels of people")
struct ChannelNoticeTests {
  private let push = TinyPush()

  private func publish(_ id: UInt64, _ channel: ChannelName, by user: String?, to scene: BrokerScene) {
    let info = user.map { ClientInfo(user: $0, client: "c") }
    scene.request(id, .publish(.init(channel: channel, data: Array("\"secret\"".utf8), info: info)))
  }

  @Test("A durable publication and its notice are one transaction, for all but who published, without the payload")
  func durable() throws {
    let scene = BrokerScene.telling(push)
    publish(1, "inbox:x#ann,bob,cat,bob", by: "bob", to: scene)
    #expect(scene.disk.queue.map { $0.map(\.channel) } == [["inbox:x#ann,bob,cat,bob", NoticeOutbox.channel]])
    #expect(!String(decoding: scene.disk.queue[0][1].publication.data, as: UTF8.self).contains("secret"))
    scene.settle()
    let intent = try #require(push.taken.first?.first)
    #expect(intent.users == ["ann", "cat"] && intent.subject == "inbox:x#ann,bob,cat,bob")
    #expect(intent.topic == "channel.inbox" && intent.content?.title.isEmpty == true)
    #expect(intent.content?.offset == 1 && intent.content?.data["channel"] == "inbox:x#ann,bob,cat,bob")
    #expect(intent.content?.data["offset"] == "1")
    #expect(scene.hears().contains(.reply(1, .published(1))))
  }

  @Test("A namespace is named by its topic where it can be; all topics of channels are known as such")
  func topics() throws {
    let most = String(repeating: "n", count: 56)
    let cases: [(ChannelName, String)] = [
      ("inbox:x#ann", "channel.inbox"), ("$inbox:x#ann", "channel.inbox"), ("x#ann", "channel"),
      ("a b:x#ann", "channel"), ("a*:x#ann", "channel"), (":x#ann", "channel"),
      (try ChannelName("\(most):#ann"), "channel.\(most)"), (try ChannelName("\(most)n:#ann"), "channel"),
    ]
    for (channel, topic) in cases {
      #expect(ChannelTopic.name(of: channel) == topic)
      #expect(ChannelTopic.isOne(topic))
    }
    #expect(!ChannelTopic.isOne("channels") && !ChannelTopic.isOne("shop"))
  }

  @Test("One in memory is told when delivered; where the log takes nothing that is tried again, and nobody refused")
  func inMemory() {
    let scene = BrokerScene.telling(push)
    scene.disk.refusal = .full("test")
    publish(1, "box:#ann", by: nil, to: scene)
    #expect(scene.hears().count == 1 && scene.core.noticeStatus?.waiting == 1 && scene.disk.queue.isEmpty)
    scene.disk.refusal = nil
    publish(2, "box:#ann", by: nil, to: scene)
    #expect(scene.disk.queue.isEmpty, "what waits already goes first")
    scene.pass(10)
    scene.finish(1, error: .full("test"))
    scene.settle()
    scene.pass(10)
    scene.settle()
    #expect(Set(push.taken.flatMap { $0 }.compactMap(\.content?.offset)) == [1, 2])
    #expect(scene.core.noticeStatus?.waiting == 0)
  }

  @Test("Nobody is told of what is in no such namespace or channel, of changes, or where nobody else is named")
  func nobody() {
    let scene = BrokerScene.telling(push)
    publish(1, "d:x#ann", by: nil, to: scene)
    publish(2, "inbox:x", by: nil, to: scene)
    publish(3, "inbox:#ann", by: "ann", to: scene)
    scene.settle()
    #expect(push.taken.isEmpty)
    scene.request(4, .edit(.init(channel: "inbox:#ann", offset: 1, data: Array("1".utf8), editor: nil)))
    scene.settle()
    #expect(push.taken.isEmpty && scene.hears().compactMap(\.internalError).isEmpty)
    let off = BrokerScene.telling(nil)
    publish(1, "inbox:#ann", by: nil, to: off)
    publish(2, "box:#ann", by: nil, to: off)
    #expect(off.disk.waiting.map(\.channel) == ["inbox:#ann"])
  }
}

/// What is sent, answered, acknowledged and asked.
@Suite("Notices: sends and their answers")
struct PushAnswerTests {
  private let push = TinyPush()

  @Test("An answer is decided about; where that fails it is tried again some times, and then dropped")
  func answers() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "say bob")
    scene.settle()
    scene.pushed(scene.sends[0])
    scene.settle()
    #expect(push.answers.count == 1 && scene.disk.changes(of: TinyPush.records).count { $0.key == "n/bob" } == 2)
    push.failures = 2
    scene.pushed(scene.sends[0])
    for _ in 0..<3 { scene.pass(PushAnswerTry.pause) }
    scene.settle()
    #expect(push.answers.count == 4 && scene.disk.changes(of: TinyPush.records).count { $0.key == "n/bob" } == 3)
    push.failures = 100
    scene.pushed(scene.sends[0])
    for _ in 0..<10 { scene.pass(PushAnswerTry.pause) }
    #expect(push.answers.count == 4 + PushAnswerTry.mostFailures)
    #expect(scene.core.notices?.tally.answersLost == 1)
  }

  @Test("Sends and what came of them are counted by kind of service")
  func counts() {
    let scene = BrokerScene.telling(push)
    scene.tell(1, "say bob,cat")
    scene.settle()
    scene.pushed(scene.sends[0])
    scene.pushed(scene.sends[1], .later(after: 1, reason: "busy"))
    let tally = scene.core.notices?.tally
    #expect(tally?.sent == ["fcm": 2] && tally?.taken == 1 && tally?.withdrawn == [:])
    #expect(tally?.results == [.init(kind: "fcm", result: "taken"): 1, .init(kind: "fcm", result: "later"): 1])
    NoticeMetricsCheck.update(scene.core.noticeStatus)
  }

  @Test("What people are not told of is counted by kind of service and reason, when that is on disk")
  func unsent() {
    let scene = BrokerScene.telling(push)
    push.unsent = [
      UnsentNotice(.suppressed, kinds: ["fcm": 2, "web": 1]), UnsentNotice(.givenUp, kinds: ["apns": 1, "pigeon": 3]),
    ]
    scene.tell(1, "say bob")
    scene.finish()
    #expect(scene.core.notices?.tally.unsent == [:], "the decision is not on disk")
    scene.settle()
    #expect(
      scene.core.notices?.tally.unsent == [
        .init(kind: "fcm", result: "suppressed"): 2, .init(kind: "web", result: "suppressed"): 1,
        .init(kind: "apns", result: "given_up"): 1, .init(kind: "unknown", result: "given_up"): 3,
      ])
    NoticeMetricsCheck.update(scene.core.noticeStatus)
  }

  @Test("Acknowledgements are gathered for a moment, and the app looks at the subject once")
  func acknowledges() {
    let scene = BrokerScene.telling(push)
    for id in 1...5 as ClosedRange<UInt64> { scene.tell(id, "seen bob") }
    scene.tell(6, "seen cat")
    scene.pass(Acknowledgements.interval - 1)
    #expect(push.looks.isEmpty)
    #expect(scene.core.nextDeadline(at: scene.time) == scene.time.monotonic + 1)
    scene.pass(1)
    #expect(Set(push.looks) == ["bob tell.chat:1", "cat tell.chat:1"] && push.looks.count == 2)
  }

  @Test("Whoever is suspended is sent nothing, and that is the answer")
  func suspended() {
    let scene = BrokerScene.telling(push)
    scene.perform { scene.core.openRevocations(in: &$0) }
    _ = scene.ask(.user(.suspensions(.suspend(user: "bob", until: nil, reason: ""))))
    scene.settle()
    scene.tell(1, "say bob,cat")
    scene.settle()
    #expect(scene.sends.map(\.user) == ["cat"] && push.answers.map(\.user) == ["bob"])
    #expect(push.answers.first?.verdicts == ["d-bob": .refused(reason: "the user is suspended")])
  }

  @Test("Whoever asks why is told what became of notifications about the channel")
  func why() throws {
    let scene = BrokerScene.telling(push)
    scene.request(1, .publish(.init(channel: "inbox:#bob", data: Array("1".utf8))))
    scene.settle()
    let question = WhyRequest(user: "bob", channel: "inbox:#bob", offset: 1, epoch: nil)
    let tag: UInt64 = 77
    _ = scene.serve(tag, .why(question))
    scene.pass(10_000)
    guard case .result(let json)? = scene.answers[tag] else { return #expect(Bool(false), "no answer") }
    let lines = try #require(try JSONValue(parsing: json).object?["notifications"]?.object?["lines"]?.array)
    #expect(lines.first?.object?["sentence"]?.string == "1 of inbox:#bob")
  }
}

enum NoticeMetricsCheck {
  /// Updating twice must not count down.
  static func update(_ status: NoticeStatus?) {
    guard let status else { return }
    var metrics = NoticeMetrics()
    metrics.update(status)
    metrics.update(status)
  }
}
