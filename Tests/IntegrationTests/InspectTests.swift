import Foundation
import TestSupport
import Testing
import Wire

/// What an operator at the terminal, or at the server API, is told of a server that runs.
@Suite("Looking inside a server", .ownThread)
struct InspectTests {
  private static let key = "a-key-that-only-this-test-has"

  private func call(
    _ method: String, _ body: String, on deployment: Deployment, key: String = InspectTests.key
  ) throws -> HTTPExchange.Answer {
    try deployment.broker.ask(method, body, key: key)
  }

  /// The result of a method, which must have one.
  private func result(
    _ method: String, _ body: String, on deployment: Deployment, key: String = InspectTests.key
  ) throws -> JSONObject {
    let answer = try call(method, body, on: deployment, key: key)
    let object = try JSONValue(parsing: Array(answer.text.utf8)).object
    return try #require(object?["result"]?.object, "\(answer.text)")
  }

  private func tool(_ arguments: [String], _ deployment: Deployment) async throws -> String {
    let (status, tool) = try await Tool.run(
      arguments + ["--endpoint", deployment.commands], in: deployment.directory)
    #expect(status == 0, "\(arguments): \(tool.errors)")
    return tool.output
  }

  @Test("A channel, a user and a connection are told of by every gateway", arguments: [Deployment.Kind.serve, .ipc])
  func inspect(_ kind: Deployment.Kind) async throws {
    try await Deployment.with(kind, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      let ann = try await deployment.client("ann", at: deployment.a, name: "phone")
      let ben = try await deployment.client("ann", at: deployment.b, name: "laptop")
      for peer in [ann, ben] { try await peer.subscribe("dur:room") }
      _ = try call("publish", #"{"channel":"dur:room","data":"x","idempotency_key":"k"}"#, on: deployment)
      let room = try result("inspect_channel", #"{"channel":"dur:room"}"#, on: deployment)
      let broker = try #require(room["broker"]?.object)
      #expect(broker["durability"]?.string == "durable" && broker["offset"]?.text == "1")
      #expect(broker["history"]?.object?["publications"]?.text == "1")
      #expect(broker["presence"]?.object?["clients"]?.text == "2" && broker["idempotency_keys"]?.text == "1")
      let gateways = try #require(room["gateways"]?.array)
      #expect(gateways.count == (kind == .ipc ? 2 : 1))
      let subscribers = gateways.compactMap { $0.object?["found"]?.object?["subscribers"]?.text }
      #expect(subscribers.compactMap(Int.init).reduce(0, +) == 2)

      let user = try await tool(["inspect", "user", "ann", "--json"], deployment)
      #expect(user.contains(#""sdk":"phone"#) && user.contains(#""sdk":"laptop"#), "\(user)")
      #expect(user.contains(#""address":"127.0.0.1""#) && user.contains(#""channel":"dur:room""#))
      let id = try #require(user.split(separator: #""client":""#).dropFirst().first?.prefix { $0 != "\"" })
      let client = try await tool(["inspect", "client", String(id)], deployment)
      #expect(client.contains("channel: dur:room") && client.contains("behind bytes: 0"), "\(client)")
      #expect(client.contains("user: ann"))
    }
  }

  @Test("explain says which line of the settings keeps somebody out, and what a client is answered is the same")
  func explain() async throws {
    try await Deployment.with(.serve) { deployment in
      let refused = try await tool(["explain", "--user", "ann", "--subscribe", "$mem:secret"], deployment)
      #expect(refused.contains("allowed: no") && refused.contains("names that begin with $"), "\(refused)")
      #expect(refused.contains("token: opens it"))
      let told = try await tool(["explain", "--user", "ann", "--publish", "mem:room", "--json"], deployment)
      #expect(told.contains(#""setting":"channel.namespaces.mem.allow_publish_for_"#), "\(told)")
      #expect(told.contains("broker.json:"), "\(told)")
      let ann = try await deployment.client("ann")
      await #expect(throws: (any Error).self) { try await ann.subscribe("$mem:secret") }
    }
  }

  @Test("A key that may inspect some channels hears of no others, and one that may only read hears nothing")
  func grants() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      func make(_ name: String, _ allow: String, _ channels: String) async throws -> String {
        let made = try await Tool.run(
          [
            "keys", "create", "--name", name, "--allow", allow, "--channels", channels, "--set",
            "data.directory=\(deployment.directory.appendingPathComponent("broker").path)",
          ], in: deployment.directory)
        try #require(made.status == 0, "\(made.tool.errors)")
        return made.tool.output.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      let reader = try await make("reader", "read", "*")
      let night = try await make("night", "inspect", "mem:*")
      let ann = try await deployment.client("ann")
      for channel in ["mem:room", "dur:room"] { try await ann.subscribe(channel) }
      let body = #"{"user":"ann"}"#
      #expect(try await eventually { try call("inspect_user", body, on: deployment, key: night).status == 200 })
      let text = try call("inspect_user", body, on: deployment, key: night).text
      #expect(text.contains("mem:room") && !text.contains("dur:room"), "\(text)")
      #expect(text.contains(#""num_subs":2"#) && text.contains(#""unlisted_subs":1"#), "\(text)")
      for method in ["inspect_user", "top"] {
        #expect(try call(method, body, on: deployment, key: reader).text.contains(#""code":103"#))
      }
      let foreign = try call("inspect_channel", #"{"channel":"dur:room"}"#, on: deployment, key: night)
      #expect(foreign.text.contains(#""code":103"#))
      let top = try call("top", "{}", on: deployment, key: night).text
      #expect(!top.contains("dur:room"), "\(top)")
    }
  }

  @Test("top prints one frame where there is no terminal, with rates, clients and the hottest channel")
  func top() async throws {
    try await Deployment.with(.serve) { deployment in
      let data = deployment.directory.appendingPathComponent("broker").path
      let arguments = ["top", "--interval", "1", "--set", "data.directory=\(data)"]
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:hot")
      let service = try deployment.service()
      _ = try await service.publish(String(repeating: "x", count: 2000), to: "mem:hot")
      #expect(await eventually { ann.data("mem:hot").count == 1 })
      let once = try await tool(arguments + ["--once"], deployment)
      #expect(once.contains("PER SECOND") && once.contains("publications"), "\(once)")
      #expect(once.contains("HOTTEST CHANNELS") && once.contains("mem:hot"), "\(once)")
      #expect(once.contains("BUSIEST CLIENTS") && once.contains("ann 127.0.0.1"), "\(once)")
      #expect(!once.contains("\u{1B}"))
      let port = try #require(deployment.broker.endpoints.admin)
      let wrong = try await Tool.run(
        arguments + ["--endpoint", deployment.commands, "--metrics", "\(port)/nowhere"], in: deployment.directory)
      #expect(wrong.status == 1 && wrong.tool.errors.contains("status 404"), "\(wrong.tool.errors)")
    }
  }

  @Test("Everything that must be proved later stands in the log under audit")
  func audit() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      func logged(_ parts: String...) async -> Bool {
        await eventually {
          deployment.broker.errorOutput.split(separator: "\n").contains { line in parts.allSatisfy { line.contains($0) }
          }
        }
      }
      #expect(await logged("audit=settings_loaded", "role=serve", "broker.json"))
      let stranger = try Peer(deployment.a)
      await #expect(throws: (any Error).self) {
        try await stranger.connect(token: "no.token.atall", subs: [:], name: "x")
      }
      #expect(await logged("audit=sign_in_refused", "address=127.0.0.1", "cause="))
      _ = try call("info", "{}", on: deployment, key: "nobody's")
      #expect(await logged("audit=key_refused", "method=info", "from=127.0.0.1"))
      let data = "data.directory=\(deployment.directory.appendingPathComponent("broker").path)"
      _ = try await Tool.run(
        ["keys", "create", "--name", "short", "--allow", "info", "--set", data], in: deployment.directory)
      #expect(
        try await eventually {
          _ = try call("info", "{}", on: deployment, key: "nobody's")
          return deployment.broker.errorOutput.contains("audit=key_created")
        })
      #expect(await logged("audit=key_created", "key=short"))
      _ = try await Tool.run(["keys", "delete", "short", "--set", data], in: deployment.directory)
      #expect(
        try await eventually {
          _ = try call("info", "{}", on: deployment, key: "nobody's")
          return deployment.broker.errorOutput.contains("audit=key_deleted")
        })
      _ = try call("disconnect", #"{"user":"ann"}"#, on: deployment)
      #expect(await logged("audit=disconnect", "user=ann", "door=api", "by="))
      #expect(await logged("audit=api", "method=disconnect"))
      _ = try await tool(["subscribe-user", "mem:room", "--user", "ann"], deployment)
      #expect(await logged("audit=subscription_order", "action=subscribe", "channel=mem:room", "door=zeromq"))
      _ = try await tool(["refresh", "--user", "ann", "--expired"], deployment)
      #expect(await logged("audit=subscription_order", "action=refresh"))
      _ = try await tool(["revoke", "--token", "4f1c"], deployment)
      #expect(await logged("audit=revocation", "token=4f1c"))
      _ = try call("history_remove", #"{"channel":"mem:room"}"#, on: deployment)
      #expect(await logged("audit=deletion", "what=history", "channel=mem:room"))
      #expect(!deployment.broker.errorOutput.contains(Self.key))
    }
  }

  @Test("A repeated call with its key is done once, over a restart too where the log has it")
  func idempotency() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      _ = try call("publish", #"{"channel":"dur:room","data":"1"}"#, on: deployment)
      let remove = #"{"channel":"dur:room","offset":1,"idempotency_key":"k"}"#
      let first = try call("delete", remove, on: deployment).text
      #expect(first.contains(#""offset":2"#), "\(first)")
      #expect(try call("delete", remove, on: deployment).text == first)
      #expect(try call("delete", #"{"channel":"dur:room","offset":1}"#, on: deployment).text.contains(#""code":107"#))
      let out = #"{"user":"ann","idempotency_key":"out"}"#
      #expect(try call("disconnect", out, on: deployment).text == #"{"result":{}}"#)
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      // The repeat answers as the first time, and does not send away who came later.
      #expect(try call("disconnect", out, on: deployment).text == #"{"result":{}}"#)
      #expect(ann.socket.closing == nil)
      let other = #"{"user":"ben","idempotency_key":"out"}"#
      #expect(try call("disconnect", other, on: deployment).text.contains(#""code":107"#))
      await deployment.broker.kill()
      try await deployment.restartBroker()
      #expect(try call("delete", remove, on: deployment).text == first)
    }
  }

  @Test("What a subscription brings may come in base64, override is refused, and a prefix is no pattern")
  func parameters() async throws {
    try await Deployment.with(.serve, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      let data = Data(#"{"role":"guest"}"#.utf8).base64EncodedString()
      let given = #"{"user":"ann","channel":"dur:room","b64info":"\#(data)"}"#
      #expect(try call("subscribe", given, on: deployment).text == #"{"result":{}}"#)
      #expect(
        try await eventually {
          try call("presence", #"{"channel":"dur:room"}"#, on: deployment).text.contains(
            #""chan_info":{"role":"guest"}"#)
        })
      for (body, word) in [
        (#"{"user":"ann","channel":"rel:a","b64data":"%%"}"#, "b64data"),
        (#"{"user":"ann","channel":"rel:a","b64info":"\#(Data("no json".utf8).base64EncodedString())"}"#, "b64info"),
        (#"{"user":"ann","channel":"rel:a","override":{"presence":{"value":true}}}"#, "override"),
      ] {
        let answer = try call("subscribe", body, on: deployment).text
        #expect(answer.contains(#""code":107"#) && answer.contains(word), "\(answer)")
      }
      #expect(try result("channels", #"{"prefix":"mem:*"}"#, on: deployment)["channels"]?.object?.members.count == 0)
      #expect(try result("channels", #"{"prefix":"mem:"}"#, on: deployment)["channels"]?.object?.members.count == 1)
    }
  }
}
