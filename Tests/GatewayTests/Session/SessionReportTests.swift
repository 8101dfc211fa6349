import Auth
import Testing
import Wire

@testable import Gateway

@Suite("Session: what webhooks are told")
struct SessionReportTests {
  private func all(_ configuration: inout SessionConfiguration) {
    configuration.reports.add([.connect, .disconnect, .subscribe], in: nil)
  }

  private func reports(_ actions: [SessionAction]) -> [ClientEvent] {
    actions.requests.compactMap { if case .report(let event) = $0 { event } else { nil } }
  }

  @Test("a client is told of when it is in, when it is subscribed, and when it is gone")
  func life() {
    var bench = SessionBench { all(&$0) }
    var connect = ClientCommand.Connect()
    connect.token = "token"
    let tag = bench.feed(.connect(connect), id: 1).checkTag ?? 0
    let welcome = bench.feed(.connectionTokenChecked(tag: tag, .success(ConnectionClaims(user: "ann"))))
    #expect(reports(welcome) == [ClientEvent(.connected, user: "ann", client: "c1")])
    #expect(
      reports(bench.join("news")) == [ClientEvent(.subscribed, user: "ann", client: "c1", channel: channel("news"))])
    let end = bench.feed(.kick(.forceDisconnect))
    let code = DisconnectCode.forceDisconnect
    #expect(
      reports(end) == [
        ClientEvent(.disconnected, user: "ann", client: "c1", code: code.code, reason: code.reason)
      ])
    #expect(end.closeCode == code.code)
    #expect(bench.isDrained, "nothing waits for the answers")
  }

  @Test("a client that leaves by itself has the code 0; one that never got in is told of to nobody")
  func without() {
    var bench = SessionBench.live(configure: all)
    #expect(reports(bench.feed(.transportClosed)).map(\.code) == [0])
    #expect(reports(bench.feed(.transportClosed)).isEmpty)
    var stranger = SessionBench { all(&$0) }
    #expect(reports(stranger.feed(.transportClosed)).isEmpty)
  }

  @Test("what no webhook wants is not told: other namespaces, other events, channels of apps")
  func unwanted() {
    var bench = SessionBench.live(namespaces: ["chat": .open, "other": .open]) { configuration in
      configuration.reports.add(.subscribe, in: ["chat"])
    }
    #expect(reports(bench.join("other:1")).isEmpty)
    #expect(reports(bench.join("news")).isEmpty)
    #expect(reports(bench.join("chat:1")).count == 1)
    #expect(reports(bench.feed(.kick(.forceDisconnect))).isEmpty)
    var silent = SessionBench.live()
    #expect(reports(silent.join("news")).isEmpty && reports(silent.feed(.transportClosed)).isEmpty)
    var apps = ChannelOptions.open
    apps.app = "clique"
    var interest = ClientEventInterest()
    interest.add(.subscribe, in: nil)
    #expect(!interest.wantsSubscriptions(to: channel("clique.chat:1"), apps))
  }
}

@Suite("GatewayLink: what webhooks are told")
struct LinkReportTests {
  private let report = BrokerRequest.report(ClientEvent(.connected, user: "u", client: "c"))

  @Test("it is asked again after the link was reset, and never given up however long the broker is away")
  func again() {
    let scene = LinkScene()
    scene.welcome()
    scene.submit(report, tag: 1)
    let first = scene.asks()
    scene.reopen()
    scene.pass(3_600_000)
    scene.reopen()
    let second = scene.asks()
    #expect(first.map(\.request) == [report] && second.map(\.request) == [report])
    #expect(first.first?.id == second.first?.id && second.first?.isRetry == true)
    scene.answer(1, .done)
    #expect(scene.link.pending.isEmpty && scene.link.reportsUnderWay == 0)
  }

  @Test("with too many on the way, the rest is told to nobody, and counted")
  func bounded() {
    let scene = LinkScene()
    for tag in 0..<UInt64(GatewayLink.mostReports + 3) { scene.submit(report, tag: tag) }
    #expect(scene.link.reportsUnderWay == GatewayLink.mostReports && scene.link.counters.reportsLost == 3)
  }
}
