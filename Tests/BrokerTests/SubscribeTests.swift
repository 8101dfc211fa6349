import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore: recovery, history, channels")
struct SubscribeTests {
  let disk: ChannelName = "d:1"

  /// Publications 1 to `count`, on disk.
  private func filled(_ count: UInt64, _ change: (inout BrokerConfiguration) -> Void = { _ in }) -> BrokerScene {
    let scene = BrokerScene(change)
    scene.hello(1)
    for id in 1...count { scene.publish(100 + id, disk, "\(id)") }
    scene.finish(Int(count))
    _ = scene.hears()
    return scene
  }

  private func recovered(_ heard: [Heard]) -> BrokerResponse.Subscribed? {
    guard heard.count == 1, case .reply(_, .subscribed(let subscribed)) = heard[0] else { return nil }
    return subscribed
  }

  @Test("a recovery holds everything that was missed, or nothing and says so")
  func recovery() {
    let scene = filled(4)
    scene.request(1, .subscribe(disk, since: .init(epoch: "disk", offset: 2)))
    #expect(recovered(scene.hears())?.publications.map(\.offset) == [3, 4])
    scene.request(2, .subscribe(disk, since: .init(epoch: "disk", offset: 2), limit: 1))
    #expect(scene.hears() == [.reply(2, .subscribed(4, gap: .init(3...4, .limit)))])
    scene.request(3, .subscribe(disk, since: .init(epoch: "other", offset: 2)))
    #expect(scene.hears() == [.reply(3, .subscribed(4, gap: .init(.epoch)))])
    scene.request(4, .subscribe(disk, since: .init(epoch: "disk", offset: 4)))
    #expect(scene.hears() == [.reply(4, .subscribed(4, recovered: true))])
    scene.request(5, .subscribe(disk, since: .init(epoch: "disk", offset: .max)))
    #expect(scene.hears() == [.reply(5, .subscribed(4, gap: .init(.ahead)))])
    scene.request(6, .subscribe(disk))
    #expect(scene.core.counters.recoveriesWhole == 2)
    #expect(scene.core.counters.recoveriesNotWhole == 3)
  }

  @Test("a recovery with too many bytes is not whole, whatever they are made of")
  func recoveryBytes() {
    let scene = filled(2) { $0.maximumPageBytes = 2000 }
    let tags = ["k": String(repeating: "x", count: 1500)]
    for number in 1...2 as ClosedRange<UInt64> {
      _ = scene.serve(number, .publish(.init(channel: disk, data: [0x31], tags: tags)))
    }
    scene.finish(2)
    scene.request(1, .subscribe(disk, since: .init(epoch: "disk", offset: 2)))
    #expect(scene.hears() == [.reply(1, .subscribed(4, gap: .init(3...4, .bytes)))])
    scene.request(2, .subscribe(disk, since: .init(epoch: "disk", offset: 3)))
    #expect(recovered(scene.hears())?.publications.map(\.offset) == [4])
  }

  @Test("a recovery with a hole is not whole")
  func hole() {
    let scene = filled(3)
    #expect(scene.serve(1, .historyRemove(disk)) == .done)
    scene.request(1, .subscribe(disk, since: .init(epoch: "disk", offset: 2)))
    #expect(scene.hears() == [.reply(1, .subscribed(3, gap: .init(3...3, .removed)))])
  }

  @Test("a subscribe that cannot read leaves no interest behind")
  func failedRead() {
    let scene = filled(2)
    scene.disk.readError = .failed("")
    scene.request(1, .subscribe(disk, member: "a", since: .init(epoch: "disk", offset: 1)))
    #expect(scene.hears().count == 1)
    scene.publish(2, disk, "3")
    scene.finish()
    #expect(scene.hears() == [.reply(2, .published(3))])
    #expect(scene.serve(1, .presence(disk)) == .presence([]))
  }

  @Test("history: limits, since, both directions, and the top also where nothing is asked for")
  func history() throws {
    let scene = BrokerScene()
    for number in 1...7 as ClosedRange<UInt64> {
      _ = scene.serve(number, .publish(.init(channel: "m", data: Array("\(number)".utf8))))
    }
    var next: UInt64 = 100
    func page(_ limit: UInt32, since: UInt64? = nil, reverse: Bool = false) -> [UInt64] {
      next += 1
      let epoch = scene.core.channels["m"]?.sequencer.top.epoch ?? ""
      let position = since.map { StreamPosition(epoch: epoch, offset: $0) }
      let request = BrokerRequest.HistoryRequest(channel: "m", limit: limit, since: position, reverse: reverse)
      guard case .history(let page) = scene.serve(next, .history(request)), page.position.offset == 7 else {
        return [0]
      }
      return page.publications.map(\.offset)
    }
    #expect(page(0) == [])
    #expect(page(.max) == [3, 4, 5, 6, 7])
    #expect(page(2) == [3, 4])
    #expect(page(2, reverse: true) == [7, 6])
    #expect(page(10, since: 5) == [6, 7])
    #expect(page(10, since: 5, reverse: true) == [4, 3])
    #expect(page(10, since: .max) == [])
    #expect(page(2, since: .max, reverse: true) == [7, 6])
    #expect(page(10, since: 0, reverse: true) == [])
    #expect(page(10, since: 1) == [3, 4, 5, 6, 7])
  }

  @Test("history of another epoch is 112, and a page never exceeds the broker's limit")
  func historyLimits() {
    let scene = filled(3) { $0.maximumPublications = 2 }
    let old = StreamPosition(epoch: "old", offset: 1)
    #expect(scene.serve(1, .history(.init(channel: disk, limit: 9, since: old)))?.errorCode == 112)
    guard case .history(let page) = scene.serve(2, .history(.init(channel: disk, limit: .max))) else {
      Issue.record("no page")
      return
    }
    #expect(page.publications.map(\.offset) == [1, 2])
  }

  @Test("history is removed, and offsets go on where they were")
  func historyRemove() {
    let scene = BrokerScene()
    _ = scene.serve(1, .publish(.init(channel: "m", data: [0x31])))
    #expect(scene.serve(2, .historyRemove("m")) == .done)
    guard case .history(let page) = scene.serve(3, .history(.init(channel: "m", limit: 9))),
      case .published(let position) = scene.serve(4, .publish(.init(channel: "m", data: [0x31])))
    else {
      Issue.record("no answer")
      return
    }
    #expect(page.publications.isEmpty && page.position.offset == 1)
    #expect(position.offset == 2)
  }

  @Test("the interest ends with the last subscriber and keeps nothing of the channel on the link")
  func unsubscribe() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe(disk, member: "a"))
    scene.request(2, .subscribe(disk, member: "b"))
    scene.request(3, .unsubscribe(disk, member: "a", keeps: true))
    #expect(scene.core.links[1]?.channels == [disk])
    scene.request(4, .unsubscribe(disk, member: "b", keeps: false))
    #expect(scene.core.links[1]?.channels == [])
    _ = scene.hears()
    scene.publish(5, disk, "1")
    scene.finish()
    #expect(scene.hears() == [.reply(5, .published(1))])
  }

  @Test("channels are listed by prefix, sorted, while somebody is there; services do not subscribe")
  func channels() {
    let scene = BrokerScene()
    scene.hello(1)
    for (id, name) in (["b", "a2", "a1"] as [ChannelName]).enumerated() {
      scene.request(UInt64(id + 1), .subscribe(name))
    }
    _ = scene.serve(1, .publish(.init(channel: "a3", data: [0x31])))
    #expect(scene.serve(2, .channels(prefix: "a")) == .channels(["a1", "a2"]))
    #expect(scene.serve(3, .channels(prefix: "")) == .channels(["a1", "a2", "b"]))
    #expect(scene.serve(4, .subscribe("b"))?.errorCode == 104)
    #expect(scene.serve(5, .unsubscribe("b", member: nil, keeps: false))?.errorCode == 104)
  }

  @Test("a channel that nobody uses is forgotten, and found again as it was")
  func idle() {
    let scene = BrokerScene()
    scene.hello(1)
    scene.request(1, .subscribe("m"))
    _ = scene.serve(1, .publish(.init(channel: "m", data: [0x31])))
    scene.pass(9000)
    scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: 0)), from: 1)
    scene.pass(9000)
    scene.request(2, .unsubscribe("m", member: nil, keeps: false))
    scene.pass(59_999)
    #expect(scene.core.channels["m"] != nil)
    scene.pass(1)
    #expect(scene.core.channels["m"] == nil)
    guard case .published(let position) = scene.serve(2, .publish(.init(channel: "m", data: [0x31]))) else {
      Issue.record("not published")
      return
    }
    #expect(position.offset == 2)
  }

  @Test("a channel whose publication waits for the log is not forgotten")
  func busy() {
    let scene = BrokerScene()
    _ = scene.serve(1, .publish(.init(channel: disk, data: [0x31])))
    for _ in 0..<3 { scene.pass(60_000) }
    #expect(scene.core.channels[disk] != nil)
    scene.finish()
    #expect(scene.answers[1] == .published(1))
    for _ in 0..<2 { scene.pass(60_000) }
    #expect(scene.core.channels[disk] == nil)
  }
}
