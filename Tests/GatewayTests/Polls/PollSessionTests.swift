import Auth
import Cryptography
import Testing
import Wire

@testable import Gateway

@Suite("Session: shared polls")
struct PollSessionTests {
  private static let options = ChannelOptions().with {
    $0.kind = .sharedPoll
    $0.allowSubscribeForClient = true
  }
  private static let signatures = TrackSignatures(key: SecretKey(Array(TrackSignatureTests.secret.utf8)))
  private static let data = Publication(data: Array("1".utf8), change: KeyChange(key: "a", version: 3))

  private func bench(
    _ options: ChannelOptions = options, user: String = "u", format: WireFormat = .json,
    signatures: TrackSignatures? = signatures
  ) -> SessionBench {
    .live(options, user: user, format: format, trackSignatures: signatures)
  }

  private func track(
    _ batches: [ClientCommand.TrackBatch], untracking: [String] = [], on channel: String = "c"
  ) -> ClientCommand.Body {
    var track = ClientCommand.Track()
    track.channel = channel
    track.batches = batches
    track.untracked = untracking
    return .track(track)
  }

  private func signed(_ keys: [String], end: Int64 = TrackSignatureTests.now + 60) -> ClientCommand.TrackBatch {
    TrackSignatureTests.batch(keys, TrackSignatureTests.signature(keys, end: end))
  }

  /// Subscribes all the way.
  private func join(_ bench: inout SessionBench, epoch: String = "e") -> [SessionAction] {
    let asked = bench.subscribe("c") { $0.type = 4 }
    guard let tag = asked.openPollTag else { return asked }
    return bench.feed(.pollOpened(tag: tag, epoch: epoch))
  }

  // MARK: Subscribing

  @Test("a subscription says its type and the epoch, and the broker hears nothing of it, its end included")
  func subscribe() throws {
    var bench = bench()
    let result = try #require(join(&bench).subscribeResult)
    #expect(result.type == 4 && result.epoch == "e" && !result.recoverable && !result.expires)
    let left = bench.feed(.unsubscribe(channel: "c"))
    #expect(left.requests.isEmpty && left.leftPolls == ["c"])
    #expect(join(&bench).subscribeResult != nil)
    let closed = bench.feed(.transportClosed)
    #expect(closed.requests.isEmpty && closed.leftPolls == ["c"] && bench.isDrained)
  }

  @Test("type and channel have to fit, and there is nothing to filter")
  func types() {
    var polled = bench()
    #expect(polled.subscribe("c").errorCode == 107)
    #expect(polled.subscribe("c") { $0.type = 1 }.errorCode == 107)
    #expect(
      polled.subscribe("c") {
        $0.type = 4
        $0.filter = .equal(key: "a", "b")
      }.errorCode == 107)
    var stream = bench(.open)
    #expect(stream.subscribe("c") { $0.type = 4 }.errorCode == 107)
    var map = bench(ChannelOptions.open.with { $0.kind = .map })
    #expect(map.subscribe("c") { $0.type = 4 }.errorCode == 107)
  }

  @Test("who may not subscribe may not, and without a backend nobody can")
  func refused() throws {
    var shut = bench(Self.options.with { $0.allowSubscribeForClient = false })
    #expect(shut.subscribe("c") { $0.type = 4 }.errorCode == 103)
    var without = bench()
    let tag = try #require(without.subscribe("c") { $0.type = 4 }.openPollTag)
    #expect(without.feed(.pollOpened(tag: tag, epoch: nil)).errorCode == 108)
    #expect(without.subscribe("c") { $0.type = 4 }.openPollTag != nil)
  }

  @Test("a token opens it, says when it ends, and a newer one moves that on without ending what is tracked")
  func token() throws {
    var bench = bench(Self.options.with { $0.allowSubscribeForClient = false })
    let asked = bench.subscribe("c") {
      $0.type = 4
      $0.token = "t"
    }
    let end = bench.wall + 100
    let claims = SubscriptionClaims(user: "u", channel: "c", expiresAt: end)
    let opened = bench.feed(.subscriptionTokenChecked(tag: try #require(asked.checkTag), .success(claims)))
    let tag = try #require(opened.openPollTag)
    let result = try #require(bench.feed(.pollOpened(tag: tag, epoch: "")).subscribeResult)
    #expect(result.expires && result.ttl == 100 && result.epoch.isEmpty)
    let check = try #require(bench.feed(.subRefresh(channel: "c", token: "t2")).checkTag)
    let later = SubscriptionClaims(user: "u", channel: "c", expiresAt: end + 100)
    let refreshed = bench.feed(.subscriptionTokenChecked(tag: check, .success(later)))
    #expect(refreshed.replies == [.subRefresh(id: 7, expires: true, ttl: 200)])
    #expect(bench.feed(track([signed(["a"])])).track?.number == tag)
    bench.pass(milliseconds: 250_000)
    #expect(bench.feed(track([signed(["a"])])).errorCode == 103)
  }

  @Test("an unsubscribe that comes before the epoch is told ends it, and the answer after it changes nothing")
  func abandoned() throws {
    var bench = bench()
    let tag = try #require(bench.subscribe("c", id: 5) { $0.type = 4 }.openPollTag)
    let ended = bench.feed(.unsubscribe(channel: "c"), id: 6)
    #expect(ended.replies.contains(.unsubscribe(id: 6)) && ended.errorCode == 100 && ended.requests.isEmpty)
    #expect(bench.feed(.pollOpened(tag: tag, epoch: "e")).isEmpty)
    #expect(join(&bench).subscribeResult != nil)
  }

  // MARK: Tracking

  @Test("keys go on with what was signed of them, and the answer tells the earliest end and what is known")
  func tracked() throws {
    var bench = bench()
    let number = join(&bench).isEmpty ? 0 : bench.session.lastTag
    let actions = bench.feed(
      track([signed(["a", "b"]), signed(["c"], end: TrackSignatureTests.now + 30)], untracking: ["b"]))
    let ask = try #require(actions.track)
    #expect(ask.channel == channel("c") && ask.number == number && ask.epoch == "e" && ask.untracked == ["b"])
    #expect(ask.items.map(\.key) == ["a", "b", "c"])
    #expect(ask.items.map { $0.expiresAt - TrackSignatureTests.now } == [60, 60, 30])
    let tag = try #require(actions.trackTag)
    #expect(
      bench.feed(.tracked(tag: tag, .tracked([Self.data]))).replies == [
        .subRefresh(id: 7, expires: true, ttl: 30, items: [Self.data])
      ])
    let endless = bench.feed(track([signed(["a"], end: 0)]))
    #expect(
      bench.feed(.tracked(tag: try #require(endless.trackTag), .tracked([]))).replies == [
        .subRefresh(id: 7, expires: false, ttl: 0)
      ])
    #expect(bench.feed(.untrack(channel: "c", keys: ["a"])).untracked == ["a"])
  }

  @Test(
    "what was not signed for this user is refused, what has expired is told apart, and nothing of either is tracked")
  func signatures() {
    var bench = bench(user: "v")
    _ = join(&bench)
    let wrong = bench.feed(track([signed(["a"])]))
    #expect(wrong.errorCode == 103 && wrong.track == nil)
    bench = self.bench()
    _ = join(&bench)
    let mixed = bench.feed(track([signed(["a"]), TrackSignatureTests.batch(["b"], "1:2:3")]))
    #expect(mixed.errorCode == 103 && mixed.track == nil)
    let expired = bench.feed(track([signed(["a"]), signed(["b"], end: TrackSignatureTests.now - 6)]))
    #expect(expired.errorCode == 109 && expired.track == nil)
  }

  @Test("commands that make no sense, and those without a subscription, are refused")
  func nonsense() {
    var bench = bench()
    #expect(bench.feed(track([signed(["a"])])).errorCode == 103)
    #expect(bench.feed(.untrack(channel: "c", keys: ["a"])).errorCode == 103)
    _ = join(&bench)
    #expect(bench.feed(track([])).errorCode == 107)
    #expect(bench.feed(track([signed([])])).errorCode == 107)
    for key in ["", "a\0b", String(repeating: "k", count: 256)] {
      #expect(bench.feed(track([signed([key])])).errorCode == 107, "\(key)")
    }
    #expect(bench.feed(.untrack(channel: "c", keys: [])).errorCode == 107)
    var stream = self.bench(.open)
    stream.join("c")
    #expect(stream.feed(track([signed(["a"])])).errorCode == 103)
  }

  @Test("a limit is an error and is noted")
  func limit() throws {
    var bench = bench()
    _ = join(&bench)
    let tag = try #require(bench.feed(track([signed(["a"])])).trackTag)
    let refused = bench.feed(.tracked(tag: tag, .refused(.limitExceeded, .polledKeys)))
    #expect(refused.errorCode == 106 && refused.contains(.note(.polledKeys)))
  }

  @Test("whose versions are of another epoch is made to subscribe anew, once")
  func otherEpoch() throws {
    var bench = bench()
    _ = join(&bench)
    let tag = try #require(bench.feed(track([signed(["a"])])).trackTag)
    let told = bench.feed(.tracked(tag: tag, .otherEpoch))
    #expect(told.errorCode == 100 && told.leftPolls == ["c"])
    #expect(told.replies.last == .push(.unsubscribe(channel: "c", .insufficient)))
    _ = join(&bench, epoch: "f")
    let number = bench.session.lastTag
    #expect(bench.feed(.pollRestarted(channel("c"), number: number - 1)).isEmpty)
    let restarted = bench.feed(.pollRestarted(channel("c"), number: number))
    #expect(restarted.replies == [.push(.unsubscribe(channel: "c", .insufficient))])
    #expect(restarted.leftPolls == ["c"])
  }
}

extension [SessionAction] {
  fileprivate var openPollTag: UInt64? {
    for case .openPoll(let tag, _) in self { return tag }
    return nil
  }

  fileprivate var trackTag: UInt64? {
    for case .track(let tag, _) in self { return tag }
    return nil
  }

  fileprivate var track: PollTrack? {
    for case .track(_, let ask) in self { return ask }
    return nil
  }

  fileprivate var untracked: [String] {
    flatMap { action -> [String] in if case .untrack(_, _, let keys) = action { keys } else { [] } }
  }

  fileprivate var leftPolls: [String] {
    compactMap { if case .leavePoll(let channel, _) = $0 { channel.string } else { nil } }
  }
}
