import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite(.serialized) struct UserDeletionTests {
  /// Gives a user some of everything that the server keeps of people.
  private func furnish(_ user: String, _ scene: DeletionScene, friend: String, foe: String, group: Bool) throws {
    let text = "secret of \(user)"
    for channel in ["room:hall", "relaxed:hall", "plain"] {
      try scene.publish(text, by: user, in: channel, key: "key of \(user) \(channel)")
    }
    try scene.publish(text, by: user, in: "room:own#\(user)")
    try scene.set(user, text, by: user, in: "map:people")
    try scene.set("colour-of-\(friend)", text, by: user, in: "map:colours")
    try scene.call(user, "clique.send", "{\"to\":\"\(friend)\",\"text\":\"\(text)\"}")
    try scene.call(friend, "clique.send", "{\"to\":\"\(user)\",\"text\":\"keep this of \(friend)\"}")
    scene.step()
    try scene.call(user, "clique.send", "{\"to\":\"\(friend)\",\"text\":\"\(text) again\"}")
    try scene.call(foe, "clique.block", "{\"person\":\"\(user)\"}")
    try scene.call(user, "clique.send", "{\"to\":\"\(foe)\",\"text\":\"\(text)\"}")
    try scene.call(user, "clique.enter", "{\"place\":\"cafe-\(friend)\"}")
    if group { try scene.call(user, "clique.group.create", "{\"members\":[\"\(friend)\"],\"name\":\"\(text)\"}") }
    try scene.call(user, "state.begin", "{\"to\":\"\(friend)\"}")
    // An id that is barred names who has discarded its picture.
    let barred = "barred-0123456789abcdef-\(user.hashValue.magnitude)"
    try scene.call(user, "state.discard", "{\"pictures\":[\"\(barred)\"]}")
    try scene.call(foe, "state.block", "{\"user\":\"\(user)\"}")
    scene.step()
  }

  private func finish(_ scene: DeletionScene, within steps: Int = 400_000) {
    for _ in 0..<steps where scene.isDeleting { scene.step(5) }
    #expect(!scene.isDeleting, "the deletions end; they are at \(scene.phase)")
  }

  @Test("a deleted user's id and words stand in no file, and what others wrote stays")
  func deletesOne() throws {
    let scene = try DeletionScene()
    let user = DeletionScene.marker + "-one"
    try furnish(user, scene, friend: "bob", foe: "eve", group: true)
    try scene.publish("keep the hall", by: "bob", in: "room:hall")
    for _ in 0..<50 { scene.step() }
    #expect(try !scene.files(holding: DeletionScene.marker).isEmpty, "the search finds what is there")
    #expect(scene.answer(to: .user(.data(user: user))).contains("\"publications\""))
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    finish(scene)
    #expect(scene.status(of: user).contains("\"done\""))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    #expect(try !scene.files(holding: "keep the hall").isEmpty)
    #expect(try !scene.files(holding: "keep this of bob").isEmpty)
    #expect(scene.answer(to: .user(.data(user: user))).contains("\"kept\":[]"))
    #expect(scene.status(of: "nobody").contains("\"none\""))
  }

  @Test("where entries of lists were behind, marks stay for a minute, and a deletion ends when they have gone")
  func behind() throws {
    let scene = try DeletionScene()
    let user = DeletionScene.marker + "-behind"
    try furnish(user, scene, friend: "bob", foe: "eve", group: true)
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    let begun = scene.keepMarks()
    finish(scene)
    #expect((StaleMarks.lifetime...2 * StaleMarks.lifetime).contains(scene.time.monotonic - begun))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
  }

  @Test("a block holds against somebody who comes back under an id that was deleted")
  func blockHolds() throws {
    let scene = try DeletionScene()
    let user = DeletionScene.marker + "-back"
    try furnish(user, scene, friend: "bob", foe: "eve", group: false)
    for _ in 0..<50 { scene.step() }
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    finish(scene)
    let clique = scene.answer(to: .user(.pair(app: "clique", user: user, other: "eve")))
    #expect(clique.contains("\"blocked_by\":[\"eve\"]") && clique.contains("\"forgotten\":true"))
    let state = scene.answer(to: .user(.pair(app: "state", user: user, other: "eve")))
    #expect(state.contains("\"blocked_by\":[\"eve\"]"))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
  }

  @Test("a deletion is done when each gateway has forgotten the user, also one that came meanwhile")
  func waitsForGateways() throws {
    let scene = try DeletionScene()
    scene.gatewayComes(1)
    let user = DeletionScene.marker + "-far"
    try scene.publish("words", by: user, in: "room:hall")
    scene.step()
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    scene.goOn(withoutForgetting: user)
    #expect(scene.orders.map(\.gateway) == [1], "it is at \(scene.phase)")
    scene.gatewayComes(2)
    scene.forget(user)
    scene.goOn(withoutForgetting: user)
    #expect(scene.isDeleting)
    #expect(Set(scene.orders.map(\.gateway)) == [1, 2], "both are told when another one has come")
    scene.forget(user)
    scene.goOn(withoutForgetting: user)
    #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)")
    #expect(try scene.files(holding: DeletionScene.marker) == [])
  }

  @Test("where gateways keep pictures, a deletion is done when one of them has said that the files are gone")
  func waitsForPictures() throws {
    let scene = try DeletionScene(gatewaysKeepPictures: true)
    let user = DeletionScene.marker + "-seen"
    try scene.publish("words", by: user, in: "room:hall")
    scene.step()
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    scene.goOn(withoutForgetting: user)
    #expect(scene.isDeleting, "nobody is there who could delete a file")
    scene.gatewayComes(1)
    scene.goOn(withoutForgetting: user)
    #expect(scene.orders.map(\.gateway) == [1], "it is at \(scene.phase)")
    scene.gatewayGoes(1)
    scene.goOn(withoutForgetting: user)
    #expect(scene.isDeleting, "it has gone without a word")
    scene.gatewayComes(2)
    scene.goOn(withoutForgetting: user)
    #expect(scene.orders.map(\.gateway) == [2], "it is at \(scene.phase)")
    scene.forget(user)
    scene.goOn(withoutForgetting: user)
    #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)")
  }

  @Test("a picture that comes while its user is deleted is not taken in, and one that comes afterwards is")
  func uploadMeanwhile() throws {
    let scene = try DeletionScene(gatewaysKeepPictures: true)
    scene.gatewayComes(1)
    let user = DeletionScene.marker + "-late"
    func count() -> Int {
      scene.answer(to: .user(.data(user: user))).components(separatedBy: "\"state.picture\"").count - 1
    }
    scene.upload("first-0123456789abcdef0123", of: user, [1], by: 1)
    #expect(count() == 1)
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    scene.goOn(withoutForgetting: user)
    #expect(scene.isDeleting && scene.orders.count == 1, "it is at \(scene.phase)")
    scene.upload("second-0123456789abcdef012", of: user, [1], by: 1)
    #expect(count() == 0)
    scene.upload("others-0123456789abcdef012", of: "bob", [1], by: 1)
    scene.goOn { _ in true }
    #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)")
    #expect(scene.answer(to: .user(.data(user: "bob"))).contains("state.picture"))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    scene.upload("third-0123456789abcdef0123", of: user, [1], by: 1)
    #expect(count() == 1)
  }

  @Test("no outbox of a webhook keeps an event of a deleted user, and what others published is sent")
  func deletesEvents() throws {
    let scene = try DeletionScene(hasWebhook: true)
    let user = DeletionScene.marker + "-hook"
    try scene.publish("given up with \(user)", by: user, in: "room:hall")
    for _ in 0..<50 { scene.step() }
    let question = BrokerRequest.webhooks(.givenUp("hook", since: 0, limit: 0))
    #expect(scene.answer(to: question).contains(user), "the receiver has refused it for long enough")
    scene.receiver = nil
    try scene.publish("in a request", by: user, in: "room:hall")
    for _ in 0..<20 { scene.step() }
    #expect(scene.hanging.count == 1)
    try scene.publish("waits", by: user, in: "room:hall")
    try scene.publish("keep of bob, about \(user.count) letters", by: "bob", in: "room:hall")
    for _ in 0..<20 { scene.step() }
    #expect(scene.answer(to: .user(.data(user: user))).contains("\"webhook_events\""))
    #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("\"waiting\""))
    finish(scene)
    #expect(scene.status(of: user).contains("\"done\""))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    let before = scene.posted.count
    scene.answerHanging(.status(500))
    for _ in 0..<20 { scene.step() }
    scene.receiver = .status(200)
    scene.answerHanging(.status(200))
    for _ in 0..<50 { scene.step() }
    #expect(scene.posted.count > before, "the rest goes on")
    #expect(scene.posted[before...].contains { $0.contains("keep of bob") })
    #expect(!scene.posted[before...].contains { $0.contains(DeletionScene.marker) })
    #expect(!scene.answer(to: question).contains(DeletionScene.marker))
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    try scene.kill()
    #expect(!scene.answer(to: question).contains(DeletionScene.marker))
    #expect(scene.answer(to: .webhooks(.resend("hook", limit: 0))).contains("\"resent\":0"))
  }

  @Test("after two thousand deletions with kills in between, no file holds anything of the users")
  func deletesTwoThousand() throws {
    let scene = try DeletionScene()
    var random = SeededGenerator(seed: 7)
    let users = (0..<2000).map { "\(DeletionScene.marker)-\($0)" }
    for (index, user) in users.enumerated() {
      try furnish(user, scene, friend: "friend\(index % 200)", foe: "foe\(index % 90)", group: index % 20 == 0)
    }
    for _ in 0..<100 { scene.step() }
    var asked = 0
    var kills = 0
    var steps = 0
    while asked < users.count || scene.isDeleting {
      steps += 1
      if steps > 400_000 {
        Issue.record("the deletions do not end; they are at \(scene.phase)")
        break
      }
      if asked < users.count, Int.random(in: 0..<3, using: &random) == 0 {
        let count = min(Int.random(in: 1...60, using: &random), users.count - asked)
        for user in users[asked..<asked + count] {
          #expect(scene.answer(to: .user(.delete(.init(user: user)))).contains("state"))
        }
        asked += count
      }
      if Int.random(in: 0..<20, using: &random) == 0 {
        try scene.publish("keep writing", by: "friend\(steps % 200)", in: "room:hall")
      }
      scene.step(5)
      if kills < 40, Int.random(in: 0..<400, using: &random) == 0 {
        kills += 1
        try scene.kill()
      }
    }
    #expect(kills > 10, "some deletions were interrupted")
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    #expect(try !scene.files(holding: "keep this of friend7").isEmpty)
    for user in users.shuffled(using: &random).prefix(50) { #expect(scene.status(of: user).contains("\"done\"")) }
  }
}
