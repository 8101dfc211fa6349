import Broker
import HTTPTypes
import Synchronization
import Testing
import Web
import Wire

@testable import Admin

/// The web console's routes without sockets: who comes in, for how long, and what they are answered.
@Suite("The web console")
struct ConsoleRoutesTests {
  private static let guarded = [
    ("GET", "/console/session"), ("GET", "/console/settings"), ("GET", "/console/live"),
    ("GET", "/console/tail?channel=news"), ("POST", "/console/api/info"), ("POST", "/console/sign-out"),
  ]

  private func status(
    _ rig: ConsoleRig, _ method: String, _ path: String, _ headers: [String: String]
  ) async -> Int {
    switch await rig.reply(method, path, headers) {
    case .answer(let answer): answer.status
    case .stream(let head, _): head.status
    }
  }

  @Test("Whoever has the password gets a cookie that opens everything, and sign-out closes it again")
  func signIn() async throws {
    let rig = try ConsoleRig()
    for (method, path) in Self.guarded {
      let status = await status(rig, method, path, ConsoleRig.own)
      #expect(status == 401, "\(path)")
    }
    let headers = try await rig.signedIn()
    let about = try await rig.ask("GET", "/console/session", headers)
    #expect(
      about.text
        == #"{"expires_in":1800,"version":"Fanfare test","node":"serve on here","can":["api","live","tail"],"#
        + #""apps":["clique"],"methods":["broadcast","channels","delete","edit","history","history_remove","info","#
        + #""map_get","map_list","map_remove","map_set","presence","presence_stats","publish","why"]}"#)
    #expect(about.contentType == "application/json")
    #expect(try await rig.ask("GET", "/console/settings", headers).text == #"{"settings":[]}"#)
    let out = try await rig.ask("POST", "/console/sign-out", headers)
    #expect(out.status == 204 && out.fields[.setCookie]?.contains("Max-Age=0") == true)
    #expect(try await rig.ask("GET", "/console/session", headers).status == 401)
    #expect(rig.lines.withLock { $0.map(\.event) } == [.consoleSignedIn, .consoleRead])
    rig.end()
  }

  @Test("A wrong password opens nothing, is audited without it, and can be tried a few times only")
  func wrong() async throws {
    let rig = try ConsoleRig()
    for number in 0..<ConsoleSignIns.ofAddress {
      let answer = try await rig.signIn("wrong \(number)")
      #expect(answer.status == 403 && answer.fields[.setCookie] == nil && answer.text.hasPrefix(#"{"message":"#))
    }
    let name = try #require(HTTPField.Name("retry-after"))
    let late = try await rig.signIn()
    #expect(late.status == 429 && late.fields[name] == "10")
    #expect(try await rig.signIn(from: "192.0.2.2").status == 204)
    rig.clock.pass(10_000)
    #expect(try await rig.signIn().status == 204)
    let refused = rig.lines.withLock { $0.filter { $0.event == .consoleRefused } }
    #expect(refused.count == ConsoleSignIns.ofAddress)
    #expect(refused.allSatisfy { $0.fields == ["cause": "password", "from": "192.0.2.1"] })
    rig.end()
  }

  @Test("What is no sign-in is refused before anybody's password is looked at")
  func malformed() async throws {
    let rig = try ConsoleRig()
    for (length, body, status) in [
      ("5000", "{}", 413), ("-1", "{}", 413), ("x", "{}", 413), ("2", "{}", 400), ("2", "[]", 400), ("1", "{", 400),
      ("14", #"{"password":1}"#, 400),
    ] {
      let headers = ConsoleRig.own.merging(["content-length": length]) { $1 }
      let answer = try await rig.ask("POST", "/console/sign-in", headers, body: body)
      #expect(answer.status == status, "\(body)")
    }
    #expect(try await rig.ask("POST", "/console/sign-in", body: "{}").status == 413)
    #expect(try await rig.ask("GET", "/console/sign-in").status == 405)
    #expect(try await rig.signIn().status == 204)
    rig.end()
  }

  @Test("Where no password was made nobody comes in, and is told what to do")
  func none() async throws {
    let rig = try ConsoleRig()
    rig.password.withLock { $0 = (nil, 1) }
    let answer = try await rig.signIn()
    #expect(answer.status == 403 && answer.text.contains("fanfare console password"))
    rig.end()
  }

  @Test("A session ends half an hour after its last use, and after twelve hours in any case")
  func expiry() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    func isOpen() async throws -> Bool { try await rig.ask("GET", "/console/session", headers).status == 200 }
    rig.clock.pass(1_799_999)
    #expect(try await isOpen())
    rig.clock.pass(1_800_000)
    #expect(try await !isOpen())
    // Signed in anew, and used every quarter of an hour for twelve hours.
    let others = try await rig.signedIn()
    for _ in 0..<47 {
      rig.clock.pass(900_000)
      #expect(try await rig.ask("GET", "/console/session", others).status == 200)
    }
    rig.clock.pass(900_000)
    #expect(try await rig.ask("GET", "/console/session", others).status == 401)
    rig.end()
  }

  @Test("Another password ends all sessions, and the former one opens nothing")
  func another() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    rig.password.withLock { $0 = (ConsoleRig.other, 2) }
    #expect(try await rig.ask("GET", "/console/session", headers).status == 401)
    #expect(try await rig.signIn().status == 403)
    #expect(try await rig.signIn("another password, made later").status == 204)
    rig.end()
  }

  @Test("A request that another page makes is refused, whatever it asks for and although the cookie is right")
  func forged() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    let cookie = try #require(headers["cookie"])
    let forgeries: [[String: String]] = [
      ["cookie": cookie],
      ["cookie": cookie, "origin": "http://127.0.0.1:9000", "sec-fetch-site": "same-origin"],
      ["cookie": cookie, "x-fanfare-console": "1", "origin": "http://elsewhere.example"],
      ["cookie": cookie, "x-fanfare-console": "1", "sec-fetch-site": "cross-site"],
      ["cookie": cookie, "x-fanfare-console": "1", "sec-fetch-site": "same-site"],
      ["cookie": cookie, "x-fanfare-console": "1", "origin": "null"],
    ]
    for (method, path) in Self.guarded {
      for forgery in forgeries {
        let status = await status(rig, method, path, forgery)
        #expect(status == 403, "\(path) with \(forgery.keys.sorted())")
      }
    }
    // The session is still there, so nothing was done, and each was written down.
    #expect(try await rig.ask("GET", "/console/session", headers).status == 200)
    let audited = rig.lines.withLock { $0.count { $0.event == .consoleRefused && $0.fields["cause"] == "page" } }
    #expect(audited == Self.guarded.count * forgeries.count)
    #expect(try await rig.signIn(from: "192.0.2.9", ["origin": "http://elsewhere.example"]).status == 403)
    rig.end()
  }

  @Test("Over TLS, through a proxy, the cookie is for TLS alone")
  func secure() async throws {
    let rig = try ConsoleRig()
    let secure = try await rig.signIn(from: "192.0.2.1", ["origin": "https://127.0.0.1:9000"])
    #expect(secure.fields[.setCookie]?.hasSuffix("; Secure") == true)
    #expect(try await rig.signIn().fields[.setCookie]?.contains("Secure") == false)
    rig.end()
  }

  @Test("Files are for everybody, with a tag, and every answer says what a browser may do with it")
  func files() async throws {
    let rig = try ConsoleRig()
    for file in WebFiles.console {
      let answer = try await rig.ask("GET", file.path, [:])
      #expect(answer.status == 200 && answer.text == file.text && answer.contentType == file.contentType)
      #expect(answer.fields[.eTag] == file.tag)
      let known = try await rig.ask("GET", file.path, ["if-none-match": "\"x\", \(file.tag)"])
      #expect(known.status == 304 && known.body == [])
      #expect(try await rig.ask("GET", file.path, ["if-none-match": "\"x\""]).status == 200)
      #expect(try await rig.ask("POST", file.path, [:]).status == 405)
    }
    let index = try await rig.ask("GET", "/console/", [:])
    #expect(index.status == 200 && index.contentType.hasPrefix("text/html"))
    let moved = try await rig.ask("GET", "/console", [:])
    #expect(moved.status == 308 && moved.fields[.location] == "console/")
    let asked = [
      index, moved, try await rig.ask("GET", "/console/nothing", [:]), try await rig.ask("GET", "/console/../x", [:]),
    ]
    #expect(asked.suffix(2).allSatisfy { $0.status == 404 })
    let headers = try await rig.signedIn()
    for answer in asked + [try await rig.ask("GET", "/console/session", headers)] {
      for (name, value) in [
        ("content-security-policy", ConsoleFiles.contentSecurityPolicy), ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"), ("referrer-policy", "no-referrer"),
      ] {
        #expect(answer.fields[try #require(HTTPField.Name(name))] == value)
      }
    }
    for source in ["'unsafe-inline'", "'unsafe-eval'", "http:", "https:", "*"] {
      #expect(!ConsoleFiles.contentSecurityPolicy.contains(source))
    }
    rig.end()
  }

  @Test("Without a broker in the process there are numbers and settings, and no calls")
  func gateway() async throws {
    let rig = try ConsoleRig(hasBroker: false)
    let headers = try await rig.signedIn()
    let about = try await rig.ask("GET", "/console/session", headers)
    #expect(about.text.contains(#""can":["live"]"#) && about.text.contains(#""methods":[]"#))
    #expect(try await rig.ask("POST", "/console/api/info", headers, body: "{}").status == 404)
    #expect(try await rig.ask("GET", "/console/tail?channel=news", headers).status == 404)
    rig.end()
  }

  @Test("A call that the console is not allowed is refused by the server API's own rule")
  func grant() async throws {
    let rig = try ConsoleRig(allow: ["read"])
    let headers = try await rig.signedIn()
    let answer = try await rig.ask("POST", "/console/api/publish", headers, body: #"{"channel":"news","data":1}"#)
    #expect(answer.status == 200 && answer.text.hasPrefix(#"{"error":{"code":103,"#), "\(answer.text)")
    #expect(try await rig.ask("POST", "/console/api/dance", headers, body: "{}").status == 404)
    #expect(try await rig.ask("GET", "/console/api/info", headers).status == 405)
    rig.end()
  }
}
