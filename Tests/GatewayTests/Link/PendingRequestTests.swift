import Testing
import Wire

@testable import Gateway

@Suite("PendingRequests, in any order of answers")
struct PendingRequestOrderTests {
  @Test("requests are found whatever was answered between, and the oldest of them is known")
  func matchesADictionary() {
    var pending = PendingRequests()
    var expected: [UInt64: BrokerRequest] = [:]
    var state: UInt64 = 5
    for step in 0..<8_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      // Half of the time more requests come than are answered, so that the table grows and shrinks.
      if (state >> 33) % 10 < (step % 3_000 < 1_500 ? 6 : 4) {
        let request = BrokerRequest.channels(prefix: "\(step)")
        expected[pending.add(request, .resync, deadline: Int64(step))] = request
      } else if let id = expected.keys.min().map({ $0 + (state >> 40) % 3_000 }) {
        #expect(pending[id]?.request == expected[id])
        #expect(pending.remove(id)?.request == expected.removeValue(forKey: id))
      }
      #expect(pending.bytes == 128 * expected.count)
      #expect(pending.isEmpty == expected.isEmpty)
      if step % 100 == 0 {
        #expect(pending.oldest == expected.keys.min() ?? pending.nextID)
        #expect(pending.all.map(\.id) == expected.keys.sorted())
        #expect(pending.places <= max(1025, 2 * expected.count + 1))
      }
    }
    #expect(pending.remove(pending.nextID) == nil)
    #expect(pending.remove(0) == nil)
  }

  @Test("a request without a place any more changes nothing")
  func unknown() {
    var pending = PendingRequests()
    let id = pending.add(.channels(prefix: ""), .resync, deadline: 0)
    pending.markSent(id)
    pending.markSent(id + 1)
    pending.abandon(id + 1)
    #expect(pending[id]?.wasSent == true)
    #expect(pending[id]?.purpose == .resync)
  }
}
