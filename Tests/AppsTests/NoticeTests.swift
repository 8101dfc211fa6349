import Foundation
import Testing
import Wire

@testable import Apps

@Suite("Notifications: who is notified, and when")
struct NoticeTests {
  private let chat = "clique.chat:p1"

  @Test("what no device acknowledged is sent after the delay, and not a moment before")
  func delay() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(4_999)
    #expect(scene.sends.isEmpty)
    try scene.advance(1)
    #expect(scene.sends.map(\.send.devices.first?.title) == ["Bob"])
    #expect(scene.sends.first?.send.badge == 1 && scene.sends.first?.send.isUrgent == true)
    #expect(try scene.lines("ann") == [.sent])
    #expect(try scene.state("ann", chat) == .shown)
  }

  @Test("what a device acknowledged in time is not sent, and what comes then has its own time")
  func acknowledged() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(4_000)
    scene.set("ann", chat, unacknowledged: 0, unseen: 1)
    try scene.message("ann", chat)
    try scene.advance(4_999)
    #expect(scene.sends.isEmpty)
    try scene.advance(1)
    #expect(scene.sends.count == 1)
    scene.set("ann", "other", unacknowledged: 0, unseen: 1)
    try scene.notice("ann", "other")
    try scene.advance(5_000)
    #expect(scene.sends.count == 1)
    #expect(try scene.lines("ann").contains(.suppressed))
  }

  @Test("a busy conversation does not push a notification back, and the next comes after the interval")
  func busy() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    let start = scene.now
    for _ in 0..<30 {
      try scene.message("ann", chat)
      try scene.advance(1_000)
    }
    #expect(scene.sends.map { $0.at - start } == [5_000, 20_000])
    #expect(scene.sends.last?.send.devices.first?.body == "20 new messages")
  }

  @Test("delivered does not withdraw what is shown; seen does, and the number goes down")
  func withdrawal() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000)
    scene.set("ann", chat, unacknowledged: 0, unseen: 1)
    try scene.look("ann", chat)
    #expect(scene.sends.count == 1)
    scene.set("ann", chat, unacknowledged: 0, unseen: 0)
    try scene.look("ann", chat)
    let withdrawal = try #require(scene.sends.last?.send)
    #expect(withdrawal.isWithdrawal && withdrawal.collapseKey == chat && withdrawal.badge == 0)
    try scene.answer(withdrawal)
    #expect(try scene.state("ann", chat) == .gone)
    #expect(try scene.lines("ann").suffix(1) == [.withdrawn])
  }

  @Test("what is shown is withdrawn by a look of the app's own, where nobody tells")
  func recheck() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000)
    scene.remove("ann", chat)
    try scene.advance(30_000)
    #expect(scene.sends.last?.send.isWithdrawal == true)
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("a notice that comes again changes nothing; one of a new outbox counts")
  func again() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    scene.set("ann", chat, unacknowledged: 1, unseen: 1)
    let notice = try scene.notice("ann", chat)
    let before = scene.storedText
    try scene.take([notice, notice])
    #expect(scene.storedText == before)
    try scene.advance(20_000)
    try scene.take([notice])
    try scene.advance(20_000)
    #expect(scene.sends.count == 1)
    var anew = notice
    anew.time = scene.now
    try scene.take([anew])
    try scene.advance(5_000)
    #expect(scene.sends.count == 2)
  }

  @Test("one send is under way at a time, and the next begins with its answer")
  func order() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    for subject in ["x", "y", "z"] { try scene.message("ann", subject) }
    try scene.advance(5_000, answers: false)
    for expected in ["x", "y", "z"] {
      let send = try #require(scene.sends.last?.send)
      #expect(send.collapseKey == expected)
      try scene.answer(send)
    }
    #expect(scene.sends.count == 3)
  }

  @Test("a late answer, or one given twice, changes nothing; one that never comes leads to another send")
  func lost() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let first = try #require(scene.sends.first?.send)
    try scene.advance(60_000, answers: false)
    #expect(scene.sends.count == 2)
    let before = scene.storedText
    try scene.answer(first)
    #expect(scene.storedText == before)
    let second = try #require(scene.sends.last?.send)
    #expect(second.number > first.number)
    try scene.answer(second)
    let after = scene.storedText
    try scene.answer(second)
    #expect(scene.storedText == after)
    #expect(try scene.lines("ann") == [.lost, .sent])
  }

  @Test("what a process had under way that is gone is sent by the next at once, and what it had answered is not")
  func restart() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.register("bob", "b")
    try scene.message("bob", chat)
    try scene.advance(5_000)
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let before = try #require(scene.sends.last?.send)
    #expect(before.user == "ann" && scene.sends.count == 2)
    let record = try scene.notices("ann")
    #expect(record?.lane == .sends && record?.due == scene.now + scene.rules.answerTimeout)
    try scene.restart()
    #expect(scene.sends.map(\.send.user) == ["bob", "ann", "ann"])
    let again = try #require(scene.sends.last?.send)
    #expect(again.collapseKey == chat && again.number > before.number)
    let stored = scene.storedText
    try scene.answer(before)
    #expect(scene.storedText == stored, "the first answer has nowhere to go")
    try scene.answer(again)
    try scene.restart()
    try scene.advance(60_000)
    #expect(scene.sends.count == 3)
    #expect(try scene.lines("ann") == [.lost, .sent])
  }

  @Test("a send of the same process is not looked at before its time, whatever is asked")
  func earlyLook() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let (stored, writes) = (scene.storedText, scene.writes)
    try scene.perform(try scene.app.due("notices/ann", scene))
    #expect(scene.storedText == stored && scene.writes == writes && scene.sends.count == 1)
  }

  @Test("what comes during a send waits for its end and is told then")
  func overtaken() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    try scene.message("ann", chat)
    #expect(try scene.state("ann", chat) == .overtaken)
    try scene.answer(try #require(scene.sends.last?.send))
    #expect(try scene.state("ann", chat) == .renewed)
    try scene.advance(14_999)
    #expect(scene.sends.count == 1)
    try scene.advance(1)
    #expect(scene.sends.count == 2)
  }

  @Test(
    "a notice behind the look that has seen what it tells of sends nothing more, unless devices may lack it; what is newer does",
    arguments: [false, true])
  func behind(isLost: Bool) throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    scene.set("ann", chat, unacknowledged: 1, unseen: 1, newest: 11)
    try scene.notice("ann", chat)
    try scene.advance(4_999)
    scene.set("ann", chat, unacknowledged: 2, unseen: 2, since: scene.now - 4_999, newest: 12)
    try scene.advance(1, answers: !isLost)
    #expect(scene.sends.count == 1)
    try scene.notice("ann", chat)
    if isLost {
      try scene.restart()
      try scene.answer(try #require(scene.sends.last?.send))
    }
    try scene.advance(60_000)
    #expect(try scene.sends.count == (isLost ? 2 : 1) && scene.state("ann", chat) == .shown)
    try scene.notice("ann", chat)
    try scene.advance(60_000)
    #expect(scene.sends.count == (isLost ? 2 : 1), "all devices have it now")
    scene.set("ann", chat, unacknowledged: 3, unseen: 3, since: scene.now, newest: 13)
    try scene.notice("ann", chat)
    try scene.advance(60_000)
    #expect(scene.sends.count == (isLost ? 3 : 2))
  }

  @Test("a service that asks to wait is left alone for that long, the other devices are not told again")
  func later() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.register("ann", "b")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    let send = try #require(scene.sends.last?.send)
    try scene.answer(send, ["id-a": .taken, "id-b": .later(after: 20_000, reason: "429")])
    try scene.advance(19_999, answers: false)
    #expect(scene.sends.count == 1)
    try scene.advance(10_000, answers: false)
    #expect(scene.sends.last?.send.devices.map(\.id) == ["id-b"])
    try scene.answer(try #require(scene.sends.last?.send))
    #expect(try scene.state("ann", chat) == .shown)
    #expect(try scene.lines("ann") == [.sent, .later, .sent])
  }

  @Test("where services stay away, pauses grow and attempts are given up")
  func givenUp() throws {
    let scene = NoticeScene { $0.giveUpAfter = 60_000 }
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    var answered = 0
    for _ in 0..<200 {
      try scene.advance(1_000, answers: false)
      while answered < scene.sends.count {
        answered += 1
        try scene.answer(scene.sends[answered - 1].send, .failed(reason: "away"))
      }
    }
    let gaps = zip(scene.sends, scene.sends.dropFirst()).map { $1.at - $0.at }
    #expect(gaps.count > 3 && gaps == gaps.sorted())
    #expect(try scene.lines("ann").last == .givenUp)
    #expect(try scene.state("ann", chat) == .gone)
  }

  @Test("each reason for which a person is not told is said once, with the devices that it concerns")
  func unsent() throws {
    let scene = NoticeScene { ($0.giveUpAfter, $0.subjects, $0.timeToLive) = (10_000, 1, 600_000) }
    try scene.register("ann", "a")
    try scene.register("ann", "b", #","topics":["shop"]"#)
    try scene.message("ann", chat)
    scene.set("ann", chat, unacknowledged: 0, unseen: 1)
    try scene.advance(5_000)
    #expect(scene.unsent == [UnsentNotice(.suppressed, kinds: ["fcm": 1])])
    try scene.message("ann", chat)
    try scene.message("ann", "other")
    #expect(scene.unsent.last == UnsentNotice(.crowded, kinds: ["fcm": 1]))
    var answered = 0
    for _ in 0..<60 {
      try scene.advance(1_000, answers: false)
      while answered < scene.sends.count {
        answered += 1
        try scene.answer(scene.sends[answered - 1].send, .failed(reason: "away"))
      }
    }
    #expect(scene.unsent.count == 3 && scene.unsent.last == UnsentNotice(.givenUp, kinds: ["fcm": 1]))
    scene.suspended = ["ann"]
    try scene.message("ann", chat)
    try scene.advance(10_000)
    #expect(scene.unsent.last?.reason == .suspended)
    scene.suspended = []
    try scene.message("ann", chat)
    try scene.call("ann", "push.settings", #"{"topics":["shop"]}"#)
    #expect(scene.unsent.last?.reason == .suspended, "nothing is due yet")
    try scene.advance(10_000)
    #expect(scene.unsent.last == UnsentNotice(.unwanted, kinds: ["fcm": 2]))
    try scene.call("ann", "push.settings", #"{"topics":["*"],"muted_until":\#(scene.now + 86_400_000)}"#)
    try scene.message("ann", chat)
    try scene.advance(1_200_000)
    #expect(scene.unsent.map(\.reason) == [.suppressed, .crowded, .givenUp, .suspended, .unwanted, .expired])
  }

  @Test("what a service refuses is not tried again")
  func refused() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.message("ann", chat)
    try scene.advance(5_000, answers: false)
    try scene.answer(try #require(scene.sends.last?.send), .refused(reason: "too large"))
    try scene.advance(3_600_000)
    #expect(scene.sends.count == 1)
    #expect(try scene.lines("ann") == [.refused])
  }

  @Test("a person is sent so many in a minute; more wait, and are sent together later")
  func limits() throws {
    let scene = NoticeScene { $0.sendsPerMinute = 3 }
    try scene.register("ann", "a")
    for subject in 0..<5 { try scene.message("ann", "s\(subject)") }
    try scene.advance(5_000)
    #expect(scene.sends.count == 3)
    #expect(try scene.lines("ann").contains(.limited))
    try scene.advance(40_000)
    #expect(scene.sends.count == 5)
  }

  @Test("subjects, lines and acknowledgements of one person are bounded, and what is shown makes room first")
  func bounds() throws {
    let scene = NoticeScene { rules in
      (rules.subjects, rules.lines, rules.acknowledgements) = (4, 5, 6)
    }
    try scene.register("ann", "a")
    try scene.message("ann", "shown")
    try scene.advance(5_000)
    for subject in 0..<4 { try scene.message("ann", "s\(subject)") }
    #expect(try scene.notices("ann")?.subjects.map(\.name) == ["s0", "s1", "s2", "s3"])
    try scene.message("ann", "one too many")
    #expect(try scene.lines("ann").last == .crowded)
    for index in 0..<40 {
      try scene.message("ann", "n\(index)")
      try scene.call("ann", "push.delivered", #"{"subject":"m\#(index)","offset":1}"#)
    }
    let notices = try #require(try scene.notices("ann"))
    #expect(notices.subjects.count == 4 && notices.lines.count == 5 && notices.acknowledged.count == 6)
  }

  @Test("nobody without devices costs more than a look, and a suspended person is sent nothing")
  func nobody() throws {
    let scene = NoticeScene()
    try scene.message("ann", chat)
    #expect(scene.keys.isEmpty && scene.looks == 1)
    try scene.register("ann", "a")
    scene.suspended = ["ann"]
    try scene.message("ann", chat)
    try scene.advance(10_000)
    #expect(scene.sends.isEmpty)
    #expect(try scene.lines("ann") == [.suspended])
  }

  @Test("what became too old is not sent")
  func expired() throws {
    let scene = NoticeScene()
    try scene.register("ann", "a")
    try scene.call("ann", "push.settings", #"{"muted_until":\#(scene.now + 3 * 86_400_000)}"#)
    try scene.message("ann", chat)
    try scene.advance(4 * 86_400_000)
    #expect(scene.sends.isEmpty)
    #expect(try scene.lines("ann").last == .expired)
  }

  @Test("why says what became of a person's notifications, and nothing of what reaches the devices")
  func lines() throws {
    let scene = NoticeScene()
    try scene.register("ann", "very-secret-token", #","language":"de-AT""#)
    try scene.message("ann", chat)
    try scene.advance(5_000)
    let text = String(decoding: try scene.app.lines(about: chat, of: "ann", scene), as: UTF8.self)
    #expect(text.contains(#""event":"sent""#) && text.contains(#""state":"shown""#))
    #expect(!text.contains(#""token""#))
    let other = String(decoding: try scene.app.lines(about: "other", of: "ann", scene), as: UTF8.self)
    #expect(other.contains(#""lines":[]"#))
    #expect(try JSONValue(parsing: Array(text.utf8)).object != nil)
  }
}
