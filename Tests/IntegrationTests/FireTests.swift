import Foundation
import Testing

/// What judges whether a fire has done harm.
@Suite("The ledger of a fire")
struct FireTests {
  private static func record(acknowledging numbers: Int...) -> FireRecord {
    let record = FireRecord()
    for _ in 0..<(numbers.max() ?? 0) { _ = record.next("w") }
    for number in numbers { record.acknowledge("w", number) }
    return record
  }

  @Test("notices what is missing from a history, twice in it, out of order, or was never sent")
  func faults() {
    let record = Self.record(acknowledging: 1, 3)
    // What was not acknowledged may be there or not.
    #expect(record.faults(in: ["w-1", "w-3"]) == [])
    #expect(record.faults(in: ["w-1", "w-2", "w-3"]) == [])
    #expect(record.faults(in: ["w-1", "w-2"]) == ["w: acknowledged and missing [3]"])
    #expect(record.faults(in: ["w-1", "w-3", "w-3"]) == ["w-3 twice", "w-3 after w-3"])
    #expect(record.faults(in: ["w-3", "w-1"]) == ["w-1 after w-3"])
    #expect(record.faults(in: ["w-1", "w-3", "w-4"]) == ["w-4 was never sent"])
    #expect(record.faults(in: ["w-1", "w-3", "x-1"]) == ["x-1 was never sent"])
    #expect(record.faults(in: ["w-1", "w-3", "noise"]) == ["noise was never sent"])
  }

  @Test("notices a subscriber to whom something is missing, twice, out of order, or told under another offset")
  func seen() {
    let (first, second) = (Peer.Publication(offset: 1, data: "w-1"), Peer.Publication(offset: 2, data: "w-2"))
    let history = ["w-1", "w-2"]
    #expect(FireRecord.faults(of: [first, second], against: history) == [])
    for wrong in [[], [first], [second], [first, first], [first, second, second], [second, first]] {
      #expect(FireRecord.faults(of: wrong, against: history) != [], "\(wrong)")
    }
    for offset in [nil, 0, 1, 3] as [UInt64?] {
      let told = Peer.Publication(offset: offset, data: "w-2")
      #expect(FireRecord.faults(of: [first, told], against: history).count == 1, "\(told)")
    }
  }
}
