import Foundation
import NIOCore
import TLS
import TestSupport
import Testing
import Wire

@testable import Gateway

/// A payload that tells its source and its number, in words that must not be seen on the wire.
private func numbered(_ source: String, _ number: Int, size: Int) -> [UInt8] {
  let text = "plaintext of \(source) \(number)."
  return Array(text.utf8) + [UInt8](repeating: 0x78, count: max(0, size - text.utf8.count))
}

private func frame(_ source: String, _ number: Int, size: Int) -> [UInt8] {
  ServerFrame.message(numbered(source, number, size: size), format: .protobuf)
}

/// Records go past the channel as long as nothing waits, and through it else; OpenSSL at the other end finds out
/// whether they are whole, in order, and sealed with the right keys.
@Suite("Sending over TLS, beside and through the channel", .ownThread)
struct ListenerTLSEgressTests {
  private func withTLSListener(
    _ configure: (inout ListenerConfiguration) -> Void = { _ in }, _ body: (ListenerHarness) throws -> Void
  ) throws {
    let certificate = try TestCertificate()
    let server = try TLSContext.server(.init(chainPath: certificate.chainPath, keyPath: certificate.keyPath))
    try withListener(
      loops: 1,
      {
        $0.tls = server
        configure(&$0)
      }, body)
  }

  /// A fan-out on the event loop, with the harness's connections on one tape.
  private final class Scene {
    let fanOut = FanOut(limits: FanOut.Limits(queueBytes: 1 << 30), ring: nil)
    let tape: Tape
    private var drivers: [SessionDriver] = []
    private(set) var mostLagging = 0
    private(set) var mostQueued = 0

    init() { tape = Tape(lane: .publications, conflationLimitBytes: 65_536, directory: fanOut.directory) }

    func sit(_ connection: Connection) {
      let driver = SessionDriver(
        transport: connection, host: RecordingHost(),
        rules: SessionRules(SessionConfiguration(), namespaces: NamespaceTable()),
        identity: .init(client: "c\(connection.id)", session: "s"), firstPingDelayMilliseconds: 10_000)
      drivers.append(driver)
      tape.sit(driver, held: false, positioned: false)
    }

    func end() { for driver in drivers { fanOut.leave(driver.outlet, tape) } }

    func send(_ frames: [[UInt8]]) {
      for next in frames { fanOut.append(next, key: .channel, to: tape) }
      goOn()
    }

    /// What the session of each connection would do when its queue has drained.
    func goOn() {
      fanOut.runSlice()
      for driver in drivers {
        let outlet = driver.outlet
        mostLagging = max(mostLagging, outlet.laggingBytes)
        mostQueued = max(mostQueued, outlet.queuedBytes)
        if outlet.isClear && !outlet.lags.isEmpty { fanOut.catchUp(outlet) }
      }
    }
  }

  /// A scene with so many of the harness's connections.
  private func withScene(_ harness: ListenerHarness, connections: Int, _ body: (Scene) throws -> Void) throws {
    nonisolated(unsafe) var made: Scene?
    try harness.onLoop(0) { _ in made = Scene() }
    nonisolated(unsafe) let scene = try #require(made)
    // The connections outlive it.
    defer { _ = try? harness.onLoop(0) { _ in scene.end() } }
    for index in 0..<connections { try harness.onLoop(index) { scene.sit($0.connection) } }
    try body(scene)
  }

  @Test("every version and cipher talks, and nothing is seen on the wire", arguments: ListenerTLSClient.Offer.allCases)
  func offers(offer: ListenerTLSClient.Offer) throws {
    try withTLSListener { harness throws in
      let client = try ListenerTLSClient(port: harness.port, offer)
      try client.upgrade()
      for size in [0, 1, 125, 16_384, 50_000] {
        let message = numbered("echo", size, size: size)
        try client.send(ListenerRawClient.frame(0x82, message))
        #expect(try client.readFrames().map(\.payload) == [message])
      }
      #expect(try harness.onLoop { $0.connection.queuedBytes } == 0)
      #expect(!client.wire.contains("plaintext of "))
    }
  }

  @Test("a client that comes back with a ticket is known, and talks", arguments: ListenerTLSClient.Offer.allCases)
  func resumed(offer: ListenerTLSClient.Offer) throws {
    try withTLSListener { harness throws in
      var earlier: ListenerTLSClient?
      for round in 0..<3 {
        let client = try ListenerTLSClient(port: harness.port, offer, resuming: earlier)
        #expect(client.isResumed == (round > 0))
        // Reads the tickets too.
        try client.upgrade()
        try client.send(ListenerRawClient.text("round \(round)"))
        #expect(try client.readFrames().map(\.payload) == [Array("round \(round)".utf8)])
        earlier = client
      }
    }
  }

  @Test(
    "records that come a byte at a time, or cut anywhere, are understood", arguments: ListenerTLSClient.Offer.allCases)
  func dripFed(offer: ListenerTLSClient.Offer) throws {
    try withTLSListener { harness throws in
      let client = try ListenerTLSClient(port: harness.port, offer, piece: 1)
      try client.upgrade(piece: 1)
      var generator = SplitMix(state: 11)
      for number in 0..<60 {
        let message = numbered("echo", number, size: Int.random(in: 0...400, using: &generator))
        let piece = number < 5 ? 1 : Int.random(in: 1...700, using: &generator)
        if offer != .tls12 && number % 7 == 3 { try client.changeKeys(asks: number % 2 == 0) }
        try client.send(ListenerRawClient.frame(0x82, message), piece: piece)
        #expect(try client.readFrames().map(\.payload) == [message])
      }
    }
  }

  /// What was sent to some clients, and how far each has come with it.
  private final class Traffic {
    let clients: [ListenerTLSClient]
    var sizes: [Int] = []
    var replies: [Int]
    /// What each client has seen: numbers of frames of the tape, and of replies.
    private var seen: [[Int]]
    var generator = SplitMix(state: 5)

    init(_ clients: [ListenerTLSClient]) {
      self.clients = clients
      replies = clients.map { _ in 0 }
      seen = clients.map { _ in [0, 0] }
    }

    var hasArrived: Bool { seen == replies.map { [sizes.count, $0] } }

    /// New frames for everybody.
    func newFrames() -> [[UInt8]] {
      (0..<Int.random(in: 1...5, using: &generator)).map { _ in
        sizes.append(Int.random(in: 40...9_000, using: &generator))
        return frame("tape", sizes.count - 1, size: sizes[sizes.count - 1])
      }
    }

    func newReply(to index: Int) -> [UInt8] {
      replies[index] += 1
      return frame("reply", replies[index] - 1, size: 100)
    }

    /// Reads some, and looks whether it is what comes next.
    func read(_ index: Int, atMost most: Int = 1 << 20) throws {
      try clients[index].readWhatIsThere(atMost: most == 1 << 20 ? most : Int.random(in: 1...most, using: &generator))
      for frame in clients[index].takeFrames() {
        let isReply = frame.payload.starts(with: "plaintext of reply".utf8)
        let number = seen[index][isReply ? 1 : 0]
        seen[index][isReply ? 1 : 0] += 1
        let expected =
          isReply ? numbered("reply", number, size: 100) : numbered("tape", number, size: sizes[number])
        if frame.payload != expected { Issue.record("frame \(number) of client \(index) is not what was sent") }
      }
    }
  }

  @Test(
    "a fan-out, replies and changes of keys between them reach readers that pause whole and in order",
    arguments: [ListenerTLSClient.Offer.tls12, .aes256, .chaCha20])
  func order(offer: ListenerTLSClient.Offer) throws {
    try withTLSListener({ $0.answerLimitBytes = 1 << 30 }) { harness throws in
      let traffic = try Traffic(
        [nil, 4_096, 4_096].map { (bytes: Int32?) in
          let client = try ListenerTLSClient(port: harness.port, offer, receiveBufferBytes: bytes)
          try client.upgrade()
          return client
        })
      try withScene(harness, connections: 3) { scene throws in
        nonisolated(unsafe) let scene = scene
        for round in 0..<400 {
          let frames = traffic.newFrames()
          try harness.onLoop(0) { _ in scene.send(frames) }
          let index = Int.random(in: 0..<3, using: &traffic.generator)
          let reply = traffic.newReply(to: index)
          try harness.onLoop(index) { $0.connection.send(reply) }
          if offer != .tls12 && round % 11 == 0 { try traffic.clients[round % 3].changeKeys(asks: round % 2 == 0) }
          try traffic.read(0)
          // The other two stall until far more waits than the kernel takes ahead, and then read in drops.
          if round > 300 || round % 100 == 99 {
            for index in 1...2 { try traffic.read(index, atMost: 90_000) }
          }
        }
        #expect(scene.mostLagging > 0 && scene.mostQueued > 0)
        while !traffic.hasArrived {
          try harness.onLoop(0) { _ in scene.goOn() }
          for index in 0..<3 { try traffic.read(index, atMost: 300_000) }
        }
        for (index, client) in traffic.clients.enumerated() {
          #expect(try harness.wait { try harness.onLoop(index) { $0.connection.queuedBytes } == 0 })
          #expect(!client.wire.contains("plaintext of "))
        }
      }
    }
  }

  @Test(
    "a peer that goes in the middle of a fan-out takes nobody with it, with or without a goodbye",
    arguments: [false, true])
  func goes(withGoodbye: Bool) throws {
    try withTLSListener { harness throws in
      let stays = try ListenerTLSClient(port: harness.port)
      try stays.upgrade()
      var goes: ListenerTLSClient? = try ListenerTLSClient(port: harness.port, receiveBufferBytes: 4_096)
      try goes?.upgrade()
      try withScene(harness, connections: 2) { scene throws in
        nonisolated(unsafe) let scene = scene
        var sent = 0
        func send(_ count: Int) throws {
          for _ in 0..<count {
            let next = frame("tape", sent, size: 50_000)
            sent += 1
            try harness.onLoop(0) { _ in scene.send([next]) }
            try stays.readWhatIsThere()
          }
        }
        try send(200)
        if withGoodbye { try goes?.sayGoodbye() }
        goes = nil
        try send(100)
        #expect(try harness.wait { try harness.onLoop(1) { $0.timesClosed } == 1 })
        try send(10)
        var got = 0
        while got < sent {
          let frames = try stays.readFrames()
          if frames.isEmpty { break }
          for frame in frames {
            #expect(frame.payload == numbered("tape", got, size: 50_000))
            got += 1
          }
          try harness.onLoop(0) { _ in scene.goOn() }
        }
        #expect(got == sent)
      }
    }
  }

  @Test("our Close frame stands behind all that waits, and our goodbye behind it")
  func closing() throws {
    try withTLSListener { harness throws in
      let client = try ListenerTLSClient(port: harness.port, receiveBufferBytes: 4_096)
      try client.upgrade()
      let count = 1_000
      try harness.onLoop { session in
        for number in 0..<count { session.connection.send(frame("reply", number, size: 12_000)) }
        session.connection.close(.shutdown)
      }
      #expect(try harness.onLoop { $0.connection.queuedBytes } > 0)
      var got = 0
      while got < count {
        for frame in try client.readFrames().prefix(count - got) {
          #expect(frame.payload == numbered("reply", got, size: 12_000))
          got += 1
          if got == count { try client.send(ListenerRawClient.frame(0x88, [0x0B, 0xB9])) }
        }
      }
      try client.readToEnd()
      #expect(client.heardGoodbye)
      #expect(try harness.wait { try harness.onLoop { $0.timesClosed } == 1 })
    }
  }

  @Test("what is no record, or was changed under way, ends the connection with an encrypted alert")
  func garbage() throws {
    try withTLSListener { harness throws in
      let plain = Array("GET / HTTP/1.1\r\n\r\n".utf8)
      let forged: [UInt8] = [23, 3, 3, 0, 40] + [UInt8](repeating: 7, count: 40)
      let tooLong: [UInt8] = [23, 3, 3, 0x7F, 0xFF]
      let unprotected: [UInt8] = [21, 3, 3, 0, 2, 1, 0]
      for (index, bytes) in [plain, forged, tooLong, unprotected].enumerated() {
        let client = try ListenerTLSClient(port: harness.port)
        try client.upgrade()
        let before = client.wire.count
        try client.sendRaw(bytes)
        #expect(throws: (any Error).self) {
          try client.readToEnd()
          throw ListenerTLSClient.Failure.ended
        }
        #expect(client.wire.count == before || client.wire[before] == 23)
        #expect(try harness.wait { try harness.onLoop(index) { $0.timesClosed } == 1 })
      }
    }
  }

  @Test("a peer that asks for new keys again and again is answered, and goes on")
  func manyKeyUpdates() throws {
    try withTLSListener { harness throws in
      let client = try ListenerTLSClient(port: harness.port)
      try client.upgrade()
      for _ in 0..<2_000 { try client.changeKeys(asks: true) }
      try client.send(ListenerRawClient.text("still there"))
      #expect(try client.readFrames().map(\.payload) == [Array("still there".utf8)])
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ text: String) -> Bool {
    Data(self).range(of: Data(text.utf8)) != nil
  }
}
