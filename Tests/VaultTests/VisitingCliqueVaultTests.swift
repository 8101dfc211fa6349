import Apps
import Dispatch
import Foundation
import Logging
import TestSupport
import Testing

@testable import Vault

@Suite("The vault of messages that disappear, in another partition than home")
struct VisitingCliqueVaultTests {
  private static let hour: Int64 = 3_600_000
  private static let now: Int64 = 1_700_000_000_000
  private static let text = Array("nobody else may read this".utf8)
  private let folder: TemporaryFolder
  private let table = BoxTable()
  private let visitor: Visitor

  init() throws {
    folder = try TemporaryFolder()
    visitor = Visitor(table)
    let master = folder.path + "/master.key"
    try Data((MasterKeysTests.first + "\n").utf8).write(to: URL(fileURLWithPath: master))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: master)
  }

  private func keys(_ boxes: any KeyBoxes, isVisitor: Bool) throws -> SharedKeys {
    try SharedKeys(
      boxes, masterFile: folder.path + "/master.key", isVisitor: isVisitor,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func vault(_ keys: SharedKeys) throws -> CliqueVault {
    try CliqueVault(
      in: keys.place(CliqueVault.name, takingOverFrom: folder.path), now: Self.now, pause: .nanoseconds(0))
  }

  private func there() throws -> CliqueVault { try vault(keys(visitor, isVisitor: true)) }
  private func home() throws -> CliqueVault { try vault(keys(table.take(), isVisitor: false)) }

  @Test("It begins before home has made anything, makes nothing itself, and then uses what home has made")
  func reading() throws {
    let there = try there()
    let end = Self.now + 30 * 24 * Self.hour
    #expect(!there.isReady(until: end))
    #expect(throws: VaultFault.notOurs) { try there.prepare(at: Self.now) }
    #expect(throws: KeyVaultError.self) { try there.seal(Self.text, until: end, for: "a") }
    #expect(table.boxes == [])
    let home = try home()
    let saved = table.saved
    #expect(try there.prepare(at: Self.now) == 0)
    #expect(there.isReady(until: end))
    let (mine, theirs) = (
      try there.seal(Self.text, until: end, for: "a"), try home.seal(Self.text, until: end, for: "a")
    )
    #expect(try home.open(mine, until: end, for: "a") == Self.text)
    #expect(try there.open(theirs, until: end, for: "a") == Self.text)
    // Who begins now has the keys at once.
    #expect(try self.there().open(mine, until: end, for: "a") == Self.text)
    // A day later, home has gone on, and the visitor after it.
    let later = Self.now + 26 * Self.hour
    #expect(throws: VaultFault.notOurs) { try there.prepare(at: later) }
    #expect(there.isReady(until: later + Self.hour), "what goes earlier needs no new key")
    try home.prepare(at: later)
    try there.prepare(at: later)
    #expect(there.isReady(until: later + 30 * 24 * Self.hour))
    #expect(table.saved == saved + 1 && visitor.writings == 0)
  }

  @Test("Who needs a key that home has made since has it, without waiting for the next minute")
  func asked() async throws {
    let there = try there()
    #expect(!there.isReady(until: Self.now))
    _ = try home()
    #expect(await eventually { there.isReady(until: Self.now) })
    #expect(visitor.writings == 0)
  }

  @Test("A key goes from its memory an hour after its own, also while nothing can be read and when State's are read")
  func forgetting() throws {
    let home = try home()
    let keys = try keys(visitor, isVisitor: true)
    let there = try vault(keys)
    let state = try StateVault(
      hours: keys.place(StateVault.sealed, takingOverFrom: folder.path),
      lasting: keys.place(StateVault.lastingName, takingOverFrom: folder.path), rules: StateRules(),
      pause: .nanoseconds(0))
    let box = try there.seal(Self.text, until: Self.now, for: "a")
    let last = (Self.now / Self.hour + 2) * Self.hour - 1
    visitor.fail(.unavailable(reason: "away"))
    #expect(throws: VaultFault.unavailable(reason: "away")) { try there.prepare(at: last) }
    #expect(try there.open(box, until: Self.now, for: "a") == Self.text, "its time is not over")
    #expect(throws: VaultFault.unavailable(reason: "away")) { try there.prepare(at: last + 1) }
    #expect(throws: KeyVaultError.destroyed) { try there.open(box, until: Self.now, for: "a") }
    // Home is away and has not destroyed it yet, and all sets come with each reading.
    visitor.fail(nil)
    let readings = visitor.readings
    #expect(throws: VaultFault.notOurs) { try state.prepare(at: last + 1) }
    #expect(visitor.readings == readings + 1)
    #expect(throws: KeyVaultError.destroyed) { try there.open(box, until: Self.now, for: "a") }
    try there.prepare(at: last + 1)
    #expect(throws: KeyVaultError.destroyed) { try there.open(box, until: Self.now, for: "a") }
    // A clock that had gone ahead and was set right takes nothing away that home still has.
    try there.prepare(at: Self.now)
    #expect(try there.open(box, until: Self.now, for: "a") == Self.text)
    try home.prepare(at: last + 1)
    try there.prepare(at: Self.now)
    #expect(throws: KeyVaultError.destroyed) { try there.open(box, until: Self.now, for: "a") }
    #expect(visitor.writings == 0)
  }

  @Test("It does not begin where the table cannot be read, since what it has sealed would look removed")
  func unread() throws {
    _ = try home()
    let keys = try keys(visitor, isVisitor: true)
    visitor.fail(.unavailable(reason: "away"))
    #expect(throws: VaultFault.unavailable(reason: "away")) { try vault(keys) }
  }
}
