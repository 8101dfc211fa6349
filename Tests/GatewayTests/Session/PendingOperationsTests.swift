import Testing

@testable import Gateway

@Suite("Pending operations")
struct PendingOperationsTests {
  @Test("Answers in any order find their operations, each once")
  func anyOrder() {
    for step in [1, 3, 7, 31, 99] {
      var operations = PendingOperations()
      for tag in 1...100 as ClosedRange<UInt64> { operations.append(.publish(id: UInt32(tag)), tag: tag) }
      for turn in 0..<100 {
        let tag = UInt64(turn * step % 100 + 1)
        guard case .publish(let id)? = operations[tag] else {
          Issue.record("operation \(tag) is not there")
          continue
        }
        #expect(id == UInt32(tag))
        #expect(operations.removeValue(forKey: tag) != nil)
        #expect(operations.removeValue(forKey: tag) == nil)
        #expect(operations.count == 99 - turn)
        operations.append(.refresh(id: 1), tag: UInt64(101 + turn))
        #expect(operations.removeValue(forKey: UInt64(101 + turn)) != nil)
      }
      #expect(operations.isEmpty)
    }
  }

  @Test("An operation is replaced where it stands, and what is not wanted any more is dropped")
  func replaced() {
    var operations = PendingOperations()
    for tag in 1...3 as ClosedRange<UInt64> { operations.append(.publish(id: UInt32(tag)), tag: tag) }
    operations[2] = .presence(id: 9)
    #expect(operations.count == 3)
    operations.updateValues { if case .presence = $0 { $0 } else { nil } }
    #expect(operations.count == 1)
    guard case .presence(id: 9)? = operations[2] else {
      Issue.record("the operation that was put in place of another is not there")
      return
    }
  }
}
