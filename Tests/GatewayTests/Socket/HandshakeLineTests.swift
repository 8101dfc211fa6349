import Testing
import Wire

@testable import Gateway

@Suite("Whose turn it is to begin a TLS handshake")
final class HandshakeLineTests {
  private var line = HandshakeLine(.init(), perTurn: 4)
  private let storm = IPAddress("192.0.2.66")
  private let honest = IPAddress("198.51.100.1")

  private func arrive(_ ids: ClosedRange<UInt64>, from address: IPAddress?) -> [RefusalCause?] {
    ids.map { line.arrive($0, from: address) }
  }

  /// Who begins now.
  private func begins() -> [UInt64] {
    var begun: [UInt64] = []
    while let id = line.next() { begun.append(id) }
    return begun
  }

  /// Who begins in the next turns, until nobody does.
  private func beginsInTurns() -> [UInt64] {
    var begun: [UInt64] = []
    while line.wantsTurn {
      line.turned()
      begun += begins()
    }
    return begun
  }

  @Test("a few begin in one turn, the others in the next ones, in their order, and all of them without a limit")
  func turns() {
    #expect(arrive(1...10, from: storm).allSatisfy { $0 == nil })
    #expect(begins() == [1, 2, 3, 4])
    #expect(line.wantsTurn)
    line.turned()
    #expect(begins() == [5, 6, 7, 8])
    #expect(beginsInTurns() == [9, 10])
    #expect(line.underWay == 10 && !line.wantsTurn)
  }

  @Test("more than may be under way wait until others are over, and are told for which limit")
  func limit() {
    line = HandshakeLine(.init(all: 2), perTurn: 4)
    _ = arrive(1...2, from: storm)
    #expect(begins() == [1, 2])
    #expect(arrive(3...5, from: honest) == [.tlsHandshakes, .tlsHandshakes, .tlsHandshakes])
    #expect(begins() == [])
    line.end(1)
    #expect(begins() == [3])
    line.end(4)
    line.end(2)
    line.end(3)
    line.turned()
    #expect(begins() == [5])
    line.end(5)
    #expect(line.underWay == 0 && line.ownerCount == 0)
  }

  @Test("addresses take turns: where thousands wait from one, another waits for one handshake of it")
  func addresses() {
    line = HandshakeLine(.init(all: 1), perTurn: 4)
    _ = arrive(1...5000, from: storm)
    #expect(begins() == [1])
    _ = arrive(9001...9002, from: honest)
    var order: [UInt64] = []
    var last: UInt64 = 1
    for _ in 0..<5 {
      line.end(last)
      line.turned()
      let begun = begins()
      #expect(begun.count == 1)
      last = begun.first ?? 0
      order.append(last)
    }
    #expect(order == [2, 9001, 3, 9002, 4])
  }

  @Test("an address that holds its share open leaves the others' to the others, and goes on with it when one ends")
  func share() {
    line = HandshakeLine(.init(all: 8, address: 3), perTurn: 4)
    let causes = arrive(1...6, from: storm)
    #expect(causes == [nil, nil, nil] + Array(repeating: .addressTLSHandshakes, count: 3))
    #expect(begins() == [1, 2, 3])
    #expect(arrive(7...7, from: storm) == [.addressTLSHandshakes])
    line.turned()
    #expect(begins() == [])
    #expect(arrive(11...12, from: honest) == [nil, nil])
    #expect(begins() == [11, 12])
    line.end(2)
    line.turned()
    #expect(begins() == [4])
    // A household's IPv6 addresses are one.
    _ = (21...24).map { line.arrive(UInt64($0), from: IPAddress("2001:db8:1:2::\($0)")) }
    line.turned()
    #expect(begins() == [21, 22, 23])
  }

  @Test("who is counted by no address has no share, and takes turns as one")
  func uncounted() {
    line = HandshakeLine(.init(all: 100, address: 1), perTurn: 4)
    _ = arrive(1...4, from: nil)
    _ = arrive(5...5, from: honest)
    #expect(begins() == [1, 5, 2, 3])
    #expect(beginsInTurns() == [4])
  }

  @Test("of those who came and left while they waited, nothing is kept")
  func left() {
    line = HandshakeLine(.init(all: 1), perTurn: 4)
    _ = arrive(1...1, from: storm)
    #expect(begins() == [1])
    for id in 2...100_000 as ClosedRange<UInt64> {
      _ = line.arrive(id, from: storm)
      line.end(id)
    }
    _ = arrive(200_000...200_000, from: storm)
    line.end(1)
    #expect(begins() == [200_000])
    line.end(200_000)
    #expect(begins() == [])
    #expect(line.ownerCount == 0 && line.underWay == 0)
    line.end(200_000)
    #expect(line.underWay == 0)
  }
}
