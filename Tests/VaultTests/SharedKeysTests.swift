import Apps
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Vault

/// A table of boxes in memory, which one broker after another has.
final class BoxTable: Sendable {
  private struct State {
    var boxes: [String: KeyBox] = [:]
    var lease: UInt64 = 1
    var refusal: VaultFault?
    var saved = 0
  }

  private let state = Mutex(State())

  var boxes: [KeyBox] { state.withLock { $0.boxes.values.sorted { $0.name < $1.name } } }
  var saved: Int { state.withLock { $0.saved } }
  func refuse(_ fault: VaultFault?) { state.withLock { $0.refusal = fault } }

  /// How a broker sees it that takes the lease now.
  func take() -> Broker {
    state.withLock { $0.lease += 1 }
    return Broker(table: self, lease: state.withLock { $0.lease })
  }

  final class Broker: KeyBoxes {
    let table: BoxTable
    private let lease: Mutex<UInt64>
    private let takers = Mutex<[@Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void]>([])

    fileprivate init(table: BoxTable, lease: UInt64) {
      self.table = table
      self.lease = Mutex(lease)
    }

    /// Takes the lease again.
    func regain() throws(VaultFault) {
      let lease = table.state.withLock { state in
        state.lease += 1
        return state.lease
      }
      self.lease.withLock { $0 = lease }
      for take in takers.withLock({ $0 }) { try take(table.boxes, lease) }
    }

    func all() throws(VaultFault) -> (boxes: [KeyBox], lease: UInt64) {
      let mine = lease.withLock { $0 }
      guard table.state.withLock({ $0.lease }) == mine else { throw .notOurs }
      return (table.boxes, mine)
    }

    func replace(_ box: KeyBox, under lease: UInt64) throws(VaultFault) {
      let fault = table.state.withLock { state -> VaultFault? in
        if let refusal = state.refusal { return refusal }
        guard state.lease == lease else { return .notOurs }
        guard (state.boxes[box.name]?.version ?? 0) + 1 == box.version else {
          return .unavailable(reason: "version")
        }
        state.boxes[box.name] = box
        state.saved += 1
        return nil
      }
      if let fault { throw fault }
    }

    func whenRegained(_ take: @escaping @Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void) {
      takers.withLock { $0.append(take) }
    }
  }
}

@Suite("Keys that brokers share")
struct SharedKeysTests {
  private static let hour: Int64 = 3_600_000
  private static let now: Int64 = 1_700_000_000_000
  private static let key = [UInt8](0..<32)
  private let folder: TemporaryFolder
  private let table = BoxTable()
  private var master: String { folder.path + "/master.key" }

  init() throws {
    folder = try TemporaryFolder()
    try write(MasterKeysTests.first)
  }

  private func write(_ lines: String...) throws {
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: master))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: master)
  }

  private func shared(_ broker: BoxTable.Broker, _ lines: LogLines = LogLines()) throws -> SharedKeys {
    try SharedKeys(broker, masterFile: master, logger: Logger(label: "test") { _ in lines })
  }

  /// A folder of a broker's own.
  private func data(_ name: String) throws -> String {
    let path = folder.path + "/" + name
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func vault(_ keys: SharedKeys, _ folder: String) throws -> StateVault {
    try StateVault(
      hours: keys.place(StateVault.sealed, takingOverFrom: folder),
      lasting: keys.place(StateVault.lastingName, takingOverFrom: folder), rules: StateRules())
  }

  private func opened(_ name: String) throws -> HourKeys {
    let box = try #require(table.boxes.first { $0.name == name })
    let set = try MasterKeys.load(master).unwrap(box.box, name: name, version: box.version)
    let bytes = try #require(set?.bytes)
    return try #require(HourKeys(bytes))
  }

  @Test("What one broker has sealed the next one opens, with an empty folder of its own, and no file is made")
  func takeover() throws {
    let first = try vault(shared(table.take()), data("one"))
    try first.prepare(at: Self.now)
    let sealed = try first.seal(Self.key, at: Self.now)
    let released = try first.release(sealed)
    let second = try vault(shared(table.take()), data("two"))
    #expect(try second.open(sealed) == Self.key && second.open(released) == Self.key)
    #expect(try second.prepare(at: Self.now) == 0, "the keys are there")
    for name in ["one", "two"] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: data(name)) == [])
    }
    let keys = try opened(StateVault.sealed)
    let hourKey = try #require(keys[sealed.hour])
    for box in table.boxes { #expect(!Data(box.box).contains(Data(hourKey))) }
  }

  @Test("A key that is destroyed is in no box any more")
  func destruction() throws {
    let vault = try vault(shared(table.take()), data("one"))
    try vault.prepare(at: Self.now)
    let sealed = try vault.seal(Self.key, at: Self.now)
    #expect(try opened(StateVault.sealed)[sealed.hour] != nil)
    try vault.prepare(at: (sealed.hour + 27) * Self.hour)
    #expect(try opened(StateVault.sealed)[sealed.hour] == nil)
    #expect(throws: KeyVaultError.destroyed) { try vault.open(sealed) }
    let next = try self.vault(shared(table.take()), data("two"))
    #expect(throws: KeyVaultError.destroyed) { try next.open(sealed) }
  }

  @Test("Nothing is sealed with a key that could not be saved, and what was sealed stays")
  func refused() throws {
    let vault = try vault(shared(table.take()), data("one"))
    try vault.prepare(at: Self.now)
    let sealed = try vault.seal(Self.key, at: Self.now)
    table.refuse(.unavailable(reason: "away"))
    let later = Self.now + 5 * Self.hour
    #expect(throws: VaultFault.unavailable(reason: "away")) { try vault.prepare(at: later) }
    #expect(!vault.isReady(at: later))
    #expect(throws: KeyVaultError.self) { try vault.seal(Self.key, at: later) }
    #expect(try vault.open(sealed) == Self.key)
    table.refuse(nil)
    try vault.prepare(at: later)
    #expect(try vault.open(vault.seal(Self.key, at: later)) == Self.key)
  }

  @Test("Who has lost the log changes nothing, and has its successor's keys when it has the log again")
  func regained() throws {
    let broker = table.take()
    let first = try vault(shared(broker), data("one"))
    try first.prepare(at: Self.now)
    let early = try first.seal(Self.key, at: Self.now)
    let second = try vault(shared(table.take()), data("two"))
    let later = (early.hour + 27) * Self.hour
    try second.prepare(at: later)
    let late = try second.seal(Self.key, at: later)
    let boxes = table.boxes
    #expect(throws: VaultFault.notOurs) { try first.prepare(at: later) }
    #expect(throws: KeyVaultError.self) { try first.seal(Self.key, at: later) }
    #expect(throws: KeyVaultError.destroyed) { try first.open(late) }
    #expect(table.boxes == boxes)
    try broker.regain()
    #expect(try first.open(late) == Self.key)
    #expect(throws: KeyVaultError.destroyed) { try first.open(early) }
    #expect(try first.prepare(at: later) == 0)
    try first.prepare(at: later + Self.hour)
    #expect(table.boxes != boxes, "it saves again")
  }

  @Test("A change that was decided before the log was lost does not undo what came after, though its number fits")
  func staleChange() throws {
    let broker = table.take()
    let place = try shared(broker).place("k", takingOverFrom: data("one"))
    let former = try place.load()
    try place.save(former.next([1]))
    let stale = try place.load()
    try broker.regain()
    #expect(throws: VaultFault.notOurs) { try place.save(stale.next([2])) }
    try place.save(place.load().next([3]))
    #expect(try place.load().bytes == [3])
  }

  @Test("Keys whose time is over go from the memory of a broker that waits, too")
  func waiting() async throws {
    let (told, tell) = AsyncStream.makeStream(of: VaultFault?.self)
    let keys = try shared(table.take())
    let vault = try StateVault(
      hours: keys.place(StateVault.sealed, takingOverFrom: data("one")),
      lasting: keys.place(StateVault.lastingName, takingOverFrom: data("one")), rules: StateRules()
    ) { tell.yield($0) }
    try vault.prepare(at: Self.now)
    let sealed = try vault.seal(Self.key, at: Self.now)
    _ = table.take()
    var news = told.makeAsyncIterator()
    vault.prepareSoon(at: Self.now + Self.hour)
    #expect(await news.next() == .some(.notOurs))
    #expect(try vault.open(sealed) == Self.key, "its time is not over")
    vault.prepareSoon(at: (sealed.hour + 27) * Self.hour)
    #expect(await news.next() == .some(.notOurs))
    #expect(throws: KeyVaultError.destroyed) { try vault.open(sealed) }
  }

  // MARK: The master key

  @Test("Another first line: all sets are wrapped anew at the start, also those that nobody here uses")
  func rotation() throws {
    let sealed: SealedKey
    do {
      let vault = try vault(shared(table.take()), data("one"))
      try vault.prepare(at: Self.now)
      sealed = try vault.seal(Self.key, at: Self.now)
      _ = try CliqueVault(
        in: shared(table.take()).place(CliqueVault.name, takingOverFrom: data("one")), now: Self.now)
    }
    #expect(table.boxes.map(\.name) == ["seal.keys", "state.key", "vanish.keys"])
    let old = folder.path + "/old.key"
    try FileManager.default.copyItem(atPath: master, toPath: old)
    try write(MasterKeysTests.second, MasterKeysTests.first)
    let lines = LogLines()
    _ = try shared(table.take(), lines)
    #expect(lines.all.count == 3 && lines.all.allSatisfy { $0.contains("under the first line of \(master)") })
    let former = try MasterKeys.load(old)
    for box in table.boxes { #expect(former.unwrap(box.box, name: box.name, version: box.version) == nil) }
    try write(MasterKeysTests.second)
    let saved = table.saved
    let vault = try vault(shared(table.take()), data("two"))
    #expect(try vault.open(sealed) == Self.key)
    #expect(table.saved == saved, "what is wrapped under the first line is left alone")
    try write(MasterKeysTests.first)
    #expect(throws: VaultFault.unopened(name: "seal.keys", path: master)) { try shared(table.take()) }
  }

  @Test("A broker that has the log again opens what another one has wrapped under a newer key")
  func rotatedMeanwhile() throws {
    let broker = table.take()
    let first = try vault(shared(broker), data("one"))
    try first.prepare(at: Self.now)
    let sealed = try first.seal(Self.key, at: Self.now)
    try write(MasterKeysTests.second, MasterKeysTests.first)
    _ = try shared(table.take())
    try broker.regain()
    #expect(try first.open(sealed) == Self.key)
    _ = try shared(table.take())
    try write(MasterKeysTests.first)
    #expect(throws: VaultFault.self) { try broker.regain() }
  }

  @Test("A box that was put in the place of another set's, or changed, keeps the broker from starting")
  func exchanged() throws {
    let broker = table.take()
    let keys = try shared(broker)
    for name in ["a", "b"] {
      let place = try keys.place(name, takingOverFrom: data("one"))
      try place.save(place.load().next([1, 2, 3]))
    }
    var boxes = table.boxes
    boxes[0].box = boxes[1].box
    boxes[0].version = 2
    try broker.replace(boxes[0], under: broker.all().lease)
    #expect(throws: VaultFault.unopened(name: "a", path: master)) { try shared(table.take()) }
  }

  // MARK: Files

  private func files(_ name: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: data(name)).sorted()
  }

  private func copy(_ name: String, to other: String) throws {
    try? FileManager.default.removeItem(atPath: folder.path + "/" + other)
    try FileManager.default.copyItem(atPath: data(name), toPath: folder.path + "/" + other)
  }

  @Test(
    "Keys in files are taken over, and the files are removed and overwritten once that is confirmed, and not before")
  func takenOver() throws {
    let old = try StateVault(folder: data("one"))
    try old.prepare(at: Self.now)
    let sealed = try old.seal(Self.key, at: Self.now)
    let path = try data("one") + "/" + StateVault.sealed
    // Hard links to the old files are what a file system keeps of them.
    try FileManager.default.linkItem(atPath: path, toPath: folder.path + "/kept")
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    table.refuse(.unavailable(reason: "away"))
    #expect(throws: VaultFault.unavailable(reason: "away")) { try vault(shared(table.take()), data("one")) }
    #expect(try files("one") == [StateVault.sealed, StateVault.lastingName])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    table.refuse(nil)
    let next = try vault(shared(table.take()), data("one"))
    #expect(try files("one") == [])
    let kept = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/kept"))
    #expect(kept == Data(count: before.count))
    #expect(try next.open(sealed) == Self.key)
    #expect(try vault(shared(table.take()), data("two")).open(sealed) == Self.key)
  }

  @Test("A takeover that ended after the commit is brought to its end; other keys in a file are refused")
  func bothPlaces() throws {
    try StateVault(folder: data("one")).prepare(at: Self.now)
    try copy("one", to: "copy")
    _ = try vault(shared(table.take()), data("one"))
    // As after a crash: the same keys in both places.
    let next = try vault(shared(table.take()), data("copy"))
    #expect(try files("copy") == [])
    try next.prepare(at: Self.now + 9 * Self.hour)
    try StateVault(folder: data("other")).prepare(at: Self.now)
    let path = try data("other") + "/" + StateVault.sealed
    #expect(throws: VaultFault.inBothPlaces(path: path)) { try vault(shared(table.take()), data("other")) }
    #expect(try files("other") == [StateVault.sealed, StateVault.lastingName])
  }

  @Test("A damaged file is not taken over")
  func damagedFile() throws {
    try StateVault(folder: data("one")).prepare(at: Self.now)
    let path = try data("one") + "/" + StateVault.sealed
    try Data("nothing".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(throws: VaultFault.damaged(path: path)) { try vault(shared(table.take()), data("one")) }
    #expect(table.boxes == [])
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(throws: VaultFault.damaged(path: path)) { try StateVault(folder: data("one")) }
  }
}
