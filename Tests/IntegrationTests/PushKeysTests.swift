import Foundation
import TestSupport
import Testing

/// `fanfare push keys` as an operator types it.
@Suite("The key for browsers", .ownThread)
struct PushKeysTests {
  private static func isPublicKey(_ line: String?) -> Bool {
    // The byte 4 at the beginning of 65 bytes, in base64url.
    guard let line else { return false }
    return line.utf8.count == 87 && line.hasPrefix("B")
      && line.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
  }

  @Test("A key is made once, in a file for its owner alone, and its public half is all that is printed")
  func makes() async throws {
    try await withTemporaryFolder { folder in
      let arguments = ["push", "keys", "--set", "data.directory=\(folder.path)/data"]
      let first = try await Tool.run(arguments, in: folder)
      #expect(first.status == 0, "\(first.tool.errors)")
      #expect(first.tool.lines.count == 1 && Self.isPublicKey(first.tool.lines.first))
      let file = folder.appendingPathComponent("data/push-vapid.key")
      let secret = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
      #expect(secret.utf8.count == 43 && !first.tool.output.contains(secret) && !first.tool.errors.contains(secret))
      let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
      #expect(mode == 0o600 && first.tool.errors.contains("vapid_private_key_file"))

      let second = try await Tool.run(arguments, in: folder)
      #expect(second.tool.lines == first.tool.lines, "the key is not replaced")
      let configured = try await Tool.run(
        [
          "push", "keys", "--set", "push.web.vapid_private_key=\(secret)", "--set", "push.web.subject=mailto:a@b",
          "--set", "data.directory=\(folder.path)/other",
        ], in: folder)
      #expect(configured.tool.lines == first.tool.lines)
      #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("other").path))
    }
  }

  @Test("A file that others may read, or that holds something else, is refused with a sentence that names it")
  func refuses() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("vapid.key")
      try "no key at all, but long enough to be looked at".write(to: file, atomically: true, encoding: .utf8)
      let arguments = [
        "push", "keys", "--set", "push.web.vapid_private_key_file=\(file.path)", "--set", "push.web.subject=mailto:a@b",
      ]
      for (mode, expected) in [(0o644, "chmod 600"), (0o600, "is no key on P-256")] {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        let result = try await Tool.run(arguments, in: folder)
        #expect(result.status != 0 && result.tool.lines.isEmpty)
        #expect(result.tool.errors.contains("push.web.vapid_private_key_file"), "\(result.tool.errors)")
        #expect(result.tool.errors.contains(expected), "\(result.tool.errors)")
      }
    }
  }
}
