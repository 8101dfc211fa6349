import Cryptography
import Foundation
import TestSupport
import Testing
import Web

@Suite("The files for browsers")
struct WebFilesTests {
  private static func file(_ path: String) throws -> [UInt8] {
    let file = ServerProcess.repository.appendingPathComponent("Sources/Web\(path)")
    return Array(try Data(contentsOf: file))
  }

  @Test("What is built in are the files of Sources/Web, byte by byte; `make web` makes it anew")
  func builtIn() throws {
    #expect(WebFiles.all.map(\.path) == ["/fanfare.js", "/fanfare.d.ts"])
    for file in WebFiles.all {
      let isSame = Array(file.text.utf8) == (try Self.file(file.path))
      #expect(isSame, "\(file.path)")
    }
  }

  @Test("A tag is the beginning of the file's digest, so that other contents have another one")
  func tags() throws {
    for file in WebFiles.all {
      let digest = Digest.sha256.hash(try Self.file(file.path)).prefix(16)
      let hexadecimal = digest.map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
      #expect(file.tag == "\"\(hexadecimal.joined())\"", "\(file.path)")
    }
  }

  @Test("The client is one module: it imports nothing, and its lines are as long as others of ours")
  func module() throws {
    let text = String(decoding: try Self.file("/fanfare.js"), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count > 1000)
    for (index, line) in lines.enumerated() {
      #expect(line.count <= 120, "line \(index + 1)")
      #expect(!line.hasPrefix("import ") && !line.contains("require("), "line \(index + 1)")
    }
  }
}
