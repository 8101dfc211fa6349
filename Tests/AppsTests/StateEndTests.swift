import Foundation
import Testing
import Wire

@testable import Apps

/// Who is told that a reveal is over, and when.
@Suite("State: the end of a reveal")
struct StateEndTests {
  static let day: Int64 = 24 * 3_600_000

  /// A scene in which ada and bob see what both have sent.
  private func revealed() throws -> StateScene {
    let scene = StateScene()
    try scene.send("ada", to: "bob")
    try scene.send("bob", to: "ada")
    return scene
  }

  private func last(_ user: String, _ scene: StateScene) -> [String: Any]? {
    scene.published.last { $0.channel == "state.events:" + user }?.data
  }

  @Test("when its time is over, both are told, with the times of the reveal and nothing else")
  func time() throws {
    let scene = try revealed()
    let since = scene.now
    try scene.advance(Self.day - 1)
    #expect(scene.notices("ada") == ["sent", "revealed"])
    try scene.advance(1)
    for (user, other) in [("ada", "bob"), ("bob", "ada")] {
      let notice = try #require(last(user, scene))
      #expect(Set(notice.keys) == ["event", "with", "since", "until"])
      #expect(notice["event"] as? String == "ended" && notice["with"] as? String == other)
      #expect(notice["since"] as? Int64 == since && notice["until"] as? Int64 == since + Self.day)
    }
    try scene.advance(3 * Self.day)
    #expect(scene.notices("bob") == ["received", "revealed", "ended"], "once")
  }

  @Test("a timer that is late tells it late, and once, whatever comes first")
  func late() throws {
    let scene = try revealed()
    try scene.advance(Self.day + 5, runsTimers: false)
    try scene.send("ada", to: "bob")
    #expect(scene.notices("ada") == ["sent", "revealed", "ended", "sent"])
    #expect(scene.notices("bob") == ["received", "revealed", "ended", "received"])
  }

  @Test("a new send ends it for both, and is told after that")
  func replaced() throws {
    let scene = try revealed()
    try scene.call("bob", "state.seen", #"{"with":"ada"}"#)
    try scene.advance(1000)
    try scene.send("ada", to: "bob")
    #expect(scene.notices("ada").suffix(2) == ["ended", "sent"])
    #expect(scene.notices("bob").suffix(2) == ["ended", "received"])
  }

  @Test("who blocks is told at once, and the other when its time is over, as where nobody blocks")
  func block() throws {
    let scene = try revealed()
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    #expect(scene.notices("ada") == ["sent", "revealed", "ended"])
    #expect(scene.notices("bob") == ["received", "revealed"])
    try scene.advance(Self.day)
    #expect(scene.notices("ada") == ["sent", "revealed", "ended"], "nothing more of whom she blocks")
    #expect(scene.notices("bob") == ["received", "revealed", "ended"])
    #expect(last("bob", scene)?["until"] as? Int64 == scene.now)
  }

  @Test("where somebody's data is deleted, nobody is told: their name is to go")
  func forgotten() throws {
    let scene = try revealed()
    let users = SoughtUsers(["ada"])
    let key = try StatePair("ada", "bob").key
    let decision = try #require(try scene.app.forget(users, in: key, scene))
    #expect(
      !decision.effects.contains { effect in
        if case .publish = effect { true } else { false }
      })
  }
}
