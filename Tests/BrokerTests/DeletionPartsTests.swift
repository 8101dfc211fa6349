import Log
import TestSupport
import Testing
import Wire

@testable import Broker

/// What a deletion goes through that may be large is gone through a part at a time.
@Suite("Deletions of users' data, in parts")
struct DeletionPartsTests {
  @Test("revocations of a user are taken back some at a time, and after a kill in between none is left on the disk")
  func revocations() throws {
    let scene = try DeletionScene()
    scene.gatewayComes(1)
    let user = DeletionScene.marker + "-revoked"
    let count = 20 * BrokerCore.revocationsPerStep
    for number in 0..<count {
      scene.ask(.revoke(.init(.user(user, issuedBefore: nil, channel: "room:\(number)"))))
      if number % 100 == 99 { scene.goOn(steps: 20) }
    }
    scene.ask(.revoke(.init(.user("bob", issuedBefore: nil))))
    scene.goOn(steps: 50)
    #expect(scene.revocations == count + 1)
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))

    var (seen, readmitted, wasKilled) = (Set<Int>(), [SessionOrder](), false)
    for _ in 0..<20_000 where scene.isDeleting {
      scene.step(5)
      readmitted += scene.orders.map(\.order.order).filter { if case .readmit = $0 { true } else { false } }
      scene.obey { _ in true }
      // The user's bar is one more, while the deletion is under way.
      guard scene.phase == "readmitting" else { continue }
      seen.insert(scene.revocations)
      if !wasKilled, scene.revocations < count / 2 {
        wasKilled = true
        #expect(scene.revocations > 1, "some are on the disk still")
        try scene.kill()
        scene.gatewayComes(2)
      }
    }
    #expect(!scene.isDeleting && wasKilled && seen.count > 2, "\(seen.sorted())")
    #expect(scene.revocations == 1, "somebody else's stays")
    #expect(scene.status(of: user).contains("\"done\""))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    #expect(!readmitted.isEmpty)
    for case .readmit(let some) in readmitted { #expect(some.count <= BrokerCore.revocationsPerStep) }
  }

  @Test("maps in memory alone are looked through a part at a time")
  func maps() {
    let scene = BrokerScene { configuration in
      var options = ChannelOptions()
      options.kind = .map
      options.mapMode = .ephemeral
      configuration.namespaces.namespaces["e"] = options
    }
    scene.perform { scene.core.openDeletions(in: &$0) }
    let names = (0..<1000).map { ChannelName(stringLiteral: "e:\($0)") }
    for (number, name) in names.enumerated() {
      for (index, user) in ["ann", "bob"].enumerated() {
        let entry = BrokerRequest.PublishRequest(
          channel: name, data: [0x31], info: ClientInfo(user: user, client: "c"), write: MapWrite(key: user))
        _ = scene.serve(UInt64(2 * number + index), .publish(entry))
      }
    }
    func left(_ user: String) -> Int { names.count { scene.core.channels[$0]?.map?.entry(user) != nil } }
    #expect(left("ann") == 1000)
    _ = scene.serve(1 << 40, .user(.delete(.init(user: "ann"))))
    var (steps, told) = ([1000], 0)
    for _ in 0..<2000 {
      scene.finish(scene.disk.queue.count)
      scene.pass(20)
      let now = left("ann")
      if now != steps.last { steps.append(now) }
      if scene.forgotten.count > told {
        told = scene.forgotten.count
        scene.perform { scene.core.forgotElsewhere(isDone: true, in: &$0) }
      }
      if case .resting? = scene.core.deletions?.phase, scene.core.deletions?.waiting.isEmpty == true, now == 0 { break }
    }
    #expect(steps.last == 0 && left("bob") == 1000)
    let most = zip(steps, steps.dropFirst()).map { $0 - $1 }.max() ?? 0
    #expect(most <= ChannelWalk.costPerTurn / 10, "\(steps)")
    guard case .resting? = scene.core.deletions?.phase else {
      Issue.record("the deletion ends")
      return
    }
  }
}
