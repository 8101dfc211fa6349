import Foundation
import TestSupport
import Testing

/// Nobody waits for a client that does not read.
@Suite("A slow reader", .ownThread)
struct SlowReaderTests {
  @Test(
    "It is told 3008 behind what it had not read, and recovers the rest, while the others get everything at once",
    arguments: ["mem:flood", "dur:flood"])
  func slow(_ channel: String) async throws {
    let settings = ["client.queue_bytes=512KiB", "client.slow_close_grace=10m"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let slow = try await deployment.client("sam", receiveBufferBytes: 4096)
      let start = try await slow.subscribe(channel).position
      slow.socket.pauseReading()
      let expected = try await flood(channel, deployment)
      try #require(await isLogged("slow", deployment))
      #expect(slow.socket.closing == nil, "nobody has read that it ended")
      slow.socket.resumeReading()
      #expect(await eventually(within: .seconds(60)) { slow.socket.closing != nil })
      let end = try #require(slow.socket.closing)
      #expect(end.code == 3008, "\(end)")
      let seen = slow.data(channel)
      #expect(!seen.isEmpty && seen.count < expected.count)
      let isPrefix = seen == Array(expected.prefix(seen.count))
      #expect(isPrefix)

      // The pages are far larger than what may wait for a slow reader, but the client asked for them.
      let again = try await deployment.client("sam")
      var position = Peer.Position(epoch: start.epoch, offset: start.offset + UInt64(seen.count))
      var recovered: [String] = []
      while recovered.count < expected.count - seen.count {
        let page = try #require(try await again.history(channel, limit: 300, since: position).publications)
        try #require(!page.isEmpty, "\(recovered.count) of \(expected.count - seen.count) can be had")
        recovered += page.map(\.data)
        position.offset += UInt64(page.count)
      }
      let isWhole = seen + recovered == expected
      #expect(isWhole)
      let output = deployment.gateway("a").errorOutput
      #expect(!output.contains("cause=slow_cut "), "it was told, and had the time to read it")
    }
  }

  @Test("One that does not wake up within the grace is cut off, and the server says that its code was never read")
  func cutOff() async throws {
    let settings = ["client.queue_bytes=512KiB", "client.slow_close_grace=50ms"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let slow = try await deployment.client("sam", receiveBufferBytes: 4096)
      try await slow.subscribe("mem:flood")
      slow.socket.pauseReading()
      let expected = try await flood("mem:flood", deployment)
      try #require(await isLogged("slow", deployment))
      try #require(await isLogged("slow_cut", deployment))
      slow.socket.resumeReading()
      #expect(await eventually(within: .seconds(60)) { slow.socket.closing != nil })
      let end = try #require(slow.socket.closing)
      #expect(end.code == nil, "it was cut off, and yet \(end)")
      let seen = slow.data("mem:flood")
      let isPrefix = seen.count < expected.count && seen == Array(expected.prefix(seen.count))
      #expect(isPrefix)
    }
  }

  /// Publishes more than the queue and both kernels' buffers hold (6 MiB at most for the sender's), and sees that
  /// somebody who reads gets it meanwhile.
  ///
  /// - Returns: what was published.
  private func flood(_ channel: String, _ deployment: Deployment) async throws -> [String] {
    let fast = try await deployment.client("fay")
    try await fast.subscribe(channel)
    let service = try deployment.service()
    let filling = String(repeating: "x", count: 8192)
    let expected = (1...1200).map { "\($0) \(filling)" }
    // A portion fits the queue, so that the client that reads is not taken for slow.
    for start in stride(from: 0, to: expected.count, by: 30) {
      let asked = expected[start..<(start + 30)].map { service.sendPublish($0, to: channel) }
      #expect(await eventually { asked.allSatisfy { service.answer($0)?.isError == false } })
      try #require(await eventually { fast.publications(channel).count >= start + 30 })
    }
    let fastGotAll = fast.data(channel) == expected
    #expect(fastGotAll)
    #expect(fast.socket.closing == nil)
    return expected
  }

  private func isLogged(_ cause: String, _ deployment: Deployment) async -> Bool {
    await eventually { deployment.gateway("a").errorOutput.contains("cause=\(cause) ") }
  }
}
