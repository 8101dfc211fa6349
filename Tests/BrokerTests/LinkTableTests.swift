import Testing
import Wire

@testable import Broker

@Suite("LinkTable")
struct LinkTableTests {
  @Test("links are found by gateway, few and many of them, whatever was removed between")
  func matchesADictionary() {
    var table = LinkTable()
    var expected: [UInt64: PeerLink] = [:]
    var state: UInt64 = 7
    for _ in 0..<5_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let gateway = (state >> 33) % 40
      if (state >> 20) % 3 == 0 {
        table.remove(gateway)
        expected[gateway] = nil
      } else {
        let link = PeerLink(gateway: gateway, session: state, now: 0)
        table.add(link)
        expected[gateway] = link
      }
      #expect(table.count == expected.count)
      #expect(table[gateway] === expected[gateway])
    }
    for gateway in 0..<40 as Range<UInt64> { #expect(table[gateway] === expected[gateway]) }
    #expect(table.sorted.map(\.gateway) == expected.keys.sorted())
    for gateway in expected.keys { table.remove(gateway) }
    #expect(table.isEmpty)
  }
}

@Suite("PublishResults")
struct PublishResultsTests {
  @Test("results near the oldest request and far from it are known until it has passed them")
  func matchesADictionary() {
    var results = PublishResults()
    var expected: [UInt64: PublishResults.Known] = [:]
    var oldest: UInt64 = 0
    var state: UInt64 = 3
    for step in 0..<30_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let spread = [4, 200, 10_000][Int((state >> 50) % 3)] as UInt64
      let request = oldest + (state >> 33) % spread
      switch (state >> 20) % 4 {
      case 0:
        results.started(request)
        expected[request] = .underWay
      case 1, 2:
        let response = BrokerResponse.presenceStats(clients: UInt32(step), users: 0)
        results.remember(response, for: request)
        expected[request] = .answered(response)
      default:
        let next = oldest + (state >> 40) % (step % 100 == 0 ? 9_000 : 12)
        results.forget(before: next)
        oldest = max(oldest, next)
        expected = expected.filter { $0.key >= oldest }
      }
      #expect(results[request] == expected[request] ?? (request < oldest ? .over : .nothing))
    }
    for (request, known) in expected { #expect(results[request] == known) }
  }

  @Test("a gateway that jumps ahead is not given a place for each number between")
  func jumps() {
    var results = PublishResults()
    results.started(.max - 1)
    results.started(1 << 40)
    #expect(results[.max - 1] == .underWay)
    #expect(results[1 << 40] == .underWay)
    results.forget(before: 1 << 41)
    #expect(results[1 << 40] == .over)
    #expect(results[.max - 1] == .underWay)
  }
}
