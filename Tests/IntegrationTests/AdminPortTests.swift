import Foundation
import TestSupport
import Testing

/// The port for backends and operators of a real server, over bare HTTP.
@Suite("The port for backends and operators, end to end", .ownThread)
struct AdminPortTests {
  private static let key = "a-key-that-only-this-test-has"

  private func port(of deployment: Deployment) throws -> Int {
    try #require(deployment.broker.endpoints.admin.flatMap(URL.init(string:))?.port)
  }

  /// Calls a method of the server API.
  private func call(
    _ method: String, _ body: String, on port: Int, key: String = AdminPortTests.key
  ) throws -> HTTPExchange.Answer {
    try HTTPExchange(port: port).ask(method, body, key: key)
  }

  @Test("What a backend publishes reaches clients of every gateway", arguments: [Deployment.Kind.serve, .ipc])
  func publish(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      let port = try port(of: deployment)
      let ann = try await deployment.client("ann", at: deployment.a)
      let ben = try await deployment.client("ben", at: deployment.b)
      for peer in [ann, ben] { try await peer.subscribe("mem:room") }
      let answer = try call("publish", #"{"channel":"mem:room","data":"from a backend"}"#, on: port)
      #expect(answer.status == 200 && answer.text.hasPrefix(#"{"result":{"offset":1,"epoch":""#), "\(answer.text)")
      for peer in [ann, ben] {
        #expect(await eventually { peer.data("mem:room") == ["from a backend"] })
      }
      let present = try call("presence_stats", #"{"channel":"mem:room"}"#, on: port)
      #expect(present.text == #"{"result":{"num_clients":2,"num_users":2}}"#)
      #expect(try call("disconnect", #"{"user":"ann"}"#, on: port).text == #"{"result":{}}"#)
      #expect(await eventually { ann.socket.closing?.code == 3503 })
    }
  }

  @Test("Without a key that holds nothing is done; a key that is made while the server runs holds, within its grant")
  func keys() async throws {
    try await Deployment.with(.serve) { deployment in
      let port = try port(of: deployment)
      let body = #"{"channel":"mem:room","data":1}"#
      #expect(try call("publish", body, on: port, key: "nobody's").status == 401)
      let made = try await Tool.run(
        [
          "keys", "create", "--name", "billing", "--allow", "publish", "--channels", "mem:*", "--set",
          "data.directory=\(deployment.directory.appendingPathComponent("broker").path)",
        ], in: deployment.directory)
      let key = made.tool.output.trimmingCharacters(in: .whitespacesAndNewlines)
      try #require(made.status == 0, "\(made.tool.errors)")
      #expect(try await eventually { try call("publish", body, on: port, key: key).status == 200 })
      let refused = try call("publish", #"{"channel":"dur:room","data":1}"#, on: port, key: key)
      #expect(refused.text.hasPrefix(#"{"error":{"code":103,"#), "\(refused.text)")
      #expect(try call("history", #"{"channel":"mem:room"}"#, on: port, key: key).text.contains(#""code":103"#))
      #expect(await eventually { deployment.broker.errorOutput.contains("key=billing") })
      #expect(!deployment.broker.errorOutput.contains(key))
    }
  }

  @Test("A body that is too large or no JSON, a method that is none, and a path that is none, are told apart")
  func refusals() async throws {
    let settings = ["admin.api.key=\(Self.key)", "admin.api.max_body_bytes=2KiB"]
    try await Deployment.with(.serve, settings: settings) { deployment in
      let port = try port(of: deployment)
      let large = #"{"channel":"mem:room","data":"\#(String(repeating: "x", count: 4000))"}"#
      #expect(try call("publish", large, on: port).status == 413)
      #expect(try call("publish", "{", on: port).status == 400)
      #expect(try call("dance", "{}", on: port).status == 404)
      let close = "Connection: close\r\n"
      #expect(try HTTPExchange(port: port).ask("GET", "/nowhere", close).status == 404)
      #expect(try HTTPExchange(port: port).ask("GET", "/health", close).text == "ok\n")
      // The link to the broker is looked at some times a second.
      #expect(try await eventually { try HTTPExchange(port: port).ask("GET", "/ready", close).status == 200 })
    }
  }

  @Test("A port that is taken keeps the server from starting, and the sentence names the setting")
  func taken() async throws {
    try await Deployment.with(.serve) { deployment in
      let port = try port(of: deployment)
      let second = try await Tool.run(
        [
          "serve", "--set", "server.port=0", "--set", "admin.port=\(port)", "--set",
          "data.directory=\(deployment.directory.path)/second",
        ], in: deployment.directory)
      #expect(second.status == 1)
      #expect(second.tool.errors.contains("admin.port"), "\(second.tool.errors)")
    }
  }
}
