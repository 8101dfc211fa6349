import Testing
import Wire

@Suite("The audit")
struct AuditTests {
  @Test("each kind of event has a rate of its own, and what was left out is told with the next line")
  func bounded() {
    let clock = Counting()
    let audit = Audit(now: { clock.now }, write: { clock.lines.append($0) })
    for number in 0..<(Audit.rate.burst + 50) { audit.note(.signInRefused, ["number": "\(number)"]) }
    audit.note(.revocation, ["user": "ann"])
    #expect(clock.lines.count == Audit.rate.burst + 1)
    #expect(clock.lines.last?.event == .revocation && clock.lines.last?.leftOut == 0)
    clock.now += 1000
    audit.note(.signInRefused, ["cause": String(repeating: "x", count: 5000)])
    #expect(clock.lines.last?.leftOut == 50)
    #expect(clock.lines.last?.fields["cause"]?.count == 200)
    audit.note(.signInRefused, ["cause": "e" + String(repeating: "\u{301}", count: 5000)])
    #expect(clock.lines.last?.fields["cause"]?.utf8.count == 199)
  }

  /// For one thread.
  private final class Counting: @unchecked Sendable {
    var now: Int64 = 0
    var lines: [Audit.Line] = []
  }
}
