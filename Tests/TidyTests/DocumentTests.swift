import Foundation
import Testing

@Suite("The documents tell the truth about the repository")
struct DocumentTests {
  @Test("Every path that a document names exists")
  func paths() throws {
    for document in Repository.documents {
      let folder = document.lastIndex(of: "/").map { String(document[...$0]) } ?? ""
      let broken = Markdown(try Repository.text(document)).brokenPaths(in: folder, exists: Repository.exists)
      #expect(broken == [], "\(document)")
    }
    #expect(Repository.documents.count >= 6)
  }

  @Test("A path that does not exist is found, in code and in links, and nothing else is taken for one")
  func pathsChecker() {
    let text = """
      See `Sources/A.swift`, `Sources/B.swift`, `LICENSE`, `Sources/*.swift` and `make serve`, [here](ROUTE.md),
      [there](../C.md#part), [outside](https://example.com/docs/D.md) and [below](#below).
      <source media="(prefers-color-scheme: dark)" srcset="dark.png"><img alt="a" src="ROUTE.md">
      ```
      `Sources/E.swift`
      ```
      """
    let present: Set<String> = ["Sources/A.swift", "docs/ROUTE.md"]
    #expect(
      Markdown(text).brokenPaths(in: "docs/", exists: present.contains) == [
        "Sources/B.swift", "LICENSE", "C.md", "docs/dark.png",
      ])
  }

  @Test("Every setting that a document quotes is one of docs/CONFIGURATION.md")
  func settings() throws {
    let known = KnownKeys(reference: try Repository.text("docs/CONFIGURATION.md"))
    #expect(known.count > 50)
    for document in Repository.documents {
      #expect(Markdown(try Repository.text(document)).unknownKeys(known) == [], "\(document)")
    }
  }

  @Test("A setting that does not exist is found, in code and in commands")
  func settingsChecker() {
    let known = KnownKeys(
      reference: "| `server.port` | x |\n| `backbone.curve.key_file` | x |\n| `history_size` | x |\n")
    let text = """
      `server.port` `server.prot` `backbone.curve` `channel.without_namespace.history_size`
      `channel.namespaces.chat.history_size` `channel.namespaces.chat.histroy_size` `--set server.porrt=1` `client.pb`
      ```
      fanfare serve --set server.port=1 --set "servre.port=2"
      ```
      """
    #expect(
      Markdown(text).unknownKeys(known).sorted()
        == ["channel.namespaces.chat.histroy_size", "client.pb", "server.porrt", "server.prot", "servre.port"])
  }

  @Test("Decisions are numbered without holes, and each gives context, decision and consequence")
  func decisions() throws {
    let decisions = Repository.files.filter { $0.hasPrefix("docs/decisions/") }
    for (index, decision) in decisions.enumerated() {
      let number = String(index + 1)
      let padded = String(repeating: "0", count: 4 - number.count) + number
      #expect(decision.hasPrefix("docs/decisions/\(padded)-"), "\(decision)")
      let text = try Repository.text(decision)
      for heading in ["# \(padded). ", "## Context", "## Decision", "## Consequence"] {
        #expect(text.contains(heading), "\(decision) has no \"\(heading)\"")
      }
    }
    #expect(decisions.count >= 10)
  }

  @Test("What people look for is there, and the README leads to each")
  func guide() throws {
    let readme = Markdown(try Repository.text("README.md"))
    #expect(Self.missing(from: readme, exists: Repository.exists) == [])
  }

  @Test("The index leads to every page and every tutorial")
  func index() throws {
    let pages = Repository.documents.filter { $0.hasPrefix("docs/") && !$0.hasPrefix("docs/decisions/") }
      .map { $0.dropFirst(5) }.filter { $0 != "README.md" }
    let links = Set(Markdown(try Repository.text("docs/README.md")).links.map { $0.prefix { $0 != "#" } })
    for page in pages { #expect(links.contains(page), "docs/README.md has no link to \(page)") }
    #expect(pages.count >= 20)
  }

  @Test("A document that is missing, or that the README does not lead to, is found")
  func guideChecker() {
    let readme = Markdown("[a](docs/CLIQUE.md), [b](docs/SECURITY.md#part), `docs/STATE.md`")
    let missing = Self.missing(from: readme) { $0 != "docs/CLIQUE.md" }
    #expect(missing.contains("docs/CLIQUE.md does not exist"))
    #expect(missing.contains("README.md has no link to docs/STATE.md"))
    #expect(!missing.contains { $0.contains("docs/SECURITY.md") })
  }

  private static let guide = ["CLIQUE", "CONFIGURATION", "OPERATIONS", "PROTOCOL", "ROUTE", "SECURITY", "STATE"]

  private static func missing(from readme: Markdown, exists: (String) -> Bool) -> [String] {
    guide.map { "docs/\($0).md" }.flatMap { document in
      var missing: [String] = []
      if !exists(document) { missing.append("\(document) does not exist") }
      if !readme.links.contains(where: { $0 == document || $0.hasPrefix("\(document)#") }) {
        missing.append("README.md has no link to \(document)")
      }
      return missing
    }
  }

  @Test("docs/SECURITY.md names for each defence a test that exists")
  func security() throws {
    let text = try Repository.text("docs/SECURITY.md")
    #expect(Self.unshown(in: text, exists: Repository.exists) == [])
    // The rows of its tables of defences, and no fewer for a table that was spelled otherwise.
    #expect(Self.defences(in: text).count >= 25)
  }

  @Test("A defence without a test is found, and so is one whose test is not there")
  func securityChecker() {
    let text = """
      | Against | By | Shown by |
      |---|---|---|
      | a | `server.port` | `Tests/A.swift`, `Tests/B.swift` |
      | b | c | nothing yet |
      | d | e | `Tests/A.swift` |

      | Who | Trusted with | Not trusted with |
      |---|---|---|
      | f | g | |
      """
    #expect(Self.defences(in: text).count == 3)
    let unshown = Self.unshown(in: text) { $0 == "Tests/A.swift" }
    #expect(unshown == ["a", "b"])
  }

  /// The cells of each row of the tables whose last column says which tests show it.
  private static func defences(in text: String) -> [[String]] {
    var rows: [[String]] = []
    var isDefence = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("|") else {
        isDefence = false
        continue
      }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if cells.last == "Shown by" { isDefence = true } else if isDefence, cells.first != "---" { rows.append(cells) }
    }
    return rows
  }

  /// Defences of which the last column names no test, or one that is not there.
  private static func unshown(in text: String, exists: (String) -> Bool) -> [String] {
    defences(in: text).filter { cells in
      let tests = Markdown(cells.last ?? "").codeSpans
      return tests.isEmpty || !tests.allSatisfy { $0.hasPrefix("Tests/") && $0.hasSuffix(".swift") && exists($0) }
    }.map { $0.first ?? "" }
  }

  @Test("The licence is Apache 2.0, whole")
  func licence() throws {
    let text = try Repository.text("LICENSE")
    for part in ["Apache License", "Version 2.0, January 2004", "9. Accepting Warranty or Additional Liability"] {
      #expect(text.contains(part))
    }
  }
}
