import Foundation
import TestSupport
import Testing
import Wire

@testable import Log

/// When a channel keeps its epoch, and when it must not.
@Suite(.ownThread) struct EpochTests {
  @Test(
    "A channel on which nothing was published keeps its epoch over clean restarts, and has no row",
    arguments: [Durability.relaxed, .durable], DiskKind.allCases)
  func emptyChannel(_ durability: Durability, _ kind: DiskKind) throws {
    let name = try channel("empty")
    var epochs: Set<String> = []
    var subject = try DiskSubject(kind)
    for _ in 0..<3 {
      epochs.insert(try subject.store.open(name, durability: durability).position.epoch)
      #expect(try subject.rows("channels") == 0)
      subject = try subject.again()
    }
    #expect(epochs.count == 1)
    let epoch = try #require(epochs.first)
    #expect(try subject.store.open(name, durability: durability).position.epoch == epoch)
    subject.append(name, epoch: epoch, offset: 1, durability: durability)
    try eventually { subject.store.bytesWaiting == 0 }
    let again = try subject.again()
    #expect(try again.store.open(name, durability: durability).position == StreamPosition(epoch: epoch, offset: 1))
  }

  @Test("Killed before its first publication: a durable channel keeps its epoch, a relaxed one does not")
  func emptyChannelKilled() throws {
    let folders = try (0..<2).map { _ in try TemporaryFolder() }
    let name = try channel("empty")
    let subject = try SQLiteSubject(folders[0].path)
    let durable = try subject.store.open(name, durability: .durable).position.epoch
    let relaxed = try subject.store.open(channel("relaxed"), durability: .relaxed).position.epoch
    try CrashImage.copy(folders[0].path, to: folders[1].path)
    let survivor = try SQLiteSubject(folders[1].path)
    #expect(try survivor.store.open(name, durability: .durable).position.epoch == durable)
    #expect(try survivor.store.open(channel("relaxed"), durability: .relaxed).position.epoch != relaxed)
  }

  @Test(
    "A channel whose row was deleted begins again in an epoch that it never had, however often",
    arguments: DiskKind.allCases)
  func deletedRow(_ kind: DiskKind) throws {
    let name = try channel("a")
    var epochs: [String] = []
    var subject = try DiskSubject(kind)
    for _ in 0..<5 {
      let position = try subject.store.open(name, durability: .durable).position
      #expect(position.offset == 0)
      epochs.append(position.epoch)
      subject.append(name, epoch: position.epoch, offset: 1, durability: .durable)
      try subject.completions.wait(for: 1)
      try subject.deleteChannels()
      subject = try subject.again()
    }
    #expect(Set(epochs).count == 5)
  }

  @Test("Epochs of channels without a row differ by name, durability, seed and generation")
  func derived() throws {
    var epochs: Set<String> = []
    for seed in ["s", "t"] {
      for generation in 0..<5 as Range<Int64> {
        for durability in [Durability.relaxed, .durable] {
          for name in ["a", "b", "chat:1", "chat:2", "chat:12"] {
            epochs.insert(
              Epoch.derived(from: seed, generation: generation, durability: durability, name: try channel(name)))
          }
        }
      }
    }
    #expect(epochs.count == 100)
    #expect(epochs.allSatisfy { $0.utf8.count == Epoch.length })
  }

  @Test("A power cut in a folder's first moments leaves a mark, and durable channels keep their epochs")
  func powerCut() throws {
    let folder = try TemporaryFolder()
    let name = try channel("a")
    let files = try ForgetfulFolder(folder.path)
    var options = SQLiteStore.Options()
    options.openFolder = { _ in files }
    var subject: SQLiteSubject? = try SQLiteSubject(folder.path, options: options)
    let epoch = try #require(try subject?.store.open(name, durability: .durable).position.epoch)
    subject?.append(name, epoch: epoch, offset: 1, durability: .durable)
    try subject?.completions.wait(for: 1)
    let image = try TemporaryFolder()
    try CrashImage.copy(folder.path, to: image.path)
    try files.cutPower(in: image.path)
    let survivor = try SQLiteSubject(image.path)
    #expect(try survivor.store.open(name, durability: .durable).position == StreamPosition(epoch: epoch, offset: 1))
    subject = nil
  }
}

/// A folder that knows which of its bytes a power cut would leave.
private final class ForgetfulFolder: FolderFiles, @unchecked Sendable {
  private let folder: SystemFolder
  private var synced: [String: [UInt8]] = [:]

  init(_ path: String) throws { folder = try SystemFolder(path, lockName: DataFolder.lockName) }

  func contents(of name: String) -> [UInt8]? { folder.contents(of: name) }
  func size(of name: String) -> Int { folder.size(of: name) }
  func overwrite(_ name: String, with bytes: [UInt8]) { folder.overwrite(name, with: bytes) }
  func touch(_ name: String) { folder.touch(name) }
  func close() { folder.close() }

  func replace(_ name: String, with bytes: [UInt8]) throws(FileFault) {
    try folder.replace(name, with: bytes)
    synced[name] = bytes
  }

  /// Changes a copy of the folder into what a power cut leaves: the mark as it was synced last, or an empty one.
  func cutPower(in copy: String) throws {
    let bytes = synced[DataFolder.markName] ?? []
    try Data(bytes).write(to: URL(fileURLWithPath: copy + "/" + DataFolder.markName))
  }
}
