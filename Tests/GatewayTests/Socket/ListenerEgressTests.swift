import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("What waits for all connections", .ownThread)
struct ListenerEgressTests {
  private static func page(_ bytes: Int) -> [UInt8] {
    ServerFrame.message([UInt8](repeating: 0x2A, count: bytes), format: .protobuf)
  }

  /// The next connection, upgraded, and its number among the sessions.
  private func connect(_ harness: ListenerHarness, receiveBufferBytes: Int32? = nil) throws -> ListenerRawClient {
    let count = harness.sessionCount
    let client = try ListenerRawClient(port: harness.port, receiveBufferBytes: receiveBufferBytes)
    try client.upgrade()
    #expect(try harness.wait { harness.sessionCount > count })
    return client
  }

  @Test("a client that did not take its answers yet is full until it has taken most of them, and is not slow")
  func full() throws {
    try withListener({ $0.queueLimitBytes = 100_000 }) { harness throws in
      let client = try connect(harness, receiveBufferBytes: 4_096)
      // The page is larger than what any kernel takes ahead.
      try harness.onLoop { $0.connection.send(Self.page(20 << 20)) }
      #expect(try harness.onLoop { $0.connection.isFull && $0.connection.isOpen })
      #expect(try harness.onLoop { $0.connection.unaskedBytes } == 0)
      let before = try #require(try harness.onLoop { $0.connection.progress })
      #expect(before.isWaiting)
      #expect(try client.readFrame()?.payload.count == 20 << 20)
      #expect(try harness.wait { try harness.onLoop { $0.timesRelieved == 1 && !$0.connection.isFull } })
      #expect(try harness.wait { try harness.onLoop { $0.connection.progress?.isWaiting == false } })
      let after = try #require(try harness.onLoop { $0.connection.progress })
      #expect(after.takenBytes > before.takenBytes + 10 << 20)
      #expect(harness.listener.waitingEgressBytes == 0)
    }
  }

  @Test("many who ask for large pages and read none are closed, those with most first; who reads notices nothing")
  func budget() throws {
    let limit = 40 << 20
    try withListener({
      $0.egressLimitBytes = limit
      $0.answerLimitBytes = 1 << 30
    }) { harness throws in
      let honest = try connect(harness)
      let lazy = try connect(harness, receiveBufferBytes: 4_096)
      try harness.onLoop(1) { $0.connection.send(Self.page(8 << 20)) }
      var greedy: [ListenerRawClient] = []
      for number in 2..<14 {
        greedy.append(try connect(harness, receiveBufferBytes: 4_096))
        try harness.onLoop(number) { $0.connection.send(Self.page(16 << 20)) }
        try harness.onLoop(0) { $0.connection.send(Self.page(1_000)) }
        #expect(try honest.readFrame()?.payload.count == 1_000)
        #expect(try harness.wait { harness.listener.waitingEgressBytes <= limit })
      }
      let shed = harness.listener.counters.shedConnections
      // The kernel took some megabytes of each; what waits of four pages is always too much.
      #expect(shed >= 8)
      // Connections that were closed are really gone, with all that waited for them.
      #expect(try harness.wait { try (2..<14).filter { try harness.onLoop($0) { $0.timesClosed } == 1 }.count == shed })
      for index in 0...1 { #expect(try harness.onLoop(index) { $0.connection.isOpen }) }
      #expect(harness.refusals.count(.egress) == shed)
      #expect(try lazy.readFrame()?.payload.count == 8 << 20)
      withExtendedLifetime(greedy) {}
    }
  }

  @Test("when half of it is used up, whoever has an answer waiting is full; when it is free again, nobody is")
  func tight() throws {
    try withListener(
      loops: 1,
      {
        $0.egressLimitBytes = 32 << 20
        $0.queueLimitBytes = 1 << 30
      }
    ) { harness throws in
      let first = try connect(harness, receiveBufferBytes: 4_096)
      try harness.onLoop(0) { $0.connection.send(Self.page(7 << 20)) }
      #expect(try harness.onLoop(0) { !$0.connection.isFull })
      let second = try connect(harness, receiveBufferBytes: 4_096)
      try harness.onLoop(1) { $0.connection.send(Self.page(24 << 20)) }
      #expect(try harness.onLoop(1) { $0.connection.isFull })
      #expect(try second.readFrame()?.payload.count == 24 << 20)
      #expect(try harness.wait { try harness.onLoop(1) { $0.timesRelieved == 1 } })
      #expect(try first.readFrame()?.payload.count == 7 << 20)
      #expect(try harness.wait { harness.listener.waitingEgressBytes == 0 })
    }
  }
}
