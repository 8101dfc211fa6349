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
      ```
      `Sources/E.swift`
      ```
      """
    let present: Set<String> = ["Sources/A.swift", "docs/ROUTE.md"]
    #expect(
      Markdown(text).brokenPaths(in: "docs/", exists: present.contains) == ["Sources/B.swift", "LICENSE", "C.md"])
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

  @Test("The licence is Apache 2.0, whole")
  func licence() throws {
    let text = try Repository.text("LICENSE")
    for part in ["Apache License", "Version 2.0, January 2004", "9. Accepting Warranty or Additional Liability"] {
      #expect(text.contains(part))
    }
  }
}
