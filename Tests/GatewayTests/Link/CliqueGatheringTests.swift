import Testing
import Wire

@testable import Gateway

@Suite("Requests of Clique that are asked of several partitions")
struct CliqueGatheringTests {
  private static let elsewhere = "p" + String(repeating: "7", count: 32)
  private static let picture = "the-picture-of-a-message"
  private let source = RequestSource(loop: 1, connection: 7, tag: 9)
  private let refusal = BrokerResponse.failed(.permissionDenied)
  private let outage = BrokerResponse.failed(.internalError)

  /// Clique in three partitions, where every conversation of two is the same one.
  private func partitioning() throws -> Partitioning {
    var chats = ChannelOptions()
    (chats.app, chats.sharing) = ("clique", .conversation)
    let shared = Partitioning(
      count: 3, namespaces: NamespaceTable(namespaces: ["clique.chat": chats]), conversation: { _, _ in Self.elsewhere }
    )
    try #require(shared.place(ofConversation: Self.elsewhere) != Partitioning.home)
    return shared
  }

  /// What came of a request.
  private struct Run {
    /// The methods that were asked, each with where.
    var asked: [String] = []
    /// The last of them.
    var last: CliqueCommand?
    var answer: BrokerResponse?
  }

  /// Asks, and answers each step.
  private func run(
    _ command: AppCommand, isGateways: Bool = false, isService: Bool = false, answers: [BrokerResponse]
  ) throws -> Run {
    let shared = try partitioning()
    let caller = ClientInfo(user: "ann", client: "c")
    let request = BrokerRequest.call(.init(command, caller: caller, isGateways: isGateways))
    var gathering = RequestGathering()
    var parts = gathering.begin(
      GatewayRequest(source: source, format: .json, request: request, isService: isService),
      try shared.plan(for: request))
    var run = Run()
    for answer in answers {
      let part = try #require(parts.first)
      #expect(parts.count == 1 && part.request.isService == isService)
      guard case .call(let call) = part.request.request, case .clique(let asked) = call.command else { break }
      #expect(call.caller.user == "ann" && call.isGateways == asked.isGateways)
      run.asked.append("\(call.command.method) \(part.partition == Partitioning.home ? "at home" : "elsewhere")")
      run.last = asked
      switch gathering.answered(part.request.source, answer) {
      case .none: parts = []
      case .ask(let next): parts = next
      case .answer(let asker, let whole):
        #expect(asker == source && gathering.count == 0)
        run.answer = whole
        return run
      }
    }
    return run
  }

  private func command(_ method: String, _ fields: String) throws -> AppCommand {
    try AppCommand(method, Array("{\(fields)}".utf8), by: "ann")
  }

  private static let lend = "clique.picture.lend at home"
  private static let send = "clique.send elsewhere"

  @Test("A picture is lent and sent, one after the other, for clients and for services", arguments: [true, false])
  func sends(isService: Bool) throws {
    let send = try command("clique.send", "\"to\":\"bob\",\"picture\":{\"id\":\"\(Self.picture)\"}")
    let run = try run(send, isService: isService, answers: [.result([1, 2]), .result([3])])
    #expect(run.asked == [Self.lend, Self.send] && run.answer == .result([3]))
    guard case .send(let sent) = run.last else {
      Issue.record("nothing is sent")
      return
    }
    #expect(sent.lent == [1, 2])
    let refused = try self.run(send, answers: [.result([1]), refusal, outage])
    #expect(refused.asked == [Self.lend, Self.send, "clique.picture.back at home"] && refused.answer == refusal)
    let unknown = try self.run(send, answers: [.result([1]), outage])
    #expect(unknown.asked == [Self.lend, Self.send] && unknown.answer == outage)
    let unlent = try self.run(send, answers: [outage])
    #expect(unlent.asked == [Self.lend] && unlent.answer == outage)
  }

  @Test("Home is told of somebody with what their conversation knows, and of nobody where it refuses")
  func reports() throws {
    let report = try command("clique.report", #""person":"bob","reason":"spam""#)
    let evidence = "clique.report.evidence elsewhere"
    let run = try run(report, answers: [.result([1, 2]), .result([3])])
    #expect(run.asked == [evidence, "clique.report at home"] && run.answer == .result([3]))
    guard case .report(let made) = run.last else {
      Issue.record("nothing is reported")
      return
    }
    #expect(made.evidence == [1, 2])
    for failure in [refusal, outage] {
      let refused = try self.run(report, answers: [failure])
      #expect(refused.asked == [evidence] && refused.answer == failure)
    }
  }

  @Test("A picture's key is given out when its conversation says that the message is read, and not before")
  func keys() throws {
    let key = AppCommand.clique(.picture(.key(id: Self.picture)))
    let (plain, reads) = (
      #"{"type":"image/png","key":"AA=="}"#,
      #"{"type":"image/png","key":"AA==","reads":{"conversation":"\#(Self.elsewhere)","offset":3}}"#
    )
    func result(_ json: String) -> BrokerResponse { .result(Array(json.utf8)) }
    let (first, second) = ("clique.picture.key at home", "clique.picture.reads elsewhere")
    let own = try run(key, isGateways: true, answers: [result(plain)])
    #expect(own.asked == [first] && own.answer == result(plain))
    let granted = try run(key, isGateways: true, answers: [result(reads), result("{}")])
    #expect(granted.asked == [first, second] && granted.answer == result(plain))
    #expect(granted.last == .reads(.init(conversation: Self.elsewhere, offset: 3, picture: Self.picture)))
    for failure in [refusal, outage] {
      let refused = try run(key, isGateways: true, answers: [result(reads), failure])
      #expect(refused.asked == [first, second] && refused.answer == failure)
    }
  }
}
