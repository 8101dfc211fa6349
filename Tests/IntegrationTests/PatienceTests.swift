import Foundation
import Glibc
import TestSupport
import Testing
import Wire

/// Whoever is only slow, or only fast, gets all that it asked for.
@Suite("Patience with clients", .ownThread)
struct PatienceTests {
  @Test("A reader on a poor line gets a large recovery and all that is published meanwhile", arguments: [false, true])
  func poorLine(usesTLS: Bool) async throws {
    // The answer alone is nine times what may wait for a slow reader, and takes several pings and pong times.
    try await FanOutServer.with(queueBytes: "256KiB", usesTLS: usesTLS, ping: ("1s", "900ms")) { server in
      let threads = FanOutThreads()
      let (hasPosition, isMissed, isAnswered) = (Gate(), Gate(), Gate())
      defer { isMissed.open() }
      let (missed, live) = (300, 100)
      threads.start("poor line") {
        defer { [hasPosition, isAnswered].forEach { $0.open() } }
        let first = try server.client(["kept:late"])
        let start = first.positions["kept:late"]
        first.bytes.close()
        hasPosition.open()
        isMissed.wait()
        let client = try server.client([], .init(receiveBufferBytes: 8 << 10, segmentBytes: 1400))
        try client.subscribe("kept:late", since: start)
        // The pause makes a slow line of the client, 8 KiB in 20 ms; it waits for nothing.
        while client.bytes.unfinishedBytes < missed * 8_000 {
          try client.bytes.fill(upTo: 8 << 10)
          usleep(20_000)
          if client.bytes.unfinishedBytes > 64 << 10 { isAnswered.open() }
        }
        try client.read { client.count("kept:late") >= live }
        let recovered = client.recovered["kept:late"]?.count ?? 0
        guard recovered == missed, client.count("kept:late") == live else {
          throw Failure("\(recovered) recovered, \(client.count("kept:late")) live")
        }
      }
      let publisher = server.publisher()
      #expect(await eventually(within: .seconds(60)) { hasPosition.isOpen })
      try await publisher.publishAll(Self.jobs(1...missed, bytes: 8_000))
      isMissed.open()
      #expect(await eventually(within: .seconds(60)) { isAnswered.isOpen })
      for first in stride(from: missed + 1, to: missed + live, by: 10) {
        try await publisher.publishAll(Self.jobs(first...(first + 9), bytes: 500))
      }
      try await threads.join()
      #expect(threads.failures == [])
    }
  }

  private static func jobs(_ numbers: ClosedRange<Int>, bytes: Int) -> [FanOutPublisher.Job] {
    numbers.map { job($0, on: "kept:late", bytes: bytes) }
  }

  @Test("Many that lag, each on a channel of its own, share one budget: some go, and who reads notices nothing")
  func manyThatLag() async throws {
    let (readers, each) = (12, 100)
    // Twelve times three megabytes: each may lag by so much, all together may not.
    try await FanOutServer.with(queueBytes: "8MiB", egressBytes: "16MiB") { server in
      let (lagging, healthy) = (FanOutThreads(), FanOutThreads())
      let (begun, seen, ended, whole, resumes) = (Counter(), Counter(), Counter(), Counter(), Gate())
      defer { resumes.open() }
      healthy.start("healthy") {
        let client = try server.client(["own:fine"])
        begun.add()
        for number in 1...each {
          try client.read { client.count("own:fine") >= number }
          seen.add()
        }
      }
      for reader in 0..<readers {
        lagging.start("lagging \(reader)") {
          let client = try server.client(
            ["own:lag-\(reader)"], .init(receiveBufferBytes: 16 << 10, segmentBytes: 1400))
          begun.add()
          resumes.wait()
          do {
            try client.read { client.count("own:lag-\(reader)") >= each }
            whole.add()
          } catch let end as ByteClient.Ended {
            // What waited for it was given back at once, and the code with it.
            guard end.code == nil else { throw Failure("closed with \(end.code ?? 0), and not for the budget") }
            ended.add()
          }
        }
      }
      let publisher = server.publisher()
      #expect(await eventually(within: .seconds(60)) { begun.value == readers + 1 })
      for number in 1...each {
        let jobs = (0..<readers).map { Self.job(number, on: "own:lag-\($0)", bytes: 32_000) }
        try await publisher.publishAll(jobs + [Self.job(number, on: "own:fine", bytes: 100)])
        try #require(await eventually(within: .seconds(60)) { seen.value >= number || !healthy.failures.isEmpty })
      }
      resumes.open()
      try await healthy.join()
      try await lagging.join()
      #expect(healthy.failures == [] && lagging.failures == [])
      #expect(ended.value >= 4 && ended.value + whole.value == readers, "\(ended.value) ended, \(whole.value) got all")
    }
  }

  private static func job(_ number: Int, on channel: String, bytes: Int) -> FanOutPublisher.Job {
    .init(channel: channel, text: "\(number) \(String(repeating: "f", count: bytes))")
  }

  @Test("A reader that takes nothing of what it asked for is let go, and nobody waits for it")
  func takesNothing() async throws {
    let settings = ["client.ping_interval=1s", "client.pong_timeout=900ms"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let fay = try await deployment.client("fay")
      let first = try await deployment.client("sam")
      let start = try await first.subscribe("mem:room").position
      first.socket.cut()
      let service = try deployment.service()
      let filling = String(repeating: "x", count: 32_000)
      let asked = (1...300).map { service.sendPublish("\($0) \(filling)", to: "mem:room") }
      #expect(await eventually { asked.allSatisfy { service.answer($0)?.isError == false } })
      let sam = try await deployment.client("sam", receiveBufferBytes: 4096)
      try await sam.subscribe("mem:other")
      try await fay.subscribe("mem:other")
      sam.socket.pauseReading()
      // The answer has some ten megabytes, more than the kernel takes for a reader that does not read.
      sam.send(
        #""history":{"channel":"mem:room","limit":300,"since":{"epoch":"\#(start.epoch)","offset":\#(start.offset)}}"#)
      #expect(await eventually(within: .seconds(60)) { fay.events("mem:other").contains(.leave("sam")) })
      #expect(fay.socket.closing == nil)
    }
  }

  @Test("A thousand publications at once, as after a tunnel, are all acknowledged and keep their order")
  func pipelinedPublisher() async throws {
    try await Deployment.with(.serve) { deployment in
      let (ann, ben) = (try await deployment.client("ann"), try await deployment.client("ben"))
      try await ben.subscribe("dur:trip")
      let ids = (1...1000).map { ann.sendPublish("\($0)", to: "dur:trip") }
      #expect(await eventually(within: .seconds(60)) { ids.allSatisfy { ann.reply($0) != nil } })
      #expect(ids.compactMap { ann.reply($0)?.error } == [])
      #expect(await eventually(within: .seconds(60)) { ben.publications("dur:trip").count >= 1000 })
      #expect(ben.data("dur:trip") == (1...1000).map { "\($0)" })
    }
  }
}
