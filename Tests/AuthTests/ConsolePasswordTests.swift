import Auth
import Cryptography
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@Suite("The web console's password")
struct ConsolePasswordTests {
  private static let hash = PasswordHash(of: "one password of somebody")
  private static let other = PasswordHash(of: "another password of somebody")

  /// A clock of seconds that a test sets.
  private final class Seconds: Sendable {
    let value = Mutex<Int64>(0)
    func pass() { value.withLock { $0 += 1 } }
    var now: Int64 { value.withLock { $0 } }
  }

  private func opened(
    _ place: ConsolePasswordFile.Place, _ clock: Seconds
  ) throws(ConsolePassword.Fault) -> ConsolePasswordFile {
    try ConsolePasswordFile(place, now: { clock.now }, logger: Logger(label: "test"))
  }

  private func write(_ text: String, _ path: String, mode: Int = 0o600) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test("A new password has 120 bits that are easy to read, and is another one each time")
  func made() {
    let passwords = Set((0..<200).map { _ in ConsolePassword.make() })
    #expect(passwords.count == 200)
    for password in passwords {
      #expect(password.wholeMatch(of: /([0-9a-hjkmnp-tv-z]{4}-){5}[0-9a-hjkmnp-tv-z]{4}/) != nil, "\(password)")
    }
    // Each of the 32 characters comes up, so none of the bits is missing.
    #expect(Set(passwords.joined().filter { $0 != "-" }).count == 32)
  }

  @Test("The data folder keeps the hash alone, for its owner's eyes")
  func kept() async throws {
    try await withTemporaryFolder { folder in
      #expect(try ConsolePassword.load(from: folder.path) == nil)
      try ConsolePassword.keep(Self.hash, in: folder.path)
      #expect(try ConsolePassword.load(from: folder.path) == Self.hash)
      let path = folder.path + "/" + ConsolePassword.fileName
      #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.hash.text + "\n")
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      try ConsolePassword.keep(Self.other, in: folder.path)
      #expect(try ConsolePassword.load(from: folder.path) == Self.other)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [ConsolePassword.fileName])
    }
  }

  @Test("A file that others may read, or that holds no hash, is refused with a sentence")
  func refused() async throws {
    try await withTemporaryFolder { folder in
      let path = folder.path + "/" + ConsolePassword.fileName
      try write("hunter2\n", path)
      #expect(throws: ConsolePassword.Fault.damaged(path: path)) { try ConsolePassword.load(from: folder.path) }
      try write(Self.hash.text, path, mode: 0o644)
      #expect(throws: ConsolePassword.Fault.self) { try ConsolePassword.load(from: folder.path) }
      let own = folder.path + "/own"
      #expect(throws: ConsolePassword.Fault.file(.missing(path: own))) { try ConsolePassword.read(own) }
      try write("too short\n", own)
      #expect(throws: ConsolePassword.Fault.tooShort(path: own, bytes: 9)) { try ConsolePassword.read(own) }
      try write("  long enough for one\n", own)
      #expect(try ConsolePassword.read(own) == "long enough for one")
    }
  }

  @Test("While the server runs, another password counts a second later, and none where the hash was removed")
  func changes() async throws {
    try await withTemporaryFolder { folder in
      let clock = Seconds()
      let file = try opened(.folder(folder.path), clock)
      #expect(file.current().hash == nil)
      let first = file.current().generation
      try ConsolePassword.keep(Self.hash, in: folder.path)
      #expect(file.current().hash == nil)
      clock.pass()
      #expect(file.current().hash == Self.hash)
      let second = file.current().generation
      #expect(second != first)
      clock.pass()
      #expect(file.current().generation == second)
      // What cannot be used is not taken.
      try write("hunter2", folder.path + "/" + ConsolePassword.fileName)
      clock.pass()
      #expect(file.current().hash == Self.hash && file.current().generation == second)
      try ConsolePassword.keep(Self.other, in: folder.path)
      clock.pass()
      #expect(file.current().hash == Self.other && file.current().generation != second)
      try FileManager.default.removeItem(atPath: folder.path + "/" + ConsolePassword.fileName)
      clock.pass()
      #expect(file.current().hash == nil)
    }
  }

  @Test("A password in a file of the operator's counts as it stands there")
  func configured() async throws {
    try await withTemporaryFolder { folder in
      let (clock, path) = (Seconds(), folder.path + "/own")
      #expect(throws: ConsolePassword.Fault.self) { try opened(.file(path), clock) }
      try write("a password that I chose\n", path)
      let file = try opened(.file(path), clock)
      #expect(file.current().hash?.isOf("a password that I chose") == true)
      try write("a password that she chose\n", path)
      clock.pass()
      #expect(file.current().hash?.isOf("a password that she chose") == true)
      // Whoever removes the file does not open the door, nor close it before the next start.
      try FileManager.default.removeItem(atPath: path)
      clock.pass()
      #expect(file.current().hash?.isOf("a password that she chose") == true)
    }
  }
}
