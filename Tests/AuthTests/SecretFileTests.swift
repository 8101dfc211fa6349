import Auth
import Foundation
import TestSupport
import Testing

@Suite("The secret in the data folder")
struct SecretFileTests {
  private func mode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
  }

  private func write(_ text: String, _ path: String, mode: Int = 0o600) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test("The first start makes a secret that only its owner can read, and later starts load it")
  func firstStart() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let secret = try SecretFile.loadOrCreate(in: folder)
      #expect(secret.utf8.count == 64)
      #expect(try mode(folder + "/secret.key") == 0o600)
      #expect(try SecretFile.loadOrCreate(in: folder + "/") == secret)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["secret.key"])
      _ = try JWTVerifier(VerifierConfiguration(hmacSecret: secret))
    }
  }

  @Test("Two folders get two secrets")
  func random() async throws {
    let one = try await withTemporaryFolder { try SecretFile.loadOrCreate(in: $0.path) }
    let two = try await withTemporaryFolder { try SecretFile.loadOrCreate(in: $0.path) }
    #expect(one != two)
  }

  @Test("Many starts at once agree on one secret")
  func race() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let secrets = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<16 { group.addTask { try SecretFile.loadOrCreate(in: folder) } }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(secrets.count == 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["secret.key"])
    }
  }

  @Test("A secret that others can read or change is refused", arguments: [0o644, 0o640, 0o604, 0o620, 0o601])
  func openToOthers(_ mode: Int) async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/secret.key"
      try write(testSecret, path, mode: mode)
      let fault = SecretFile.Fault.openToOthers(path: path, mode: "0" + String(mode, radix: 8))
      #expect(throws: fault) { try SecretFile.loadOrCreate(in: folder) }
      #expect(fault.description.hasSuffix("run: chmod 600 \(path)"))
    }
  }

  @Test("A file that is empty, cut or too long is refused and left as it is")
  func wrongLength() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/secret.key"
      for text in ["", "\n", String(testSecret.prefix(31)) + "\n"] {
        try write(text, path)
        let bytes = text.utf8.count - (text.hasSuffix("\n") ? 1 : 0)
        #expect(throws: SecretFile.Fault.tooShort(path: path, bytes: bytes)) {
          try SecretFile.loadOrCreate(in: folder)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      }
      try write(String(repeating: "a", count: 4097), path)
      #expect(throws: SecretFile.Fault.tooLong(path: path)) { try SecretFile.load(path) }
    }
  }

  @Test("What is not a regular file is refused")
  func notAFile() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/secret.key"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      #expect(throws: SecretFile.Fault.notAFile(path: path)) { try SecretFile.loadOrCreate(in: folder) }
    }
  }

  @Test("A missing data folder is said in a sentence")
  func missingFolder() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let error = #expect(throws: SecretFile.Fault.self) { try SecretFile.loadOrCreate(in: folder + "/gone") }
      #expect(error?.description.contains("No such file or directory") == true)
      #expect(throws: SecretFile.Fault.missing(path: folder + "/x")) { try SecretFile.load(folder + "/x") }
    }
  }
}
