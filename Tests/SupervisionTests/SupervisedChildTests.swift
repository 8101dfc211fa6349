import Testing

@testable import Supervision

@Suite("A process that is started again whenever it ends")
struct SupervisedChildTests {
  private let rules = SupervisedChild.Rules(patience: 15_000)

  private func begun(at now: Int64 = 0) -> SupervisedChild { SupervisedChild(rules, at: now) }

  private func running(as process: Int32 = 7, at now: Int64 = 0) -> SupervisedChild {
    var child = begun(at: now)
    #expect(child.look(at: now) == .start)
    child.started(as: process, at: now)
    return child
  }

  @Test("It is started at once, and once")
  func start() {
    var child = begun(at: 100)
    #expect(child.nextLook == 100 && child.look(at: 99) == nil)
    #expect(child.look(at: 100) == .start && child.look(at: 100) == nil && child.nextLook == nil)
    child.started(as: 7, at: 101)
    #expect(child.state == .running(process: 7, since: 101) && child.nextLook == nil)
    #expect(child.look(at: 1_000_000) == nil)
  }

  @Test("After an end in order it is started again at once: another broker has taken over, and this one gets in line")
  func handedOver() {
    var child = running()
    #expect(child.ended(7, code: 0, at: 600) == .init(ran: 600, restartsAfter: 0))
    #expect(child.look(at: 600) == .start)
  }

  @Test("An end in order that comes too soon counts as a failure: nothing starts in a loop without a pause")
  func tooSoon() {
    var child = running()
    #expect(child.ended(7, code: 0, at: 499) == .init(ran: 499, restartsAfter: 500))
    #expect(child.look(at: 998) == nil && child.look(at: 999) == .start)
  }

  @Test(
    "After failures it waits longer each time, up to ten seconds; a run of half a minute begins anew",
    arguments: [1, -9])
  func failures(_ code: Int32) {
    var child = begun()
    var now: Int64 = 0
    for expected: Int64 in [500, 1000, 2000, 4000, 8000, 10_000, 10_000] {
      #expect(child.look(at: now) == .start)
      child.started(as: 7, at: now)
      now += 29_999
      #expect(child.ended(7, code: code, at: now) == .init(ran: 29_999, restartsAfter: expected))
      #expect(child.nextLook == now + expected && child.look(at: now + expected - 1) == nil)
      now += expected
    }
    #expect(child.look(at: now) == .start)
    child.started(as: 8, at: now)
    now += 30_000
    #expect(child.ended(8, code: code, at: now) == .init(ran: 30_000, restartsAfter: 500))
  }

  @Test("Where it cannot be started, it waits as after a failure")
  func cannotStart() {
    var child = begun()
    #expect(child.look(at: 0) == .start)
    #expect(child.couldNotStart(at: 0) == 500 && child.state == .waiting(until: 500))
    #expect(child.look(at: 500) == .start)
    #expect(child.couldNotStart(at: 500) == 1000)
  }

  @Test("When the parent stops it is told to end, and killed at the deadline, and not started again")
  func stop() {
    var ends = running()
    #expect(ends.stop(at: 1000) == .terminate(process: 7) && ends.stop(at: 1001) == nil)
    #expect(ends.nextLook == 16_000 && ends.look(at: 15_999) == nil && !ends.hasEnded)
    #expect(ends.ended(7, code: 0, at: 2000) == .init(ran: 2000, restartsAfter: nil))
    #expect(ends.hasEnded && ends.look(at: 100_000) == nil && ends.nextLook == nil)

    var hangs = running()
    #expect(hangs.stop(at: 1000) == .terminate(process: 7))
    #expect(hangs.look(at: 16_000) == .kill(process: 7) && hangs.look(at: 16_000) == nil && hangs.nextLook == nil)
    #expect(hangs.ended(7, code: -9, at: 16_001) == .init(ran: 16_001, restartsAfter: nil) && hangs.hasEnded)
  }

  @Test("When the parent stops while it waits to be started again, it stays away")
  func stopWaiting() {
    var child = running()
    #expect(child.ended(7, code: 1, at: 10) != nil)
    #expect(child.stop(at: 20) == nil && child.hasEnded && child.look(at: 10_000) == nil)
  }

  @Test("What is said of another process, or too late, changes nothing")
  func others() {
    var child = running()
    #expect(child.ended(8, code: 0, at: 5) == nil && child.state == .running(process: 7, since: 0))
    child.started(as: 9, at: 6)
    #expect(child.couldNotStart(at: 6) == nil && child.state == .running(process: 7, since: 0))
    #expect(child.ended(7, code: 0, at: 1000) != nil)
    #expect(child.ended(7, code: 0, at: 1001) == nil && child.state == .waiting(until: 1000))
  }
}
