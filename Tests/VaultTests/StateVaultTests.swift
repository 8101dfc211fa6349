import Apps
import Foundation
import TestSupport
import Testing

@testable import Vault

@Suite("The vault of State, in two files")
struct StateVaultTests {
  static let hour: Int64 = 3_600_000
  static let now: Int64 = 1_700_000_000_000
  static let key = [UInt8](0..<32)

  /// A folder that is removed afterwards.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try withExtendedLifetime(folder) { try body(folder.path) }
  }

  private func contents(_ folder: String, _ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
  }

  @Test("what is sealed can be released and opened, also by the next process")
  func restart() throws {
    try inFolder { folder in
      let sealed = try StateVault(folder: folder).sealPrepared(Self.key, at: Self.now)
      #expect(sealed.hour == Self.now / Self.hour)
      #expect(try StateVault(folder: folder).open(sealed) == Self.key)
      let released = try StateVault(folder: folder).release(sealed)
      #expect(try StateVault(folder: folder + "/").open(released) == Self.key)
    }
  }

  @Test("a text is encrypted under a key of its own")
  func texts() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      try vault.prepare(at: Self.now)
      let text = Array("at the sea".utf8)
      let (one, two) = (try vault.encrypt(text, at: Self.now), try vault.encrypt(text, at: Self.now))
      #expect(one.key != two.key)
      #expect(try vault.decrypt(one.box, with: try vault.release(one.key)) == text)
      #expect(throws: KeyVaultError.damaged) { try vault.decrypt(one.box, with: try vault.release(two.key)) }
    }
  }

  @Test("neither a sealed nor a released key holds the key, and neither passes for the other")
  func boxes() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      let sealed = try vault.sealPrepared(Self.key, at: Self.now)
      let released = try vault.release(sealed)
      for box in [sealed.box, released.box] {
        #expect(box.bytes.count == 12 + 32 + 16)
        #expect(!Data(box.bytes).contains(Data(Self.key.prefix(8))))
      }
      #expect(throws: KeyVaultError.damaged) { try vault.open(ReleasedKey(box: sealed.box)) }
      #expect(throws: KeyVaultError.damaged) { try vault.release(SealedKey(hour: sealed.hour, box: released.box)) }
      var changed = sealed
      changed.box.bytes[20] ^= 1
      #expect(throws: KeyVaultError.damaged) { try vault.release(changed) }
      #expect(throws: KeyVaultError.damaged) { try vault.open(ReleasedKey(box: Bytes64([]))) }
    }
  }

  @Test("the key of an hour is there while it may be needed, and then it is in no file and opens nothing")
  func destruction() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      let sealed = try vault.sealPrepared(Self.key, at: Self.now)
      let hourKey = try #require(HourKeys(try contents(folder, StateVault.sealed))?[sealed.hour])
      // Uploaded in the last moment of its hour, sent an hour later, answered a day after that.
      let end = (sealed.hour + 1) * Self.hour
      let last = end - 1 + 25 * Self.hour
      #expect(try vault.prepare(at: last) == 2, "keys were made, and none destroyed")
      let released = try vault.release(sealed)
      _ = try vault.seal(Self.key, at: last)
      #expect(try vault.open(sealed) == Self.key)

      #expect(try vault.prepare(at: end + 26 * Self.hour) == 3, "one was destroyed, two made")
      #expect(HourKeys(try contents(folder, StateVault.sealed))?[sealed.hour] == nil)
      #expect(throws: KeyVaultError.destroyed) { try vault.release(sealed) }
      #expect(throws: KeyVaultError.destroyed) { try StateVault(folder: folder).release(sealed) }
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        #expect(!Data(try contents(folder, name)).contains(Data(hourKey)))
      }
      // What was released in time stays.
      #expect(try vault.open(released) == Self.key)
    }
  }

  @Test("a key is on the disk before its hour begins, and without it nothing is sealed")
  func ahead() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      #expect(throws: KeyVaultError.self) { try vault.seal(Self.key, at: Self.now) }
      #expect(throws: KeyVaultError.self) { try vault.encrypt(Self.key, at: Self.now) }
      #expect(try vault.prepare(at: Self.now) == 2)
      #expect(try vault.prepare(at: Self.now + 1) == 0, "nothing is written where nothing changes")
      let inode =
        try FileManager.default.attributesOfItem(atPath: folder + "/" + StateVault.sealed)[
          .systemFileNumber] as? Int
      let sealed = try vault.seal(Self.key, at: Self.now + Self.hour)
      #expect(
        try FileManager.default.attributesOfItem(atPath: folder + "/" + StateVault.sealed)[.systemFileNumber]
          as? Int == inode, "to seal in a new hour writes no file")
      #expect(try StateVault(folder: folder).open(sealed) == Self.key)
    }
  }

  @Test("a key that is asked for and not there is made on the vault's thread, and somebody is told")
  func asked() async throws {
    let directory = try TemporaryFolder()
    defer { withExtendedLifetime(directory) {} }
    let folder = directory.path
    let (told, tell) = AsyncStream.makeStream(of: VaultFault?.self)
    let vault = try StateVault(folder: folder) { tell.yield($0) }
    var news = told.makeAsyncIterator()
    #expect(!vault.isReady(at: Self.now))
    #expect(await news.next() == .some(nil))
    #expect(vault.isReady(at: Self.now) && vault.isReady(at: Self.now + Self.hour))
    // The disk takes nothing: whoever waits is told why, and can ask again.
    let blocker = folder + "/" + StateVault.sealed + ".new"
    try FileManager.default.createDirectory(atPath: blocker, withIntermediateDirectories: false)
    #expect(!vault.isReady(at: Self.now + 9 * Self.hour))
    guard case .some(.some(.system)) = await news.next() else {
      Issue.record("the vault does not say that its file cannot be written")
      return
    }
    try FileManager.default.removeItem(atPath: blocker)
    #expect(!vault.isReady(at: Self.now + 9 * Self.hour))
    #expect(await news.next() == .some(nil))
    #expect(vault.isReady(at: Self.now + 9 * Self.hour))
  }

  /// Hard links to the old files are what a file system keeps of them.
  @Test("the old file's bytes are overwritten when it is replaced")
  func overwritten() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      try vault.prepare(at: Self.now)
      let path = folder + "/" + StateVault.sealed
      try FileManager.default.linkItem(atPath: path, toPath: folder + "/kept")
      try vault.prepare(at: Self.now + Self.hour)
      let kept = try contents(folder, "kept")
      #expect(kept == [UInt8](repeating: 0, count: kept.count) && !kept.isEmpty)
      #expect(HourKeys(try contents(folder, StateVault.sealed))?.keys.count == 3)
    }
  }

  @Test("the files are for their owner alone, and files that others can read are refused")
  func modes() throws {
    try inFolder { folder in
      try StateVault(folder: folder).prepare(at: Self.now)
      for name in [StateVault.sealed, StateVault.lastingName] {
        let path = folder + "/" + name
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(throws: VaultFault.openToOthers(path: path, mode: "0640")) { try StateVault(folder: folder) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
    }
  }

  @Test("a damaged file is said to be one: cut off at any byte, or changed anywhere")
  func damage() throws {
    try inFolder { folder in
      try StateVault(folder: folder).prepare(at: Self.now)
      for name in [StateVault.sealed, StateVault.lastingName] {
        let path = folder + "/" + name
        let whole = try contents(folder, name)
        for place in whole.indices {
          #expect(HourKeys(Array(whole[..<place])) == nil)
          var changed = whole
          changed[place] ^= 0x40
          #expect(HourKeys(changed) == nil)
        }
        try write(Array(whole.dropLast()), path)
        #expect(throws: VaultFault.damaged(path: path)) { try StateVault(folder: folder) }
        try write(whole, path)
      }
      _ = try StateVault(folder: folder)
    }
  }

  private func write(_ bytes: [UInt8], _ path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test("what a crash left half written beside the file does no harm")
  func leftovers() throws {
    try inFolder { folder in
      let sealed = try StateVault(folder: folder).sealPrepared(Self.key, at: Self.now)
      let left = folder + "/" + StateVault.sealed + ".new"
      try write([1, 2, 3], left)
      let vault = try StateVault(folder: folder)
      let later = try vault.sealPrepared(Self.key, at: Self.now + 5 * Self.hour)
      #expect(try vault.open(vault.release(sealed)) == Self.key)
      #expect(!FileManager.default.fileExists(atPath: left))
      // The next process reads what was written in its place.
      let next = try StateVault(folder: folder)
      #expect(try next.open(sealed) == Self.key && next.open(later) == Self.key)
    }
  }

  @Test("where the file cannot be written nothing is sealed, and what was sealed stays")
  func unwritable() throws {
    try inFolder { folder in
      let vault = try StateVault(folder: folder)
      let sealed = try vault.sealPrepared(Self.key, at: Self.now)
      // A folder in the place of the new file, which cannot be unlinked.
      let blocker = folder + "/" + StateVault.sealed + ".new"
      try FileManager.default.createDirectory(atPath: blocker, withIntermediateDirectories: false)
      let later = Self.now + 5 * Self.hour
      #expect(throws: VaultFault.self) { try vault.prepare(at: later) }
      #expect(throws: KeyVaultError.self) { try vault.seal(Self.key, at: later) }
      #expect(try vault.open(vault.release(sealed)) == Self.key)
      try FileManager.default.removeItem(atPath: blocker)
      #expect(try vault.open(vault.sealPrepared(Self.key, at: later)) == Self.key)
    }
  }

  @Test("many threads at once make one key for an hour")
  func threads() async throws {
    let directory = try TemporaryFolder()
    defer { withExtendedLifetime(directory) {} }
    let folder = directory.path
    let vault = try StateVault(folder: folder)
    try await withThrowingTaskGroup(of: SealedKey.self) { group in
      for index in 0..<200 {
        group.addTask { try vault.sealPrepared(Self.key, at: Self.now + Int64(index % 4) * Self.hour) }
      }
      for try await sealed in group { #expect(try vault.open(vault.release(sealed)) == Self.key) }
    }
    #expect(HourKeys(try contents(folder, StateVault.sealed))?.keys.count == 5, "four, and the one after them")
  }
}

extension StateVault {
  /// Seals a key of which the hour's key is there, as it is after the vault's thread made it.
  fileprivate func sealPrepared(_ key: [UInt8], at now: Int64) throws -> SealedKey {
    try prepare(at: now)
    return try seal(key, at: now)
  }
}
