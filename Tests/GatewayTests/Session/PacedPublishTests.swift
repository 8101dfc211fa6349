import Testing
import Wire

@testable import Gateway

@Suite("Session: publish_interval")
struct PacedPublishTests {
  private let paced = ChannelOptions.open.with { $0.publishIntervalMilliseconds = 2_000 }

  private func publish(_ data: String, to channel: String = "a", key: String? = nil, removes: Bool = false)
    -> ClientCommand.Body
  {
    var ask = ClientCommand.Publish()
    ask.channel = channel
    ask.data = Array(data.utf8)
    if let key { ask.map = MapWrite(key: key, removed: removes) }
    return .publish(ask)
  }

  private func published(_ actions: [SessionAction]) -> [String] {
    actions.requests.compactMap { request in
      guard case .publish(let publish) = request else { return nil }
      let key = publish.write.map { $0.removed ? "-\($0.key)" : "\($0.key)=" } ?? ""
      return publish.write?.removed == true ? key : key + String(decoding: publish.data, as: UTF8.self)
    }
  }

  @Test("of a burst the first value goes out at once and the last when the interval is over; all are acknowledged")
  func burst() {
    var bench = SessionBench.live(paced)
    #expect(published(bench.feed(publish("1"), id: 1)) == ["1"])
    for number in 2...9 {
      bench.now += 100
      let actions = bench.feed(publish("\(number)"), id: UInt32(number))
      #expect(actions == [.send(.publish(id: UInt32(number)))])
    }
    #expect(published(bench.pass(milliseconds: 1_199)) == [])
    #expect(published(bench.pass(milliseconds: 1)) == ["9"])
    // Another interval has begun with publication 9.
    #expect(published(bench.feed(publish("10"))) == [])
    #expect(published(bench.pass(milliseconds: 2_000)) == ["10"])
    #expect(published(bench.pass(milliseconds: 2_000)) == [])
    #expect(published(bench.feed(publish("11"))) == ["11"])
  }

  @Test("a map is paced key by key; what is removed is removed at once, and nothing of it comes later")
  func keys() {
    var bench = SessionBench.live(paced.with { $0.kind = .map })
    #expect(published(bench.feed(publish("1", key: "x"))) == ["x=1"])
    #expect(published(bench.feed(publish("1", key: "y"))) == ["y=1"])
    // Composed otherwise, and so another key.
    for key in ["e\u{301}", "\u{E9}"] { #expect(published(bench.feed(publish("1", key: key))) == ["\(key)=1"]) }
    for key in ["x", "y"] { #expect(published(bench.feed(publish("2", key: key))) == []) }
    #expect(published(bench.feed(publish("", key: "x", removes: true))) == ["-x"])
    #expect(published(bench.pass(milliseconds: 2_000)) == ["y=2"])
    #expect(bench.session.paced.waitingBytes == 0)
  }

  @Test("somebody in more busy channels than are paced at a time loses nothing")
  func manyChannels() {
    var bench = SessionBench.live(paced) { $0.maximumChannels = 3 }
    for number in 1...5 { #expect(published(bench.feed(publish("1", to: "c\(number)"))) == ["1"]) }
    for number in 1...5 {
      #expect(published(bench.feed(publish("2", to: "c\(number)"))) == (number > 3 ? ["2"] : []))
    }
    #expect(published(bench.pass(milliseconds: 2_000)) == ["2", "2", "2"])
    #expect(bench.session.paced.count == 3)
  }

  @Test("what waits is bounded in bytes: what does not fit is published at once, and nothing older after it")
  func bytes() {
    var bench = SessionBench.live(paced)
    let large = "\"\(String(repeating: "x", count: 40_000))\""
    for channel in ["a", "b"] { bench.feed(publish("1", to: channel)) }
    #expect(published(bench.feed(publish(large, to: "a"))) == [])
    #expect(published(bench.feed(publish("2", to: "b"))) == [])
    #expect(published(bench.feed(publish(large, to: "b"))) == [large])
    #expect(bench.session.paced.waitingBytes <= PacedPublishes.maximumWaitingBytes)
    #expect(published(bench.pass(milliseconds: 2_000)) == [large])
    #expect(bench.session.paced.waitingBytes == 0)
  }

  @Test(
    "a client that leaves, or is not heard of any more, has its last value published; one that is sent away has not",
    arguments: [
      (SessionInput.transportClosed, true), (.shutdown, true), (.kick(.forceDisconnect), false),
      (.kick(.permissionDenied), false), (.malformed("no"), false),
    ] as [(SessionInput, Bool)])
  func ending(_ input: SessionInput, isPublished: Bool) {
    var bench = SessionBench.live(paced)
    bench.feed(publish("1"))
    bench.feed(publish("2"))
    #expect(published(bench.feed(input)) == (isPublished ? ["2"] : []))
    #expect(bench.session.nextDeadline == nil)
  }

  @Test("where a subscription is taken away, what waits for its channel is not published")
  func takenAway() {
    var bench = SessionBench.live(paced)
    bench.join("a")
    for channel in ["a", "b"] {
      bench.feed(publish("1", to: channel))
      bench.feed(publish("2", to: channel))
    }
    bench.feed(.removeSubscription(channel("a"), .server))
    let later = bench.pass(milliseconds: 2_000).requests
    #expect(later.compactMap { if case .publish(let publish) = $0 { publish.channel } else { nil } } == [channel("b")])
  }
}
