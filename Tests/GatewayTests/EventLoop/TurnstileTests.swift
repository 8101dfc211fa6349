import Testing

@testable import Gateway

@Suite("Turnstile")
struct TurnstileTests {
  /// What went through, and how often a look at the sockets was asked for.
  private final class Record {
    var through: [Int] = []
    var looks = 0
  }

  @Test("all go through at once where nobody asked for few at a time")
  func open() {
    let (turnstile, record) = (Turnstile(), Record())
    for number in 0..<1000 { turnstile.enter { record.through.append(number) } }
    #expect(record.through == Array(0..<1000))
    #expect(!turnstile.isPaced)
  }

  @Test("few go through between two looks, in order, and looks are asked for as long as somebody waits")
  func few() {
    let (turnstile, record) = (Turnstile(), Record())
    turnstile.open(to: 3) { record.looks += 1 }
    for number in 0..<3 { turnstile.enter { record.through.append(number) } }
    #expect(record.through == [0, 1, 2])
    #expect(record.looks == 0)
    for number in 3..<8 { turnstile.enter { record.through.append(number) } }
    #expect(record.through == [0, 1, 2])
    #expect(record.looks > 0)
    turnstile.passed()
    #expect(record.through == Array(0..<6))
    // Whoever comes now stands behind those who wait.
    turnstile.enter { record.through.append(8) }
    let looks = record.looks
    turnstile.passed()
    #expect(record.through == Array(0..<9))
    #expect(record.looks == looks)
    turnstile.passed()
    for number in 9..<12 { turnstile.enter { record.through.append(number) } }
    #expect(record.through == Array(0..<12))
    #expect(record.looks == looks)
  }

  @Test("somebody may enter while another goes through")
  func nested() {
    let (turnstile, record) = (Turnstile(), Record())
    turnstile.open(to: 1) { record.looks += 1 }
    turnstile.enter {
      record.through.append(1)
      turnstile.enter { record.through.append(2) }
    }
    #expect(record.through == [1])
    turnstile.passed()
    #expect(record.through == [1, 2])
  }
}
