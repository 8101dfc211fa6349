import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// Pictures that lie in one partition and are sent in another: the table above ``StatePicture``, and both ends of a send.
extension StatePlacesTests {
  @discardableResult
  private func lend(_ ids: [String], to other: String, _ attempt: UInt64) throws -> [UInt8] {
    let lending = StateCommand.Lending(to: other, front: ids[0], rear: ids[1], attempt: attempt)
    return try mine.call(ada, .state(.lend(lending)), source: .gateway)
  }

  private func giveBack(_ ids: [String], _ attempt: UInt64) throws {
    let lending = StateCommand.Lending(to: bob, front: ids[0], rear: ids[1], attempt: attempt)
    try mine.call(ada, .state(.giveBack(lending)), source: .gateway)
  }

  private func pictures(_ ids: [String], of other: String) throws -> StateRelay.Pictures {
    StateRelay.Pictures(owner: ada, ids: ids, thread: try StatePair(ada, other).digest)
  }

  private static let cells = [
    ("whole", "lend", "lent 1"), ("whole", "lend to another", "lent 1"),
    ("whole", "give back", "whole"), ("whole", "used", "moved"),
    ("whole", "unused", "whole"), ("whole", "due", "gone"),
    ("lent 1", "lend", "lent 2"), ("lent 1", "lend to another", "435 lent 1"),
    ("lent 1", "give back", "whole"), ("lent 1", "give back another", "lent 1"),
    ("lent 1", "used", "moved"), ("lent 1", "unused", "gone"),
    ("lent 1", "used of another", "lent 1"), ("lent 1", "unused of another", "lent 1"),
    ("lent 1", "due", "lent 1"), ("moved", "lend", "435 moved"),
    ("moved", "lend to another", "435 moved"), ("moved", "give back", "moved"),
    ("moved", "used", "moved"), ("moved", "unused", "moved"),
    ("moved", "due", "gone"),
  ]

  @Test("each cell of the table", arguments: cells)
  func cell(before: String, operation: String, expected: String) throws {
    let ids = [try mine.upload(ada), try mine.upload(ada)]
    if before != "whole" { try lend(ids, to: bob, 1) }
    if before == "moved" { try mine.receive(.used(try pictures(ids, of: bob))) }
    try #require(try mine.state(ids[0]) == before)
    let error = code {
      switch operation {
      case "lend": try lend(ids, to: bob, 2)
      case "lend to another": try lend(ids, to: cy, 2)
      case "give back": for _ in 0..<2 { try giveBack(ids, 1) }
      case "give back another": try giveBack(ids, 2)
      case "used": try mine.receive(.used(try pictures(ids, of: bob)))
      case "used of another": try mine.receive(.used(try pictures(ids, of: cy)))
      case "unused": try mine.receive(.unused(try pictures(ids, of: bob)))
      case "unused of another": try mine.receive(.unused(try pictures(ids, of: cy)))
      default: try mine.advance((mine.nextDue ?? mine.now) - mine.now)
      }
    }
    #expect(try (error.map { "\($0) " } ?? "") + mine.state(ids[0]) == expected)
    #expect(try mine.state(ids[1]) == mine.state(ids[0]))
    #expect(try mine.said() == (before == "lent 1" && operation == "due" ? ["2 claim", "2 claim"] : []))
    let isKept = expected.hasSuffix("whole") || expected.contains("lent")
    #expect(try (mine.person(ada)?.unsent ?? []) == (isKept ? ids : []))
    #expect(try (mine.person(ada)?.bytes ?? 0) == (isKept ? 2000 : 0))
    let isFileGone = expected == "gone" && before != "moved"
    #expect(mine.discarded == (isFileGone ? Set(ids) : []), "a moved picture's file is its thread's")
  }

  @Test("only one's own whole pictures are lent, in time")
  func refusals() throws {
    let ids = [try mine.upload(ada), try mine.upload(ada)]
    let theirs = [ids[0], try mine.upload(Partitioning.user("eve") { Partitioning.four.place(ofUser: $0) == 1 })]
    let key = Array(repeating: UInt8(1), count: 32)
    let coming = StateCommand.Picture(id: "coming-0123456789abcdef01", type: nil, bytes: 9, key: key, upload: nil)
    try mine.call(ada, .state(.addPicture(coming)), source: .gateway)
    for other in [theirs, [ids[0], coming.id], [ids[0], "unknown-0123456789abcdef"]] {
      #expect(code { try lend(other, to: bob, 1) } == 435)
    }
    #expect(code { try lend([ids[0], ids[0]], to: bob, 1) } == 107)
    #expect(try mine.state(ids[0]) == "whole", "what is refused changes nothing")
    for attempt in 1...8 { for _ in 0..<2 { try lend(ids, to: bob, UInt64(attempt)) } }
    for attempt in 1...8 { try giveBack(ids, UInt64(attempt)) }
    #expect(try mine.state(ids[0]) == "whole")
    try mine.advance(mine.rules.pictureLifetime, runsTimers: false)
    #expect(code { try lend(ids, to: bob, 10) } == 435)
  }

  @Test("who tries again and again without an answer is lent the pictures each time, and they are not free then")
  func manyAttempts() throws {
    let ids = [try mine.upload(ada), try mine.upload(ada)]
    for attempt in 1...100 { try lend(ids, to: bob, UInt64(attempt)) }
    let record = try #require(try mine.record(StatePicture.self, StateKeys.picture + ids[0]))
    #expect(record.attempts(for: try StatePair(ada, bob).digest) == [StatePicture.uncounted] + Array(94...100))
    for attempt in 0...100 { try giveBack(ids, UInt64(attempt)) }
    #expect(code { try lend(ids, to: cy, 101) } == 435, "one of those that are forgotten may have sent them")
    try mine.receive(.unused(try pictures(ids, of: bob)))
    #expect(try mine.state(ids[0]) == "gone")
  }

  @Test("to its owner a lent or moved picture is one that was sent")
  func asSent() throws {
    let ids = [try mine.upload(ada), try mine.upload(ada)]
    let key = Array(repeating: UInt8(1), count: 32)
    let again = StateCommand.Picture(id: ids[0], type: "image/png", bytes: 9, key: key, upload: nil)
    for state in ["lent 1", "moved"] {
      if state == "lent 1" { try lend(ids, to: bob, 1) } else { try mine.receive(.used(try pictures(ids, of: bob))) }
      #expect(code { try mine.call(ada, .state(.discard(ids))) } == 435)
      #expect(code { try mine.call(ada, .state(.addPicture(again)), source: .gateway) } == 437)
      #expect(try mine.app.picture(in: StateKeys.picture + ids[0], for: ada, mine) == nil)
      #expect(try mine.state(ids[0]) == state)
    }
    let reply = { (gone: String) in Array(#"{"gone":[\#(gone)]}"#.utf8) }
    #expect(try mine.call("-", .state(.gonePictures([ids[0]])), source: .gateway) == reply(""))
    try mine.advance(StatePicture.barredLifetime)
    #expect(try mine.call("-", .state(.gonePictures([ids[0]])), source: .gateway) == reply("\"\(ids[0])\""))
    #expect(code { try mine.call(ada, .state(.addPicture(again)), source: .gateway) } == 437, "a thread may have it")
    try lend([try mine.upload(ada), try mine.upload(ada)], to: bob, 1)
    try mine.forget(bob)
    #expect(mine.recordCount == 5, "they name their owner alone")
    try mine.forget(ada)
    #expect(mine.recordCount == 0)
  }

  @Test("a send takes what was lent once, in time and unchanged, and counts its bytes")
  func sends() throws {
    let ids = [try mine.upload(ada), try mine.upload(ada)]
    let lent = try lend(ids, to: bob, 1)
    #expect(code { try pair.send(ada, to: bob, ids, lent: []) } == 435)
    #expect(code { try pair.send(ada, to: bob, ids, lent: Array("{}".utf8)) } == 107)
    #expect(code { try pair.send(ada, to: bob, [ids[0], "unknown-0123456789abcdef"], lent: lent) } == 435)
    try pair.receive(.claim(StateRelay.Pictures(owner: ada, ids: [ids[0]], thread: "")))
    #expect(try pair.said() == ["1 unused"])
    #expect(code { try pair.send(ada, to: bob, ids, lent: lent) } == 435, "the id is barred")
    try pair.advance(StatePicture.barredLifetime)
    try pair.send(ada, to: bob, ids, lent: lent)
    #expect(try pair.said().filter { $0.hasSuffix("used") } == ["1 used"] && pair.person(ada)?.bytes == 2000)
    try pair.receive(.claim(try pictures(ids, of: bob)))
    #expect(try pair.said() == ["1 used"] && pair.state(ids[0]) == "sent")
    try pair.call(ada, .state(.block(bob)))
    try pair.call(ada, .state(.unblock(bob)))
    let others = [try mine.upload(ada), try mine.upload(ada)]
    let late = try lend(others, to: bob, 2)
    try pair.advance(mine.rules.pictureLifetime)
    #expect(code { try pair.send(ada, to: bob, others, lent: late) } == 435)
  }
}
