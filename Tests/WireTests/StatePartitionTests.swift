import Testing

@testable import Wire

@Suite("State in all partitions: who is asked, and what answers come to")
struct StatePartitionTests {
  private static func partitioning(isShared: Bool) -> Partitioning {
    var threads = ChannelOptions()
    (threads.app, threads.sharing) = ("state", isShared ? .user : .home)
    return Partitioning(count: 4, namespaces: NamespaceTable(namespaces: ["state.threads": threads]))
  }

  private let shared = partitioning(isShared: true)
  private let key = OnceKey(owner: "o", key: "k")
  private let front = "front-of-the-picture-0"
  private let rear = "rear-of-the-picture-01"
  private let refusal = BrokerResponse.failed(.permissionDenied)
  private let outage = BrokerResponse.failed(.internalError)

  private func json(_ text: String) -> BrokerResponse { .result(Array(text.utf8)) }

  private func call(_ command: StateCommand, by user: String, isGateways: Bool = false) -> BrokerRequest {
    .call(.init(.state(command), caller: ClientInfo(user: user, client: "c"), isGateways: isGateways))
  }

  private func send(to other: String, lent: [UInt8] = []) -> StateCommand {
    .send(.init(to: other, front: front, rear: rear, key: "k", lent: lent))
  }

  /// Somebody whose pair with Ann is in Ann's own partition, or is not.
  private func other(isNear: Bool) throws -> String {
    try #require(
      (0..<1000).lazy.map { "user-\($0)" }.first {
        (shared.place(ofPair: "ann", $0) == shared.place(ofUser: "ann")) == isNear
      })
  }

  @Test("Commands about a thread are asked of the pair, whoever of the two asks; those about a person, of the person")
  func places() {
    var elsewhere = 0
    for number in 0..<64 {
      let (user, other) = ("ann", "user-\(number)")
      let (person, pair) = (shared.place(ofUser: user), shared.place(ofPair: user, other))
      if person != pair { elsewhere += 1 }
      func ofPair(_ other: String) -> [StateCommand] {
        [
          .begin(to: other), .seen(with: other), .delivered(with: other), .block(other), .unblock(other),
          .react(.init(with: other, text: nil)), .cancel(.init(to: other, pictures: [])),
        ]
      }
      let asked =
        ofPair(other).map { call($0, by: user) } + ofPair(user).map { call($0, by: other) }
        + [.user(.pair(app: "state", user: other, other: user))]
      #expect(asked.allSatisfy { shared.onlyPartition(for: $0) == pair })
      #expect(asked.allSatisfy { shared.onlyPartition(for: .once(key, $0)) == pair })
      let lending = StateCommand.Lending(to: other, front: front, rear: rear, attempt: 1)
      let own: [StateCommand] = [
        .settings(limit: 1), .discard([front]), .discardUpload(id: front), .uploadKey(id: front, upload: []),
        .addPicture(.init(id: front, type: nil, bytes: 1, key: [], upload: nil)), .lend(lending), .giveBack(lending),
      ]
      #expect(own.allSatisfy { shared.onlyPartition(for: call($0, by: user)) == person })
      // What is two steps is one where both are in one partition.
      let steps = [send(to: other), .cancel(.init(to: other, pictures: [front]))]
      #expect(steps.allSatisfy { shared.onlyPartition(for: call($0, by: user)) == (person == pair ? pair : nil) })
    }
    #expect(elsewhere > 32)
    #expect(shared.onlyPartition(for: call(.pictureKey(id: front), by: "ann")) == nil)
    #expect(shared.onlyPartition(for: call(.gonePictures([front]), by: "-")) == nil)
    // What belongs to no pair is refused by the app.
    for command in [send(to: "ann"), .begin(to: "ann")] {
      #expect(shared.onlyPartition(for: call(command, by: "ann")) == shared.place(ofUser: "ann"))
    }
  }

  @Test("Where State is not shared, or another app is meant, home is asked")
  func home() throws {
    let other = try other(isNear: false)
    let requests = [
      call(send(to: other), by: "ann"), call(.pictureKey(id: front), by: "ann"), call(.begin(to: other), by: other),
      .user(.pair(app: "state", user: "ann", other: other)),
    ]
    let apart = Self.partitioning(isShared: false)
    #expect(requests.allSatisfy { apart.onlyPartition(for: $0) == Partitioning.home })
    let clique = (0..<64).map { BrokerRequest.user(.pair(app: "clique", user: "ann", other: "user-\($0)")) }
    #expect(clique.allSatisfy { shared.onlyPartition(for: $0) == Partitioning.home })
  }

  /// The plan of a send whose pictures lie elsewhere, and what is lent for it.
  private func plan(
    once: Bool = false
  ) throws -> (PartitionPlan, lending: StateCommand.Lending, other: String) {
    let other = try other(isNear: false)
    let request = call(send(to: other), by: "ann")
    let plan = try shared.plan(for: once ? .once(key, request) : request)
    let first = try #require(plan.next(after: []).first)
    #expect(plan.next(after: []).count == 1 && first.partition == shared.place(ofUser: "ann"))
    guard case .call(let lend) = first.request, case .state(.lend(let lending)) = lend.command else {
      throw Unexpected()
    }
    #expect(lend.isGateways && lend.caller.user == "ann")
    #expect(lending == .init(to: other, front: front, rear: rear, attempt: lending.attempt))
    return (plan, lending, other)
  }

  private struct Unexpected: Error {}

  @Test(
    "A send between two partitions is asked of the pair with what the sender's partition has lent",
    arguments: [true, false])
  func lent(once: Bool) throws {
    let (plan, lending, other) = try plan(once: once)
    let (lent, done) = (json("lent"), json("done"))
    let plain = call(send(to: other, lent: Array("lent".utf8)), by: "ann")
    let send = PartitionPlan.Part(
      partition: shared.place(ofPair: "ann", other), request: once ? .once(key, plain) : plain)
    #expect(plan.next(after: [lent]) == [send])
    #expect(plan.next(after: [lent, done]).isEmpty && plan.merged([lent, done]) == done)
    // Nobody knows whether it was done.
    #expect(plan.next(after: [lent, outage]).isEmpty && plan.merged([lent, outage]) == outage)
    let back = PartitionPlan.Part(
      partition: shared.place(ofUser: "ann"), request: call(.giveBack(lending), by: "ann", isGateways: true))
    #expect(plan.next(after: [lent, refusal]) == [back])
    for answer in [.done, outage] {
      #expect(plan.next(after: [lent, refusal, answer]).isEmpty && plan.merged([lent, refusal, answer]) == refusal)
    }
  }

  @Test("A send for which nothing is lent is asked all the same, unless it is not known whether something is")
  func notLent() throws {
    let (plan, _, other) = try plan()
    #expect(plan.next(after: [outage]).isEmpty && plan.merged([outage]) == outage)
    let sent = plan.next(after: [refusal])
    #expect(sent.map(\.request) == [call(send(to: other), by: "ann")])
    let (again, late) = (json("again"), BrokerResponse.failed(.notAvailable))
    #expect(plan.next(after: [refusal, again]).isEmpty && plan.merged([refusal, again]) == again)
    #expect(plan.next(after: [refusal, late]).isEmpty && plan.merged([refusal, late]) == late)
  }

  @Test("Each attempt to lend has a number of its own, and a send is the same whatever was lent for it")
  func attempts() throws {
    #expect(try plan().lending.attempt != plan().lending.attempt)
    let (with, without) = (call(send(to: "ben", lent: [1]), by: "ann"), call(send(to: "ben"), by: "ann"))
    #expect(with != without && with.asAsked == without && without.asAsked == without)
    #expect(BrokerRequest.once(key, with).asAsked == .once(key, without))
  }

  @Test(
    "A recorder is given up where the thread is, once its pictures are discarded where they lie",
    arguments: [true, false])
  func cancel(once: Bool) throws {
    func asked(_ command: StateCommand) -> BrokerRequest {
      once ? .once(key, call(command, by: "ann")) : call(command, by: "ann")
    }
    let other = try other(isNear: false)
    let plan = try shared.plan(for: asked(.cancel(.init(to: other, pictures: [front]))))
    #expect(plan.next(after: []) == [.init(partition: shared.place(ofUser: "ann"), request: asked(.discard([front])))])
    for failure in [refusal, outage] {
      #expect(plan.next(after: [failure]).isEmpty && plan.merged([failure]) == failure)
    }
    #expect(
      plan.next(after: [json("discarded")]) == [
        .init(partition: shared.place(ofPair: "ann", other), request: asked(.cancel(.init(to: other, pictures: []))))
      ])
    for answer in [json("cancelled"), refusal] {
      let answers = [json("discarded"), answer]
      #expect(plan.next(after: answers).isEmpty && plan.merged(answers) == answer)
    }
  }

  @Test("A picture's key is granted by whichever partition knows it; where one cannot tell, it is not refused for good")
  func pictureKey() throws {
    let request = call(.pictureKey(id: front), by: "ann", isGateways: true)
    let plan = try shared.plan(for: request)
    #expect(plan.next(after: []) == (0..<4).map { .init(partition: $0, request: request) })
    let granted = json("key")
    #expect(plan.merged([refusal, outage, granted, refusal]) == granted)
    #expect(plan.merged([refusal, outage, refusal, refusal]) == outage)
    let other = BrokerResponse.failed(.notAvailable)
    #expect(plan.merged([refusal, other, refusal, refusal]) == refusal)
    #expect(plan.next(after: [refusal, outage, granted, refusal]).isEmpty)
  }

  @Test("Pictures are gone that all partitions say are gone, and none where one does not answer")
  func gone() throws {
    let request = call(.gonePictures(["a", "b", "c"]), by: "-", isGateways: true)
    let plan = try shared.plan(for: request)
    #expect(plan.next(after: []) == (0..<4).map { .init(partition: $0, request: request) })
    let (all, some) = (json(#"{"gone":["a","b","c"]}"#), json(#"{"gone":["c","a"]}"#))
    #expect(plan.merged([all, some, all, all]) == json(#"{"gone":["a","c"]}"#))
    #expect(plan.merged([all, some, json(#"{"gone":[]}"#), all]) == json(#"{"gone":[]}"#))
    #expect(plan.merged([all, all, all, outage]) == outage)
    #expect(plan.merged([all, json("{}"), all, all]) == .failed(.internalError))
  }
}
