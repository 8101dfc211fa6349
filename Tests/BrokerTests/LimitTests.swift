import Log
import Testing
import Wire

@testable import Broker

/// Each limit of the broker, with an honest neighbour who must notice nothing of who meets it.
@Suite("Limits of the broker")
struct LimitTests {
  private let eve = ClientInfo(user: "eve", client: "e")
  private let ann = ClientInfo(user: "ann", client: "a")

  private func publish(
    _ scene: BrokerScene, _ channel: ChannelName, by info: ClientInfo?, bytes: Int = 1, key: String? = nil
  ) -> BrokerResponse? {
    let write = key.map { MapWrite(key: $0) }
    let data = [UInt8](repeating: UInt8(ascii: "1"), count: bytes)
    return scene.ask(.publish(.init(channel: channel, data: data, info: info, write: write)))
  }

  private func refusals(_ scene: BrokerScene) -> [String] {
    scene.core.tally.takeRefusals(isMinuteOver: true).map { "\($0.cause.name) \($0.count) \($0.source)" }
  }

  @Test("publications of clients on one channel: a burst, then a rate; another channel and services are not held back")
  func channelRate() {
    let scene = BrokerScene { $0.channelRate = RateLimit(perSecond: 10, burst: 20) }
    for _ in 0..<20 { #expect(publish(scene, "m", by: eve)?.errorCode == nil) }
    for _ in 0..<5 { #expect(publish(scene, "m", by: eve)?.errorCode == 111) }
    #expect(publish(scene, "n", by: ann)?.errorCode == nil)
    #expect(publish(scene, "m", by: nil)?.errorCode == nil)
    scene.pass(100)
    #expect(publish(scene, "m", by: eve)?.errorCode == nil)
    #expect(publish(scene, "m", by: eve)?.errorCode == 111)
    #expect(scene.core.counters.limited == 6)
    #expect(refusals(scene) == ["channel_publications 1 eve", "channel_publications 5 eve"])
  }

  @Test("members of one channel: one more is refused, until one leaves; who comes back is no more")
  func members() {
    let scene = BrokerScene { $0.maximumMembers = 2 }
    scene.hello(1)
    for id in 1...3 as ClosedRange<UInt64> { scene.request(id, .subscribe("m", member: "c\(id)")) }
    #expect(scene.ask(.presenceStats("m")) == .presenceStats(clients: 2, users: 1))
    scene.request(4, .subscribe("m", member: "c1"))
    scene.request(5, .subscribe("n", member: "c3"))
    scene.request(6, .unsubscribe("m", member: "c1", keeps: true))
    scene.request(7, .subscribe("m", member: "c3"))
    let codes = scene.hears().compactMap { heard -> UInt32? in
      if case .reply(_, let response) = heard { response.errorCode ?? 0 } else { nil }
    }
    #expect(codes == [0, 0, 106, 0, 0, 0, 0])
    #expect(refusals(scene) == ["channel_members 1 u"])
  }

  @Test("channels that one user makes: a burst, then a rate; what exists is open to all, and neighbours make theirs")
  func creationRate() {
    let scene = BrokerScene { $0.creationRate = RateLimit(perSecond: 1, burst: 3) }
    scene.hello(1)
    for index in 0..<3 { #expect(publish(scene, ChannelName(stringLiteral: "e\(index)"), by: eve)?.errorCode == nil) }
    #expect(publish(scene, "e3", by: eve)?.errorCode == 111)
    scene.request(1, .subscribe(.init(channel: "e4", member: eve)))
    guard case .reply(1, let refused)? = scene.hears().last else {
      Issue.record("no answer")
      return
    }
    #expect(refused.errorCode == 111)
    #expect(scene.core.channels["e3"] == nil && scene.core.channels["e4"] == nil)
    #expect(publish(scene, "e0", by: eve)?.errorCode == nil)
    #expect(publish(scene, "a0", by: ann)?.errorCode == nil)
    #expect(publish(scene, "a0", by: eve)?.errorCode == nil)
    #expect(publish(scene, "s0", by: nil)?.errorCode == nil)
    scene.pass(1000)
    #expect(publish(scene, "e3", by: eve)?.errorCode == nil)
  }

  @Test("clients without a user are held back each by themselves")
  func anonymous() {
    let scene = BrokerScene { $0.creationRate = RateLimit(perSecond: 1, burst: 1) }
    for client in ["c1", "c2"] {
      #expect(
        publish(scene, ChannelName(stringLiteral: client), by: ClientInfo(user: "", client: client))?.errorCode == nil)
    }
    #expect(publish(scene, "c3", by: ClientInfo(user: "", client: "c1"))?.errorCode == 111)
  }

  @Test("channels in memory that one user keeps: so many, until some end")
  func userChannels() {
    let scene = BrokerScene { $0.userChannels = 3 }
    for index in 0..<3 { #expect(publish(scene, ChannelName(stringLiteral: "e\(index)"), by: eve)?.errorCode == nil) }
    #expect(publish(scene, "e3", by: eve)?.errorCode == 106)
    #expect(publish(scene, "bare:3", by: eve)?.errorCode == nil, "nothing is kept of it")
    #expect(publish(scene, "a", by: ann)?.errorCode == nil)
    // What is kept ends, then the state, then what was known of the channels.
    for _ in 0..<3 { scene.pass(4_000_000) }
    #expect(scene.core.channels.accounts?.owner("eve") == nil)
    #expect(publish(scene, "e3", by: eve)?.errorCode == nil)
  }

  @Test("memory that one user's channels take: then nothing more, and neighbours go on, on those channels too")
  func userMemory() {
    let scene = BrokerScene { $0.userMemoryBytes = 10_000 }
    for index in 0..<9 { _ = publish(scene, ChannelName(stringLiteral: "e\(index % 3)"), by: eve, bytes: 1500) }
    #expect(publish(scene, "e0", by: eve, bytes: 1500)?.errorCode == 111)
    #expect(publish(scene, "e9", by: eve)?.errorCode == 111)
    #expect(publish(scene, "e0", by: ann)?.errorCode == nil)
    #expect(publish(scene, "a0", by: ann, bytes: 1500)?.errorCode == nil)
    #expect((scene.core.channels.accounts?.owner("eve")?.bytes ?? 0) < 13_000)
    scene.pass(70_000)
    #expect(scene.core.channels.accounts?.owner("eve")?.bytes == 0)
    #expect(publish(scene, "e0", by: eve, bytes: 1500)?.errorCode == nil)
  }

  @Test("memory of all: a flood through new channels is refused early, for a while; what takes none goes on")
  func memory() {
    let scene = BrokerScene.maps(broker: { $0.memoryBytes = 1_000_000 })
    #expect(publish(scene, "old", by: ann)?.errorCode == nil)
    #expect(publish(scene, "m:1", by: ann, key: "k")?.errorCode == nil)
    #expect(publish(scene, "bare:a", by: ann)?.errorCode == nil)
    var taken = 0
    for index in 0..<5000
    where publish(scene, ChannelName(stringLiteral: "e\(index)"), by: eve, bytes: 1000)?.errorCode == nil {
      taken += 1
    }
    #expect((100...1000).contains(taken))
    #expect(scene.core.channels.memoryUse < 1_010_000)
    guard case .failed(let refusal)? = publish(scene, "old", by: ann) else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == 100 && refusal.temporary)
    #expect(publish(scene, "m:1", by: ann, key: "l")?.errorCode == 100)
    #expect(publish(scene, "bare:a", by: ann)?.errorCode == nil, "nothing is kept there")
    #expect(publish(scene, "d:1", by: ann)?.errorCode == 100, "a new channel")
    #expect(scene.write("m:1", "k", nil)?.errorCode == nil, "a removal makes room")
    #expect(scene.ask(.history(.init(channel: "old", limit: 9)))?.errorCode == nil)
    #expect(refusals(scene).contains { $0.hasPrefix("broker_memory") && $0.hasSuffix("eve") })
    for _ in 0..<4 { scene.pass(4_000_000) }
    #expect(scene.core.channels.memoryUse < 100_000)
    #expect(publish(scene, "old", by: ann)?.errorCode == nil)
  }

  @Test("what is told of the memory in use goes back to nothing when everything has ended")
  func accounts() {
    let scene = BrokerScene.maps { $0.mapTTLMilliseconds = 1000 }
    for index in 0..<50 {
      _ = publish(scene, ChannelName(stringLiteral: "e\(index)"), by: eve, bytes: 100)
      _ = publish(scene, ChannelName(stringLiteral: "m:\(index)"), by: eve, key: "k")
      scene.write("m:\(index)".asChannel, "k", "22")
    }
    #expect(scene.core.channels.mapBytes > 0 && scene.core.channels.memoryUse > 50_000)
    for _ in 0..<6 { scene.pass(4_000_000) }
    #expect(scene.core.channels.mapBytes == 0)
    #expect(scene.core.channels.memoryUse == 0)
  }
}

extension String {
  fileprivate var asChannel: ChannelName { ChannelName(stringLiteral: self) }
}
