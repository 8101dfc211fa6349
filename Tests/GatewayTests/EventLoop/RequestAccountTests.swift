import Testing

@testable import Gateway

@Suite("The account of an event loop's requests")
struct RequestAccountTests {
  @Test("one mark is under way at a time, and takes off what was posted before it")
  func marks() {
    var account = RequestAccount(window: 100)
    var marks = [account.post(50), account.post(1), account.post(50)]
    #expect(marks == [false, true, false], "at more than half, and no second one")
    #expect(account.isOverdrawn && !account.mayGoOn)
    marks = [account.taken()]
    #expect(marks == [false])
    #expect(!account.isOverdrawn && account.mayGoOn)
    marks = [account.post(1), account.post(60), account.taken(), account.taken()]
    #expect(marks == [true, false, true, false], "what came after the mark was more than half")
    #expect(account.mayGoOn)
  }

  @Test("whoever is held is let go in the end, whatever was posted", arguments: 1...200 as ClosedRange<UInt64>)
  func neverStuck(seed: UInt64) {
    var random = SplitMix(state: seed)
    var account = RequestAccount(window: 1000)
    var marks = 0
    var isHeld = false
    for _ in 0..<200 {
      if !isHeld || Int.random(in: 0..<4, using: &random) == 0 {
        if account.post(Int.random(in: 0...400, using: &random)) { marks += 1 }
        if account.isOverdrawn { isHeld = true }
      }
      #expect(marks <= 1 && (!isHeld || marks == 1), "who is held waits for a mark")
      if marks > 0 && Int.random(in: 0..<3, using: &random) == 0 {
        marks = account.taken() ? 1 : 0
        if account.mayGoOn { isHeld = false }
      }
    }
  }
}
