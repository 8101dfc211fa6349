import Testing

@testable import Wire

@Suite("Clique in all partitions: what is asked one after another, and what answers come to")
struct CliquePlanTests {
  private let shared = CliquePlan.partitioning
  private let key = OnceKey(owner: "o", key: "k")
  private let picture = AppCommandExample.front
  private let refusal = BrokerResponse.failed(.permissionDenied)
  private let outages = [BrokerResponse.failed(.internalError), .failed(.tooManyRequests)]

  private func json(_ text: String) -> BrokerResponse { .result(Array(text.utf8)) }

  private func asked(_ command: CliqueCommand, once: Bool = false) -> BrokerRequest {
    once ? .once(key, CliquePlan.call(command)) : CliquePlan.call(command)
  }

  // MARK: A message with a picture

  /// A message with a picture to somebody, whose conversation is elsewhere.
  private func send(to target: String, lent: [UInt8] = []) throws -> CliqueCommand {
    let data = "{\(target),\"picture\":{\"id\":\"\(picture)\"},\"key\":\"k\"}"
    guard case .send(var send) = try CliquePlan.command("clique.send", data) else { throw ClientError.internalError }
    send.lent = lent
    return .send(send)
  }

  private func lending(_ plan: PartitionPlan, in conversation: String) throws -> CliqueCommand.Lending {
    let first = try #require(plan.next(after: []).first)
    #expect(plan.next(after: []).count == 1 && first.partition == Partitioning.home)
    guard case .call(let lend) = first.request, case .clique(.lend(let lending)) = lend.command else {
      throw ClientError.internalError
    }
    #expect(lend.isGateways && lend.caller.user == "ann")
    #expect(lending == .init(conversation: conversation, picture: picture, attempt: lending.attempt))
    return lending
  }

  @Test(
    "A picture is lent at home, sent in the conversation, and given back where that is refused for good",
    arguments: [true, false], [true, false])
  func lent(once: Bool, byPerson: Bool) throws {
    let other = try CliquePlan.other(isHome: false)
    let id = CliquePlan.conversation("ann", other)
    let target = byPerson ? "\"to\":\"\(other)\"" : "\"conversation\":\"\(id)\""
    let plan = try shared.plan(for: asked(send(to: target), once: once))
    let lending = try lending(plan, in: id)
    let (lent, done) = (json("lent"), json("done"))
    let sent = PartitionPlan.Part(
      partition: shared.place(ofConversation: id),
      request: asked(try send(to: target, lent: Array("lent".utf8)), once: once))
    #expect(plan.next(after: [lent]) == [sent])
    #expect(plan.next(after: [lent, done]).isEmpty && plan.merged([lent, done]) == done)
    for outage in outages {
      // Nobody knows whether it was done.
      #expect(plan.next(after: [lent, outage]).isEmpty && plan.merged([lent, outage]) == outage)
    }
    let back = PartitionPlan.Part(
      partition: Partitioning.home, request: CliquePlan.call(.giveBack(lending), isGateways: true))
    #expect(plan.next(after: [lent, refusal]) == [back])
    for answer in [.done, outages[0], refusal] {
      #expect(plan.next(after: [lent, refusal, answer]).isEmpty)
      #expect(plan.merged([lent, refusal, answer]) == refusal)
    }
  }

  @Test("A message whose picture is not lent is sent all the same, unless it is not known whether it is lent")
  func notLent() throws {
    let other = try CliquePlan.other(isHome: false)
    let plain = try send(to: "\"to\":\"\(other)\"")
    let plan = try shared.plan(for: asked(plain))
    for outage in outages { #expect(plan.next(after: [outage]).isEmpty && plan.merged([outage]) == outage) }
    let sent = plan.next(after: [refusal])
    #expect(sent.map(\.request) == [asked(plain)])
    for answer in [json("again"), .failed(.notAvailable), outages[0]] {
      #expect(plan.next(after: [refusal, answer]).isEmpty && plan.merged([refusal, answer]) == answer)
    }
  }

  @Test("Each attempt to lend has its own number, and a command is the same whatever gateways added to it")
  func attempts() throws {
    let target = "\"to\":\"\(try CliquePlan.other(isHome: false))\""
    let plans = try (0..<2).map { _ in try shared.plan(for: asked(send(to: target))) }
    #expect(plans[0].next(after: []) != plans[1].next(after: []))
    let (with, without) = try (asked(send(to: target, lent: [1])), asked(send(to: target)))
    #expect(with != without && with.asAsked == without && without.asAsked == without)
    #expect(BrokerRequest.once(key, with).asAsked == .once(key, without))
    let (seen, unseen) = try (asked(report(of: "bob", evidence: [1])), asked(report(of: "bob")))
    #expect(seen != unseen && seen.asAsked == unseen && unseen.asAsked == unseen)
  }

  @Test("A picture in a conversation that is at home, or in a group, is sent in one step")
  func sentAtHome() throws {
    let near = try send(to: "\"to\":\"\(CliquePlan.other(isHome: true))\"")
    for command in [near, try send(to: "\"conversation\":\"\(AppCommandExample.group)\"")] {
      let parts = try shared.plan(for: asked(command)).next(after: [])
      #expect(parts == [.init(partition: Partitioning.home, request: asked(command))])
    }
  }

  // MARK: A report

  private func report(of person: String, evidence: [UInt8] = []) throws -> CliqueCommand {
    let data = "{\"person\":\"\(person)\",\"offset\":7,\"reason\":\"spam\"}"
    guard case .report(var report) = try CliquePlan.command("clique.report", data) else {
      throw ClientError.internalError
    }
    report.evidence = evidence
    return .report(report)
  }

  @Test(
    "Who is reported in a conversation elsewhere is reported at home with what is read there", arguments: [true, false])
  func evidence(once: Bool) throws {
    let other = try CliquePlan.other(isHome: false)
    let place = shared.place(ofConversation: CliquePlan.conversation("ann", other))
    guard case .report(let plain) = try report(of: other) else { throw ClientError.internalError }
    let plan = try shared.plan(for: asked(.report(plain), once: once))
    // It is only read, and so needs no key.
    let first = CliquePlan.call(.evidence(plain), isGateways: true)
    #expect(plan.next(after: []) == [.init(partition: place, request: first)])
    let second = asked(try report(of: other, evidence: Array("seen".utf8)), once: once)
    #expect(plan.next(after: [json("seen")]) == [.init(partition: Partitioning.home, request: second)])
    for answer in [json("reported"), refusal] + outages {
      #expect(plan.next(after: [json("seen"), answer]).isEmpty && plan.merged([json("seen"), answer]) == answer)
      if answer == json("reported") { continue }
      #expect(plan.next(after: [answer]).isEmpty && plan.merged([answer]) == answer)
    }
  }

  @Test("Who is reported in a conversation at home is reported in one step")
  func reportedAtHome() throws {
    let command = try report(of: CliquePlan.other(isHome: true))
    let parts = try shared.plan(for: asked(command)).next(after: [])
    #expect(parts == [.init(partition: Partitioning.home, request: asked(command))])
  }

  // MARK: The key of a picture

  private func keyPlan() throws -> PartitionPlan {
    let request = CliquePlan.call(.picture(.key(id: picture)), isGateways: true)
    let plan = try shared.plan(for: request)
    #expect(plan.next(after: []) == [.init(partition: Partitioning.home, request: request)])
    return plan
  }

  @Test("The key of a picture at home is home's to grant")
  func keyAtHome() throws {
    let plan = try keyPlan()
    for answer in [json(#"{"type":"image/png","key":"AA=="}"#), refusal] + outages {
      #expect(plan.next(after: [answer]).isEmpty && plan.merged([answer]) == answer)
      #expect(!plan.isSettled(by: answer))
    }
  }

  @Test("The key of a picture in a message elsewhere is granted if the message is read, and is never given out else")
  func keyElsewhere() throws {
    let plan = try keyPlan()
    let id = CliquePlan.conversation("ann", try CliquePlan.other(isHome: false))
    let condition = #""reads":{"conversation":"\#(id)","offset":12}"#
    let granted = json(#"{"type":"image/png",\#(condition),"key":"AA=="}"#)
    let reading = CliqueCommand.PictureReading(conversation: id, offset: 12, picture: picture)
    #expect(
      plan.next(after: [granted]) == [
        .init(partition: shared.place(ofConversation: id), request: CliquePlan.call(.reads(reading), isGateways: true))
      ])
    #expect(plan.next(after: [granted, json("{}")]).isEmpty)
    #expect(plan.merged([granted, json("{}")]) == json(#"{"type":"image/png","key":"AA=="}"#))
    for answer in [refusal] + outages {
      #expect(plan.next(after: [granted, answer]).isEmpty && plan.merged([granted, answer]) == answer)
    }
    #expect(!plan.isSettled(by: granted))
  }

  @Test(
    "A condition that cannot be read is not met",
    arguments: [
      "7", "{}", #"{"conversation":"p1","offset":1}"#, #"{"conversation":"PAIR"}"#,
      #"{"conversation":"PAIR","offset":-1}"#, #"{"conversation":"PAIR","offset":1,"offset":1}"#,
    ])
  func strangeCondition(_ text: String) throws {
    let plan = try keyPlan()
    let condition = text.replacing("PAIR", with: AppCommandExample.pair)
    let answer = json("{\"type\":\"image/png\",\"key\":\"AA==\",\"reads\":\(condition)}")
    #expect(plan.next(after: [answer]).isEmpty)
    #expect(plan.merged([answer]) == .failed(.internalError))
  }

  @Test("An answer that is none holds no key")
  func strangeKey() throws {
    let plan = try keyPlan()
    let all = #"{"reads":{},"reads":{"conversation":"\#(AppCommandExample.pair)","offset":1},"key":"AA=="}"#
    for answer in [json("7"), json(""), .done, json(all)] {
      #expect(plan.next(after: [answer]).isEmpty && plan.merged([answer]) == .failed(.internalError))
    }
  }

  // MARK: Search

  private func searchPlan(_ limit: Int) throws -> PartitionPlan {
    let request = CliquePlan.call(try CliquePlan.command("clique.search", "{\"text\":\"x\",\"limit\":\(limit)}"))
    let plan = try shared.plan(for: request)
    #expect(plan.next(after: []) == (0..<4).map { .init(partition: $0, request: request) })
    return plan
  }

  private func message(_ channel: String, _ offset: UInt64, at time: Int64, _ text: String = "x") -> String {
    #"{"channel":"clique.chat:\#(channel)","offset":\#(offset),"time":\#(time),"user":"bob","data":{"text":"\#(text)"}}"#
  }

  private func found(_ messages: String...) -> BrokerResponse {
    json("{\"messages\":[\(messages.joined(separator: ","))]}")
  }

  @Test("The newest messages of all partitions are found, in the order in which one index finds them")
  func search() throws {
    let (a, b, c) = (message("p1", 7, at: 30), message("g1", 9, at: 20), message("p2", 3, at: 20))
    let (d, e) = (message("p2", 2, at: 20), message("p3", 1, at: 10))
    let answers = [found(b), found(a, e), found(), found(c, d)]
    #expect(try searchPlan(50).merged(answers) == found(a, b, c, d, e))
    #expect(try searchPlan(3).merged(answers) == found(a, b, c))
    #expect(try searchPlan(0).merged(answers) == found())
  }

  @Test("Where one partition cannot search, nothing is found, for who searches would take it for all that there is")
  func searchFails() throws {
    let plan = try searchPlan(50)
    let one = found(message("p1", 7, at: 30))
    for failure in outages + [refusal] { #expect(plan.merged([one, failure, one, one]) == failure) }
    for strange in [json("{}"), json(#"{"messages":[{}]}"#), json(#"{"messages":[7]}"#), .done] {
      #expect(plan.merged([one, strange, one, one]) == .failed(.internalError))
    }
  }

  @Test("An answer is no longer than that of one partition, and misses none between two that it has")
  func searchIsBounded() throws {
    let text = String(repeating: "x", count: 1 << 16)
    func answer(from time: Int64) -> [String] {
      // As many as one partition answers with.
      (0..<4).map { message("p\(time)", UInt64(9 - $0), at: time - 2 * Int64($0), text) }
    }
    let (even, odd) = (answer(from: 100), answer(from: 99))
    let answers = [even, odd, [], []].map { json("{\"messages\":[\($0.joined(separator: ","))]}") }
    let whole = (0..<4).map { $0.isMultiple(of: 2) ? even[$0 / 2] : odd[$0 / 2] }
    #expect(try searchPlan(50).merged(answers) == json("{\"messages\":[\(whole.joined(separator: ","))]}"))
  }
}
