import Testing
import Wire

/// A macro cannot call what mutates a value, so the value stands behind a reference.
private final class Ledger {
  private var value = RefusalLedger()

  @discardableResult
  func note(_ cause: RefusalCause, from source: String) -> RefusalLedger.Line? { value.note(cause, from: source) }
  func drain() -> [RefusalLedger.Line] { value.drain() }
}

@Suite("The ledger of refusals")
struct RefusalLedgerTests {
  private let full = RefusalCause("full", "the server is full; see server.max_connections")
  private let fast = RefusalCause("fast", "too many commands")

  @Test("The first is told at once, the rest in one line a minute")
  func lines() {
    let ledger = Ledger()
    #expect(ledger.note(full, from: "192.0.2.1") == .init(cause: full, count: 1, source: "192.0.2.1", sourceCount: 1))
    for _ in 0..<99 { #expect(ledger.note(full, from: "192.0.2.7") == nil) }
    #expect(ledger.note(full, from: "192.0.2.1") == nil)
    #expect(ledger.note(fast, from: "ada") != nil)
    #expect(ledger.drain() == [.init(cause: full, count: 100, source: "192.0.2.7", sourceCount: 99)])
  }

  @Test("A cause that was quiet for a minute is told at once again")
  func quietMinute() {
    let ledger = Ledger()
    ledger.note(full, from: "a")
    ledger.note(full, from: "a")
    #expect(ledger.drain().count == 1)
    #expect(ledger.note(full, from: "a") == nil)
    #expect(ledger.drain().count == 1)
    #expect(ledger.drain().isEmpty)
    #expect(ledger.note(full, from: "a") != nil)
  }

  @Test("The one who is refused most stands out among any number of others")
  func heavyHitter() throws {
    let ledger = Ledger()
    ledger.note(full, from: "first")
    for number in 0..<30_000 { ledger.note(full, from: number % 3 == 0 ? "attacker" : "other \(number)") }
    let line = try #require(ledger.drain().first)
    #expect(line.count == 30_000)
    #expect(line.source == "attacker")
    #expect(line.sourceCount > 0 && line.sourceCount <= 10_000)
  }

  @Test("A long source is cut")
  func longSource() {
    let ledger = Ledger()
    #expect(ledger.note(full, from: String(repeating: "x", count: 70_000))?.source.count == 64)
  }
}
