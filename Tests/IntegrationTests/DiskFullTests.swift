import Foundation
import TestSupport
import Testing

/// A full disk refuses what it cannot keep, and nothing else breaks.
@Suite("A full disk", .ownThread)
struct DiskFullTests {
  @Test(
    "Durable publications are refused with a sentence, the rest goes on, and with space again all is well",
    .skipUnlessStrict(.tmpfs, isThere: SmallDisk.isPossible))
  func full() async throws {
    try await SmallDisk.with(mebibytes: 4) { disk in
      // The disk is filled to its last byte, so the server must not refuse before; another test shows that it does.
      try await Deployment.with(.serve, settings: ["data.minimum_free_bytes=0"], in: disk) { deployment in
        let service = try deployment.service()
        let ann = try await deployment.client("ann")
        let position = try await ann.subscribe("dur:full").position
        try await ann.subscribe("mem:full")
        var acknowledged: [String] = []
        for number in 1...20 {
          try await ann.publish("before \(number)", to: "dur:full")
          acknowledged.append("before \(number)")
        }
        let filler = disk.appendingPathComponent("filler")
        try SmallDisk.fill(filler)
        // What SQLite has allocated already may take some more.
        let payload = String(repeating: "y", count: 16 << 10)
        var refusal: Service.Answer?
        for number in 1...500 where refusal == nil {
          let data = "during \(number) \(payload)"
          let answer = try await service.publish(data, to: "dur:full")
          if answer.isError { refusal = answer } else { acknowledged.append(data) }
        }
        let refused = try #require(refusal, "the disk never was full")
        #expect(refused.message?.contains("disk") == true, "\(refused)")
        let toClient = try await ann.ask(#""publish":{"channel":"dur:full","data":"\#(payload)"}"#)
        #expect(toClient.error?.temporary == true, "\(String(describing: toClient.error))")

        try await ann.publish("memory goes on", to: "mem:full")
        #expect(await eventually { ann.data("mem:full") == ["memory goes on"] })
        let during = try await service.wholeHistory("dur:full", pageSize: 20).map(\.data)
        let isReadable = during == acknowledged
        #expect(isReadable, "\(during.count) kept, \(acknowledged.count) acknowledged")

        try FileManager.default.removeItem(at: filler)
        #expect(
          try await eventually(within: .seconds(60)) {
            try await service.publish("after", to: "dur:full").isError == false
          })
        acknowledged.append("after")
        #expect(await eventually { ann.data("dur:full").last == "after" })
        let isDelivered = ann.data("dur:full") == acknowledged
        #expect(isDelivered)
        #expect(ann.socket.closing == nil)

        await deployment.broker.kill()
        try await deployment.restartBroker()
        // A socket of before may not have noticed yet, and lose what it takes.
        let kept = try await deployment.service().wholeHistory("dur:full", pageSize: 20).map(\.data)
        let isWhole = kept == acknowledged
        #expect(isWhole, "\(kept.count) kept, \(acknowledged.count) acknowledged")
        let again = try await deployment.client("ann")
        #expect(try await again.subscribe("dur:full").position.epoch == position.epoch)
      }
    }
  }
}

/// A tmpfs of a few mebibytes.
enum SmallDisk {
  static let isPossible: Bool = {
    guard geteuid() == 0 else { return false }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fanfare-\(UUID().uuidString.prefix(8))")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    guard (try? mount(folder, mebibytes: 1)) != nil else { return false }
    unmount(folder)
    return true
  }()

  static func with(mebibytes: Int, _ body: (URL) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
      try mount(folder, mebibytes: mebibytes)
      defer { unmount(folder) }
      try await body(folder)
    }
  }

  /// Writes until nothing fits any more.
  static func fill(_ file: URL) throws {
    let descriptor = open(file.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure("\(file.path) cannot be made: errno \(errno)") }
    defer { close(descriptor) }
    let block = [UInt8](repeating: 0, count: 4096)
    while write(descriptor, block, block.count) > 0 {}
  }

  private static func mount(_ folder: URL, mebibytes: Int) throws {
    let arguments = ["-t", "tmpfs", "-o", "size=\(mebibytes)m", "fanfare-test", folder.path]
    guard Command(named: "mount", arguments).succeeds() else { throw Failure("mount failed") }
  }

  private static func unmount(_ folder: URL) { _ = Command(named: "umount", ["-l", folder.path]).succeeds() }
}
