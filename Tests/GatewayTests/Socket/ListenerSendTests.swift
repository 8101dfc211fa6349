import Foundation
import NIOCore
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Sending, beside and through the channel", .ownThread)
struct ListenerSendTests {
  private func connect(_ harness: ListenerHarness, receiveBufferBytes: Int32? = nil) throws -> ListenerRawClient {
    let client = try ListenerRawClient(port: harness.port, receiveBufferBytes: receiveBufferBytes)
    try client.upgrade()
    return client
  }

  /// A message that tells its sender and its number, and fills `size` bytes.
  private static func numbered(_ sender: UInt64, _ number: Int, size: Int) -> [UInt8] {
    var payload = withUnsafeBytes(of: (sender, UInt64(number))) { Array($0) }
    payload += [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: max(0, size - payload.count))
    return payload
  }

  @Test("a reader that stalls and then reads gets every byte in order, though two ways lead to it")
  func order() throws {
    try withListener({ $0.answerLimitBytes = 64 << 20 }) { harness throws in
      let client = try connect(harness, receiveBufferBytes: 4_096)
      let count = 6_000
      // Far more than the socket's buffers hold: the first frames go straight out, the rest waits in the channel.
      try harness.onLoop { session in
        for number in 0..<count {
          let payload = Self.numbered(1, number, size: 16 + number % 3_000)
          session.connection.send(ServerFrame.message(payload, format: .protobuf))
        }
      }
      #expect(try harness.onLoop { $0.connection.queuedBytes } > 0)
      for number in 0..<count {
        let frame = try client.readFrame()
        guard frame?.payload == Self.numbered(1, number, size: 16 + number % 3_000) else {
          Issue.record("frame \(number) is not what was sent")
          return
        }
      }
      #expect(
        try harness.wait { try harness.onLoop { $0.connection.queuedBytes == 0 && $0.timesDrained >= 1 } })
      // Now that nothing waits, a frame goes straight out again.
      try harness.onLoop { $0.connection.send(ServerFrame.message([9], format: .json)) }
      #expect(try harness.onLoop { $0.connection.queuedBytes } == 0)
      #expect(try client.readFrame()?.payload == [9])
    }
  }

  @Test("a slow reader is closed with 3008, and everybody else gets every message")
  func slowReader() throws {
    try withListener(
      loops: 1,
      {
        $0.answerLimitBytes = 100_000
        $0.slowCloseGraceMilliseconds = 50
      }
    ) { harness throws in
      let slow = try connect(harness, receiveBufferBytes: 4_096)
      try harness.onLoop(0) { _ in }
      let fast = try connect(harness)
      try harness.onLoop(1) { _ in }
      let frame = ServerFrame.message([UInt8](repeating: 0x2A, count: 10_000), format: .protobuf)
      var sent = 0
      while try harness.onLoop(0, { $0.connection.isOpen }), sent < 10_000 {
        try harness.onLoop(0) { $0.connection.send(frame) }
        try harness.onLoop(1) { $0.connection.send(frame) }
        #expect(try fast.readFrame()?.payload.count == 10_000)
        sent += 1
        #expect(try harness.onLoop(0) { $0.connection.queuedBytes } <= 100_000 + frame.count + 64)
      }
      #expect(sent < 10_000)
      #expect(try harness.onLoop(0) { $0.connection.closeCode } == .slow)
      #expect(try harness.wait { try harness.onLoop(0) { $0.timesClosed } == 1 })
      #expect(try harness.wait { try harness.onLoop(0) { $0.connection.queuedBytes } == 0 })
      #expect(harness.listener.counters.slowConnections == 1)
      #expect(try harness.onLoop(1) { $0.connection.isOpen })
      withExtendedLifetime(slow) {}
    }
  }

  @Test("a slow reader that wakes up in time is told why it is closed")
  func slowReaderIsTold() throws {
    try withListener({
      $0.answerLimitBytes = 1_000
      $0.slowCloseGraceMilliseconds = 600_000
    }) { harness throws in
      let client = try connect(harness, receiveBufferBytes: 4_096)
      try harness.onLoop { session in
        let frame = ServerFrame.message([UInt8](repeating: 1, count: 100_000), format: .json)
        while session.connection.isOpen { session.connection.send(frame) }
      }
      var last: ListenerRawClient.Frame?
      while last?.closeCode == nil, let frame = try client.readFrame() { last = frame }
      #expect(last?.closeCode == 3008)
    }
  }

  @Test("a peer that pings and does not read is closed: the pongs that wait are bounded")
  func pingFlood() throws {
    try withListener({
      $0.slowCloseGraceMilliseconds = 50
      $0.answerLimitBytes = 1 << 30
      $0.egressLimitBytes = 1 << 30
    }) { harness throws in
      let client = try connect(harness, receiveBufferBytes: 4_096)
      let pings = [[UInt8]](repeating: ListenerRawClient.frame(0x89, [UInt8](repeating: 7, count: 125)), count: 500)
      var batches = 0
      do {
        while batches < 400, try harness.onLoop(0, { $0.timesClosed }) == 0 {
          try client.send(Array(pings.joined()))
          batches += 1
        }
      } catch ListenerRawClient.Failure.cannotSend {}
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
      #expect(harness.listener.counters.slowConnections == 1)
    }
  }

  @Test("no byte of a connection reaches another that was given its descriptor")
  func descriptorReuse() throws {
    try withListener { harness throws in
      // 1. A connection ends: its peer leaves, or we close it, in silence or while frames are being sent to it.
      // 2. The next one is accepted, and the kernel gives it the lowest free descriptor: the same number.
      // 3. Somebody who has not heard of the end sends to the first. That must go nowhere.
      for round in 0..<200 {
        var first: ListenerRawClient? = try connect(harness)
        let firstID = try harness.onLoop(2 * round) { $0.connection.id }
        try harness.onLoop(2 * round) { session in Self.keepSending(session, count: round % 2 == 0 ? 1 : 500) }
        #expect(try first?.readFrame()?.payload.prefix(8) == Self.numbered(firstID, 0, size: 16).prefix(8))
        if round % 3 == 0 { try harness.onLoop(2 * round) { $0.connection.close(.normal) } }
        first = nil
        #expect(try harness.wait { try harness.onLoop(2 * round) { $0.timesClosed } == 1 })

        let second = try connect(harness)
        let secondID = try harness.onLoop(2 * round + 1) { $0.connection.id }
        try harness.onLoop(2 * round) { session in
          session.connection.send(ServerFrame.message(Self.numbered(firstID, 7, size: 64), format: .protobuf))
          session.connection.close(.normal)
        }
        let mine = Self.numbered(secondID, 1, size: 64)
        try harness.onLoop(2 * round + 1) { $0.connection.send(ServerFrame.message(mine, format: .protobuf)) }
        guard try second.readFrame()?.payload == mine else {
          Issue.record("connection \(secondID) got a byte of another")
          return
        }
      }
    }
  }

  /// One frame a turn of the event loop, on beyond the connection's end.
  private static func keepSending(_ session: ListenerHarness.Session, number: Int = 0, count: Int) {
    guard number < count else { return }
    session.connection.send(ServerFrame.message(numbered(session.connection.id, number, size: 64), format: .protobuf))
    session.connection.eventLoop.assumeIsolated().execute { keepSending(session, number: number + 1, count: count) }
  }
}
