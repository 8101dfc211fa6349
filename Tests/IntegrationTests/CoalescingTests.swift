import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

/// What waits goes out together, and part by part: that must show nowhere.
@Suite("Bursts", .serialized, .ownThread)
struct CoalescingTests {
  /// What is published, known to everybody: sizes and letters differ from one to the next, so that a byte too many or
  /// too few anywhere is seen.
  struct Plan: Sendable {
    let channels = ["own:one", "kept:two", "own:three"]
    let publishers = 3
    /// Publications of each publisher on each channel, in each of two bursts.
    let countPerBurst: Int
    private let texts: [String]

    init(countPerBurst: Int) {
      self.countPerBurst = countPerBurst
      var texts: [String] = []
      for channel in channels {
        for publisher in 0..<publishers {
          for number in 0..<(2 * countPerBurst) {
            let letter = Character(Unicode.Scalar(UInt8(97 + (number + publisher) % 26)))
            let size = number % 50 == 49 ? 9000 + number : (number * 61 + publisher * 13) % 900
            texts.append("\(channel) \(publisher) \(number) \(String(repeating: letter, count: size))")
          }
        }
      }
      self.texts = texts
    }

    var countPerChannel: Int { publishers * 2 * countPerBurst }

    func text(_ channel: Int, _ publisher: Int, _ number: Int) -> String {
      texts[(channel * publishers + publisher) * 2 * countPerBurst + number]
    }

    func jobs(publisher: Int, burst: Int) -> [FanOutPublisher.Job] {
      (burst * countPerBurst..<(burst + 1) * countPerBurst).flatMap { number in
        channels.indices.map { .init(channel: channels[$0], text: text($0, publisher, number)) }
      }
    }

    /// Which publisher's turn it was, one after another; nil where something is missing, cut, doubled or in disorder.
    func turns(_ seen: [PlainProtocol.Publication], on channel: Int) -> [Int]? {
      var next = Array(repeating: 0, count: publishers)
      var turns: [Int] = []
      for publication in seen {
        let words = publication.text.split(separator: " ", maxSplits: 2)
        guard words.count > 1, let publisher = Int(words[1]), next.indices.contains(publisher),
          next[publisher] < 2 * countPerBurst, publication.text == text(channel, publisher, next[publisher])
        else { return nil }
        next[publisher] += 1
        turns.append(publisher)
      }
      return next.allSatisfy { $0 == 2 * countPerBurst } ? turns : nil
    }
  }

  /// What each reader saw of each of its channels: whose turn it was.
  private final class Seen: Sendable {
    private let turns = Mutex<[Int: [[Int]?]]>([:])

    func add(_ turns: [Int]?, on channel: Int) { self.turns.withLock { $0[channel, default: []].append(turns) } }
    subscript(channel: Int) -> [[Int]?] { turns.withLock { $0[channel] ?? [] } }
  }

  private static let sets = [[0], [1], [1, 2], [0, 1, 2]]

  @Test(
    "Every subscriber sees each of its channels complete and in one order, however slowly it reads",
    arguments: [false, true])
  func order(usesTLS: Bool) async throws {
    try await FanOutServer.with(usesTLS: usesTLS) { server in
      let plan = Plan(countPerBurst: 150)
      let (threads, gate, seen, ready) = (FanOutThreads(), Gate(), Seen(), Counter())
      defer { gate.open() }
      for channels in Self.sets {
        for format in [WireFormat.json, .protobuf] {
          for isSlow in [false, true] {
            threads.start("\(format) \(channels) \(isSlow ? "slow" : "fast")") {
              var options = ByteClient.Options(format: format)
              if isSlow { (options.receiveBufferBytes, options.segmentBytes) = (16 << 10, 1400) }
              let client = try server.client(channels.map { plan.channels[$0] }, options)
              ready.add()
              // Lags from the first burst on, and goes on lagging while the second one comes.
              if isSlow { gate.wait() }
              try Self.follow(plan, channels, by: client, inTinySteps: isSlow, seen)
            }
          }
        }
      }
      let readers = Self.sets.count * 4
      try #require(
        await eventually(within: .seconds(60)) { ready.value == readers || !threads.failures.isEmpty })
      let publishers = (0..<plan.publishers).map { _ in server.publisher() }
      for burst in 0...1 {
        if burst == 1 { gate.open() }
        for (index, publisher) in publishers.enumerated() {
          publisher.publish(plan.jobs(publisher: index, burst: burst))
        }
        #expect(await eventually(within: .seconds(60)) { publishers.allSatisfy { $0.isIdle } })
      }
      #expect(publishers.flatMap { $0.refused } == [])
      try await threads.join()
      #expect(threads.failures == [])
      for channel in plan.channels.indices {
        let orders = seen[channel]
        #expect(orders.count == 4 * Self.sets.filter { $0.contains(channel) }.count)
        #expect(!orders.contains(nil), "\(plan.channels[channel]) was not seen complete and in order")
        #expect(Set(orders).count == 1, "\(plan.channels[channel]) was seen in several orders")
      }
    }
  }

  /// Reads until it has all, and says what it saw.
  private static func follow(
    _ plan: Plan, _ channels: [Int], by client: FanOutClient, inTinySteps: Bool, _ seen: Seen
  ) throws {
    var turn = channels.count
    try client.read(step: inTinySteps ? step(&turn) : 64 << 10) {
      channels.allSatisfy { client.count(plan.channels[$0]) >= plan.countPerChannel }
    }
    for channel in channels {
      let publications = client.publications[plan.channels[channel]] ?? []
      seen.add(plan.turns(publications, on: channel), on: channel)
      guard plan.channels[channel].hasPrefix("kept") else { continue }
      guard publications.map(\.offset).elementsEqual((1...plan.countPerChannel).map { UInt64($0) }) else {
        throw ByteClient.Violation(description: "the offsets of \(plan.channels[channel]) are not contiguous")
      }
    }
  }

  /// 1 to 1499 bytes: reads end in the middle of headers and of payloads.
  private static func step(_ turn: inout Int) -> Int {
    turn = (turn * 1_103_515_245 + 12345) & 0x3FFF_FFFF
    return 1 + (turn >> 8) % 1499
  }

  @Test("A subscriber that joins in the middle of a burst goes on exactly where its subscribe reply ends")
  func joining() async throws {
    try await FanOutServer.with { server in
      let threads = FanOutThreads()
      let publisher = server.publisher()
      let (joined, joiners) = (Counter(), 4 * 8)
      // The number of the last publication; 0 while more may come.
      let last = Counter()
      threads.start("burst") {
        var count = 0
        while joined.value < joiners, threads.failures.isEmpty {
          // Less is published where joining is slow: every subscriber reads all of it, and the history has to reach
          // back to those who recover.
          let more = count > 1000 * (joined.value + 1) ? 1 : 100
          publisher.publish(Self.numbered(count + 1...count + more))
          count += more
          try publisher.wait { $0.unanswered <= 50 }
          usleep(1000)
        }
        // Some after the last has joined, so that everybody has a live stream to check.
        publisher.publish(Self.numbered(count + 1...count + 500))
        try publisher.wait { $0.unanswered == 0 }
        last.add(count + 500)
      }
      for thread in 0..<4 {
        threads.start("joiner \(thread)") {
          var clients: [(client: FanOutClient, since: StreamPosition?)] = []
          var before: StreamPosition?
          for number in 0..<(joiners / 4) {
            let client = try server.client([], .init(format: (thread + number) % 2 == 0 ? .json : .protobuf))
            let since = number % 3 == 2 ? before : nil
            // However the threads take turns: the channel has moved since this thread joined last.
            let answered = publisher.answered
            try publisher.wait { $0.answered > answered }
            try client.subscribe("kept:burst", since: since)
            try client.readUntilAnswered()
            before = client.positions["kept:burst"]
            clients.append((client, since))
            joined.add()
          }
          while last.value == 0 {
            guard threads.failures.isEmpty else { return }
            usleep(1000)
          }
          for (client, since) in clients { try Self.check(client, since: since, upTo: UInt64(last.value)) }
        }
      }
      try await threads.join()
      #expect(threads.failures == [])
    }
  }

  private static func numbered(_ numbers: ClosedRange<Int>) -> [FanOutPublisher.Job] {
    numbers.map { .init(channel: "kept:burst", text: "\($0)") }
  }

  private static func check(_ client: FanOutClient, since: StreamPosition?, upTo end: UInt64) throws {
    let channel = "kept:burst"
    let start = client.positions[channel]?.offset ?? 0
    try client.read { UInt64(client.count(channel)) >= end - start }
    try client.ping()
    try client.readUntilAnswered()
    let live = (client.publications[channel] ?? []).map(\.offset)
    guard live.elementsEqual((start + 1)...end) else {
      throw ByteClient.Violation(
        description: "subscribed at \(start), live from \(live.first ?? 0) to \(live.last ?? 0), \(live.count) in all")
    }
    let missed = (client.recovered[channel] ?? []).map(\.offset)
    if let since {
      guard since.offset == start || missed.elementsEqual((since.offset + 1)...start) else {
        throw ByteClient.Violation(description: "recovered \(missed.count) from \(since.offset) to \(start)")
      }
    }
    let texts = (client.publications[channel] ?? []) + (client.recovered[channel] ?? [])
    guard texts.allSatisfy({ $0.text == "\($0.offset)" }) else {
      throw ByteClient.Violation(description: "another publication's offset")
    }
  }
}
