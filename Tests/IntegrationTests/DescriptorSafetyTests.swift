import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

/// The kernel gives a closed connection's descriptor number to the next one that is accepted. A fan-out that writes to
/// numbers must never be late by one: what was meant for the one who left would reach a stranger.
@Suite("Descriptors that are used again", .ownThread)
struct DescriptorSafetyTests {
  private static let threads = 4
  private static let connectionsPerThread = 600
  /// Open at a time, of each thread.
  private static let window = 6
  /// The server's descriptors, all of them: connections, listeners, event loops, ZeroMQ's.
  private static let descriptors = 256
  private static let shared = "own:everybody"

  /// How a connection ends while publications are on their way to it.
  private enum Ending: CaseIterable {
    /// A reset, with whatever is in flight.
    case reset
    /// Closed with unread input, for which the kernel sends a reset too.
    case close
    /// A FIN first.
    case shutDown
    /// A reset in the middle of a large frame.
    case insideFrame
    /// A reset in the middle of the request to upgrade.
    case halfRequest
    /// A reset right behind the request, before its answer is read.
    case unreadUpgrade

    var neverSubscribes: Bool { self == .halfRequest || self == .unreadUpgrade }
  }

  /// To whom publications go: those who are there, and those who were there a moment ago.
  private final class Roster: Sendable {
    private let names = Mutex([String?](repeating: nil, count: 2 * threads * window))

    var all: [String] { names.withLock { $0.compactMap { $0 } } }

    func enter(_ name: String, at place: Int) {
      names.withLock { names in
        names[2 * place + 1] = names[2 * place]
        names[2 * place] = name
      }
    }
  }

  private struct Tally: Sendable {
    var opened = 0
    var subscribed = 0
    var cutInsideFrame = 0
    var own = 0
    var shared = 0
  }

  @Test("Whoever opens and closes as fast as it can gets its own frames and the shared ones, and nobody else's")
  func churn() async throws {
    try await FanOutServer.with { server in
      try server.limitDescriptors(to: UInt(Self.descriptors))
      let (threads, roster, stop) = (FanOutThreads(), Roster(), Gate())
      let tallies = Mutex<[Tally]>([])
      for thread in 0..<Self.threads {
        threads.start("churn \(thread)") {
          var churn = Churn(thread: thread, server: server, roster: roster)
          defer { tallies.withLock { [tally = churn.tally] in $0.append(tally) } }
          try churn.run()
        }
      }
      let publishing = FanOutThreads()
      publishing.start("publisher") { try Self.publish(to: roster, server.publisher(), until: stop) }
      let hasEnded = await eventually(within: .seconds(120)) { threads.haveEnded || !publishing.failures.isEmpty }
      stop.open()
      try await publishing.join()
      #expect(hasEnded)
      #expect(threads.failures == [])
      #expect(publishing.failures == [])
      #expect(server.process.isRunning)

      let all = tallies.withLock { $0 }
      let opened = all.reduce(0) { $0 + $1.opened }
      #expect(opened == Self.threads * Self.connectionsPerThread)
      // The server has only so many descriptor numbers, so all connections beyond them were given a number that was
      // used before.
      #expect(opened - Self.descriptors >= 2000)
      // Connections ended while publications were delivered: most had subscribed, and many got some.
      let subscribed = all.reduce(0) { $0 + $1.subscribed }
      #expect(subscribed > opened / 2)
      #expect(all.reduce(0) { $0 + $1.own } > subscribed / 5)
      #expect(all.reduce(0) { $0 + $1.shared } > 100)
      #expect(all.reduce(0) { $0 + $1.cutInsideFrame } > 100)
    }
  }

  /// Rounds of one publication for each name, and a large one for everybody every few rounds.
  private static func publish(to roster: Roster, _ publisher: FanOutPublisher, until stop: Gate) throws {
    var round = 0
    while !stop.isOpen {
      round += 1
      let size = round % 4 == 0 ? 24 << 10 : 100
      var jobs = roster.all.map { FanOutPublisher.Job(channel: "own:\($0)", text: "own:\($0) \(round)") }
      jobs.append(.init(channel: shared, text: "\(shared) \(round) \(String(repeating: "s", count: size))"))
      publisher.publish(jobs)
      while !publisher.isIdle { usleep(200) }
      if let refusal = publisher.refused.first { throw Failure(refusal) }
    }
  }

  // MARK: One thread of it

  private struct Churn {
    let thread: Int
    let server: FanOutServer
    let roster: Roster
    var tally = Tally()
    private var open: [(client: FanOutClient, name: String, ending: Ending)?]
    private var random: SeededNumbers

    init(thread: Int, server: FanOutServer, roster: Roster) {
      (self.thread, self.server, self.roster) = (thread, server, roster)
      open = Array(repeating: nil, count: window)
      random = SeededNumbers(seed: UInt64(thread))
    }

    mutating func run() throws {
      for number in 0..<connectionsPerThread {
        let slot = number % window
        try end(slot)
        let name = "\(thread)-\(number)"
        let ending = Ending.allCases[number % Ending.allCases.count]
        if ending.neverSubscribes {
          try abandonUpgrade(ending)
        } else {
          try begin(slot, name, ending, waits: Int.random(in: 0..<3, using: &random) == 0)
        }
        tally.opened += 1
      }
      // Connections that stayed open still get the publications on their own channels.
      for slot in open.indices {
        guard let (client, name, _) = open[slot] else { continue }
        let before = client.count("own:\(name)")
        try client.read { client.count("own:\(name)") > before }
        try end(slot)
      }
    }

    private func abandonUpgrade(_ ending: Ending) throws {
      let client = try ByteClient(port: server.port)
      let request = Array(client.upgradeRequest.utf8)
      // The server may answer 503 or close, but it has no reason to be gone before it was sent this little.
      try client.send(ending == .halfRequest ? Array(request.prefix(request.count / 2)) : request)
      client.reset()
    }

    private mutating func begin(_ slot: Int, _ name: String, _ ending: Ending, waits: Bool) throws {
      var options = ByteClient.Options(format: Bool.random(using: &random) ? .json : .protobuf)
      // Some connections take so little that the server soon holds a part of a frame back for them.
      if Bool.random(using: &random) { (options.receiveBufferBytes, options.segmentBytes) = (8 << 10, 1400) }
      let client = try server.client(["own:\(name)", shared], options)
      tally.subscribed += 1
      roster.enter(name, at: thread * window + slot)
      if waits { try client.read { client.count("own:\(name)") > 0 } }
      open[slot] = (client, name, ending)
    }

    private mutating func end(_ slot: Int) throws {
      guard let (client, name, ending) = open[slot] else { return }
      open[slot] = nil
      if ending == .insideFrame {
        try client.readIntoFrame(bytes: 3000, step: 2000)
      } else {
        try client.readWhatIsThere()
      }
      try check(client, name)
      switch ending {
      case .insideFrame:
        tally.cutInsideFrame += 1
        client.bytes.reset()
      case .shutDown:
        client.bytes.shutDownOutput()
        client.bytes.close()
      case .close: client.bytes.close()
      case .reset, .halfRequest, .unreadUpgrade: client.bytes.reset()
      }
    }

    /// Every frame was whole and stood where it may: ``FanOutClient`` has seen to that. Here: it was meant for this one.
    private mutating func check(_ client: FanOutClient, _ name: String) throws {
      for (channel, publications) in client.publications {
        var last = 0
        for publication in publications {
          let words = publication.text.prefix(60).split(separator: " ")
          guard words.count >= 2, words[0] == channel, let round = Int(words[1]), round > last else {
            throw ByteClient.Violation(
              description: "\(name) got \(publication.text.prefix(60)) on \(channel), after \(last)")
          }
          last = round
        }
        if channel == shared { tally.shared += publications.count } else { tally.own += publications.count }
      }
    }
  }
}

/// SplitMix64: the same numbers in every run.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
