import Testing
import Wire

@Suite("Rendezvous hashing")
struct RendezvousTests {
  private let names = ["broker-1", "broker-2", "broker-3"]

  private func preferred(_ names: [String], partitions: Int) -> [String?] {
    (0..<partitions).map { Rendezvous.first(of: names, for: $0) }
  }

  @Test("Weights are what they were in the first version, since brokers of several versions must weigh alike")
  func stable() {
    #expect(Rendezvous.weight(of: "a", for: 0) == 0x4fab_5c61_6461_1161)
    #expect(Rendezvous.weight(of: "broker-1", for: 63) == 0x094c_6aa5_9b36_0286)
    #expect(Rendezvous.weight(of: "\u{E9}", for: 7) == 0x03f8_1f32_feb7_7c12)
  }

  @Test("Names that are nearly alike have about as many partitions each, whatever order they come in")
  func even() {
    let found = preferred(names, partitions: 12)
    #expect(found == preferred(names.reversed(), partitions: 12))
    for name in names { #expect((1...7).contains(found.count { $0 == name }), "\(name)") }
    let many = (1...20).map { "host\($0)" }
    let counts = Dictionary(grouping: preferred(many, partitions: 10_000)) { $0 }.mapValues(\.count)
    #expect(counts.count == 20 && counts.values.allSatisfy { (400...600).contains($0) })
  }

  @Test("A name that goes away has only its own partitions moved, and one that comes takes only those that it gets")
  func moves() {
    let before = preferred(names, partitions: 64)
    for gone in names {
      let after = preferred(names.filter { $0 != gone }, partitions: 64)
      for (old, new) in zip(before, after) { #expect(old == gone ? new != gone : new == old) }
    }
    #expect(Rendezvous.first(of: [], for: 0) == nil && Rendezvous.first(of: ["x"], for: 9) == "x")
  }
}
