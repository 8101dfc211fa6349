import Foundation
import Synchronization
import TestSupport
import Testing

/// `fanfare broker` where channels are shared among partitions: a process for each, and one that keeps all of them running.
@Suite(
  "The processes of partitions", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct PartitionProcessTests {
  private static let count = 3

  @Test("Each partition has a broker of its own; one that is killed comes back, and all of them end together")
  func together() async throws {
    try await Brokers.with(Self.count) { brokers in
      for partition in 0..<Self.count { try await check(partition, of: brokers) }
      let before = brokers.identifiers
      #expect(Set(before.values).count == Self.count)

      let victim = try #require(before[1])
      kill(victim, SIGKILL)
      let isBack = await eventually { brokers.identifiers[1] != victim && brokers.endpoints(of: 1) != nil }
      #expect(isBack, "\(brokers.account)")
      #expect(brokers.said("the broker of partition 1 was ended by signal 9 after "), "\(brokers.account)")
      try await isReady(1, brokers)
      #expect(brokers.identifiers[0] == before[0] && brokers.identifiers[2] == before[2], "the others went on")

      // What ends in order has handed its log over, and gets in line at once.
      let second = try #require(brokers.identifiers[1])
      kill(second, SIGTERM)
      #expect(await eventually { brokers.identifiers[1] != second && brokers.endpoints(of: 1) != nil })
      #expect(brokers.said("the broker of partition 1 ended with code 0 after "))

      let last = brokers.identifiers.values
      #expect(await brokers.end() == 0, "\(brokers.account)")
      #expect(last.allSatisfy(Brokers.isGone), "\(brokers.account)")
      #expect((0..<Self.count).allSatisfy { brokers.endpoints(of: $0) == nil })
    }
  }

  /// What a partition's broker has of its own, and what it has not.
  private func check(_ partition: Int, of brokers: Brokers) async throws {
    let endpoints = try #require(brokers.endpoints(of: partition))
    let suffix = partition == 0 ? "" : ".p\(partition)"
    #expect(endpoints.backbone == "ipc://\(brokers.directory.path)/b.ipc\(suffix)")
    #expect(endpoints.tap == "ipc://\(brokers.data.path)/services/tap.ipc\(suffix)")
    #expect(endpoints.commands == nil && endpoints.websocket == nil)
    // Its endpoints are written down before it says so.
    let says = await eventually(within: .seconds(60)) { brokers.said("partition=\(partition) role=broker") }
    #expect(says, "\(brokers.account)")
    try await isReady(partition, brokers)
    let http = try brokers.http(of: partition)
    #expect(try http.ask("GET", "/health", "Connection: close\r\n").status == 200)
    #expect(try http.ask("GET", "/metrics", "Connection: close\r\n").text.contains("fanfare_broker_"))
    // Backends and operators ask somebody who answers for all partitions.
    #expect(try http.ask("GET", "/console/", "Connection: close\r\n").status == 404)
    let call = "Content-Length: 2\r\nX-API-Key: k\r\nConnection: close\r\n"
    #expect(try http.ask("POST", "/api/info", call, Array("{}".utf8)).status == 404)
  }

  private func isReady(_ partition: Int, _ brokers: Brokers) async throws {
    let isReady = await eventually {
      (try? brokers.http(of: partition).ask("GET", "/ready", "Connection: close\r\n").status) == 200
    }
    #expect(isReady, "\(brokers.account)")
  }

  @Test("When the process that has started them is killed, none stays behind, and the next one finds everything free")
  func killed() async throws {
    try await Brokers.with(Self.count) { brokers in
      let first = brokers.identifiers.values
      brokers.process.signal(SIGKILL)
      #expect(await eventually { first.allSatisfy(Brokers.isGone) }, "\(brokers.account)")
      #expect(brokers.said("the process that has started this broker is gone"))
      try brokers.begin()
      try await brokers.awaitAll()
      #expect(await brokers.end() == 0, "\(brokers.account)")
    }
  }

  @Test("A broker that hangs when it is told to end is killed, and a signal for certificates ends nobody")
  func hangs() async throws {
    try await Brokers.with(Self.count) { brokers in
      brokers.process.signal(SIGHUP)
      let hanging = try #require(brokers.identifiers[1])
      kill(hanging, SIGSTOP)
      #expect(await brokers.end() == 0, "\(brokers.account)")
      #expect(brokers.said("the broker of partition 1 has not ended when it was told to, and is killed"))
      #expect(Brokers.isGone(hanging))
    }
  }

  @Test("A broker that cannot start is tried again, and whoever runs it is told each time")
  func cannotStart() async throws {
    try await Brokers.with(Self.count) { brokers in
      let other = try #require(brokers.identifiers[2])
      // Where the folder should be is a file.
      #expect(await brokers.end() == 0)
      let folder = brokers.folder(of: 2)
      try FileManager.default.removeItem(at: folder)
      try Data().write(to: folder)
      try brokers.begin()
      let isTold = await eventually {
        brokers.said("the broker of partition 2 ended with code 1 after ")
          && brokers.said(", and is started again in 0.5 s; what was wrong it has said above")
          && brokers.said(", and is started again in 1.0 s")
      }
      #expect(isTold, "\(brokers.account)")
      try FileManager.default.removeItem(at: folder)
      try await brokers.awaitAll()
      #expect(brokers.identifiers[2] != other)
      #expect(await brokers.end() == 0, "\(brokers.account)")
    }
  }

  @Test("Keys, pictures and the index of messages stay where they are without partitions")
  func home() async throws {
    // Nobody else than a broker has any of these.
    let own: Set<String> = [
      "endpoints.json", "fanfare.lock", "fanfare.engine-mark", "services", "partition-0", "partition-1", "partition-2",
      "search.sqlite-wal", "search.sqlite-shm",
    ]
    // Beside them the front has a clock of its own; and files are written under other names first.
    @Sendable func kept(_ brokers: Brokers) throws -> Set<String> {
      try brokers.files().subtracting(own).filter {
        !$0.hasPrefix("front-clock") && !$0.hasPrefix(".") && !$0.hasSuffix(".new")
      }
    }
    var alone: Set<String> = []
    try await Brokers.with(1) { brokers in
      // The clock's file is the last, and written a moment after the start.
      let isWhole = await eventually(within: .seconds(60)) { (try? kept(brokers).contains("clock.seen")) ?? false }
      #expect(isWhole, "\(brokers.account)")
      alone = try kept(brokers)
    }
    try await Brokers.with(Self.count) { brokers in
      let found = Mutex<Set<String>>([])
      let isSame = await eventually(within: .seconds(60)) {
        guard let files = try? kept(brokers) else { return false }
        found.withLock { $0 = files }
        return files == alone
      }
      #expect(isSame, "\(found.withLock { $0 }), and alone \(alone)")
      for partition in 0..<Self.count {
        let files = Set(try FileManager.default.contentsOfDirectory(atPath: brokers.folder(of: partition).path))
        let more = files.subtracting(own)
        #expect(partition == 0 ? more.isEmpty : more.allSatisfy { $0.hasPrefix("clock.") }, "\(partition): \(more)")
      }
    }
  }

  // MARK: What is refused

  @Test("What cannot have partitions says so, and what to do")
  func refused() async throws {
    let shared = ["cluster.partitions=3"]
    let postgres = shared + ["log.engine=postgres", "log.postgres.connection=host=/nowhere"]
    let cases: [(arguments: [String], settings: [String], sentence: String)] = [
      (["serve"], postgres, "run 'fanfare broker' and 'fanfare gateway' apart"),
      (["broker"], shared, "--set: cluster.partitions: is 3, but log.engine is sqlite"),
      (["broker"], postgres + ["backbone.endpoint=inproc://x"], "nobody outside this process"),
      (["broker", "--partition", "3"], postgres, "so write 0 to 2"),
      (["broker", "--partition", "0"], [], "leave --partition out"),
      (["broker"], postgres + ["admin.port=65534"], "write one of at most 65532"),
    ]
    try await withTemporaryFolder { folder in
      for (arguments, settings, sentence) in cases {
        let all = ["data.directory=\(folder.path)/d"] + settings
        let run = try await Tool.run(arguments + all.flatMap { ["--set", $0] }, in: folder)
        #expect(run.status == 1 && run.tool.errors.contains(sentence), "\(arguments): \(run.tool.errors)")
      }
    }
  }

  @Test("A folder that one process has, another one does not get, neither for all partitions nor for the home one")
  func locked() async throws {
    try await Brokers.with(Self.count) { brokers in
      for more in [[], ["--partition", "0"], ["--partition", "1"]] {
        let run = try await Tool.run(brokers.arguments + more, in: brokers.directory)
        #expect(run.status == 1 && run.tool.errors.contains("data folder"), "\(more): \(run.tool.errors)")
      }
    }
  }

  @Test("The broker of one partition runs by itself, for who has a supervisor")
  func one() async throws {
    try await Brokers.with(Self.count, adding: ["--partition", "2"]) { brokers in
      #expect(brokers.endpoints(of: 2)?.backbone?.hasSuffix("/b.ipc.p2") == true)
      #expect(brokers.endpoints(of: 0) == nil)
      try await isReady(2, brokers)
      #expect(await brokers.end() == 0, "\(brokers.account)")
    }
  }
}
