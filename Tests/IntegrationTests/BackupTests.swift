import Foundation
import Synchronization
import TestSupport
import Testing

/// The commands of docs/OPERATIONS.md by which a server is backed up while it works, and restored.
@Suite("Backup and restore", .ownThread)
struct BackupTests {
  private static let channel = "dur:backup"
  private static let publishers = 4

  @Test("All that was acknowledged before a backup is in it, though publishers went on meanwhile")
  func backup() async throws {
    try await withTemporaryFolder { folder in
      let backup = folder.appendingPathComponent("backup")
      for name in ["first", "second"] {
        try FileManager.default.createDirectory(
          at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
      }
      let acknowledged = Acknowledged()
      var epoch = ""
      try await Deployment.with(.serve, in: folder.appendingPathComponent("first")) { deployment in
        let peers = try await Self.clients(of: deployment)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, peer) in peers.enumerated() {
            group.addTask { try await Self.publish(peer, "p\(index)", acknowledged) }
          }
          #expect(await eventually { acknowledged.smallest(of: Self.publishers) >= 100 })
          acknowledged.note()
          try await Self.run(
            "Backup", ["/var/lib/fanfare": deployment.directory.path + "/broker", "/backup/fanfare": backup.path])
          // The server went on while the copy was made.
          let before = acknowledged.count
          #expect(await eventually { acknowledged.count > before + 10 })
          acknowledged.end()
          try await group.waitForAll()
        }
        epoch = try await deployment.service().ask("history", #"{"channel":"dur:backup","limit":1}"#)?.epoch ?? ""
      }
      try Self.checkContents(of: backup)
      try await restore(backup, in: folder.appendingPathComponent("second"), acknowledged, epoch)
    }
  }

  private func restore(_ backup: URL, in folder: URL, _ acknowledged: Acknowledged, _ epoch: String) async throws {
    // What an earlier server left, which is not what the backup holds.
    try await Deployment.with(.serve, in: folder) { deployment in
      _ = try await deployment.service().publish("of before", to: Self.channel)
    }
    try await Self.run("Restore", ["/var/lib/fanfare": folder.path + "/broker", "/backup/fanfare": backup.path])
    try await Deployment.with(.serve, in: folder) { deployment in
      let service = try deployment.service()
      let history = try await service.wholeHistory(Self.channel)
      let kept = Set(history.map(\.data))
      let missing = acknowledged.before.subtracting(kept)
      #expect(
        missing.isEmpty, "\(missing.count) of \(acknowledged.before.count) are missing: \(missing.sorted().prefix(5))")
      #expect(!kept.contains("of before"))
      let offsets = history.map(\.offset)
      #expect(offsets == (0..<history.count).map { UInt64($0) + 1 }, "the history has holes")
      // Clients that had seen more must not be given other publications under the same offsets.
      let now = await service.ask("history", #"{"channel":"dur:backup","limit":1}"#)?.epoch
      #expect(now != nil && now != epoch)
      #expect(try await service.publish("of after", to: Self.channel).offset == UInt64(history.count) + 1)
    }
  }

  private static func checkContents(of backup: URL) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path)
    #expect(names.contains("fanfare.sqlite"))
    // With a key of the hour a backup could still tell what is to be gone after a day.
    for secret in ["seal.keys", "state.key", "vanish.keys", "pictures", "search.sqlite", "fanfare.mark"] {
      #expect(!names.contains(secret), "\(secret) is in the backup")
    }
    for name in names {
      let mode = try FileManager.default.attributesOfItem(atPath: backup.path + "/" + name)[.posixPermissions] as? Int
      #expect((mode ?? 0o777) & 0o077 == 0, "others may read \(name) of the backup")
    }
  }

  private static func clients(of deployment: Deployment) async throws -> [Peer] {
    var peers: [Peer] = []
    for index in 0..<publishers { peers.append(try await deployment.client("p\(index)", at: deployment.a)) }
    return peers
  }

  private static func publish(_ peer: Peer, _ name: String, _ acknowledged: Acknowledged) async throws {
    var number = 0
    while !acknowledged.isOver {
      number += 1
      try await peer.publish("\(name)-\(number)", to: channel)
      acknowledged.add("\(name)-\(number)", by: name)
    }
  }

  /// Runs the commands of a paragraph of docs/OPERATIONS.md, as they stand there but for the folders.
  private static func run(_ paragraph: String, _ folders: [String: String]) async throws {
    let document = ServerProcess.repository.appendingPathComponent("docs/OPERATIONS.md")
    let text = try String(contentsOf: document, encoding: .utf8)
    let after = try #require(text.components(separatedBy: "**\(paragraph)**").dropFirst().first)
    let block = try #require(after.components(separatedBy: "```sh\n").dropFirst().first)
    var script = try #require(block.components(separatedBy: "```").first)
    for (name, path) in folders {
      try #require(script.contains("\(name)/"), "the commands name no folder \(name)")
      script = script.replacingOccurrences(of: name, with: path)
    }
    // The lines that stop a service and change owners are left out: the test has no service, and owns its folders.
    script = script.split(separator: "\n").filter { !$0.hasPrefix("systemctl ") && !$0.hasPrefix("chown ") }
      .joined(separator: "\n")
    let outcome = try await Command(named: "sh", ["-e", "-c", script]).run(deadline: .seconds(120))
    #expect(outcome.status == 0, "\(script)\n\(outcome.output)")
  }
}

/// What publishers were told is on disk.
private final class Acknowledged: Sendable {
  private struct State {
    var all: Set<String> = []
    var counts: [String: Int] = [:]
    var before: Set<String> = []
    var isOver = false
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.all.count } }
  var isOver: Bool { state.withLock { $0.isOver } }
  /// What there was when ``note()`` was called.
  var before: Set<String> { state.withLock { $0.before } }

  func smallest(of publishers: Int) -> Int {
    state.withLock { $0.counts.count < publishers ? 0 : $0.counts.values.min() ?? 0 }
  }

  func add(_ data: String, by publisher: String) {
    state.withLock { state in
      state.all.insert(data)
      state.counts[publisher, default: 0] += 1
    }
  }

  func note() { state.withLock { $0.before = $0.all } }
  func end() { state.withLock { $0.isOver = true } }
}
