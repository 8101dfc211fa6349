import Foundation
import TestSupport
import Testing

/// Nobody waits for a client that does not read.
@Suite("A slow reader", .ownThread)
struct SlowReaderTests {
  @Test(
    "It is disconnected and recovers everything later, while the others get everything at once",
    arguments: ["mem:flood", "dur:flood"])
  func slow(_ channel: String) async throws {
    try await Deployment.with(.serve, settings: ["client.queue_bytes=512KiB"]) { deployment in
      let slow = try await deployment.client("sam", receiveBufferBytes: 4096)
      let fast = try await deployment.client("fay")
      let start = try await slow.subscribe(channel).position
      try await fast.subscribe(channel)
      slow.socket.pauseReading()
      let service = try deployment.service()
      let filling = String(repeating: "x", count: 8192)
      // Beyond what the queue and both kernels' buffers hold (6 MiB at most for the sender's).
      let expected = (1...1200).map { "\($0) \(filling)" }
      // In portions that fit the queue: who reads must not be taken for slow.
      for start in stride(from: 0, to: expected.count, by: 30) {
        let asked = expected[start..<(start + 30)].map { service.sendPublish($0, to: channel) }
        #expect(await eventually { asked.allSatisfy { service.answer($0)?.isError == false } })
        try #require(await eventually { fast.publications(channel).count >= start + 30 })
      }
      let fastGotAll = fast.data(channel) == expected
      #expect(fastGotAll)
      #expect(fast.socket.closing == nil)
      slow.socket.resumeReading()
      #expect(await eventually(within: .seconds(60)) { slow.socket.closing != nil })
      // One that wakes up after the grace finds its connection cut, without a code; nothing else may have ended it.
      let end = try #require(slow.socket.closing)
      #expect(end.code == 3008 || end.code == nil, "\(end)")
      let seen = slow.data(channel)
      #expect(seen.count < expected.count)
      let isPrefix = seen == Array(expected.prefix(seen.count))
      #expect(isPrefix)

      // In pages far larger than what may wait for a slow reader: it asked for them.
      let again = try await deployment.client("sam")
      var position = Peer.Position(epoch: start.epoch, offset: start.offset + UInt64(seen.count))
      var recovered: [String] = []
      while recovered.count < expected.count - seen.count {
        let page = try await again.history(channel, limit: 300, since: position).publications ?? []
        guard !page.isEmpty else { break }
        recovered += page.map(\.data)
        position.offset += UInt64(page.count)
      }
      let isWhole = seen + recovered == expected
      #expect(isWhole)
    }
  }
}
