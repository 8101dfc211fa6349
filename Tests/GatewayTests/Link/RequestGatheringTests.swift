import Testing
import Wire

@testable import Gateway

@Suite("Requests that are asked of several partitions")
struct RequestGatheringTests {
  private let partitioning = Partitioning(count: 3, namespaces: NamespaceTable())
  private let source = RequestSource(loop: 1, connection: 7, tag: 9)

  private func begin(
    _ request: BrokerRequest, _ gathering: inout RequestGathering, isService: Bool = false
  ) throws -> [(partition: Int, request: GatewayRequest)] {
    gathering.begin(
      GatewayRequest(source: source, format: .json, request: request, isService: isService),
      try partitioning.plan(for: request))
  }

  private func channels(_ names: String...) throws -> BrokerResponse {
    .channels(try names.map { try ChannelName($0) })
  }

  @Test("All are asked at once, and whoever asked is answered when the last has answered, in whatever order they do")
  func all() throws {
    var gathering = RequestGathering()
    let parts = try begin(.channels(prefix: ""), &gathering, isService: true)
    #expect(parts.map(\.partition) == [0, 1, 2] && parts.allSatisfy(\.request.isService))
    let other = try begin(.channels(prefix: "x"), &gathering)
    #expect(other.allSatisfy { !$0.request.isService } && gathering.count == 2)
    for place in [2, 0] {
      guard case .none = try gathering.answered(parts[place].request.source, channels("c\(place)")) else {
        Issue.record("something follows from the answer of \(place)")
        return
      }
    }
    guard case .answer(let asker, let whole) = try gathering.answered(parts[1].request.source, channels("c1")) else {
      Issue.record("nobody is answered")
      return
    }
    let expected = try channels("c0", "c1", "c2")
    #expect(asker == source && whole == expected && gathering.count == 1)
    // An answer to a request that is over counts for nothing.
    guard case .none = gathering.answered(parts[1].request.source, .channels([])) else {
      Issue.record("a second answer")
      return
    }
  }

  @Test("Where home decides first, the others are asked when it has agreed", arguments: [true, false])
  func first(agrees: Bool) throws {
    var gathering = RequestGathering()
    let parts = try begin(.revoke(.init(.id("x"))), &gathering)
    #expect(parts.map(\.partition) == [0])
    let refusal = BrokerResponse.failed(.permissionDenied)
    let step = gathering.answered(parts[0].request.source, agrees ? .done : refusal)
    guard agrees else {
      guard case .answer(source, refusal) = step else {
        Issue.record("it is not refused")
        return
      }
      return #expect(gathering.count == 0)
    }
    guard case .ask(let others) = step else {
      Issue.record("nobody else is asked")
      return
    }
    #expect(others.map(\.partition) == [1, 2])
    _ = gathering.answered(others[1].request.source, .done)
    guard case .answer(source, .done) = gathering.answered(others[0].request.source, .done) else {
      Issue.record("nobody is answered")
      return
    }
    #expect(gathering.count == 0)
  }

  // MARK: Steps that depend on answers

  /// State in all partitions, and somebody whose thread with Ann is not where Ann is.
  private func apart() throws -> (Partitioning, other: String) {
    var threads = ChannelOptions()
    (threads.app, threads.sharing) = ("state", .user)
    let shared = Partitioning(count: 3, namespaces: NamespaceTable(namespaces: ["state.threads": threads]))
    let other = (0..<1000).map { "user-\($0)" }.first { shared.place(ofPair: "ann", $0) != shared.place(ofUser: "ann") }
    return (shared, try #require(other))
  }

  /// Asks, and answers each step.
  ///
  /// - Parameters:
  ///   - fields: of the command, besides the person it is for.
  ///   - answers: to the requests, one after another.
  /// - Returns: the methods that were asked with the partitions, and what whoever asked is answered.
  private func run(
    _ method: String, _ fields: String, isService: Bool = false, answers: [BrokerResponse]
  ) throws -> (asked: [String], lent: [UInt8]?, answer: BrokerResponse?) {
    let (shared, other) = try apart()
    let command = try AppCommand(method, Array("{\"to\":\"\(other)\",\(fields)}".utf8), by: "ann")
    let request = BrokerRequest.call(.init(command, caller: ClientInfo(user: "ann", client: "c")))
    var gathering = RequestGathering()
    var parts = gathering.begin(
      GatewayRequest(source: source, format: .json, request: request, isService: isService),
      try shared.plan(for: request))
    let names = [shared.place(ofUser: "ann"): "person", shared.place(ofPair: "ann", other): "pair"]
    var asked: [String] = []
    var lent: [UInt8]?
    for answer in answers {
      let part = try #require(parts.first)
      #expect(parts.count == 1 && part.request.isService == isService && part.request.format == .json)
      guard case .call(let call) = part.request.request else { break }
      asked.append("\(call.command.method) of the \(names[part.partition] ?? "?")")
      if case .state(.send(let send)) = call.command { lent = send.lent }
      switch gathering.answered(part.request.source, answer) {
      case .none: parts = []
      case .ask(let next): parts = next
      case .answer(let asker, let whole):
        #expect(asker == source && gathering.count == 0)
        return (asked, lent, whole)
      }
    }
    return (asked, lent, nil)
  }

  private let pictures = #""front":"front-of-the-picture-0","rear":"rear-of-the-picture-01""#
  private let refusal = BrokerResponse.failed(.permissionDenied)
  private let outage = BrokerResponse.failed(.internalError)
  private static let lend = "state.picture.lend of the person"
  private static let send = "state.send of the pair"

  @Test("Pictures are lent and sent, one after the other, for clients and for services", arguments: [true, false])
  func sends(isService: Bool) throws {
    let run = try run("state.send", pictures, isService: isService, answers: [.result([1, 2]), .result([3])])
    #expect(run.asked == [Self.lend, Self.send] && run.lent == [1, 2] && run.answer == .result([3]))
  }

  @Test("Where it is not known whether pictures are lent, nothing is sent; where they are not, the pair is asked")
  func lends() throws {
    let unknown = try run("state.send", pictures, answers: [outage])
    #expect(unknown.asked == [Self.lend] && unknown.answer == outage)
    for answer in [BrokerResponse.result([3]), .failed(.notAvailable), outage] {
      let refused = try run("state.send", pictures, answers: [refusal, answer])
      #expect(refused.asked == [Self.lend, Self.send] && refused.lent == [] && refused.answer == answer)
    }
  }

  @Test("A send that is refused gives back what was lent, whatever that comes to; one that may be done does not")
  func givesBack() throws {
    for back in [BrokerResponse.done, refusal, outage] {
      let refused = try run("state.send", pictures, answers: [.result([1]), .failed(.notAvailable), back])
      #expect(refused.asked == [Self.lend, Self.send, "state.picture.back of the person"])
      #expect(refused.answer == .failed(.notAvailable))
    }
    let unknown = try run("state.send", pictures, answers: [.result([1]), outage])
    #expect(unknown.asked == [Self.lend, Self.send] && unknown.answer == outage)
  }

  @Test("A picture's key is given out as soon as one partition grants it, while another one has no broker")
  func grants() throws {
    let command = AppCommand.state(.pictureKey(id: "p"))
    let request = BrokerRequest.call(.init(command, caller: ClientInfo(user: "ann", client: "c"), isGateways: true))
    var gathering = RequestGathering()
    let parts = gathering.begin(
      GatewayRequest(source: source, format: .json, request: request), try apart().0.plan(for: request))
    #expect(parts.map(\.partition) == [0, 1, 2])
    guard case .none = gathering.answered(parts[2].request.source, refusal),
      case .answer(source, .result([1])) = gathering.answered(parts[0].request.source, .result([1])),
      case .none = gathering.answered(parts[1].request.source, outage)
    else {
      Issue.record("it is not given out, or twice")
      return
    }
    #expect(gathering.count == 0)
  }

  @Test("A recorder is given up once its pictures are discarded")
  func cancels() throws {
    let fields = #""pictures":["front-of-the-picture-0"]"#
    let discard = "state.discard of the person"
    let whole = try run("state.cancel", fields, answers: [.result([1]), .result([2])])
    #expect(whole.asked == [discard, "state.cancel of the pair"] && whole.answer == .result([2]))
    for failure in [refusal, outage] {
      let refused = try run("state.cancel", fields, answers: [failure])
      #expect(refused.asked == [discard] && refused.answer == failure)
    }
  }
}
