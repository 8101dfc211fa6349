import Testing
import ZeroMQ

@Suite struct MessageTests {
  @Test("A message holds a copy of its bytes", arguments: [0, 1, 33, 34, 100_000])
  func copies(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let message = try Message(bytes)
    #expect(message.count == count)
    #expect(message.copyBytes() == bytes)
  }

  @Test("A share refers to the same large payload instead of copying it")
  func shares() throws {
    var message = try Message([UInt8](repeating: 7, count: 10_000))
    let share = try message.share()
    #expect(address(message) == address(share))
  }

  @Test("A share outlives the message it came from")
  func shareOutlives() throws {
    func make() throws -> Message {
      var message = try Message([UInt8](repeating: 9, count: 10_000))
      return try message.share()
    }
    let share = try make()
    #expect(share.copyBytes() == [UInt8](repeating: 9, count: 10_000))
  }

  private func address(_ message: borrowing Message) -> UInt {
    message.withBytes { bytes in bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
  }
}
