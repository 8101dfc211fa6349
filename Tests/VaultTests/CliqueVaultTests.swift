import Apps
import Foundation
import TestSupport
import Testing

@testable import Vault

@Suite("The vault of messages that disappear, in a file")
struct CliqueVaultTests {
  private static let hour: Int64 = 3_600_000
  private static let now: Int64 = 1_700_000_000_000
  private static let text = Array("nobody else may read this".utf8)

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try withExtendedLifetime(folder) { try body(folder.path) }
  }

  private func file(_ folder: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + CliqueVault.name)))
  }

  @Test("what is sealed is ciphertext, and is opened for its purpose alone, also by the next process")
  func boxes() throws {
    try inFolder { folder in
      let vault = try CliqueVault(folder: folder, now: Self.now)
      let end = Self.now + 30 * 24 * Self.hour
      let box = try vault.seal(Self.text, until: end, for: "a")
      #expect(!Data(box).contains(Data(Self.text.prefix(6))))
      #expect(try vault.seal(Self.text, until: end, for: "a") != box)
      let next = try CliqueVault(folder: folder + "/", now: Self.now + Self.hour)
      #expect(try next.open(box, until: end, for: "a") == Self.text)
      #expect(throws: KeyVaultError.damaged) { try next.open(box, until: end, for: "b") }
      #expect(throws: KeyVaultError.damaged) { try next.open(box, until: end + Self.hour, for: "a") }
      #expect(throws: KeyVaultError.damaged) { try next.open(Array(box.dropLast()), until: end, for: "a") }
    }
  }

  @Test("there are keys for as long as a message may stay, and no longer")
  func ahead() throws {
    try inFolder { folder in
      let vault = try CliqueVault(folder: folder, now: Self.now)
      #expect(vault.isReady(until: Self.now + 31 * 24 * Self.hour))
      #expect(!vault.isReady(until: Self.now + 33 * 24 * Self.hour))
      #expect(!vault.isReady(until: Self.now - 2 * Self.hour))
      #expect(throws: KeyVaultError.self) { try vault.seal(Self.text, until: Self.now + 99 * 24 * Self.hour, for: "a") }
      #expect(try vault.prepare(at: Self.now) == 0)
      #expect(try file(folder).count < KeyFile.maximumBytes)
    }
  }

  @Test("a key is there for an hour after its own, and then in no file, and opens nothing")
  func destruction() throws {
    try inFolder { folder in
      let vault = try CliqueVault(folder: folder, now: Self.now)
      let hour = Self.now / Self.hour
      let box = try vault.seal(Self.text, until: Self.now, for: "a")
      let key = try #require(HourKeys(try file(folder))?[hour])
      let last = (hour + 2) * Self.hour - 1
      #expect(try vault.prepare(at: last) == 1, "one was made")
      #expect(try vault.open(box, until: Self.now, for: "a") == Self.text)
      #expect(try vault.prepare(at: last + 1) == 2, "one was made, one destroyed")
      #expect(throws: KeyVaultError.destroyed) { try vault.open(box, until: Self.now, for: "a") }
      #expect(!Data(try file(folder)).contains(Data(key)))
      let next = try CliqueVault(folder: folder, now: last + 1)
      #expect(throws: KeyVaultError.destroyed) { try next.open(box, until: Self.now, for: "a") }
    }
  }

  @Test("a file that was damaged is not used")
  func damaged() throws {
    try inFolder { folder in
      _ = try CliqueVault(folder: folder, now: Self.now)
      var bytes = try file(folder)
      bytes[100] ^= 1
      try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + CliqueVault.name))
      #expect(throws: VaultFault.self) { try CliqueVault(folder: folder, now: Self.now) }
    }
  }
}
