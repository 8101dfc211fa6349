import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("A look at what is kept of a user goes on in later turns")
struct UserLookTests {
  private let number: UInt64 = 1 << 40

  /// Publications of the user, each on a channel of its own.
  private func scene(channels: Int) -> BrokerScene {
    let scene = BrokerScene()
    scene.hello(1)
    for number in 0..<channels {
      let name = ChannelName(stringLiteral: "c\(number)")
      let publish = BrokerRequest.PublishRequest(
        channel: name, data: [0x31], info: ClientInfo(user: "ann", client: "c"))
      _ = scene.serve(UInt64(number), .publish(publish))
    }
    return scene
  }

  /// Turns until the answer, between each of which somebody else publishes and is answered.
  private func turns(_ request: UserRequest, _ scene: BrokerScene) throws -> (count: Int, answer: String) {
    var answer = scene.serve(number, .user(request))
    var count = 1
    while answer == nil, count < 10_000 {
      scene.lastID += 1
      let id = scene.lastID
      scene.request(id, .publish(.init(channel: "other", data: [0x31])), oldest: id)
      #expect(scene.hears().contains { if case .reply(id, .published) = $0 { true } else { false } })
      let deadline = try #require(scene.core.nextDeadline(at: scene.time))
      #expect(deadline <= scene.time.monotonic, "the next turn is not waited for")
      scene.pass(0)
      answer = scene.answers[number]
      count += 1
    }
    guard case .result(let json)? = answer else { throw UserLookTestsError.noAnswer }
    return (count, String(decoding: json, as: UTF8.self))
  }

  enum UserLookTestsError: Error { case noAnswer }

  @Test("how much is kept: stores, rows and channels are looked through a part at a time")
  func counts() throws {
    let scene = scene(channels: 5000)
    for name in ["c1", "c2500", "c4999"] as [ChannelName] {
      scene.lastID += 1
      scene.request(scene.lastID, .subscribe(name, member: "c"), oldest: scene.lastID)
    }
    let (count, answer) = try turns(.data(user: "ann"), scene)
    #expect(count > 5000 / UserLook.rowsPerTurn)
    #expect(answer.contains("\"count\":5000") && answer.contains("\"present\":0"))
    scene.answers[number] = nil
    let (others, present) = try turns(.data(user: "u"), scene)
    #expect(others > 5000 / ChannelWalk.costPerTurn)
    #expect(present.contains("\"present\":3"))
    #expect(scene.core.looks.count == 0 && scene.core.looks.nextDeadline == .max)
  }

  @Test("an export: a page with nothing of the user in it is no reason to go through all others in the same turn")
  func exports() throws {
    let scene = scene(channels: 5000)
    let publish = BrokerRequest.PublishRequest(
      channel: "c0", data: [0x32], info: ClientInfo(user: "bob", client: "c"))
    _ = scene.serve(9999, .publish(publish))
    let (count, answer) = try turns(.export(user: "bob", cursor: ""), scene)
    #expect(count > 5 && answer.contains("\"channel\":\"c0\""), "what is looked at first stands last")
  }

  @Test("as many looks as may be under way take turns, one more is refused, and all are answered")
  func many() {
    let scene = scene(channels: 3000)
    for index in 0..<UInt64(UserLooks.most) { #expect(scene.serve(number + index, .user(.data(user: "ann"))) == nil) }
    #expect(scene.serve(number + 100, .user(.data(user: "ann")))?.errorCode == 111)
    for _ in 0..<10_000 where scene.core.looks.count > 0 { scene.pass(0) }
    for index in 0..<UInt64(UserLooks.most) { #expect(scene.answers[number + index] != nil) }
  }
}
