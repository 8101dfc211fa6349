import Foundation
import Testing
import Wire

@testable import Apps

/// What is shown where some of it is seen elsewhere: the table of `NoticeRound+Updating.swift`.
@Suite("Notifications: partly seen")
struct NoticeUpdateTests {
  private let chat = "clique.chat:p1"

  /// A person with a device that shows a number of messages of one conversation.
  private func shown(_ count: Int, _ configure: (inout NotificationRules) -> Void = { _ in }) throws -> NoticeScene {
    let scene = NoticeScene(configure)
    try scene.register("ann", "a")
    for _ in 0..<count { try scene.message("ann", chat) }
    try scene.advance(5_000)
    #expect(scene.sends.count == 1)
    return scene
  }

  /// So many are left that the person has not seen, all of which have reached a device.
  private func left(_ unseen: Int, of scene: NoticeScene, since: Int64? = nil) throws {
    scene.set("ann", chat, unacknowledged: 0, unseen: unseen, unseenSince: since)
    try scene.look("ann", chat)
  }

  @Test("where some is seen, what is left replaces what is shown, after the interval, once and without a sound")
  func fewer() throws {
    let scene = try shown(5)
    let sentAt = scene.now
    try scene.advance(1_000)
    for unseen in [4, 3, 2] { try left(unseen, of: scene) }
    #expect(scene.sends.count == 1, "who reads one after another is not followed")
    try scene.advance(14_000)
    let (at, update) = try #require(scene.sends.last)
    #expect(at == sentAt + scene.rules.repeatInterval && scene.sends.count == 2)
    #expect(update.isUpdate && !update.isWithdrawal && !update.isUrgent && update.collapseKey == chat)
    #expect(update.badge == 2 && update.devices.map(\.body) == ["2 new messages"])
    #expect(try scene.state("ann", chat) == .shown)
    #expect(try scene.lines("ann") == [.sent, .updated])
    try scene.advance(600_000)
    #expect(scene.sends.count == 2, "nothing more is to be said")
    try left(0, of: scene)
    #expect(scene.sends.last?.send.isWithdrawal == true)
  }

  @Test("what is only delivered changes nothing, and what comes new is told with all that is left")
  func delivered() throws {
    let scene = try shown(3)
    try left(3, of: scene)
    try scene.advance(60_000)
    #expect(scene.sends.count == 1)
    scene.set("ann", chat, unacknowledged: 0, unseen: 1)
    try scene.message("ann", chat)
    try scene.advance(5_000)
    #expect(scene.sends.last?.send.isUpdate == false)
    #expect(scene.sends.last?.send.devices.first?.body == "2 new messages")
    try scene.advance(600_000)
    #expect(scene.sends.count == 2, "devices show two, and two are left")
  }

  @Test("where all that was told is seen, it goes, though something newer is left that was acknowledged in time")
  func newer() throws {
    let scene = try shown(2)
    let sentAt = scene.now
    try scene.advance(20_000)
    try left(1, of: scene, since: sentAt + 10_000)
    let withdrawal = try #require(scene.sends.last?.send)
    #expect(withdrawal.isWithdrawal && scene.sends.count == 2)
    try scene.answer(withdrawal)
    try scene.advance(600_000)
    #expect(scene.sends.count == 2)
    let other = try shown(2)
    try other.advance(20_000)
    try left(1, of: other, since: other.now - 24_000)
    #expect(other.sends.last?.send.isUpdate == true, "one of those that were told is left")
  }

  @Test("an update that services do not take is tried again, on the devices that have not got it, and given up")
  func retries() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.register("ann", "b")
    for _ in 0..<3 { try scene.message("ann", chat) }
    try scene.advance(5_000)
    try scene.advance(20_000)
    try left(1, of: scene)
    var update = try #require(scene.sends.last?.send)
    #expect(update.isUpdate && update.devices.count == 2)
    try scene.answer(update, ["id-a": .taken, "id-b": .failed(reason: "away")])
    for _ in 0..<2 {
      try scene.advance(30_000, answers: false)
      update = try #require(scene.sends.last?.send)
      #expect(update.isUpdate && update.devices.map(\.id) == ["id-b"])
      try scene.answer(update, .failed(reason: "away"))
    }
    #expect(scene.sends.count == 4)
    #expect(try scene.lines("ann").last == .givenUp)
    #expect(try scene.state("ann", chat) == .shown)
    try scene.advance(600_000)
    #expect(scene.sends.count == 4)
  }

  @Test("what comes during an update is told in its own time; one whose answer never comes is tried again")
  func interrupted() throws {
    let scene = try shown(3)
    try scene.advance(20_000)
    try left(2, of: scene)
    let update = try #require(scene.sends.last?.send)
    #expect(try scene.state("ann", chat) == .updating)
    try scene.message("ann", chat)
    #expect(try scene.state("ann", chat) == .interrupted)
    try scene.answer(update)
    #expect(try scene.state("ann", chat) == .renewed)
    try scene.advance(5_000)
    #expect(scene.sends.count == 3 && scene.sends.last?.send.isUpdate == false)

    let lost = try shown(3)
    try lost.advance(20_000)
    try left(2, of: lost)
    try lost.advance(lost.rules.answerTimeout + 10, answers: false)
    #expect(lost.sends.count == 3 && lost.sends.last?.send.isUpdate == true)
    #expect(try lost.lines("ann") == [.sent, .lost])
  }

  @Test("what a backend wrote is not updated; what is published on channels is, by offset")
  func backends() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    for offset in 1...3 as ClosedRange<UInt64> {
      try scene.notice("ann", "shop:#ann", topic: "shop", content: .init(title: "T", offset: offset))
      try scene.notice("ann", "inbox:#ann", topic: "channel.inbox", content: .init(title: "", offset: offset))
    }
    try scene.advance(25_000)
    #expect(scene.sends.count == 2)
    for subject in ["shop:#ann", "inbox:#ann"] {
      try scene.call("ann", "push.delivered", #"{"subject":"\#(subject)"}"#)
      #expect(scene.sends.count == 2, "what a device has fetched is not seen")
    }
    try scene.call("ann", "push.seen", #"{"subject":"shop:#ann","offset":1}"#)
    #expect(scene.sends.count == 2)
    try scene.call("ann", "push.seen", #"{"subject":"inbox:#ann","offset":1}"#)
    #expect(scene.sends.last?.send.isUpdate == true)
    #expect(scene.sends.last?.send.devices.map(\.title) == ["2 new messages"])
  }

  @Test("quiet hours keep no update back; devices that are left alone, and a person's limit, do")
  func waits() throws {
    let scene = try shown(3) { $0.sendsPerMinute = 1 }
    try scene.call("ann", "push.settings", #"{"muted_until":\#(scene.now + 86_400_000)}"#)
    try scene.advance(20_000)
    try left(2, of: scene)
    #expect(scene.sends.count == 1)
    try scene.advance(40_000)
    #expect(scene.sends.last?.send.isUpdate == true && scene.sends.count == 2)
  }
}
