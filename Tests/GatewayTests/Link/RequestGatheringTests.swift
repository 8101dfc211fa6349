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
}
