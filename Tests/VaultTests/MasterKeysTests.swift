import Foundation
import TestSupport
import Testing

@testable import Vault

@Suite("The master keys")
struct MasterKeysTests {
  static let first = String(repeating: "0f", count: 32)
  static let second = String(repeating: "a1", count: 32)
  private static let secret = Array("the keys of hours".utf8)

  private func keys(_ lines: String...) throws -> MasterKeys {
    try MasterKeys(Array(lines.joined(separator: "\n").utf8), path: "m")
  }

  @Test("What is wrapped says nothing, and is opened by the same key, name and version alone")
  func boxes() throws {
    let keys = try keys(Self.first)
    let box = keys.wrap(Self.secret, name: "seal.keys", version: 3)
    #expect(!Data(box).contains(Data(Self.secret.prefix(6))))
    #expect(keys.wrap(Self.secret, name: "seal.keys", version: 3) != box, "each has a nonce of its own")
    let opened = try #require(keys.unwrap(box, name: "seal.keys", version: 3))
    #expect(opened.bytes == Self.secret && opened.isUnderFirst)
    #expect(keys.unwrap(box, name: "seal.keys", version: 4) == nil)
    #expect(keys.unwrap(box, name: "state.key", version: 3) == nil)
    #expect(try self.keys(Self.second).unwrap(box, name: "seal.keys", version: 3) == nil)
  }

  @Test("A box that was changed anywhere, or cut off, is not opened")
  func damage() throws {
    let keys = try keys(Self.first, Self.second)
    let box = keys.wrap(Self.secret, name: "seal.keys", version: 1)
    for place in box.indices {
      var changed = box
      changed[place] ^= 0x10
      #expect(keys.unwrap(changed, name: "seal.keys", version: 1) == nil)
      #expect(keys.unwrap(Array(box[..<place]), name: "seal.keys", version: 1) == nil)
    }
  }

  @Test("The first line wraps, all lines unwrap, and a line that is gone opens nothing any more")
  func rotation() throws {
    let old = try keys(Self.first).wrap(Self.secret, name: "state.key", version: 1)
    let both = try keys(Self.second, Self.first)
    let opened = try #require(both.unwrap(old, name: "state.key", version: 1))
    #expect(opened.bytes == Self.secret && !opened.isUnderFirst)
    let new = both.wrap(Self.secret, name: "state.key", version: 2)
    let after = try keys(Self.second)
    #expect(after.unwrap(new, name: "state.key", version: 2)?.isUnderFirst == true)
    #expect(after.unwrap(old, name: "state.key", version: 1) == nil)
    #expect(try keys(Self.first).unwrap(new, name: "state.key", version: 2) == nil)
  }

  @Test("A line is 64 hexadecimal digits, with spaces around it, or nothing; any other line is told by its number")
  func lines() throws {
    let box = try keys(Self.first).wrap(Self.secret, name: "k", version: 1)
    for text in [Self.first + "\n", "\n  \(Self.first.uppercased())\t\r\n\n", Self.second + "\n" + Self.first] {
      #expect(try keys(text).unwrap(box, name: "k", version: 1)?.bytes == Self.secret)
    }
    for line in [String(Self.first.dropLast()), Self.first + "0", "g" + Self.first.dropFirst(), "secret"] {
      #expect(throws: VaultFault.malformedMasterKey(path: "m", line: 2)) { try keys(Self.second, line) }
    }
    for none in ["", "\n \n"] {
      #expect(throws: VaultFault.malformedMasterKey(path: "m", line: nil)) { try keys(none) }
    }
    let many = Array(repeating: Self.first, count: MasterKeys.most)
    _ = try MasterKeys(Array(many.joined(separator: "\n").utf8), path: "m")
    #expect(throws: VaultFault.malformedMasterKey(path: "m", line: nil)) {
      try MasterKeys(Array((many + [Self.first]).joined(separator: "\n").utf8), path: "m")
    }
  }

  @Test("The file is for its owner alone, may be a link, and what is wrong with it is said")
  func file() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/master.key"
    #expect(throws: VaultFault.missingMasterKey(path: path)) { try MasterKeys.load(path) }
    try Data((Self.first + "\n").utf8).write(to: URL(fileURLWithPath: path))
    for (mode, text) in [(0o640, "0640"), (0o604, "0604"), (0o660, "0660")] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(throws: VaultFault.openToOthers(path: path, mode: text)) { try MasterKeys.load(path) }
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
    let box = try keys(Self.first).wrap(Self.secret, name: "k", version: 1)
    let link = folder.path + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    for path in [path, link] {
      #expect(try MasterKeys.load(path).unwrap(box, name: "k", version: 1)?.bytes == Self.secret)
    }
    #expect(throws: VaultFault.notAFile(path: folder.path)) { try MasterKeys.load(folder.path) }
  }
}
