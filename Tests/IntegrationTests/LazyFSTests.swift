import Foundation
import TestSupport
import Testing

/// Power cuts on a file system that forgets what was not synced: what the log acknowledged is there, and what was deleted
/// or destroyed is not. `FIRE_ROUNDS` says how often the power goes, `FIRE_SEED` when.
@Suite("Power cuts on LazyFS", .ownThread, .skipUnlessStrict(.lazyfs, isThere: LazyFS.isThere))
struct LazyFSTests {
  @Test("LazyFS forgets bytes, sizes and what was overwritten, and nothing that was synced")
  func forgets() async throws {
    try await withTemporaryFolder { beside in
      try await LazyFS.with("data", in: beside) { lazy in
        let kept = try SyncedFile(lazy.folder.appendingPathComponent("kept"))
        let cut = try SyncedFile(lazy.folder.appendingPathComponent("cut"))
        for file in [kept, cut] {
          try file.write("synced", at: 0)
          try file.sync()
          try file.write("SYN", at: 0)
          try file.write(", and more", at: 6)
        }
        try kept.sync()
        #expect(try String(contentsOf: cut.url, encoding: .utf8) == "SYNced, and more")
        kept.close()
        cut.close()
        try await lazy.cutPower()
        for folder in [lazy.folder, lazy.disk] {
          #expect(try String(contentsOf: folder.appendingPathComponent("kept"), encoding: .utf8) == "SYNced, and more")
          #expect(try String(contentsOf: folder.appendingPathComponent("cut"), encoding: .utf8) == "synced")
        }
      }
      let isUnmounted = try FileManager.default.contentsOfDirectory(atPath: beside.path + "/data").isEmpty
      #expect(isUnmounted)
    }
  }

  // MARK: The log

  private static func withDeployment(_ body: (Deployment, LazyFS) async throws -> Void) async throws {
    try await withTemporaryFolder { beside in
      // The data folder of the one process that a deployment may be.
      try await LazyFS.with("broker", in: beside) { lazy in
        try await Deployment.with(.serve, settings: lazy.settings, in: beside) { try await body($0, lazy) }
      }
    }
  }

  private static func cutAndRestart(_ deployment: Deployment, _ lazy: LazyFS) async throws {
    await deployment.broker.kill()
    try await lazy.cutPower()
    try await deployment.restartBroker()
  }

  /// A channel as it was found after a cut.
  private struct Found {
    var channel: String
    var epoch: String
    var history: [String]
  }

  @Test("What was acknowledged is there once and in order, in its epoch; relaxed and memory have new epochs")
  func log() async throws {
    let seed = Fire.seed(of: "power cuts under load")
    var random = SeededGenerator(seed: seed)
    try await Self.withDeployment { deployment, lazy in
      var former: Found?
      for round in 1...Fire.rounds(usually: 6) {
        let what = "round \(round), seed \(seed)"
        let others = try await Others(deployment, round, &random)
        let found = try await Self.burn(deployment, lazy, round, what, &random) { try await others.publish() }
        try await others.check(deployment, what)
        if Bool.random(using: &random) { try await Self.cutAndRestart(deployment, lazy) }
        // What was found once is there after each further cut.
        for found in [former, found].compactMap(\.self) {
          let isThere = try await deployment.service().wholeHistory(found.channel).map(\.data) == found.history
          let epoch = try await Self.position(found.channel, deployment).epoch
          try #require(isThere && epoch == found.epoch, "\(what): \(found.channel)")
        }
        former = found
      }
    }
  }

  private static func position(_ channel: String, _ deployment: Deployment) async throws -> Peer.Position {
    try await deployment.client("looks").subscribe(channel).position
  }

  /// Publishes at full speed, cuts the power meanwhile, goes on, and checks the history.
  ///
  /// - Parameter last: called before the power goes.
  private static func burn(
    _ deployment: Deployment, _ lazy: LazyFS, _ round: Int, _ what: String, _ random: inout SeededGenerator,
    last: () async throws -> Void
  ) async throws -> Found {
    let channel = "dur:cut-\(round)"
    let empty = "dur:empty-\(round)"
    let record = FireRecord()
    let epochs = [try await position(channel, deployment).epoch, try await position(empty, deployment).epoch]
    let services = try (0..<3).map { _ in try deployment.service() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { record.end() }
      group.addTask { await record.pipeline("s0", to: channel, over: services[0]) }
      group.addTask { await record.pipeline("s1", to: channel, over: services[1]) }
      group.addTask { await record.careful("c0", to: channel, over: services[2]) }
      try await record.goesOn(by: Int.random(in: 0...1000, using: &random), "\(what), before")
      try await last()
      try await record.goesOn(by: Int.random(in: 0...20, using: &random), "\(what), at last")
      try await cutAndRestart(deployment, lazy)
      record.noteRestart()
      try await record.goesOn(by: 50, "\(what), after")
      record.end()
      try await group.waitForAll()
    }
    let history = try await deployment.service().wholeHistory(channel)
    let faults = record.faults(in: history.map(\.data))
    try #require(faults.isEmpty, "\(what): \(faults.prefix(10))")
    let isContiguous = history.map(\.offset) == (0..<history.count).map { UInt64($0) + 1 }
    try #require(isContiguous, "\(what)")
    try #require(try await position(channel, deployment).epoch == epochs[0], "\(what)")
    try #require(try await position(empty, deployment).epoch == epochs[1], "\(what): an empty channel")
    return Found(channel: channel, epoch: epochs[0], history: history.map(\.data))
  }

  /// A channel that is `relaxed` and one that is `memory`, over one cut.
  private struct Others {
    private let client: Peer
    private let positions: [String: Peer.Position]
    private let sent: [String]
    private let relaxed: String

    init(_ deployment: Deployment, _ round: Int, _ random: inout SeededGenerator) async throws {
      client = try await deployment.client("others")
      relaxed = "rel:cut-\(round)"
      sent = (1...Int.random(in: 1...40, using: &random)).map { "r\($0)" }
      var positions: [String: Peer.Position] = [:]
      for channel in [relaxed, "mem:cut-\(round)"] { positions[channel] = try await client.subscribe(channel).position }
      self.positions = positions
    }

    func publish() async throws {
      for data in sent { for channel in positions.keys.sorted() { try await client.publish(data, to: channel) } }
    }

    func check(_ deployment: Deployment, _ what: String) async throws {
      let again = try await deployment.client("others")
      for (channel, before) in positions {
        let result = try await again.subscribe(channel, since: .init(epoch: before.epoch, offset: 1))
        #expect(result.recovered != true && result.publications?.isEmpty ?? true, "\(what): \(channel)")
        #expect(result.position.epoch != before.epoch, "\(what): \(channel)")
        try await again.publish("after", to: channel)
        let history = try await deployment.service().wholeHistory(channel).map(\.data)
        let left = channel == relaxed ? Array(history.dropLast()) : []
        #expect(history == left + ["after"] && sent.starts(with: left), "\(what): \(channel) has \(history)")
      }
    }
  }

  @Test("After an orderly end the power takes nothing: relaxed channels keep their epoch and all publications")
  func orderly() async throws {
    let seed = Fire.seed(of: "power cuts after an orderly end")
    var random = SeededGenerator(seed: seed)
    try await Self.withDeployment { deployment, lazy in
      for round in 1...Fire.rounds(usually: 3) {
        let sent = (1...Int.random(in: 2...60, using: &random)).map { "m\($0)" }
        let channels = ["rel:orderly-\(round)", "dur:orderly-\(round)"]
        let ann = try await deployment.client("ann")
        var before: [String: Peer.Position] = [:]
        for channel in channels { before[channel] = try await ann.subscribe(channel).position }
        for data in sent { for channel in channels { try await ann.publish(data, to: channel) } }
        #expect(await deployment.broker.end() == 0)
        try await lazy.cutPower()
        try await deployment.restartBroker()
        let again = try await deployment.client("ann")
        for channel in channels {
          let epoch = before[channel]?.epoch ?? ""
          let result = try await again.subscribe(channel, since: .init(epoch: epoch, offset: 1))
          let what = "round \(round), seed \(seed), \(channel)"
          #expect(result.position == .init(epoch: epoch, offset: UInt64(sent.count)), "\(what)")
          #expect(result.recovered == true && again.data(channel) == Array(sent.dropFirst()), "\(what)")
        }
      }
    }
  }
}

/// A file as a program has it that knows when it syncs.
private struct SyncedFile {
  let url: URL
  private let descriptor: Int32

  init(_ url: URL) throws {
    self.url = url
    descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure("\(url.path) cannot be made: errno \(errno)") }
  }

  func write(_ text: String, at offset: Int) throws {
    let bytes = Array(text.utf8)
    guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
      throw Failure("\(url.path) cannot be written: errno \(errno)")
    }
  }

  func sync() throws {
    guard fsync(descriptor) == 0 else { throw Failure("\(url.path) cannot be synced: errno \(errno)") }
  }

  func close() { Foundation.close(descriptor) }
}
