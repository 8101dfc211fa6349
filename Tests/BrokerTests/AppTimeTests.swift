import Log
import Testing
import Wire

@testable import Broker

@Suite("Apps are woken, and their lists brought up to date")
struct AppTimeTests {
  private static let records: ChannelName = "tiny.records:all"

  let app = TinyApp()

  @Test("a record wakes the app once, at its time and not before")
  func due() {
    let scene = app.scene()
    scene.call(1, "set a 1 \(scene.time.wall + 100)")
    scene.finish()
    scene.turn(by: 99)
    #expect(app.woken == [])
    #expect(scene.core.nextDeadline(at: scene.time) == scene.time.monotonic + 1)
    scene.turn(by: 1)
    scene.turn(10)
    #expect(app.woken == ["a"])
    #expect(scene.shown() == ["a": "\"1!\""])
  }

  @Test("a record whose time came while the broker was away wakes the app after the restart")
  func dueAfterRestart() {
    let before = app.scene()
    before.call(1, "set a 1 \(before.time.wall + 100)")
    before.finish()
    let after = app.scene(before.disk)
    after.time.wall += 1_000_000
    after.turn(3)
    #expect(app.woken == ["a"])
  }

  @Test("what waits for an answer to the broker before is due at once; what waits for one to this broker is not")
  func answersOfBefore() {
    let before = app.scene()
    let time = before.time.wall
    before.call(1, "set a sent \(time - 1 + app.answerTimeout)")
    before.call(2, "set b ends \(time - 1 + app.answerTimeout)")
    before.finish(.max)
    before.disk.crash()
    let after = app.scene(before.disk)
    after.call(3, "set c sent \(after.time.wall + app.answerTimeout)")
    after.finish(.max)
    after.turn(10)
    #expect(app.woken == ["a"])
    after.turn(by: app.answerTimeout)
    after.turn(10)
    #expect(app.woken.sorted() == ["a", "b", "c"])
  }

  @Test("a record whose end waits for one thing after another from a slow disk ends once")
  func dueOnASlowDisk() {
    let before = app.scene()
    for key in ["a", "b"] { before.call(1, "set \(key) 1 \(before.time.wall + 100)") }
    before.finish(.max)
    let after = app.scene(before.disk)
    after.time.wall += 1_000_000
    after.disk.delays = true
    for _ in 0..<10 {
      after.turn()
      after.answer()
    }
    after.turn(3)
    #expect(after.shown() == ["a": "\"1!\"", "b": "\"1!\""])
    #expect(after.disk.questions.isEmpty && after.core.stores.room.isEmpty)
  }

  @Test("who subscribed to a list before what ends was found hears of it", arguments: 0...9)
  func dueUnderSubscribers(after rounds: Int) {
    let before = app.scene()
    before.call(1, "set a 1 \(before.time.wall + 100)")
    before.call(2, "soon b 1")
    before.finish(.max)
    before.disk.crash()
    let after = app.scene(before.disk)
    after.disk.delays = true
    after.time.wall += 1_000_000
    var shown: [String: String] = [:]
    func hear() {
      for heard in after.hears() {
        if case .reply(1, .subscribed(let live)) = heard {
          for entry in live.entries { shown[entry.change?.key ?? ""] = String(decoding: entry.data, as: UTF8.self) }
        }
        if case .publication(TinyApp.list, _, let text) = heard { shown[text.contains("!") ? "a" : "b"] = text }
      }
    }
    for round in 0..<30 {
      if round == rounds {
        let member = ClientInfo(user: "u", client: "c")
        let list = BrokerRequest.SubscribeRequest(
          channel: TinyApp.list, recoveryLimit: 300, member: member, map: MapRead(phase: .state))
        after.request(1, .subscribe(list))
      }
      after.turn()
      after.answer()
      hear()
    }
    #expect(shown == ["a": "\"1!\"", "b": "\"1\""])
  }

  @Test("a record that was written while its decision waits is left to its new time, others written meanwhile are not")
  func writtenWhileWaiting() {
    let before = app.scene()
    before.call(1, "set a 1 \(before.time.wall + 100)")
    before.call(2, "set b 1")
    before.finish(.max)
    let after = app.scene(before.disk)
    after.time.wall += 1_000_000
    after.disk.delays = true
    // The records of the app, then the look, then the record.
    for _ in 0..<2 {
      after.answer()
      after.turn()
    }
    after.disk.delays = false
    after.call(3, "set b 2 \(after.time.wall + 1)")
    after.call(4, "set a 2 \(after.time.wall + 60_000)")
    after.finish(.max)
    after.answer()
    after.turn(3)
    #expect(after.shown() == ["a": "\"2\"", "b": "\"2!\""])
  }

  @Test("the time of a record is kept that was on its way to the disk when the broker looked")
  func dueUnderWay() {
    let scene = app.scene()
    scene.call(1, "set a 1 \(scene.time.wall + 50)")
    scene.pass(1)
    scene.finish(.max)
    scene.turn(3, by: 25)
    #expect(app.woken == ["a"])
  }

  @Test("a record that waits for the disk is not woken again meanwhile")
  func dueOnce() {
    let scene = app.scene()
    scene.call(1, "set a 1 \(scene.time.wall)")
    scene.finish()
    for _ in 0..<10 { scene.pass(5) }
    #expect(app.woken == ["a"])
  }

  @Test("a record whose decision failed on disk is woken again")
  func dueAfterFailure() {
    let scene = app.scene()
    scene.call(1, "set a 1 \(scene.time.wall)")
    scene.finish()
    scene.pass(5)
    scene.finish(.max, error: .full("x"))
    scene.turn(3)
    #expect(app.woken == ["a", "a"])
    #expect(scene.shown() == ["a": "\"1!\""])
  }

  @Test("a turn wakes a bounded number of records, and the next ones the rest")
  func bounded() {
    let scene = app.scene()
    let count = 3 * BrokerCore.dueRecordsPerTurn
    for index in 0..<count { scene.call(UInt64(1 + index), "set k\(index) 1 \(scene.time.wall)") }
    scene.finish(.max)
    scene.pass(5)
    #expect(app.woken.count == BrokerCore.dueRecordsPerTurn)
    scene.finish(.max)
    scene.turn(3)
    #expect(app.woken.count == count)
    #expect(Set(app.woken).count == count)
  }

  @Test("what ends is seen to in the first turn, whatever number of records that want tidying up were due before")
  func lanes() {
    let scene = app.scene()
    for index in 0..<2000 { scene.call(UInt64(1 + index), "set k\(index) tidy \(scene.time.wall - 1000)") }
    scene.call(5000, "set honest 1 \(scene.time.wall)")
    scene.finish(.max)
    scene.pass(5)
    #expect(app.woken.first == "honest")
    #expect(app.woken.count == BrokerCore.dueRecordsPerTurn)
    scene.finish(.max)
    scene.call(5001, "set another 1 \(scene.time.wall)")
    scene.finish(.max)
    scene.turn()
    #expect(app.woken.contains("another"))
  }

  @Test("what wants tidying up comes too where something ends in every turn")
  func upkeep() {
    let scene = app.scene()
    for index in 0..<100 { scene.call(UInt64(1 + index), "set k\(index) 1 \(scene.time.wall)") }
    scene.call(5000, "set small tidy \(scene.time.wall)")
    scene.finish(.max)
    scene.turn()
    #expect(app.woken.contains("small"))
  }

  @Test("the lane of a record is the one that it was last written with")
  func laneChanges() {
    let scene = app.scene()
    scene.call(1, "set a tidy \(scene.time.wall + 50)")
    scene.call(2, "set a 1 \(scene.time.wall + 50)")
    scene.finish(.max)
    scene.turn(2, by: 25)
    scene.turn(3)
    #expect(app.woken == ["a"])
  }

  @Test("records for which the app fails are left in peace for a while, and hold up no others")
  func suspended() {
    let scene = app.scene()
    let count = BrokerCore.dueRecordsPerTurn + 6
    for index in 0..<count {
      scene.call(UInt64(1 + index), "set bad\(index) 1 \(scene.time.wall)")
      app.failing.insert("bad\(index)")
    }
    scene.call(1000, "set good 1 \(scene.time.wall + 1)")
    scene.finish(.max)
    scene.turn(10)
    #expect(app.woken.contains("good"))
    #expect(app.woken.count == count + 1)
    app.failing = []
    scene.turn(10, by: 2000)
    #expect(app.woken.count == 2 * count + 1)
  }

  @Test("a disk that cannot be read delays the times, and loses none")
  func unreadable() {
    let scene = app.scene()
    scene.call(1, "set a 1 \(scene.time.wall + 5)")
    scene.finish()
    scene.disk.readError = .failed("x")
    scene.pass(10)
    scene.disk.readError = nil
    scene.turn(2, by: 1000)
    #expect(app.woken == ["a"])
  }

  // MARK: Lists

  @Test("many changes of one entry within a moment are one publication")
  func conflation() {
    let scene = app.scene()
    _ = scene.shown(TinyApp.live)
    scene.call(1, "soon a 0")
    scene.finish(.max)
    scene.finish(.max)
    for index in 1...50 {
      scene.call(UInt64(index + 1), "soon a \(index)")
      scene.finish(.max)
    }
    scene.turn(3, by: RefreshQueue.unwatchedInterval)
    #expect(scene.shown() == ["a": "\"50\""])
    // Twice in the list that is kept. The one in memory was only looked at, which opens nothing.
    #expect(scene.tapped.count == 2)
  }

  @Test("an entry that stays as it is is not published")
  func unchanged() {
    let scene = app.scene()
    scene.call(1, "set a 1")
    scene.finish(.max)
    #expect(scene.tapped == [1])
    scene.call(2, "set a 1")
    #expect(scene.disk.queue.map(\.count) == [1])
    scene.finish(.max)
    #expect(scene.tapped == [1])
  }

  @Test("a decision that finds its entry on the way to the disk already writes it again, and so fails with it")
  func entryUnderWay() {
    let scene = app.scene()
    scene.call(1, "soon a 1")
    scene.finish()
    #expect(scene.disk.queue.map(\.count) == [1])
    scene.call(2, "set a 1")
    #expect(scene.disk.queue.map(\.count) == [1, 2])
    scene.finish(error: .full("x"))
    scene.finish()
    #expect(scene.hears().last?.internalError == 2)
  }

  @Test("what was touched many times within a moment is asked about once, and its entries are worked out")
  func touched() {
    let scene = app.scene()
    _ = scene.shown(TinyApp.live)
    scene.call(1, "touch a 0")
    scene.finish(.max)
    scene.finish(.max)
    for index in 1...9 {
      scene.call(UInt64(index + 1), "touch a \(index)")
      scene.finish(.max)
    }
    #expect(app.asked == ["a"])
    scene.turn(4, by: RefreshQueue.unwatchedInterval)
    #expect(app.asked == ["a", "a"])
    #expect(scene.shown() == ["a": "\"9\""])
    #expect(scene.shown(TinyApp.live) == ["a": "\"9\""])
  }

  @Test("the queue gives an entry once however often it is added, and again after the interval")
  func queue() {
    var queue = RefreshQueue()
    let (a, b) = (
      RefreshQueue.Place(channel: TinyApp.list, key: "a"), RefreshQueue.Place(channel: TinyApp.list, key: "b")
    )
    queue.add(a, isWatched: true, now: 1000)
    queue.add(a, isWatched: true, now: 1000)
    queue.add(b, isWatched: true, now: 1001)
    #expect(queue.next(upTo: 1000) == a)
    #expect(queue.next(upTo: 1000) == nil)
    queue.add(a, isWatched: true, now: 1001)
    #expect(queue.nextTime == 1001)
    #expect(queue.next(upTo: 1001) == b)
    #expect(queue.nextTime == 1000 + RefreshQueue.interval)
    #expect(queue.next(upTo: 1000 + RefreshQueue.interval) == a)
    #expect(queue.isEmpty)
  }

  @Test("what nobody watches is given again after the longer interval, or as soon as somebody does, and then once")
  func unwatchedQueue() {
    var queue = RefreshQueue()
    let place = RefreshQueue.Place(channel: TinyApp.list, key: "a")
    queue.add(place, isWatched: false, now: 1000)
    #expect(queue.next(upTo: 1000) == place)
    queue.add(place, isWatched: false, now: 1001)
    #expect(queue.nextTime == 1000 + RefreshQueue.unwatchedInterval)
    queue.hasten(TinyApp.live, now: 1002)
    #expect(queue.next(upTo: 1002) == nil)
    queue.hasten(TinyApp.list, now: 1003)
    #expect(queue.next(upTo: 1003) == place)
    #expect(queue.next(upTo: .max) == nil)
    #expect(queue.isEmpty)
  }

  @Test("what is touched waits once, and can be touched again when it was given")
  func touches() {
    var queue = RefreshQueue()
    let (a, b) = (
      RefreshQueue.Place(channel: Self.records, key: "a"), RefreshQueue.Place(channel: Self.records, key: "b")
    )
    queue.add(a, isWatched: true, now: 1000)
    queue.add(a, isWatched: true, now: 1000)
    queue.add(b, isWatched: true, now: 1000)
    let given = [queue.next(upTo: 1000), queue.next(upTo: 1000)]
    #expect(Set(given) == [a, b])
    #expect(queue.isEmpty && queue.next(upTo: .max) == nil)
    queue.add(a, isWatched: true, now: 1001)
    #expect(queue.nextTime == 1000 + RefreshQueue.interval)
    #expect(queue.next(upTo: .max) == a)
  }

  @Test("the queue remembers only what was given lately, however much that is")
  func forgetfulQueue() {
    var queue = RefreshQueue()
    for number in 0..<10_000 {
      let place = RefreshQueue.Place(channel: TinyApp.list, key: String(number))
      queue.add(place, isWatched: true, now: 0)
      #expect(queue.next(upTo: 0) == place)
    }
    let first = RefreshQueue.Place(channel: TinyApp.list, key: "0")
    queue.add(first, isWatched: true, now: 1)
    #expect(queue.next(upTo: 1) == nil)
    #expect(queue.next(upTo: RefreshQueue.interval) == first)
  }

  @Test("a list that begins to be watched is brought up to date at once")
  func watchBegins() {
    let scene = app.scene()
    scene.call(1, "soon a 1")
    scene.finish(.max)
    scene.finish(.max)
    scene.call(2, "soon a 2")
    scene.finish(.max)
    scene.turn(3, by: RefreshQueue.interval)
    #expect(scene.shown() == ["a": "\"1\""])
    scene.request(3, .subscribe(TinyApp.list))
    scene.turn(2)
    #expect(scene.shown() == ["a": "\"2\""])
  }

  @Test("a list that is in memory alone is worked out anew when it is opened after a restart")
  func memoryAfterRestart() {
    let before = app.scene()
    _ = before.shown(TinyApp.live)
    before.call(1, "soon a 1")
    before.finish(.max)
    before.finish(.max)
    #expect(before.shown(TinyApp.live) == ["a": "\"1\""])
    let after = app.scene(before.disk)
    _ = after.shown(TinyApp.live)
    after.turn(2)
    #expect(after.shown(TinyApp.live) == ["a": "\"1\""])
  }

  @Test("of a list that is in memory alone nothing is worked out until somebody opens it, and then all of it")
  func unopened() {
    let scene = app.scene()
    for number in 1...3 as ClosedRange<UInt64> {
      scene.call(number, "soon a \(number)")
      scene.finish(.max)
      scene.finish(.max)
      scene.turn(2, by: 1000)
    }
    let before = app.workedOut.count
    #expect(scene.tapped.count == 3, "the list that is kept")
    _ = scene.shown(TinyApp.live)
    scene.turn(2)
    #expect(scene.shown(TinyApp.live) == ["a": "\"3\""])
    #expect(app.workedOut.count == before + 2, "once for each look: to look opens nothing")
  }

  @Test("an entry that the disk did not take is worked out again", arguments: [true, false])
  func refreshAfterFailure(refusedAtOnce: Bool) {
    let scene = app.scene()
    scene.call(1, "soon a 1")
    if refusedAtOnce {
      let completions = scene.disk.finish()
      scene.disk.refusal = .full("x")
      scene.perform { scene.core.complete(completions, in: &$0) }
      scene.disk.refusal = nil
    } else {
      scene.finish()
      scene.finish(error: .full("x"))
    }
    #expect(scene.shown() == [:])
    scene.turn(3, by: 1000)
    #expect(scene.shown() == ["a": "\"1\""])
  }

  @Test("an entry that shows what is not on disk yet fails with it")
  func refreshUponFailure() {
    let scene = app.scene()
    _ = scene.shown(TinyApp.live)
    scene.call(1, "soon a 1")
    scene.finish(.max)
    scene.finish(.max)
    scene.call(2, "soon a 2")
    scene.finish()
    scene.call(3, "soon a 3")
    scene.pass(RefreshQueue.unwatchedInterval)
    scene.finish(error: .full("x"))
    scene.finish(.max)
    scene.turn(5, by: 1000)
    #expect(scene.shown() == ["a": "\"2\""])
    #expect(scene.shown(TinyApp.live) == ["a": "\"2\""])
  }
}
