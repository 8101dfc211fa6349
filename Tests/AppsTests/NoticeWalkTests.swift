import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Notifications: random walks")
struct NoticeWalkTests {
  @Test("any sequence keeps the promises", arguments: 0..<20)
  func walk(seed: UInt64) throws {
    var walk = NoticeWalk(seed: seed)
    for _ in 0..<2_000 { try walk.step() }
    #expect(walk.scene.sends.count > 20, "the walk has been somewhere")
    try walk.end()
  }

  @Test("the walks come to what is partly seen")
  func reach() throws {
    var updates = 0
    for seed in 0..<4 as Range<UInt64> {
      var walk = NoticeWalk(seed: seed)
      for _ in 0..<2_000 { try walk.step() }
      updates += walk.updates
    }
    #expect(updates > 0)
  }
}

/// Messages come to one person in several conversations, are delivered, read and answered by services, in any order.
private struct NoticeWalk {
  /// What a conversation holds, by when it came.
  struct Chat {
    var unacknowledged: [Int64] = []
    var unseen: [Int64] = []
    /// Whether some and not all of it was ever seen.
    var isPartlySeen = false
  }

  let scene = NoticeScene { rules in
    (rules.sendsPerMinute, rules.subjects, rules.changesPerMinute) = (1_000_000, 8, 1_000_000)
  }
  var random: SeededGenerator
  let names = ["x", "y", "z"]
  var chats: [String: Chat] = [:]
  /// Sends that nobody has answered yet.
  var open: [PushSend] = []
  var seenSends = 0
  var updates = 0
  /// Whether services answer at once. Else no promise about time holds.
  let answersAtOnce: Bool

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    answersAtOnce = seed % 2 == 0
    try? scene.register("ann", "a")
    try? scene.register("ann", "b")
  }

  mutating func step() throws {
    let name = names[Int.random(in: 0..<3, using: &random)]
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3:
      chats[name, default: Chat()].unacknowledged.append(scene.now)
      chats[name]?.unseen.append(scene.now)
      tell(name)
      let notice = try scene.notice("ann", name)
      if Bool.random(using: &random) { try scene.take([notice]) }
    case 4: try acknowledge(name, isSeen: false)
    case 5: try acknowledge(name, isSeen: true)
    case 6: try answer()
    default: try pass(Int64.random(in: 0...3_000, using: &random))
    }
    try collect()
    try check()
  }

  private mutating func acknowledge(_ name: String, isSeen: Bool) throws {
    chats[name]?.unacknowledged = []
    if isSeen {
      let count = chats[name]?.unseen.count ?? 0
      let seen = Bool.random(using: &random) ? count : Int.random(in: 0...count, using: &random)
      chats[name]?.unseen.removeFirst(seen)
      if seen > 0, seen < count { chats[name]?.isPartlySeen = true }
    }
    tell(name)
    if Bool.random(using: &random) { try scene.look("ann", name) }
  }

  private func tell(_ name: String) {
    let chat = chats[name] ?? Chat()
    scene.set(
      "ann", name, unacknowledged: chat.unacknowledged.count, unseen: chat.unseen.count,
      since: chat.unacknowledged.first ?? scene.now, unseenSince: chat.unseen.first)
  }

  private mutating func pass(_ milliseconds: Int64) throws {
    // In small steps, so that services answer within a moment where they do.
    for _ in 0..<(milliseconds / 100 + 1) {
      try scene.advance(100, answers: false)
      try collect()
    }
  }

  /// Looks at what was sent since the last time.
  private mutating func collect() throws {
    while seenSends < scene.sends.count {
      let (at, send) = scene.sends[seenSends]
      seenSends += 1
      let chat = chats[send.collapseKey] ?? Chat()
      if send.isUpdate {
        #expect(chat.isPartlySeen && !chat.unseen.isEmpty, "only what was partly seen is updated")
        updates += 1
      } else if !send.isWithdrawal {
        #expect(!chat.unacknowledged.isEmpty, "what was acknowledged is not sent")
        #expect((chat.unacknowledged.first ?? .max) + 5_000 <= at, "nothing is sent before its time")
      } else {
        let told = scene.sends[..<(seenSends - 1)].last {
          $0.send.collapseKey == send.collapseKey && $0.send.isUrgent
        }
        #expect((chat.unseen.first ?? .max) > told?.at ?? 0, "only what was seen is withdrawn")
      }
      open.append(send)
      if answersAtOnce {
        open.removeLast()
        try scene.answer(send)
      }
    }
  }

  private mutating func answer() throws {
    guard !open.isEmpty else { return }
    let send = open.remove(at: Int.random(in: 0..<open.count, using: &random))
    var verdicts: [String: PushAnswer.Verdict] = [:]
    for device in send.devices {
      switch Int.random(in: 0..<7, using: &random) {
      case 0: verdicts[device.id] = .later(after: 2_000, reason: "busy")
      case 1: verdicts[device.id] = .failed(reason: "away")
      case 2: verdicts[device.id] = .refused(reason: "no")
      case 3: break
      case 4: verdicts[device.id] = .unanswered(reason: "cut")
      default: verdicts[device.id] = .taken
      }
    }
    try scene.answer(send, verdicts)
    if Bool.random(using: &random) { try scene.answer(send, verdicts) }
  }

  private func check() throws {
    guard let notices = try scene.notices("ann") else { return }
    #expect(notices.subjects.count { $0.state.isUnderWay } == (notices.underWay == nil ? 0 : 1))
    #expect(notices.subjects.count <= 8 && notices.lines.count <= 32 && notices.holds.count <= 2)
    for subject in notices.subjects { #expect(subject.shownOn.count <= 2 && (subject.missing?.count ?? 0) <= 2) }
    guard answersAtOnce else { return }
    // Everything that nobody has acknowledged was sent by its time, or by the interval after what was sent before.
    for (name, chat) in chats {
      for time in chat.unacknowledged {
        let sent = scene.sends.last { $0.send.collapseKey == name && $0.send.isUrgent }?.at ?? .min
        let deadline = max(time + 5_000, sent == .min ? .min : sent + 15_000) + 1_000
        #expect(sent >= time || scene.now <= deadline, "what nobody acknowledged is sent in time")
      }
    }
  }

  /// When everything is read and services answer, nothing is left but lines.
  mutating func end() throws {
    for name in names {
      chats[name] = Chat()
      tell(name)
    }
    for send in open { try scene.answer(send) }
    try scene.advance(2 * 86_400_000)
    #expect(try scene.notices("ann")?.subjects.isEmpty ?? true)
    #expect(try scene.notices("ann")?.underWay == nil)
    try scene.advance(9 * 86_400_000)
    #expect(scene.keys == ["devices/ann", "owner/id-a", "owner/id-b"])
  }
}
