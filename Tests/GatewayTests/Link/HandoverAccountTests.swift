import Testing

@testable import Gateway

@Suite("HandoverAccount")
struct HandoverAccountTests {
  /// Held in a class, so that expectations can look at it.
  private final class Account {
    private var account: HandoverAccount

    init(loops: Int) { account = HandoverAccount(loops: loops) }

    func note(bytes: Int, share: Int, to loop: Int) { account.note(bytes: bytes, share: share, to: loop) }
    func heldBytes(_ held: (Int) -> UInt64) -> UInt64 { account.heldBytes(held) }
  }

  @Test("what went to all event loops counts once, however many hold it")
  func shared() {
    let account = Account(loops: 4)
    for loop in 0..<4 { account.note(bytes: 10_000, share: 2500, to: loop) }
    #expect(account.heldBytes { _ in 10_000 } == 10_000)
    #expect(account.heldBytes { $0 == 2 ? 10_000 : 0 } == 10_000)
    #expect(account.heldBytes { _ in 0 } == 0)
  }

  @Test("what went to one event loop each is added up")
  func apart() {
    let account = Account(loops: 3)
    for loop in 0..<3 { account.note(bytes: 10_000, share: 10_000, to: loop) }
    #expect(account.heldBytes { _ in 10_000 } == 30_000)
    #expect(account.heldBytes { $0 == 0 ? 0 : 10_000 } == 20_000)
  }

  @Test("a part that is worked off is let go of, in order; more than was handed over cannot be held")
  func parts() {
    let account = Account(loops: 2)
    account.note(bytes: 8000, share: 8000, to: 0)
    account.note(bytes: 8000, share: 4000, to: 0)
    account.note(bytes: 8000, share: 4000, to: 1)
    #expect(account.heldBytes { $0 == 0 ? 16_000 : 8000 } == 16_000)
    #expect(account.heldBytes { _ in 8000 } == 8000)
    #expect(account.heldBytes { $0 == 0 ? 1000 : 0 } == 4000)
    // Frames on tapes may be a little larger than what came.
    #expect(account.heldBytes { $0 == 0 ? 0 : 9000 } == 9000)
    #expect(account.heldBytes { _ in 0 } == 0)
  }

  @Test("a loop that lags costs no mark for each small message")
  func small() {
    let account = Account(loops: 1)
    for _ in 0..<100_000 { account.note(bytes: 100, share: 100, to: 0) }
    #expect(account.heldBytes { _ in 10_000_000 } == 10_000_000)
    let half = account.heldBytes { _ in 5_000_000 }
    #expect((5_000_000...5_010_000).contains(half))
    #expect(account.heldBytes { _ in 0 } == 0)
  }
}
