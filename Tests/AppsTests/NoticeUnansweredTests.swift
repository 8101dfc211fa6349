import Testing
import Wire

@testable import Apps

/// What is done about a device whose service has taken a request and not answered it: it may show the notification.
@Suite("Notifications: nobody said what became of it")
struct NoticeUnansweredTests {
  private let chat = "clique.chat:p1"

  /// How a broker learns that nobody has said what became of a device.
  enum Silence: CaseIterable {
    case unanswered, noVerdict

    func verdicts(of send: PushSend) -> [String: PushAnswer.Verdict] {
      if self == .noVerdict { return [:] }
      return Dictionary(uniqueKeysWithValues: send.devices.map { ($0.id, .unanswered(reason: "cut")) })
    }
  }

  /// A person of whose devices services were told, and have not answered yet.
  private func asked(
    _ devices: [String] = ["a"], _ configure: (inout NotificationRules) -> Void = { _ in }
  ) throws -> (scene: NoticeScene, send: PushSend) {
    let scene = NoticeScene(configure)
    for device in devices { try scene.register("ann", device) }
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let send = try #require(scene.sends.last?.send)
    #expect(send.devices.count == devices.count)
    return (scene, send)
  }

  private func see(_ scene: NoticeScene) throws {
    scene.set("ann", chat, unacknowledged: 0, unseen: 0)
    try scene.look("ann", chat)
  }

  @Test("where all is seen before the next try, it is withdrawn when the device is free", arguments: Silence.allCases)
  func withdrawn(_ silence: Silence) throws {
    let (scene, send) = try asked()
    try scene.answer(send, silence.verdicts(of: send))
    #expect(try scene.state("ann", chat) == .renewed)
    try see(scene)
    #expect(scene.sends.count == 1, "the device is left alone")
    try scene.advance(60_000)
    let withdrawal = try #require(scene.sends.last?.send)
    #expect(scene.sends.count == 2 && withdrawal.isWithdrawal && withdrawal.devices.map(\.id) == ["id-a"])
    #expect(try scene.lines("ann") == [.later, .withdrawn])
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("a device of which nothing was taken is not asked to withdraw")
  func failed() throws {
    let (scene, send) = try asked()
    try scene.answer(send, .failed(reason: "away"))
    #expect(try scene.state("ann", chat) == .waiting)
    try see(scene)
    try scene.advance(60_000)
    #expect(scene.sends.count == 1)
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("where nothing is seen, the device is tried again, alone, and shows it then", arguments: Silence.allCases)
  func triedAgain(_ silence: Silence) throws {
    let (scene, send) = try asked(["a", "b"])
    var verdicts = silence.verdicts(of: send)
    verdicts["id-a"] = .taken
    try scene.answer(send, verdicts)
    #expect(try scene.state("ann", chat) == .renewed)
    try scene.advance(60_000)
    let again = try #require(scene.sends.last?.send)
    #expect(scene.sends.count == 2 && !again.isWithdrawal && again.devices.map(\.id) == ["id-b"])
    #expect(try scene.state("ann", chat) == .shown)
    #expect(Set(try scene.notices("ann")?.subjects.first?.shownOn ?? []) == ["id-a", "id-b"])
  }

  @Test("a withdrawal goes to those that show it at once, and to those that may when they are free")
  func both() throws {
    let (scene, send) = try asked(["a", "b", "c"])
    try scene.answer(
      send, ["id-a": .taken, "id-b": .unanswered(reason: "cut"), "id-c": .failed(reason: "away")])
    try see(scene)
    #expect(scene.sends.last?.send.devices.map(\.id) == ["id-a"])
    try scene.answer(try #require(scene.sends.last?.send))
    try scene.advance(60_000)
    #expect(scene.sends.dropFirst().allSatisfy { $0.send.isWithdrawal })
    #expect(scene.sends.map { $0.send.devices.map(\.id) } == [["id-a", "id-b", "id-c"], ["id-a"], ["id-b"]])
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("what came while the send was under way is told to all, in its own time")
  func overtaken() throws {
    let (scene, send) = try asked()
    try scene.message("ann", chat)
    try scene.answer(send, .unanswered(reason: "cut"))
    #expect(try scene.state("ann", chat) == .renewed)
    try scene.advance(60_000)
    #expect(scene.sends.count == 2 && scene.sends.last?.send.devices.map(\.body) == ["2 new messages"])
  }

  @Test("where every try is unanswered and they are given up, what may be shown is withdrawn when it is seen")
  func givenUp() throws {
    let (scene, send) = try asked { $0.giveUpAfter = 10_000 }
    try scene.answer(send, .unanswered(reason: "cut"))
    var answered = 1
    for _ in 0..<120 where try scene.state("ann", chat) != .shown {
      try scene.advance(1_000, answers: false)
      while answered < scene.sends.count {
        answered += 1
        try scene.answer(scene.sends[answered - 1].send, .unanswered(reason: "cut"))
      }
    }
    #expect(try scene.lines("ann").last == .givenUp)
    #expect(try scene.state("ann", chat) == .shown)
    try see(scene)
    try scene.advance(600_000)
    #expect(scene.sends.last?.send.isWithdrawal == true)
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("a withdrawal that nobody answers is tried again")
  func withdrawalUnanswered() throws {
    let (scene, send) = try asked()
    try scene.answer(send)
    try see(scene)
    let withdrawal = try #require(scene.sends.last?.send)
    try scene.answer(withdrawal, .unanswered(reason: "cut"))
    #expect(try scene.state("ann", chat) == .shown)
    try scene.advance(60_000)
    #expect(scene.sends.count == 3 && scene.sends.last?.send.isWithdrawal == true)
    #expect(try scene.state("ann", chat) == .gone)
  }
}
