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

  @Test("where a test server's clock was moved, revocations count by the time that tokens have")
  func movedClock() throws {
    let scene = try scene()
    scene.hello(1)
    _ = scene.hears()
    scene.time.wall += 86_400_000
    scene.time.moved = 86_400_000
    // By the moved clock this end is past, and tokens that are still to be made would be revoked.
    _ = scene.ask(.revoke(.init(.user("ann", issuedBefore: nil), expiresAt: Self.now + 600)))
    scene.finish()
    let revocation = Revocation(.user("ann", issuedBefore: Self.now + 1, channel: nil), expiresAt: Self.now + 600)
    #expect(scene.hears() == [news(1, revocation)])
    scene.passHeard(30_000)
    #expect(scene.core.revocations?.table.count == 1, "it is in force as long as such tokens hold")
  }

  @Test("a gateway that says hello hears all that is in force before anything else, in parts where it is much")
  func welcome() throws {
    let scene = try scene()
    let count = BrokerCore.revocationsPerMessage + 1
    for number in 0..<count { _ = scene.ask(.revoke(.init(.id("token \(number)")))) }
    scene.finish(count)
    scene.hello(1)
    #expect(scene.hears() == [.welcome])
    var ids: Set<String> = []
    for index in 0..<2 {
      scene.pass(0)
      let part = try #require(self.part(of: scene.hears()))
      #expect(part.replacesAll == (index == 0) && part.isComplete == (index == 1))
      ids.formUnion(part.keys)
    }
    #expect(ids.count == count)
    #expect(scene.core.tellings.isEmpty)
  }

  // MARK: Many

  private static let many = 100_000

  /// A broker with many revocations in force.
  private func crowdedScene(_ change: (inout BrokerConfiguration) -> Void = { _ in }) throws -> BrokerScene {
    let scene = try scene {
      $0.maximumRevocations = 2 * Self.many
      change(&$0)
    }
    let log = try #require(scene.core.revocations)
    for number in 0..<Self.many { log.table.insert(Revocation(.id("token \(number)"))) }
    return scene
  }

  /// The part of the table that was heard and nothing beside it; nil: something else was.
  private func part(of heard: [Heard]) -> (keys: [String], replacesAll: Bool, isComplete: Bool)? {
    guard heard.count == 1, case .order(0, .revoke(let part, let replacesAll, let isComplete)) = heard[0] else {
      return nil
    }
    return (part.map(\.key), replacesAll, isComplete)
  }

  /// The gateway has worked off whatever it was sent.
  private func workOff(_ scene: BrokerScene) {
    scene.send(.gatewayHeartbeat(GatewayHeartbeat(consumedBytes: .max)), from: 1)
  }

  @Test("a hundred thousand go out a part a turn, and nobody is served or hears anything before the last")
  func inPieces() throws {
    let scene = try crowdedScene()
    scene.hello(1)
    scene.hello(2)
    #expect(scene.hears(1) == [.welcome] && scene.hears(2) == [.welcome])
    scene.request(1, .subscribe("news"))
    scene.publish(2, "news", "from somebody whose token may be revoked")
    var told: [UInt64: Set<String>] = [:]
    let turns = 2 * Self.many / BrokerCore.revocationsPerMessage
    for turn in 1...turns {
      #expect(scene.core.nextDeadline(at: scene.time) == 0, "the next part does not wait for a heartbeat")
      let published = scene.ask(.publish(.init(channel: "other", data: Array("\(turn)".utf8))))
      #expect(published != nil, "others are served between two parts")
      scene.pass(0)
      let (first, second) = (scene.hears(1), scene.hears(2))
      let gateway: UInt64 = first.isEmpty ? 2 : 1
      // What waited for the first gateway's table goes on with its last part.
      let isLast = gateway == 1 && turn >= turns - 1
      #expect(first.isEmpty != second.isEmpty, "a turn tells one gateway one part")
      let heard = gateway == 1 ? first : second
      let part = try #require(self.part(of: isLast ? Array(heard.prefix(1)) : heard))
      #expect(part.keys.count <= BrokerCore.revocationsPerMessage)
      #expect(part.replacesAll == (told[gateway] == nil))
      told[gateway, default: []].formUnion(part.keys)
      #expect(part.isComplete == (told[gateway]?.count == Self.many))
      guard isLast else { continue }
      #expect(heard.count == 4, "the table's last part, the answers of both requests, and what was published")
      #expect(heard.contains { if case .reply(1, .subscribed) = $0 { true } else { false } })
      #expect(heard.contains { if case .reply(2, .published) = $0 { true } else { false } })
    }
    #expect(told[1]?.count == Self.many && told[2]?.count == Self.many)
  }

  @Test("what is revoked and taken back while the table is told is in force as it was said last")
  func changesMeanwhile() throws {
    let scene = try crowdedScene()
    // Told with the first part, since it takes the place of one that has ended.
    let log = try #require(scene.core.revocations)
    log.table.remove(Revocation(.id("token 0")))
    log.table.insert(Revocation(.suspended("ann", reason: "")))
    var known = RevocationTable()
    scene.hello(1)
    scene.pass(0)
    _ = scene.serve(1, .user(.suspensions(.suspend(user: "bob", until: nil, reason: "spam"))))
    scene.finish()
    _ = scene.serve(2, .user(.suspensions(.suspend(user: "eve", until: nil, reason: "spam"))))
    scene.finish()
    _ = scene.serve(3, .disconnect(SessionTarget(user: "bob"), .forceDisconnect))
    for (number, user) in ["ann", "eve"].enumerated() {
      _ = scene.serve(4 + UInt64(number), .user(.suspensions(.lift(user: user))))
      scene.finish()
    }
    while !scene.core.tellings.isEmpty { scene.pass(0) }
    var heard = scene.hears().dropFirst()
    while case .order(0, .revoke(let part, _, let isComplete))? = heard.popFirst() {
      for revocation in part { known.insert(revocation) }
      if isComplete { break }
    }
    guard case .order(0, .readmit(let readmitted))? = heard.popFirst() else {
      Issue.record("\(heard)")
      return
    }
    for revocation in readmitted { known.remove(revocation) }
    for revocation in heard.flatMap(Self.revocations) { known.insert(revocation) }
    #expect(known == log.table)
    #expect(heard.contains(.order(3, .disconnect(SessionTarget(user: "bob"), .forceDisconnect))))
    #expect(scene.answers[1] == nil, "the gateway has not confirmed it")
    for id: UInt64 in 1...3 { scene.send(.obeyed(LinkObeyed(id: id)), from: 1) }
    #expect(Set(scene.answers.keys) == [1, 2, 3, 4, 5])
  }

  private static func revocations(in heard: Heard) -> [Revocation] {
    if case .order(_, .revoke(let revocations, _, _)) = heard { revocations } else { [] }
  }

  @Test("a table larger than the link's window waits for the gateway, and resets nothing")
  func window() throws {
    let scene = try crowdedScene { $0.linkWindowBytes = 300_000 }
    scene.hello(1)
    var parts = 0
    for _ in 0..<(2 * Self.many / BrokerCore.revocationsPerMessage) {
      scene.pass(0)
      if scene.core.tellings.isEmpty { workOff(scene) }
      parts += scene.hears().filter { if case .order = $0 { true } else { false } }.count
    }
    #expect(parts == Self.many / BrokerCore.revocationsPerMessage)
    #expect(scene.core.counters.linkResets == 0)
  }

  @Test("a session that breaks while the table is told begins with all of it anew")
  func brokenSession() throws {
    let scene = try crowdedScene()
    scene.hello(1)
    scene.pass(0)
    scene.hello(1, session: 2)
    _ = scene.hears()
    scene.pass(0)
    #expect(part(of: scene.hears())?.replacesAll == true)
  }

  // MARK: Disk and limits

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
    // They are told in the order in which they were read, which is that of the disk.
    let (id, user) = (Revocation(.id("x")), Revocation(.user("ann", issuedBefore: 50)))
    let heard = after.hears()
    #expect(heard == [.welcome, all(id, user)] || heard == [.welcome, all(user, id)])
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
