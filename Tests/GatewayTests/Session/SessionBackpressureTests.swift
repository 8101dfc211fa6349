import Testing
import Wire

@testable import Gateway

@Suite("Session: read later, not refused")
struct SessionBackpressureTests {
  private func publish(_ number: Int) -> ClientCommand.Body {
    var ask = ClientCommand.Publish()
    ask.channel = "a"
    ask.data = Array("\(number)".utf8)
    return .publish(ask)
  }

  private func published(_ actions: [SessionAction]) -> [(tag: UInt64, data: String)] {
    actions.compactMap { action in
      guard case .request(let tag, .publish(let request)) = action else { return nil }
      return (tag, String(decoding: request.data, as: UTF8.self))
    }
  }

  @Test("a thousand publishes at once are all acknowledged, in their order, a few under way at a time")
  func pipeline() {
    var bench = SessionBench.live { $0.maximumPendingCommands = 4 }
    var asked: [(tag: UInt64, data: String)] = []
    var replies: [ClientReply] = []
    for number in 1...1000 {
      let actions = bench.feed(publish(number), id: UInt32(number))
      asked += published(actions)
      replies += actions.replies
    }
    #expect(asked.count == 4 && replies.isEmpty)
    #expect(!bench.wantsInput)
    var next = 0
    while next < asked.count {
      let actions = bench.feed(
        .brokerAnswered(tag: asked[next].tag, .published(.init(epoch: "e", offset: UInt64(next + 1)))))
      next += 1
      asked += published(actions)
      replies += actions.replies
      #expect(asked.count - next <= 4)
    }
    #expect(asked.map(\.data) == (1...1000).map { "\($0)" })
    #expect(replies == (1...1000).map { .publish(id: UInt32($0)) })
    #expect(bench.wantsInput)
  }

  @Test("of reads that may be answered by much, a few are under way at a time; what comes behind one waits behind it")
  func reads() {
    var bench = SessionBench.live()
    var history = ClientCommand.History()
    history.channel = "a"
    var asked: [SessionAction] = []
    for id in UInt32(1)...20 {
      asked +=
        id % 2 == 0 ? bench.feed(.history(history), id: id) : bench.subscribe("s\(id)", id: id) { $0.recover = true }
    }
    #expect(asked.count == Session.maximumReads)
    #expect(bench.feed(publish(21), id: 21).isEmpty)
    var replies = 0
    var next = 0
    while next < asked.count {
      #expect(bench.session.reads.count <= Session.maximumReads)
      guard case .request(let tag, let request) = asked[next] else { preconditionFailure("only requests are kept") }
      next += 1
      let response: BrokerResponse =
        switch request {
        case .history: .history(.init(position: StreamPosition(epoch: "e", offset: 0)))
        case .subscribe: .at(0)
        default: .published(.init(epoch: "e", offset: 1))
        }
      let actions = bench.feed(.brokerAnswered(tag: tag, response))
      replies += actions.replies.count
      asked += actions.filter { if case .request = $0 { true } else { false } }
    }
    #expect(replies == 21 && asked.count == 21)
    #expect(bench.session.reads.isEmpty && !bench.hasWaiting)
  }

  @Test("many reads that waited while the input was held do not all stand in the line that everybody shares")
  func readsReleased() {
    var bench = SessionBench.live()
    var history = ClientCommand.History()
    history.channel = "a"
    bench.feed(.inputHeld(true))
    for id in UInt32(1)...256 { #expect(bench.feed(.history(history), id: id).isEmpty) }
    let asked = bench.feed(.inputHeld(false))
    #expect(asked.count == Session.maximumReads)
    // There is room for more connections than an event loop ever has, each with as many reads as may wait at a time.
    #expect(ReadAdmission.mostWaiting / asked.count >= 8_192)
  }

  @Test("what comes behind a command that waits is answered behind it; a pong is heard at once")
  func order() {
    var bench = SessionBench.live { $0.maximumPendingCommands = 1 }
    let first = bench.feed(publish(1), id: 1)
    bench.feed(publish(2), id: 2)
    #expect(bench.feed(.ping, id: 3).isEmpty)
    #expect(bench.feed(.unsubscribe(channel: "a"), id: 4).isEmpty)
    #expect(bench.pass(milliseconds: 10_000) == [.send(.serverPing)])
    bench.feed(.pong, id: 0)
    #expect(bench.session.unansweredPings == 0)
    let second = bench.answer(first, .published(.init(epoch: "e", offset: 1)))
    #expect(second.replies == [.publish(id: 1)])
    let rest = bench.answer(second, .published(.init(epoch: "e", offset: 2)))
    #expect(rest.replies == [.publish(id: 2), .ping(id: 3), .unsubscribe(id: 4)])
  }

  @Test(
    "commands wait while the client does not take its answers, and while the broker is behind",
    arguments: [SessionInput.outputFull(true), .inputHeld(true)])
  func held(_ input: SessionInput) {
    var bench = SessionBench.live()
    bench.feed(input)
    #expect(bench.feed(publish(1), id: 1).isEmpty)
    #expect(bench.feed(.ping, id: 2).isEmpty)
    #expect(!bench.wantsInput)
    let both = bench.feed(.outputFull(false)) + bench.feed(.inputHeld(false))
    #expect(published(both).map(\.data) == ["1"])
    #expect(both.replies == [.ping(id: 2)])
  }

  @Test("a client that is sent away is not read again, whatever the broker does, and gets all that it had asked for")
  func draining() {
    var bench = SessionBench.live { $0.maximumPendingCommands = 1 }
    let first = bench.feed(publish(1), id: 1)
    bench.feed(publish(2), id: 2)
    bench.feed(.draining)
    bench.feed(.inputHeld(true))
    bench.feed(.inputHeld(false))
    #expect(!bench.wantsInput && bench.awaitsAnswers)
    let second = bench.answer(first, .published(.init(epoch: "e", offset: 1)))
    #expect(published(second).map(\.data) == ["2"])
    #expect(bench.answer(second, .published(.init(epoch: "e", offset: 2))).replies == [.publish(id: 2)])
    #expect(!bench.wantsInput && !bench.awaitsAnswers)
  }

  // MARK: Signs of life

  @Test("no pong is due while commands wait for the broker: nobody reads what the client sends")
  func unread() {
    var bench = SessionBench.live { $0.maximumPendingCommands = 1 }
    let first = bench.feed(publish(1), id: 1)
    bench.feed(publish(2), id: 2)
    bench.pass(milliseconds: 10_000)
    #expect(bench.pass(milliseconds: 20_000).closeCode == nil)
    bench.answer(first, .published(.init(epoch: "e", offset: 1)))
    #expect(bench.pass(milliseconds: 7_999).closeCode == nil)
    #expect(bench.pass(milliseconds: 1).closeCode == 3012)
  }

  @Test("whoever takes bytes lives: its pong is due when nothing waits any more", arguments: [false, true])
  func taking(isFull: Bool) {
    var bench = SessionBench.live()
    if isFull { bench.feed(.outputFull(true)) }
    var taken: UInt64 = 1_000
    bench.now += 10_000
    bench.feed(.peerTook(PeerProgress(takenBytes: taken, isWaiting: true)))
    #expect(bench.feed(.deadline) == [.send(.serverPing)])
    for _ in 0..<10 {
      bench.now += 8_000
      taken += 1
      #expect(bench.wantsProgress(at: bench.now))
      bench.feed(.peerTook(PeerProgress(takenBytes: taken, isWaiting: true)))
      #expect(bench.feed(.deadline).closeCode == nil)
    }
    // The last byte, and with it the ping.
    bench.now += 8_000
    bench.feed(.peerTook(PeerProgress(takenBytes: taken + 1, isWaiting: false)))
    #expect(bench.feed(.deadline).closeCode == nil)
    bench.now += 8_000
    bench.feed(.peerTook(PeerProgress(takenBytes: taken + 1, isWaiting: false)))
    #expect(bench.feed(.deadline).closeCode == 3012)
  }

  @Test("whoever takes nothing is closed, whatever waits for it", arguments: [false, true])
  func takingNothing(isFull: Bool) {
    var bench = SessionBench.live()
    if isFull { bench.feed(.outputFull(true)) }
    let stuck = PeerProgress(takenBytes: 1_000, isWaiting: true)
    bench.now += 10_000
    bench.feed(.peerTook(stuck))
    bench.feed(.deadline)
    bench.now += 8_000
    bench.feed(.peerTook(stuck))
    #expect(bench.feed(.deadline).closeCode == 3012)
  }

  @Test("a client that takes all that it is sent and says nothing is closed in time")
  func silent() {
    var bench = SessionBench.live()
    bench.now += 10_000
    bench.feed(.peerTook(PeerProgress(takenBytes: 1_000, isWaiting: false)))
    bench.feed(.deadline)
    bench.now += 8_000
    bench.feed(.peerTook(PeerProgress(takenBytes: 5_000, isWaiting: false)))
    #expect(bench.feed(.deadline).closeCode == 3012)
  }
}
