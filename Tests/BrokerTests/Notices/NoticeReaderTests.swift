import Log
import Apps
import Testing
import Wire

@testable import Broker

/// Reading the outbox of notices: the machine by itself.
@Suite("Notices: the reader")
struct NoticeReaderTests {
  private static func intent(_ offset: UInt64, _ users: Int = 1) -> (offset: UInt64, intent: PushIntent?) {
    let users = (0..<users).map { "u\($0)" }
    return (offset, PushIntent(offset: offset, time: 1, topic: "t", subject: "s", users: users))
  }

  @Test("Notices are read, decided about and committed one batch at a time, and the cursor moves with the disk alone")
  func line() {
    var reader = NoticeReader(cursor: 2, top: 4)
    #expect(reader.next(at: 0) == .read && reader.next(at: 0) == nil)
    guard case .reading(let range) = reader.state else { return #expect(Bool(false), "\(reader.state)") }
    #expect(range.since == 2 && range.through == 4)
    #expect(reader.found([Self.intent(3), Self.intent(4)]) == .decide && reader.next(at: 0) == nil)
    reader.appended(5)
    reader.decided()
    #expect(reader.cursor == 2 && reader.waiting == 3 && reader.next(at: 0) == nil)
    reader.committed()
    #expect(reader.cursor == 4 && reader.next(at: 0) == .read)
  }

  @Test("After failures it rests for a second, twice as long each time, a minute at most, and never gives up")
  func rests() {
    var reader = NoticeReader(cursor: 0, top: 1)
    var now: Int64 = 0
    var pauses: [Int64] = []
    for _ in 0..<10 {
      #expect(reader.next(at: now) == .read)
      reader.failed(at: now)
      let until = reader.deadline ?? 0
      pauses.append(until - now)
      #expect(reader.next(at: until - 1) == nil)
      now = until
    }
    #expect(pauses == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000])
    #expect(reader.next(at: now) == .read && reader.found([Self.intent(1)]) == .decide)
    reader.decided()
    reader.failed(at: now)
    #expect(reader.cursor == 0, "what did not get to the disk is read again")
    now = reader.deadline ?? 0
    #expect(reader.next(at: now) == .read && reader.found([Self.intent(1)]) == .decide)
    reader.decided()
    reader.committed()
    reader.appended(2)
    #expect(reader.next(at: now) == .read)
    reader.failed(at: now)
    #expect(reader.deadline == now + 1000, "a success begins anew")
  }

  @Test("A batch names a bounded number of people, but one notice at least; what was erased is passed over")
  func bounded() {
    var reader = NoticeReader(cursor: 0, top: 5)
    _ = reader.next(at: 0)
    let found = [Self.intent(1, 1000), Self.intent(2, 40), (3, nil), Self.intent(4, 40), Self.intent(5)]
    #expect(reader.found(found) == .decide)
    guard case .deciding(let first) = reader.state else { return #expect(Bool(false), "\(reader.state)") }
    #expect(first.intents.map(\.offset) == [1] && first.through == 1)
    reader.decided()
    reader.committed()
    _ = reader.next(at: 0)
    #expect(reader.found(Array(found[1...])) == .decide)
    guard case .deciding(let second) = reader.state else { return #expect(Bool(false), "\(reader.state)") }
    #expect(second.intents.map(\.offset) == [2] && second.through == 3)
    var empty = NoticeReader(cursor: 0, top: 2)
    _ = empty.next(at: 0)
    #expect(empty.found([(1, nil), (2, nil)]) == nil && empty.cursor == 2 && empty.missing == 0)
    var lost = NoticeReader(cursor: 0, top: 9)
    _ = lost.next(at: 0)
    #expect(lost.found([Self.intent(5)]) == .decide && lost.missing == 4)
  }

  @Test("A batch that waits for the store loses those whose data is deleted")
  func erases() {
    var reader = NoticeReader(cursor: 0, top: 2)
    _ = reader.next(at: 0)
    _ = reader.found([Self.intent(1, 1), Self.intent(2, 2)])
    reader.erase { $0 == "u0" }
    guard case .deciding(let batch) = reader.state else { return #expect(Bool(false), "\(reader.state)") }
    #expect(batch.intents.map(\.offset) == [2] && batch.intents.first?.users == ["u1"] && batch.through == 2)
  }

  @Test("A notice is read as it was written, and what is none is not")
  func stored() {
    var content = PushIntent.Content(title: "T", body: "B", data: ["a": "1", "b": "\"2\""], link: "https://x")
    content.offset = 7
    for users in [["ann"], ["ann", "bob#\"x"]] {
      for has in [true, false] {
        var intent = PushIntent(offset: 3, time: 9, topic: "t.x", subject: "c:1", users: users)
        if has { intent.content = content }
        #expect(PushIntent(Publication(offset: 3, time: 9, data: intent.stored)) == intent)
      }
    }
    content.link = nil
    for data in ["", "{}", "[]", #"{"topic":"t","subject":"s"}"#] {
      #expect(PushIntent(Publication(offset: 1, data: Array(data.utf8))) == nil)
    }
  }
}

/// What was acknowledged, gathered for a moment.
@Suite("Notices: acknowledgements")
struct AcknowledgementTests {
  @Test("Many of one subject count as one; what is not open is looked at only while that may be unknown")
  func gathers() {
    var some = Acknowledgements(since: 0)
    for time in 0..<5 { some.add("ann", "s", at: Int64(time)) }
    #expect(some.count == 1 && some.nextTime == Acknowledgements.interval)
    #expect(some.next(upTo: Acknowledgements.interval - 1) == nil)
    #expect(some.next(upTo: Acknowledgements.interval) == .init("ann", "s") && some.count == 0)
    let later = Acknowledgements.learning
    some.add("ann", "s", at: later)
    #expect(some.count == 0)
    some.opened(["s"], of: "ann", at: later)
    some.add("ann", "s", at: later)
    some.add("ann", "other", at: later)
    some.add("bob", "s", at: later)
    #expect(some.count == 1)
    some.opened([], of: "ann", at: later)
    _ = some.next(upTo: .max)
    some.add("ann", "s", at: later)
    #expect(some.count == 0)
  }

  @Test("There is a limit to what waits and to what is known, and where more is open everything is looked at again")
  func bounded() {
    var some = Acknowledgements(since: 0)
    for number in 0...Acknowledgements.most { some.add("u\(number)", "s", at: 0) }
    #expect(some.count == Acknowledgements.most)
    some.erase { $0 != "u7" }
    #expect(some.count == 1 && some.next(upTo: 0) == .init("u7", "s"))
    let later = Acknowledgements.learning
    some.opened((0..<Acknowledgements.mostOpen).map { "s\($0)" }, of: "ann", at: later)
    some.add("bob", "s", at: later)
    #expect(some.count == 0)
    some.opened(["s"], of: "bob", at: later)
    some.add("cat", "s", at: later)
    #expect(some.count == 1)
  }
}
