import TestSupport
import Testing

@testable import Gateway

@Suite("ProxyBreaker")
struct ProxyBreakerTests {
  private let limits = ProxyBreaker.Limits(failures: 3, openMilliseconds: 1000)

  private func permit(_ breaker: inout ProxyBreaker, at now: Int64 = 0) throws -> ProxyBreaker.Permit {
    let permit = breaker.admit(at: now)
    return try #require(permit)
  }

  private func opened(at now: Int64 = 0) throws -> ProxyBreaker {
    var breaker = ProxyBreaker(limits)
    for _ in 0..<3 { breaker.ended(try permit(&breaker), .failed, at: now) }
    return breaker
  }

  @Test("so many failures in a row open it, and an answer between them begins the row anew")
  func opens() throws {
    var breaker = ProxyBreaker(limits)
    for outcome in [ProxyBreaker.Outcome.failed, .failed, .answered, .failed, .failed] {
      breaker.ended(try permit(&breaker), outcome, at: 0)
    }
    #expect(breaker.state == .closed(failures: 2))
    breaker.ended(try permit(&breaker), .failed, at: 5)
    #expect(breaker.state == .open(until: 1005))
    #expect(breaker.admit(at: 1004) == nil)
  }

  @Test("after its time one call is a trial, and no other goes through meanwhile")
  func trial() throws {
    var breaker = try opened()
    let trial = try permit(&breaker, at: 1000)
    #expect(breaker.state == .halfOpen)
    #expect(breaker.admit(at: 9999) == nil)
    breaker.ended(trial, .answered, at: 9999)
    #expect(breaker.state == .closed(failures: 0))
    #expect(breaker.admit(at: 9999) != nil)
  }

  @Test("a trial that fails opens it again, and one that was not made leaves the next call to try")
  func failedTrial() throws {
    var breaker = try opened()
    breaker.ended(try permit(&breaker, at: 1000), .failed, at: 1100)
    #expect(breaker.state == .open(until: 2100))
    breaker.ended(try permit(&breaker, at: 2100), .notMade, at: 2200)
    #expect(breaker.admit(at: 2200) != nil)
    #expect(breaker.state == .halfOpen)
  }

  @Test("what calls of an earlier state come to changes nothing, neither an answer nor a failure")
  func late() throws {
    var breaker = ProxyBreaker(limits)
    let old = try (0..<5).map { _ in try permit(&breaker) }
    for permit in old[..<3] { breaker.ended(permit, .failed, at: 0) }
    #expect(breaker.state == .open(until: 1000))
    breaker.ended(old[3], .answered, at: 10)
    #expect(breaker.state == .open(until: 1000))
    let trial = try permit(&breaker, at: 1000)
    breaker.ended(old[4], .failed, at: 1001)
    #expect(breaker.state == .halfOpen)
    breaker.ended(trial, .answered, at: 1002)
    #expect(breaker.state == .closed(failures: 0))
  }

  @Test("with no number of failures it never opens")
  func never() throws {
    var breaker = ProxyBreaker(.init(failures: 0, openMilliseconds: 1000))
    for _ in 0..<100 { breaker.ended(try permit(&breaker), .failed, at: 0) }
    #expect(breaker.admit(at: 0) != nil)
  }

  /// The rules once more, as somebody would tell them who watches from outside and knows no permit's insides.
  private struct Watcher {
    var isTrying = false
    var failures = 0
    var closedUntil: Int64 = 0
    var isOpen = false
    var round = 0

    mutating func mayCall(_ now: Int64) -> Bool { isOpen ? !isTrying && now >= closedUntil : true }

    mutating func ended(_ begunIn: Int, _ outcome: ProxyBreaker.Outcome, _ now: Int64, _ limits: ProxyBreaker.Limits) {
      guard begunIn == round else { return }
      switch outcome {
      case .answered:
        failures = 0
        if isOpen { (isOpen, isTrying, round) = (false, false, round + 1) }
      case .failed:
        failures += 1
        guard isOpen || failures >= limits.failures else { return }
        (isOpen, isTrying, failures, round) = (true, false, 0, round + 1)
        closedUntil = now + limits.openMilliseconds
      case .notMade:
        if isOpen { (isTrying, round, closedUntil) = (false, round + 1, now) }
      }
    }
  }

  @Test("whatever ends in whatever order, it does what its rules say", arguments: 0..<200)
  func seeded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let limits = ProxyBreaker.Limits(
      failures: Int.random(in: 1...4, using: &random), openMilliseconds: Int64.random(in: 1...50, using: &random))
    var breaker = ProxyBreaker(limits)
    var watcher = Watcher()
    var underWay: [(permit: ProxyBreaker.Permit, round: Int)] = []
    var now: Int64 = 0
    for _ in 0..<400 {
      now += Int64.random(in: 0...10, using: &random)
      if underWay.isEmpty || Bool.random(using: &random) {
        let mayCall = watcher.mayCall(now)
        let permit = breaker.admit(at: now)
        #expect((permit != nil) == mayCall, "seed \(seed)")
        guard let permit else { continue }
        if watcher.isOpen {
          watcher.isTrying = true
          watcher.round += 1
        }
        underWay.append((permit, watcher.round))
      } else {
        let ended = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
        let outcome = [ProxyBreaker.Outcome.answered, .failed, .failed, .notMade].randomElement(using: &random)
        breaker.ended(ended.permit, outcome ?? .failed, at: now)
        watcher.ended(ended.round, outcome ?? .failed, now, limits)
      }
    }
  }
}
