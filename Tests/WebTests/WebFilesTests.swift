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
    let folder = ServerProcess.repository.appendingPathComponent("Sources/Web/demo").path
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(WebFiles.demo.map(\.path).sorted() == names.map { "/demo/\($0)" })
    #expect(names.contains("index.html"))
    let console = ServerProcess.repository.appendingPathComponent("Sources/Web/console").path
    let own = try FileManager.default.contentsOfDirectory(atPath: console).sorted()
    // Two files are the demo's, under other names; none of the console's own has one of these.
    #expect(WebFiles.console.map(\.path).sorted() == (own + ["ui.js", "base.css"]).sorted().map { "/console/\($0)" })
    #expect(own.contains("index.html") && !own.contains("ui.js") && !own.contains("base.css"))
    for file in WebFiles.console {
      let source = ["/console/ui.js": "/demo/ui.js", "/console/base.css": "/demo/demo.css"][file.path] ?? file.path
      let isSame = Array(file.text.utf8) == (try Self.file(source))
      #expect(isSame, "\(file.path)")
    }
    for file in WebFiles.all + WebFiles.demo {
      let isSame = Array(file.text.utf8) == (try Self.file(file.path))
      #expect(isSame, "\(file.path)")
    }
  }

  @Test("A tag is the beginning of the file's digest, so that other contents have another one")
  func tags() throws {
    for file in WebFiles.all + WebFiles.demo {
      let digest = Digest.sha256.hash(try Self.file(file.path)).prefix(16)
      let hexadecimal = digest.map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
      #expect(file.tag == "\"\(hexadecimal.joined())\"", "\(file.path)")
    }
  }

  @Test("Each file of the pages has the type of its name, at most 500 lines, and nothing that its policy forbids")
  func demo() throws {
    let types = [
      "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
      "json": "application/json", "svg": "image/svg+xml",
    ]
    for file in WebFiles.demo + WebFiles.console {
      let end = try #require(file.path.split(separator: ".").last)
      #expect(file.contentType == types[String(end)], "\(file.path)")
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 501, "\(file.path)")
      // An address of another server would be refused by the browser, and would tell others who looks at the page.
      #expect(!file.text.contains("src=\"http") && !file.text.contains("from \"http"), "\(file.path)")
      guard end == "html" else { continue }
      #expect(!file.text.contains("<style") && !file.text.contains(" style="), "\(file.path)")
      #expect(!file.text.contains("<script>") && !file.text.contains(" onclick="), "\(file.path)")
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
