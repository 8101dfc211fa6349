import TLS
import Testing

@Suite("Which certificate is for a name")
struct ServerNamesTests {
  private func names(_ certificates: [String]...) -> ServerNames {
    var names = ServerNames()
    for (index, list) in certificates.enumerated() { names.add(list, certificate: index) }
    return names
  }

  @Test("a name is found as it stands, whatever its case, and nothing else is")
  func exact() {
    let names = names(["a.example", "B.example"], ["c.example"])
    #expect(names.certificate(for: "a.example") == 0)
    #expect(names.certificate(for: "A.Example") == 0)
    #expect(names.certificate(for: "b.example") == 0)
    #expect(names.certificate(for: "c.example.") == 1)
    for other in ["example", "x.a.example", "aa.example", "", ".", "a.example..", "a..example", "d.example"] {
      #expect(names.certificate(for: other) == nil, "\(other)")
    }
  }

  @Test("a wildcard is one label, the leftmost, and never none or two")
  func wildcard() {
    let names = names(["*.chat.example"])
    #expect(names.certificate(for: "eu.chat.example") == 0)
    #expect(names.certificate(for: "xn--bcher-kva.chat.example") == 0)
    for other in ["chat.example", "a.eu.chat.example", ".chat.example", "eu.chat.example.org", "*.chat.example"] {
      #expect(names.certificate(for: other) == nil, "\(other)")
    }
  }

  @Test("a name of its own goes before a wildcard, and the earlier certificate before the later")
  func order() {
    let names = names(["*.example.org"], ["eu.example.org", "*.example.org"], ["eu.example.org"])
    #expect(names.certificate(for: "eu.example.org") == 1)
    #expect(names.certificate(for: "us.example.org") == 0)
  }

  @Test(
    "a name that no browser would take counts for nothing",
    arguments: [
      "*", "*.", "*.com", "w*.example.com", "*w.example.com", "a.*.example.com", "*.*.example.com", "", "a..example",
      "a\0.example", "ü.example", String(repeating: "a", count: 64) + ".example",
      Array(repeating: "abcdefg", count: 40).joined(separator: "."),
    ])
  func strange(name: String) {
    var names = ServerNames()
    let counts = names.add([name], certificate: 0)
    #expect(!counts)
    for asked in [name, "a.com", "ww.example.com", "a.b.example.com", "a.example"] {
      #expect(names.certificate(for: asked) == nil, "\(asked)")
    }
  }
}
