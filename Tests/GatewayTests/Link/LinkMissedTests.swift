import Testing
import Wire

@testable import Gateway

@Suite("A gateway carries out deletions that it has missed")
struct LinkMissedTests {
  private static let mark = DeletionMark(number: 5, at: 1000)
  private static let deletions = LinkDeletions(
    pepper: [1], records: [.init(digest: "ab", at: 900)], through: mark)

  private func sessions(_ scene: LinkScene) -> [UInt64] {
    scene.tells().compactMap { if case .readMark(let session) = $0 { session } else { nil } }
  }

  private func says(_ mark: DeletionMark?, in session: UInt64, _ scene: LinkScene) -> [LinkHeader.Kind] {
    _ = scene.sends()
    scene.perform { scene.link.hasForgotten(through: mark, session: session, at: scene.now, into: &$0) }
    return scene.sends()
  }

  @Test("with each session it says how far it is, and not in a session that has ended since")
  func says() throws {
    let scene = LinkScene { $0.keepsUsers = true }
    scene.welcome()
    let first = try #require(sessions(scene).first)
    #expect(says(nil, in: first, scene) == [.forgotten])
    scene.reopen()
    let second = try #require(sessions(scene).first)
    #expect(second != first)
    #expect(says(Self.mark, in: first, scene) == [])
    scene.perform { scene.link.hasForgotten(through: Self.mark, session: second, at: scene.now, into: &$0) }
    #expect(scene.lastSent()?.body == .forgotten(LinkForgotten(through: Self.mark)))
    scene.receive(.reset)
    #expect(says(Self.mark, in: second, scene) == [], "the next session is not open yet")
  }

  @Test("what it is told it carries out before it says so")
  func carriesOut() throws {
    let scene = LinkScene { $0.keepsUsers = true }
    scene.welcome()
    let session = try #require(sessions(scene).first)
    _ = scene.sends()
    scene.receive(.deletions(Self.deletions))
    #expect(scene.tells() == [.forgetMissed(Self.deletions, session: session)])
    #expect(scene.sends() == [])
    #expect(says(Self.mark, in: session, scene) == [.forgotten])
  }

  @Test("a gateway that keeps nothing of users says nothing")
  func keepsNothing() {
    let scene = LinkScene()
    scene.welcome()
    #expect(sessions(scene) == [])
  }
}
