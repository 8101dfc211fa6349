import HTTPTypes
import Testing

@testable import Admin

@Suite("Which requests the web console takes for its own page's")
struct ConsoleGateTests {
  private func refused(_ headers: [String: String], needsHeader: Bool = true) -> Bool {
    let request = ConsoleRig.request("POST", "/console/api/info", headers)
    return ConsoleGate.refusal(of: request, needsHeader: needsHeader) != nil
  }

  @Test("With the header, and an origin that is the host or none")
  func own() {
    #expect(!refused(ConsoleRig.own))
    #expect(!refused(["x-fanfare-console": "1"]))
    #expect(!refused(["x-fanfare-console": "1", "origin": "http://127.0.0.1:9000"]))
    #expect(!refused([:], needsHeader: false))
  }

  @Test(
    "Every other one is refused",
    arguments: [
      [:], ["x-fanfare-console": ""], ["x-fanfare-console": "2"], ["x-fanfare-console": "1, 1"],
      ["origin": "http://127.0.0.1:9000", "sec-fetch-site": "same-origin"],
      ["x-fanfare-console": "1", "sec-fetch-site": "cross-site"],
      ["x-fanfare-console": "1", "sec-fetch-site": "same-site"], ["x-fanfare-console": "1", "sec-fetch-site": "none"],
      ["x-fanfare-console": "1", "origin": "http://elsewhere.example"],
      ["x-fanfare-console": "1", "origin": "http://127.0.0.1"],
      ["x-fanfare-console": "1", "origin": "http://127.0.0.1:9001"],
      ["x-fanfare-console": "1", "origin": "http://127.0.0.1:9000.elsewhere.example"],
      ["x-fanfare-console": "1", "origin": "null"], ["x-fanfare-console": "1", "origin": ""],
      ["x-fanfare-console": "1", "origin": "file://"],
      ["x-fanfare-console": "1", "origin": "http://elsewhere.example", "sec-fetch-site": "same-origin"],
    ] as [[String: String]])
  func others(_ headers: [String: String]) { #expect(refused(headers)) }

  @Test("A sign-in that another page makes is refused, too")
  func signIn() {
    #expect(refused(["origin": "http://elsewhere.example"], needsHeader: false))
    #expect(refused(["sec-fetch-site": "cross-site"], needsHeader: false))
  }

  @Test("Two of a header that says where a request comes from are not weighed against each other")
  func doubled() throws {
    var request = ConsoleRig.request("POST", "/console/api/info", ConsoleRig.own)
    request.fields.append(HTTPField(name: .origin, value: "http://127.0.0.1:9000"))
    #expect(ConsoleGate.refusal(of: request, needsHeader: true) != nil)
    request = ConsoleRig.request("POST", "/console/api/info", ConsoleRig.own)
    request.fields.append(HTTPField(name: try #require(HTTPField.Name("sec-fetch-site")), value: "cross-site"))
    #expect(ConsoleGate.refusal(of: request, needsHeader: true) != nil)
  }

  @Test("Without a host no page is the own one")
  func hostless() {
    var request = ConsoleRig.request("POST", "/console/api/info", ConsoleRig.own)
    request.authority = nil
    #expect(ConsoleGate.refusal(of: request, needsHeader: true) != nil)
  }

  @Test(
    "Scheme and its own port do not make another origin; anything else does",
    arguments: [
      ("http://a.example", "a.example", true), ("http://a.example", "a.example:80", true),
      ("https://a.example", "a.example:443", true), ("https://a.example:443", "a.example", true),
      ("HTTP://A.example", "a.EXAMPLE", true), ("http://[::1]:9000", "[::1]:9000", true),
      ("http://a.example", "a.example:443", false), ("https://a.example", "b.example", false),
      ("http://", "", false), ("ws://a.example", "a.example", false), ("http://ann@a.example", "a.example", false),
    ])
  func origins(_ origin: String, _ host: String, _ isOwn: Bool) {
    #expect(ConsoleGate.isOwn(origin, host: host) == isOwn)
  }

  @Test("The cookie is found among others, and only under its whole name")
  func cookies() {
    func tokens(_ line: String) -> [String] {
      ConsoleGate.tokens(of: ConsoleRig.request("GET", "/console/session", ["cookie": line]))
    }
    #expect(tokens("fanfare_console=a") == ["a"])
    #expect(tokens("x=1; fanfare_console=a=b; y=2") == ["a=b"])
    #expect(tokens("xfanfare_console=a; fanfare_consoles=b; fanfare_console") == [])
    // Another server of the machine may have set one of the same name.
    #expect(tokens("fanfare_console=a; fanfare_console=b") == ["a", "b"])
    #expect(tokens(Array(repeating: "fanfare_console=a", count: 50).joined(separator: ";")).count == 4)
  }

  @Test("A browser keeps the cookie from scripts, other pages and plain connections")
  func cookie() {
    let plain = ConsoleGate.setCookie("t", isSecure: false)
    #expect(plain == "fanfare_console=t; Path=/console; HttpOnly; SameSite=Strict")
    #expect(ConsoleGate.setCookie("t", isSecure: true) == plain + "; Secure")
  }

  @Test("A query is read as a browser writes it, and never more than it says")
  func query() {
    let query = ConsoleQuery("channel=a%3Ab+c%2B&filter=%7B%22%C3%A9%22%7D&channel=second&empty=&bad=%zz%4&only")
    #expect(query["channel"] == "a:b c+" && query["filter"] == "{\"é\"}" && query["bad"] == "%zz%4")
    #expect(query["empty"] == nil && query["only"] == nil && query["missing"] == nil)
    #expect(ConsoleQuery(nil)["channel"] == nil && ConsoleQuery("")["channel"] == nil)
  }
}
