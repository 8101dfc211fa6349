import Apps
import Dispatch
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Vault

/// Home's table as a broker of another partition sees it.
final class Visitor: KeyBoxes {
  private struct State {
    var fault: VaultFault?
    var readings = 0
    var writings = 0
  }

  let table: BoxTable
  private let state = Mutex(State())

  init(_ table: BoxTable) { self.table = table }

  var readings: Int { state.withLock { $0.readings } }
  var writings: Int { state.withLock { $0.writings } }
  func fail(_ fault: VaultFault?) { state.withLock { $0.fault = fault } }

  func all() throws(VaultFault) -> (boxes: [KeyBox], lease: UInt64) {
    let fault = state.withLock { state in
      state.readings += 1
      return state.fault
    }
    if let fault { throw fault }
    return (table.boxes, 5)
  }

  func replace(_ box: KeyBox, under lease: UInt64) throws(VaultFault) {
    state.withLock { $0.writings += 1 }
    throw .notOurs
  }

  func whenRegained(_ take: @escaping @Sendable ([KeyBox], UInt64) throws(VaultFault) -> Void) {}
}

@Suite("The vault of State in another partition than home")
struct VisitingVaultTests {
  private static let hour: Int64 = 3_600_000
  private static let now: Int64 = 1_700_000_000_000
  private static let key = [UInt8](0..<32)
  private let folder: TemporaryFolder
  private let table = BoxTable()
  private let visitor: Visitor
  private var master: String { folder.path + "/master.key" }

  init() throws {
    folder = try TemporaryFolder()
    visitor = Visitor(table)
    try write(MasterKeysTests.first)
  }

  private func write(_ lines: String...) throws {
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: master))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: master)
  }

  private func vault(
    _ boxes: any KeyBoxes, isVisitor: Bool, pause: DispatchTimeInterval = .nanoseconds(0),
    whenPrepared: @escaping @Sendable (VaultFault?) -> Void = { _ in }
  ) throws -> StateVault {
    let keys = try SharedKeys(
      boxes, masterFile: master, isVisitor: isVisitor, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return try StateVault(
      hours: keys.place(StateVault.sealed, takingOverFrom: folder.path),
      lasting: keys.place(StateVault.lastingName, takingOverFrom: folder.path), rules: StateRules(), pause: pause,
      whenPrepared: whenPrepared)
  }

  private func home() throws -> StateVault { try vault(table.take(), isVisitor: false) }

  @Test("It begins before home has made anything, makes nothing itself, and then uses what home has made")
  func reading() throws {
    let there = try vault(visitor, isVisitor: true)
    #expect(!there.isReady(at: Self.now))
    #expect(throws: VaultFault.notOurs) { try there.prepare(at: Self.now) }
    #expect(throws: KeyVaultError.self) { try there.seal(Self.key, at: Self.now) }
    #expect(table.boxes == [])
    let home = try home()
    try home.prepare(at: Self.now)
    let saved = table.saved
    #expect(try there.prepare(at: Self.now) == 0)
    #expect(there.isReady(at: Self.now) && there.isReady(at: Self.now + Self.hour))
    let (mine, theirs) = (try there.seal(Self.key, at: Self.now), try home.seal(Self.key, at: Self.now))
    #expect(try home.open(mine) == Self.key && there.open(theirs) == Self.key)
    #expect(try home.open(there.release(mine)) == Self.key && there.open(home.release(theirs)) == Self.key)
    // Hours later, home has gone on, and the visitor after it.
    let later = Self.now + 5 * Self.hour
    #expect(throws: VaultFault.notOurs) { try there.prepare(at: later) }
    try home.prepare(at: later)
    try there.prepare(at: later)
    #expect(try there.open(home.seal(Self.key, at: later)) == Self.key)
    #expect(table.saved == saved + 1 && visitor.writings == 0)
  }

  @Test("Keys of hours that are over go from its memory, also while nothing can be read")
  func forgetting() throws {
    try home().prepare(at: Self.now)
    let there = try vault(visitor, isVisitor: true)
    try there.prepare(at: Self.now)
    let sealed = try there.seal(Self.key, at: Self.now)
    visitor.fail(.unavailable(reason: "away"))
    #expect(throws: VaultFault.unavailable(reason: "away")) { try there.prepare(at: Self.now + Self.hour) }
    #expect(try there.open(sealed) == Self.key, "its time is not over")
    #expect(throws: VaultFault.unavailable(reason: "away")) { try there.prepare(at: (sealed.hour + 27) * Self.hour) }
    #expect(throws: KeyVaultError.destroyed) { try there.open(sealed) }
    // Home has not destroyed it yet, and it is forgotten again after each reading.
    visitor.fail(nil)
    #expect(throws: VaultFault.notOurs) { try there.prepare(at: (sealed.hour + 27) * Self.hour) }
    #expect(throws: KeyVaultError.destroyed) { try there.open(sealed) }
  }

  @Test("Who waits for keys is told of each reading, and however often they are asked for there is one in each pause")
  func asked() async throws {
    let (told, tell) = AsyncStream.makeStream(of: VaultFault?.self)
    let pause: UInt64 = 200_000_000
    let there = try vault(visitor, isVisitor: true, pause: .nanoseconds(Int(pause))) { tell.yield($0) }
    var news = told.makeAsyncIterator()
    #expect(!there.isReady(at: Self.now))
    #expect(await news.next() == .some(.notOurs))
    let (begun, readings) = (DispatchTime.now(), visitor.readings)
    for _ in 0..<3 {
      for _ in 0..<500 { #expect(!there.isReady(at: Self.now)) }
      #expect(await news.next() == .some(.notOurs))
    }
    let made = UInt64(visitor.readings - readings)
    let passed = DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds
    #expect(made >= 3 && made <= passed / pause + 1)
    try home().prepare(at: Self.now)
    // One that has begun before may be told first.
    for _ in 0..<2 where !there.isReady(at: Self.now) { _ = await news.next() }
    #expect(there.isReady(at: Self.now))
  }

  @Test("It wraps nothing anew, and reads the master keys again with what was wrapped under a newer one")
  func rotation() throws {
    try home().prepare(at: Self.now)
    let there = try vault(visitor, isVisitor: true)
    try there.prepare(at: Self.now)
    let sealed = try there.seal(Self.key, at: Self.now)
    try write(MasterKeysTests.second, MasterKeysTests.first)
    let saved = table.saved
    let second = try vault(visitor, isVisitor: true)
    #expect(try second.open(sealed) == Self.key)
    #expect(table.saved == saved && visitor.writings == 0)
    _ = try home()
    #expect(table.saved == saved + 2)
    try write(MasterKeysTests.second)
    try there.prepare(at: Self.now)
    #expect(try there.open(sealed) == Self.key)
  }

  @Test("Files of the data folder are left to home")
  func files() throws {
    try StateVault(folder: folder.path).prepare(at: Self.now)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(files.contains(StateVault.sealed))
    _ = try vault(visitor, isVisitor: true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == files)
    #expect(table.boxes == [] && visitor.writings == 0)
  }
}
