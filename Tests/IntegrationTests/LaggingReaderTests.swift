import Foundation
import TestSupport
import Testing
import Wire

/// A reader that lags costs itself time, and the server a bounded amount of memory. It loses nothing but publications
/// of low lanes, and in the end its connection.
@Suite("Readers that lag", .ownThread)
struct LaggingReaderTests {
  private static func jobs(_ numbers: ClosedRange<Int>, on channel: String, bytes: Int) -> [FanOutPublisher.Job] {
    numbers.map { .init(channel: channel, text: "\($0) \(String(repeating: "f", count: bytes))") }
  }

  /// The numbers that ``jobs(_:on:bytes:)`` gave what was seen.
  private static func numbers(_ client: FanOutClient, _ channel: String) -> [Int] {
    (client.publications[channel] ?? []).map { publication in
      publication.text.prefix(20).split(separator: " ").first.flatMap { Int($0) } ?? -1
    }
  }

  // MARK: Those who never read

  private static let slowReaders = 12
  private static let queueBytes = 256 << 10
  private static let payloadBytes = 8 << 10
  /// Publications that are sent at a time. They fit the queue, so that a client that reads is not taken for slow.
  private static let portion = 20
  private static let portions = 50

  /// What the server may grow by: for each slow reader its queue and the one frame that is always taken. Three times
  /// that, for buffers are reserved by doubling and given back late; and for allocators and ZeroMQ, whose buffers
  /// breathe with traffic, 16 MiB. Without a bound it would be slowReaders × portions × portion × payloadBytes: 96 MiB.
  private static let growthAllowed = 3 * slowReaders * (queueBytes + payloadBytes) + (16 << 20)

  @Test("Who does not read is disconnected, the others see everything, and memory stays within the queues")
  func neverRead() async throws {
    try await FanOutServer.with(queueBytes: "256KiB") { server in
      let (healthy, slow, seen, begun, flooded) = (FanOutThreads(), FanOutThreads(), Counter(), Counter(), Gate())
      // Whatever fails: nobody is left waiting.
      defer { flooded.open() }
      let total = Self.portions * Self.portion
      for format in [WireFormat.json, .protobuf] {
        healthy.start("healthy \(format)") {
          let client = try server.client(["own:busy"], .init(format: format))
          begun.add()
          for number in 1...total {
            try client.read { client.count("own:busy") >= number }
            seen.add()
          }
          guard Self.numbers(client, "own:busy").elementsEqual(1...total) else {
            throw ByteClient.Violation(description: "not everything came, or not in order")
          }
        }
      }
      for reader in 0..<Self.slowReaders {
        slow.start("slow \(reader)") {
          let format = reader % 2 == 0 ? WireFormat.json : .protobuf
          let client = try server.client(
            ["own:busy"], .init(format: format, receiveBufferBytes: 16 << 10, segmentBytes: 1400))
          begun.add()
          flooded.wait()
          try Self.expectDisconnect(client, before: total)
        }
      }
      let publisher = server.publisher()
      #expect(await eventually(within: .seconds(60)) { begun.value == Self.slowReaders + 2 })
      let before = server.residentBytes
      var most = before
      for portion in 0..<Self.portions {
        let first = portion * Self.portion + 1
        try await publisher.publishAll(
          Self.jobs(first...(first + Self.portion - 1), on: "own:busy", bytes: Self.payloadBytes))
        let reached = 2 * (portion + 1) * Self.portion
        try #require(
          await eventually(within: .seconds(60)) { seen.value >= reached || !healthy.failures.isEmpty },
          "\(healthy.failures)")
        most = max(most, server.residentBytes)
      }
      #expect(most > before)
      try #require(most - before < Self.growthAllowed, "grew by \((most - before) >> 10) KiB")
      flooded.open()
      try await healthy.join()
      try await slow.join()
      #expect(healthy.failures == [])
      #expect(slow.failures == [])
    }
  }

  /// Expects that a client which was disconnected finds what fitted its queue, an unbroken beginning, and behind it the
  /// Close frame.
  private static func expectDisconnect(_ client: FanOutClient, before total: Int) throws {
    do {
      try client.read { false }
    } catch let end as ByteClient.Ended {
      guard end.code == 3008 else { throw Failure("closed with \(end.code.map(String.init) ?? "no code")") }
    }
    let numbers = numbers(client, "own:busy")
    guard numbers.count < total, numbers.elementsEqual(1..<(numbers.count + 1)) else {
      throw ByteClient.Violation(description: "\(numbers.count) of \(total) came, not all in order")
    }
  }

  // MARK: Those who read late

  @Test("Every command of a reader that lags is answered, and its channels stay in order")
  func replies() async throws {
    try await FanOutServer.with { server in
      let threads = FanOutThreads()
      let (ready, asked, answered, lags, resumes) = (Counter(), Counter(), Counter(), Gate(), Gate())
      defer { [lags, resumes].forEach { $0.open() } }
      let last = 600
      for format in [WireFormat.json, .protobuf] {
        threads.start("lagging \(format)") {
          let client = try server.client(
            ["own:busy"], .init(format: format, receiveBufferBytes: 16 << 10, segmentBytes: 1400))
          ready.add()
          lags.wait()
          try Self.askForEverything(client)
          asked.add()
          resumes.wait()
          try client.readUntilAnswered(step: 1000)
          answered.add()
          let channels = ["own:busy", "own:late", "kept:late"]
          try client.read(step: 1000) { channels.allSatisfy { Self.numbers(client, $0).last == last } }
          try Self.check(client, upTo: last)
        }
      }
      let publisher = server.publisher()
      #expect(await eventually(within: .seconds(60)) { ready.value == 2 || !threads.failures.isEmpty })
      // These are more bytes than the kernel takes for a reader with such small segments.
      try await publisher.publishAll(Self.jobs(1...300, on: "own:busy", bytes: 4000))
      lags.open()
      #expect(await eventually(within: .seconds(60)) { asked.value == 2 || !threads.failures.isEmpty })
      for first in stride(from: 301, to: 501, by: 20) {
        if first == 401 { resumes.open() }
        try await publisher.publishAll(Self.everywhere(first...(first + 19)))
      }
      #expect(await eventually(within: .seconds(60)) { answered.value == 2 || !threads.failures.isEmpty })
      try await publisher.publishAll(Self.everywhere(501...last))
      try await threads.join()
      #expect(threads.failures == [])
    }
  }

  private static func everywhere(_ numbers: ClosedRange<Int>) -> [FanOutPublisher.Job] {
    ["own:busy", "own:late", "kept:late"].flatMap { jobs(numbers, on: $0, bytes: 1000) }
  }

  private static func askForEverything(_ client: FanOutClient) throws {
    try client.ping()
    try client.presence("own:busy")
    try client.subscribe("own:late")
    try client.publish("from who lags", to: "own:elsewhere")
    try client.subscribe("kept:late")
    try client.history("kept:late")
    try client.ping()
  }

  /// That no publication came before its channel's subscribe reply, ``FanOutClient`` has seen already.
  private static func check(_ client: FanOutClient, upTo last: Int) throws {
    guard client.errors.isEmpty else { throw Failure("commands were refused: \(client.errors)") }
    guard numbers(client, "own:busy").elementsEqual(1...last) else {
      throw ByteClient.Violation(description: "the busy channel is not whole")
    }
    for channel in ["own:late", "kept:late"] {
      let seen = numbers(client, channel)
      guard let first = seen.first, seen.elementsEqual(first...last) else {
        throw ByteClient.Violation(description: "\(channel) has gaps")
      }
    }
    let start = client.positions["kept:late"]?.offset ?? 0
    let offsets = (client.publications["kept:late"] ?? []).map(\.offset)
    guard offsets.elementsEqual((start + 1)..<(start + 1 + UInt64(offsets.count))) else {
      throw ByteClient.Violation(description: "the live stream does not go on at \(start)")
    }
  }

  // MARK: Low lanes

  @Test("A reader that lags gets the newest of a low lane and all of the others; who keeps up gets all of both")
  func lowLane() async throws {
    try await FanOutServer.with { server in
      let threads = FanOutThreads()
      let (ready, prompt, lags) = (Counter(), Counter(), Gate())
      defer { lags.open() }
      let (busy, typing) = (1...300, 1...200)
      for format in [WireFormat.json, .protobuf] {
        threads.start("lagging \(format)") {
          let client = try server.client(
            ["own:busy", "low:typing"], .init(format: format, receiveBufferBytes: 16 << 10, segmentBytes: 1400))
          ready.add()
          lags.wait()
          try client.read(step: 1000) {
            Self.numbers(client, "own:busy").last == busy.upperBound
              && Self.numbers(client, "low:typing").last == typing.upperBound
          }
          guard Self.numbers(client, "own:busy").elementsEqual(busy) else {
            throw ByteClient.Violation(description: "the busy channel is not whole")
          }
          let seen = Self.numbers(client, "low:typing")
          guard seen.count < typing.count, zip(seen, seen.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw ByteClient.Violation(description: "of the low lane \(seen) came")
          }
        }
        threads.start("prompt \(format)") {
          let client = try server.client(["own:busy", "low:typing"], .init(format: format))
          ready.add()
          try client.read { client.count("own:busy") == busy.count }
          prompt.add()
          for number in typing {
            try client.read { client.count("low:typing") >= number }
            prompt.add()
          }
          guard Self.numbers(client, "low:typing").elementsEqual(typing) else {
            throw ByteClient.Violation(description: "who kept up did not get all of the low lane")
          }
        }
      }
      let publisher = server.publisher()
      #expect(await eventually(within: .seconds(60)) { ready.value == 4 || !threads.failures.isEmpty })
      try await publisher.publishAll(Self.jobs(busy, on: "own:busy", bytes: 4000))
      #expect(await eventually(within: .seconds(60)) { prompt.value == 2 || !threads.failures.isEmpty })
      // The next is published when the prompt readers have this one, so that they are never behind.
      for number in typing {
        try await publisher.publishAll(Self.jobs(number...number, on: "low:typing", bytes: 10))
        let both = 2 + 2 * number
        try #require(
          await eventually(within: .seconds(60)) { prompt.value >= both || !threads.failures.isEmpty },
          "\(threads.failures)")
      }
      lags.open()
      try await threads.join()
      #expect(threads.failures == [])
    }
  }
}
