import Foundation
import NIOCore
import Testing
import Wire

@testable import Gateway

@Suite("Sending, beside and through the channel")
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
    try withListener({ $0.queueLimitBytes = 64 << 20 }) { harness throws in
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
      #expect(try harness.wait { try harness.onLoop { $0.drained } == 1 })
      #expect(try harness.onLoop { $0.connection.queuedBytes } == 0)
      // And straight out again.
      try harness.onLoop { $0.connection.send(ServerFrame.message([9], format: .json)) }
      #expect(try harness.onLoop { $0.connection.queuedBytes } == 0)
      #expect(try client.readFrame()?.payload == [9])
    }
  }

  @Test("a slice of a shared buffer is sent as it stands there")
  func slice() throws {
    try withListener { harness throws in
      let client = try connect(harness)
      try harness.onLoop { session in
        let tape = ServerFrame.message([1], format: .json) + ServerFrame.message([2], format: .json)
        session.connection.send(tape, in: 3..<6)
      }
      #expect(try client.readFrame()?.payload == [2])
    }
  }

  @Test("a slow reader is closed with 3008, and everybody else gets every message")
  func slowReader() throws {
    try withListener(
      loops: 1,
      {
        $0.queueLimitBytes = 100_000
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
      #expect(try harness.wait { try harness.onLoop(0) { $0.closed } == 1 })
      #expect(try harness.wait { try harness.onLoop(0) { $0.connection.queuedBytes } == 0 })
      #expect(harness.listener.counters.slowConnections == 1)
      #expect(try harness.onLoop(1) { $0.connection.isOpen })
      withExtendedLifetime(slow) {}
    }
  }

  @Test("a slow reader that wakes up in time is told why it is closed")
  func slowReaderIsTold() throws {
    try withListener({
      $0.queueLimitBytes = 1_000
      $0.slowCloseGraceMilliseconds = 15_000
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
    try withListener({ $0.slowCloseGraceMilliseconds = 50 }) { harness throws in
      let client = try connect(harness, receiveBufferBytes: 4_096)
      let pings = [[UInt8]](repeating: ListenerRawClient.frame(0x89, [UInt8](repeating: 7, count: 125)), count: 500)
      var batches = 0
      do {
        while batches < 2_000, try harness.onLoop(0, { $0.closed }) == 0 {
          try client.send(Array(pings.joined()))
          batches += 1
        }
      } catch ListenerRawClient.Failure.cannotSend {}
      #expect(try harness.wait { try harness.onLoop { $0.closed } == 1 })
      #expect(harness.listener.counters.slowConnections == 1)
    }
  }

  @Test("no byte of a connection reaches another that was given the same descriptor")
  func descriptorReuse() throws {
    try withListener { harness throws in
      // Each connection is sent its own number from its loop, again and again, while its peer leaves at any moment, so
      // that the kernel gives the descriptor to the next at once.
      let rounds = 300
      for round in 0..<rounds {
        let client = try connect(harness)
        try harness.onLoop(round) { session in Self.keepSending(session) }
        for _ in 0..<(round % 5) {
          guard let frame = try client.readFrame() else { continue }
          let mine = try harness.onLoop(round) { $0.connection.id }
          guard frame.payload.starts(with: Self.numbered(mine, 0, size: 0).prefix(8)) else {
            Issue.record("connection \(mine) got a frame of another")
            return
          }
        }
        if round % 2 == 0 { try harness.onLoop(round) { $0.connection.close(.normal) } }
      }
      for round in 0..<rounds { #expect(try harness.wait { try harness.onLoop(round) { $0.closed } == 1 }) }
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
    }
  }

  /// Until the connection ends: one frame a turn of its event loop, sent also after the end, when it must be dropped.
  private static func keepSending(_ session: ListenerHarness.Session, number: Int = 0) {
    guard number < 2_000, session.closed == 0 || number % 50 != 0 else { return }
    session.connection.send(ServerFrame.message(numbered(session.connection.id, number, size: 64), format: .protobuf))
    session.connection.eventLoop.assumeIsolated().execute { keepSending(session, number: number + 1) }
  }
}
