import Cryptography
import TestSupport
import Testing
import Wire

@testable import Broker

/// Gateways that were away while users were deleted.
@Suite(.serialized) struct MissedDeletionTests {
  private func delete(_ users: [String], _ scene: DeletionScene) throws {
    for user in users {
      try scene.publish("words", by: user, in: "room:hall")
      scene.step()
      #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    }
    for _ in 0..<20 where scene.isDeleting { scene.goOn { _ in true } }
    for user in users { #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)") }
  }

  private func names(_ deletions: LinkDeletions, _ user: String) -> Bool {
    let digest = PepperedDigest(pepper: deletions.pepper).digest(of: user)
    return deletions.records.contains { $0.digest == digest }
  }

  @Test("a gateway that was away is told of the deletion by a digest, and not again when it has said its mark")
  func told() throws {
    let scene = try DeletionScene()
    let user = DeletionScene.marker + "-missed"
    try delete([user], scene)
    scene.gatewayComes(1)
    #expect(scene.takeTold().isEmpty, "it has not said how far it is")
    scene.gateway(1, hasForgottenThrough: nil)
    let told = scene.takeTold()
    let deletions = try #require(told.first?.deletions)
    #expect(told.map(\.gateway) == [1] && deletions.records.count == 1 && names(deletions, user))
    #expect(!names(deletions, user + "2") && deletions.forgottenUntil == nil)
    scene.gateway(1, hasForgottenThrough: deletions.through)
    scene.gatewayComes(2)
    scene.gateway(2, hasForgottenThrough: deletions.through)
    #expect(scene.takeTold().isEmpty)
    #expect(try scene.files(holding: DeletionScene.marker) == [])
  }

  @Test("it is told after a restart of the broker too, as soon as that has read what it keeps")
  func restart() throws {
    let scene = try DeletionScene()
    let users = (0..<3).map { DeletionScene.marker + "-\($0)" }
    try delete([users[0]], scene)
    scene.gatewayComes(1)
    scene.gateway(1, hasForgottenThrough: nil)
    let first = try #require(scene.takeTold().first?.deletions)
    scene.gatewayGoes(1)
    try delete(Array(users[1...]), scene)
    try scene.kill(steps: 0)
    scene.gatewayComes(2)
    scene.gateway(2, hasForgottenThrough: first.through)
    #expect(scene.takeTold().isEmpty)
    for _ in 0..<20 { scene.step() }
    let second = try #require(scene.takeTold().first?.deletions)
    #expect(second.records.count == 2 && users[1...].allSatisfy { names(second, $0) } && !names(second, users[0]))
    #expect(second.pepper == first.pepper && second.through.number > first.through.number)
  }

  @Test("who has forgotten the users by order has its mark moved, and who came after the order is told of them")
  func came() throws {
    let scene = try DeletionScene()
    scene.gatewayComes(1)
    scene.gateway(1, hasForgottenThrough: nil)
    let user = DeletionScene.marker + "-order"
    try scene.publish("words", by: user, in: "room:hall")
    scene.step()
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    scene.goOn(withoutForgetting: user)
    scene.answersElsewhere = false
    scene.forget(user)
    for _ in 0..<100 { scene.step(5) }
    #expect(scene.phase == "elsewhere", "another place has still to forget the user")
    scene.gatewayComes(2)
    scene.gateway(2, hasForgottenThrough: nil)
    #expect(scene.takeTold().isEmpty, "the deletion is not done")
    scene.answersElsewhere = true
    scene.goOn(withoutForgetting: user)
    #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)")
    let told = scene.takeTold()
    try #require(told.map(\.gateway) == [1, 2], "each is told once")
    #expect(told[0].deletions.records.isEmpty && told[0].deletions.forgottenUntil == nil)
    #expect(names(told[1].deletions, user) && told[0].deletions.through == told[1].deletions.through)
  }

  @Test("after thirty days a deletion is not remembered, and who has missed it is told until when everybody's goes")
  func forgotten() throws {
    let scene = try DeletionScene()
    let user = DeletionScene.marker + "-long-ago"
    try delete([user], scene)
    scene.gatewayComes(1)
    scene.gateway(1, hasForgottenThrough: nil)
    let done = try #require(scene.takeTold().first?.deletions)
    scene.gatewayGoes(1)
    scene.pass(milliseconds: DeletionRecords.lifetime + 20_000)
    for _ in 0..<100 { scene.step() }
    #expect(scene.status(of: user).contains("\"none\""))
    for round in 1...2 as ClosedRange<UInt64> {
      scene.gatewayComes(10 * round)
      scene.gateway(10 * round, hasForgottenThrough: nil)
      let told = try #require(scene.takeTold().first?.deletions)
      #expect(told.records.isEmpty && told.forgottenUntil == done.through.at && told.through == done.through)
      scene.gatewayComes(10 * round + 1)
      scene.gateway(10 * round + 1, hasForgottenThrough: done.through)
      #expect(scene.takeTold().isEmpty, "it has carried that one out")
      try scene.kill()
    }
  }
}
