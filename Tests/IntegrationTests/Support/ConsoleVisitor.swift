import Foundation
import TestSupport
import Testing

/// Somebody at the web console of a server, over bare HTTP.
struct ConsoleVisitor {
  /// Headers as the console's own page has them sent.
  static let own = "x-fanfare-console: 1\r\nOrigin: http://127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n"

  let port: Int
  /// The line of the head with the cookie; empty: nobody has signed in.
  var cookie = ""

  init(_ process: FanfareProcess) throws {
    port = try #require(process.endpoints.admin.flatMap(URL.init(string:))?.port)
  }

  /// Somebody who has had a password made and has signed in with it.
  ///
  /// - Parameter name: the process's folder in that of the deployment.
  static func signedIn(_ deployment: Deployment, to process: FanfareProcess, in name: String) async throws
    -> ConsoleVisitor
  {
    let password = try await makePassword(deployment, in: name)
    var visitor = try ConsoleVisitor(process)
    // A server that was asked before looks at its password once a second.
    let isIn = try await eventually { try visitor.signIn(password).status == 204 }
    try #require(isIn)
    return visitor
  }

  static func makePassword(_ deployment: Deployment, in name: String) async throws -> String {
    let folder = deployment.directory.appendingPathComponent(name).path
    let made = try await Tool.run(
      ["console", "password", "--set", "data.directory=\(folder)"], in: deployment.directory)
    try #require(made.status == 0, "\(made.tool.errors)")
    return made.tool.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func ask(
    _ method: String, _ path: String, _ body: String = "", headers: String = ConsoleVisitor.own
  ) throws -> HTTPExchange.Answer {
    let length = method == "GET" ? "" : "Content-Length: \(body.utf8.count)\r\n"
    return try HTTPExchange(port: port).ask(
      method, path, "Connection: close\r\n\(length)\(headers)\(cookie)", Array(body.utf8))
  }

  /// Calls a method of the server API by the session.
  func call(_ method: String, _ body: String) throws -> JSON {
    try JSON(try ask("POST", "/console/api/\(method)", body).text)
  }

  mutating func signIn(_ password: String, headers: String = ConsoleVisitor.own) throws -> HTTPExchange.Answer {
    let answer = try ask("POST", "/console/sign-in", "{\"password\":\(JSON.quoted(password))}", headers: headers)
    for line in answer.head.components(separatedBy: "\r\n") where line.lowercased().hasPrefix("set-cookie: ") {
      let value = line.dropFirst("set-cookie: ".count).prefix { $0 != ";" }
      cookie = "Cookie: \(value)\r\n"
    }
    return answer
  }

  func stream(_ path: String) throws -> EventStream { try EventStream(port: port, path, Self.own + cookie) }
}
