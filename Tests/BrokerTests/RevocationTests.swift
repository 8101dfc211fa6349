import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Revocations in the broker")
struct RevocationTests {
  /// Seconds since 1970 in a scene.
  private static let now: Int64 = 1_700_000_000

  private func scene(
    disk: ScriptedStore = ScriptedStore(), _ change: (inout BrokerConfiguration) -> Void = { _ in }
  ) throws -> BrokerScene {
    let scene = BrokerScene(disk: disk, change)
    scene.perform { scene.core.openRevocations(in: &$0) }
    return scene
  }

  private func all(_ revocations: Revocation...) -> Heard {
    .order(0, .revoke(revocations, replacesAll: true, isComplete: true))
  }

  private func news(_ id: UInt64, _ revocation: Revocation) -> Heard {
    .order(id, .revoke([revocation], replacesAll: false, isComplete: true))
  }

  @Test("a revocation goes to the disk, then to every gateway, and is acknowledged when they have carried it out")
  func order() throws {
    let scene = try scene()
    scene.hello(1)
    #expect(scene.hears() == [.welcome, all()])
    #expect(scene.serve(1, .revoke(.init(.id("x")))) == nil)
    #expect(scene.hears().isEmpty)
    scene.finish()
    #expect(scene.hears() == [news(1, Revocation(.id("x")))])
    #expect(scene.answers[1] == nil)
    scene.send(.obeyed(LinkObeyed(id: 1)), from: 1)
    #expect(scene.answers[1] == .done)
    #expect(scene.core.counters.revocations == 1 && scene.core.counters.orders == 0)
  }

  @Test("a gateway that says hello hears all that is in force before anything else, in parts where it is much")
  func welcome() throws {
    let scene = try scene()
    let count = BrokerCore.revocationsPerMessage + 1
    for number in 0..<count { _ = scene.ask(.revoke(.init(.id("token \(number)")))) }
    scene.finish(count)
    scene.hello(1)
    let heard = scene.hears()
    #expect(heard.count == 3 && heard.first == .welcome)
    var ids: Set<String> = []
    for (index, message) in heard.dropFirst().enumerated() {
      guard case .order(0, .revoke(let part, let replacesAll, let isComplete)) = message else {
        Issue.record("\(message)")
        continue
      }
      #expect(replacesAll == (index == 0) && isComplete == (index == 1))
      ids.formUnion(part.map(\.key))
    }
    #expect(ids.count == count)
  }

  @Test("what was revoked is in force after a restart, also what was revoked twice")
  func restart() throws {
    let disk = ScriptedStore()
    let before = try scene(disk: disk)
    for request: BrokerRequest.RevokeRequest in [
      .init(.id("x")), .init(.user("ann", issuedBefore: 50)),
      .init(.user("ann", issuedBefore: 40), expiresAt: Self.now + 9),
    ] { _ = before.ask(.revoke(request)) }
    before.finish(3)
    let after = try scene(disk: disk)
    after.hello(1)
    #expect(after.hears() == [.welcome, all(Revocation(.id("x")), Revocation(.user("ann", issuedBefore: 50)))])
  }

  @Test("by default all tokens until now are meant, the second that has begun among them")
  func untilNow() throws {
    let scene = try scene { $0.maximumTokenLifetime = 100 }
    scene.hello(1)
    _ = scene.hears()
    _ = scene.ask(.revoke(.init(.user("ann", issuedBefore: nil))))
    scene.finish()
    let expected = Revocation(.user("ann", issuedBefore: Self.now + 1), expiresAt: Self.now + 100)
    #expect(scene.hears() == [news(1, expected)])
  }

  @Test("a disk that takes nothing keeps nobody in: the revocation is in force, and the answer says what is missing")
  func diskFails() throws {
    let scene = try scene()
    scene.hello(1)
    _ = scene.hears()
    _ = scene.serve(1, .revoke(.init(.id("x"))))
    scene.finish(error: .full("test"))
    scene.disk.refusal = .readOnly("test")
    _ = scene.serve(2, .revoke(.init(.id("y"))))
    #expect(scene.hears() == [news(1, Revocation(.id("x"))), news(2, Revocation(.id("y")))])
    for id: UInt64 in [1, 2] {
      scene.send(.obeyed(LinkObeyed(id: id)), from: 1)
      #expect(scene.answers[id]?.errorCode == 100)
    }
    scene.hello(2)
    #expect(scene.hears(2) == [.welcome, all(Revocation(.id("x")), Revocation(.id("y")))])
  }

  @Test("as many are in force as the limit says; one that is there may be made stronger")
  func limit() throws {
    let scene = try scene { $0.maximumRevocations = 2 }
    _ = scene.ask(.revoke(.init(.id("x"))))
    _ = scene.ask(.revoke(.init(.user("ann", issuedBefore: 1))))
    scene.finish(2)
    #expect(scene.ask(.revoke(.init(.id("y"))))?.errorCode == 106)
    #expect(scene.ask(.revoke(.init(.user("ann", issuedBefore: 2)))) == nil)
  }

  @Test("one that has come to its end is taken off the disk, and makes room")
  func end() throws {
    let disk = ScriptedStore()
    let scene = try scene(disk: disk) { $0.maximumRevocations = 1 }
    _ = scene.ask(.revoke(.init(.id("x"), expiresAt: Self.now + 60)))
    scene.finish()
    scene.pass(59_000)
    #expect(scene.ask(.revoke(.init(.id("y"))))?.errorCode == 106)
    scene.pass(20_000)
    scene.finish()
    #expect(try disk.entries(of: RevocationLog.channel).isEmpty)
    #expect(scene.ask(.revoke(.init(.id("y")))) == nil)
  }

  @Test("what makes no sense is refused in a sentence")
  func refused() throws {
    let scene = try scene()
    let wrong: [BrokerRequest.RevokeRequest] = [
      .init(.id("")), .init(.id(String(repeating: "x", count: 1025))), .init(.user("", issuedBefore: 1)),
      .init(.user("ann", issuedBefore: 1, channel: "")), .init(.id("x"), expiresAt: Self.now),
      .init(.id("x"), expiresAt: .min),
    ]
    for request in wrong { #expect(scene.ask(.revoke(request))?.errorCode == 107, "\(request)") }
    #expect(BrokerScene().ask(.revoke(.init(.id("x"))))?.errorCode == 108)
  }
}
