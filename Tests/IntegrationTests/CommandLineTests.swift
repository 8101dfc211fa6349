import Foundation
import TestSupport
import Testing

/// The commands as a person types them.
@Suite("Command line", .ownThread)
struct CommandLineTests {
  @Test("publish sends each line of standard input, history prints what is kept")
  func publishLines() async throws {
    try await Deployment.with(.serve) { deployment in
      let folder = deployment.directory
      let input = "\"one\"\n\n{\"two\":2}\n[3]\n"
      let published = try await Tool.run(
        ["publish", "dur:lines", "--timeout", "120", "--endpoint", deployment.commands], in: folder, input: input)
      #expect(published.status == 0, "\(published.tool.errors)")
      #expect(published.tool.lines.count == 3)
      let history = try await Tool.run(
        ["history", "dur:lines", "--timeout", "120", "--endpoint", deployment.commands], in: folder)
      #expect(history.status == 0)
      let payloads = ["\"data\":\"one\"", "\"data\":{\"two\":2}", "\"data\":[3]"]
      #expect(history.tool.lines.count == payloads.count)
      for (line, payload) in zip(history.tool.lines, payloads) { #expect(line.contains(payload)) }
      let newest = try await Tool.run(
        ["history", "dur:lines", "--timeout", "120", "--endpoint", deployment.commands, "--reverse", "--limit", "1"],
        in: folder)
      #expect(newest.tool.lines.count == 1)
      #expect(newest.tool.output.contains("[3]"))

      let refused = try await Tool.run(
        ["publish", "nowhere:x", "1", "--timeout", "120", "--endpoint", deployment.commands], in: folder)
      #expect(refused.status != 0)
      #expect(refused.tool.errors.contains("the namespace of channel \"nowhere:x\" is not configured"))
    }
  }

  @Test("publish to a server that is not there ends with a sentence")
  func publishNowhere() async throws {
    try await withTemporaryFolder { folder in
      let result = try await Tool.run(
        ["publish", "news", "1", "--endpoint", "tcp://127.0.0.1:9", "--timeout", "1"], in: folder)
      #expect(result.status == 1)
      #expect(result.tool.errors.contains("Is the server running"))
    }
  }

  @Test("A server whose calls to others could only fail does not start, and says which file it cannot read")
  func authorities() async throws {
    try await withTemporaryFolder { folder in
      let secret = String(repeating: "0123456789abcdef", count: 2)
      let webhook =
        #"{"name":"hook","url":"https://a.example/","secret":"\#(secret)","events":["connect"],"certificate_authorities":"none.pem"}"#
      let proxies = #"{"connect":{"endpoint":"https://a.example/"},"certificate_authorities":"none.pem"}"#
      for (section, key) in [
        (#""webhooks":[\#(webhook)]"#, "webhooks.hook.certificate_authorities"),
        (#""proxies":\#(proxies)"#, "proxies.certificate_authorities"),
      ] {
        let file = folder.appendingPathComponent("\(key).json")
        let data = folder.appendingPathComponent(key).path
        try #"{"server":{"port":0},"admin":{"port":0},"data":{"directory":"\#(data)"},\#(section)}"#
          .write(to: file, atomically: true, encoding: .utf8)
        let result = try await Tool.run(["serve", "--config", file.path], in: folder)
        #expect(result.status == 1)
        #expect(result.tool.errors.contains("\(key): the file none.pem cannot be read"), "\(result.tool.errors)")
      }
    }
  }

  @Test("subscribe prints publications, survives a restart of the server, and ends after its count")
  func subscribe() async throws {
    try await Deployment.with(.serve) { deployment in
      let token = try deployment.token("ann")
      let tool = try Tool(
        ["subscribe", "dur:cli", "--url", deployment.a, "--token", token, "--count", "3"], in: deployment.directory)
      try #require(
        await eventually(within: .seconds(60)) { tool.errors.contains("dur:cli: subscribed") }, "\(tool.errors)")
      let service = try deployment.service()
      _ = try await service.publish("before", to: "dur:cli")
      #expect(await eventually { tool.lines.count == 1 })
      await deployment.broker.kill()
      #expect(await eventually { tool.errors.contains("reconnecting") })
      try await deployment.restartBroker()
      // A socket of before may not have noticed yet, and lose what it takes.
      let later = try deployment.service()
      _ = try await later.publish("while away or after", to: "dur:cli")
      #expect(await eventually(within: .seconds(60)) { tool.lines.count == 2 })
      _ = try await later.publish("after", to: "dur:cli")
      #expect(await tool.end() == 0)
      #expect(tool.lines.count == 3)
      for (line, payload) in zip(tool.lines, ["\"before\"", "\"while away or after\"", "\"after\""]) {
        #expect(line.contains("\"channel\":\"dur:cli\""))
        #expect(line.contains(payload))
      }
      #expect(tool.errors.contains("dur:cli: recovered"))
      #expect(!tool.errors.contains(token))
    }
  }

  @Test("token mints a token that the server takes, and subscribe signs its own with the server's secret")
  func token() async throws {
    try await Deployment.with(.serve) { deployment in
      let secret = "token.hmac_secret=\(Deployment.secret)"
      let minted = try await Tool.run(
        ["token", "ann", "--set", secret, "--server-side", "mem:mine"], in: deployment.directory)
      #expect(minted.status == 0, "\(minted.tool.errors)")
      let peer = try Peer(deployment.a)
      let connected = try await peer.connect(token: minted.tool.lines.first ?? "")
      #expect(connected.subs?.keys.sorted() == ["mem:mine"])

      let tool = try Tool(
        ["subscribe", "$mem:own", "--url", deployment.a, "--set", secret, "--count", "1"], in: deployment.directory)
      try #require(await eventually { tool.errors.contains("$mem:own: subscribed") }, "\(tool.errors)")
      _ = try await deployment.service().publish("x", to: "$mem:own")
      #expect(await tool.end() == 0)
    }
  }

  @Test("subscribe finds the port that the local server was given, and takes the configured one where none runs")
  func localPort() async throws {
    try await Deployment.with(.serve) { deployment in
      let folder = deployment.directory
      let local = [
        "--set", "token.hmac_secret=\(Deployment.secret)", "--set", "data.directory=\(folder.path)/broker",
      ]
      let tool = try Tool(["subscribe", "$mem:own", "--count", "1"] + local, in: folder)
      try #require(await eventually { tool.errors.contains("$mem:own: subscribed") }, "\(tool.errors)")
      _ = try await deployment.service().publish("x", to: "$mem:own")
      #expect(await tool.end() == 0)
      #expect(tool.output.contains("\"x\""))
      // The data folder is another, in which no server says where it is: the address comes from the settings.
      let port = try #require(URL(string: deployment.a)?.port)
      let configured = try Tool(
        [
          "subscribe", "$mem:own", "--count", "1", "--set", "token.hmac_secret=\(Deployment.secret)", "--set",
          "server.port=\(port)", "--set", "data.directory=\(folder.path)/none",
        ], in: folder)
      try #require(await eventually { configured.errors.contains("$mem:own: subscribed") }, "\(configured.errors)")
      _ = try await deployment.service().publish("y", to: "$mem:own")
      #expect(await configured.end() == 0)
    }
  }

  @Test("disconnect, unsubscribe and revoke say in one line what was done, and nothing where it was not")
  func orders() async throws {
    try await Deployment.with(.serve) { deployment in
      let ann = try await deployment.client("ann")
      try await ann.subscribe("mem:room")
      let at = ["--timeout", "120", "-e", deployment.commands]
      func run(_ arguments: String...) async throws -> (isDone: Bool, output: String, errors: String) {
        let (status, tool) = try await Tool.run(arguments + at, in: deployment.directory)
        return (status == 0, tool.output, tool.errors)
      }
      let unsubscribed = try await run("unsubscribe", "mem:room", "--user", "ann")
      #expect(
        unsubscribed.output == "unsubscribed from mem:room on every gateway: user ann\n", "\(unsubscribed.errors)")
      let disconnected = try await run("disconnect", "--user", "ann", "--session", "s", "--whitelist", "c")
      #expect(
        disconnected.output == "disconnected on every gateway: user ann, session s, but not client c\n",
        "\(disconnected.errors)")
      let token = try await run("revoke", "--token", "x")
      #expect(token.output == "revoked on every gateway: token x\n", "\(token.errors)")
      let tokens = try await run("revoke", "--user", "ann")
      #expect(tokens.output == "revoked on every gateway: tokens of user ann, issued before now\n", "\(tokens.errors)")
      #expect(await eventually { ann.socket.closing?.code == 3500 })
      let some = try await run("revoke", "--user", "ben", "--channel", "mem:room", "--issued-before", "7")
      #expect(
        some.output == "revoked on every gateway: subscription tokens for mem:room of user ben, issued before 7\n")
      let refused = try await run("revoke", "--user", "ann", "--expire-at", "1")
      #expect(!refused.isDone && refused.output.isEmpty && refused.errors.contains("expire_at"))
    }
  }

  @Test("keys create prints the key alone and keeps its digest alone; list and delete go by names")
  func keys() async throws {
    try await withTemporaryFolder { folder in
      let data = folder.appendingPathComponent("data")
      func run(_ arguments: [String]) async throws -> (status: Int32?, output: String, errors: String) {
        let (status, tool) = try await Tool.run(
          ["keys"] + arguments + ["--set", "data.directory=\(data.path)"], in: folder)
        return (status, tool.output, tool.errors)
      }
      let none = try await run(["list"])
      #expect(none.status == 0 && none.output.isEmpty && none.errors.contains("there are no keys"), "\(none.errors)")
      let made = try await run([
        "create", "--name", "billing", "--allow", "publish,presence", "--channels", "chat:*, news", "--channels",
        "dm:x#42,43",
      ])
      #expect(made.status == 0, "\(made.errors)")
      #expect(made.output.wholeMatch(of: /ff_[A-Za-z0-9_-]{43}\n/) != nil, "\(made.output)")
      let key = made.output.trimmingCharacters(in: .newlines)
      #expect(made.errors.contains("made the key billing") && !made.errors.contains(key))
      let ops = try await run(["create", "--name", "ops", "--allow", "disconnect"])
      #expect(ops.status == 0, "\(ops.errors)")

      let file = data.appendingPathComponent("api-keys.json")
      #expect(try !String(contentsOf: file, encoding: .utf8).contains(key))
      let listed = try await run(["list"])
      let lines = listed.output.split(separator: "\n")
      #expect(lines.count == 2, "\(listed.errors)")
      #expect(lines.first?.hasPrefix("billing: publish,presence on chat:*,news,dm:x#42,43, made 20") == true)
      #expect(lines.last?.hasPrefix("ops: disconnect, made 20") == true)
      #expect(!listed.output.contains(key))

      let refused: [([String], String)] = [
        (["create", "--name", "billing", "--allow", "all", "--channels", "*"], "there is a key billing already"),
        (["create", "--name", "x", "--allow", "pubish", "--channels", "*"], "\"pubish\" is no method"),
        (["create", "--name", "x", "--allow", "publish"], "--channels"),
        (["create", "--name", "x", "--allow", ",", "--channels", "*"], "--allow publish"),
        (["create", "--name", "a b", "--allow", "all", "--channels", "*"], "is no name for a key"),
        (["delete", "nobody"], "there is no key \"nobody\""),
      ]
      for (arguments, expected) in refused {
        let result = try await run(arguments)
        #expect(result.status != 0 && result.status != nil && result.output.isEmpty)
        #expect(result.errors.contains(expected), "\(arguments): \(result.errors)")
      }

      let deleted = try await run(["delete", "billing"])
      #expect(deleted.status == 0 && deleted.output == "deleted the key billing\n", "\(deleted.errors)")
      #expect(try await run(["list"]).output.hasPrefix("ops: "))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
      let open = try await run(["list"])
      #expect(open.status == 1 && open.errors.contains("chmod 600"), "\(open.errors)")
    }
  }

  @Test("config check names the line, the key and what to write")
  func configCheck() async throws {
    try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("bad.json")
      try "{\n  \"server\": {\n    \"prot\": 8000\n  }\n}\n".write(to: file, atomically: true, encoding: .utf8)
      let bad = try await Tool.run(["config", "check", file.path], in: folder)
      #expect(bad.status != 0 && bad.status != nil)
      #expect(bad.tool.errors.contains("bad.json:3"), "\(bad.tool.errors)")
      #expect(bad.tool.errors.contains("server.port"), "\(bad.tool.errors)")
      let started = try await Tool.run(
        ["serve", "--config", file.path, "--set", "data.directory=\(folder.path)/d"], in: folder)
      #expect(started.status != 0 && started.status != nil)
      #expect(started.tool.errors.contains("server.port"))
      #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/d/endpoints.json"))

      try "{\n  \"server\": {\n    \"port\": 8000\n  }\n}\n".write(to: file, atomically: true, encoding: .utf8)
      let good = try await Tool.run(["config", "check", file.path], in: folder)
      #expect(good.status == 0, "\(good.tool.errors)")
    }
  }

  @Test("A second server on the same data folder or the same port does not start, and says why")
  func second() async throws {
    try await Deployment.with(.serve) { deployment in
      let data = deployment.directory.appendingPathComponent("broker").path
      let common = [
        "serve", "--set", "server.host=127.0.0.1", "--set", "admin.port=0",
      ]
      let sameFolder = try await Tool.run(
        common + ["--set", "server.port=0", "--set", "data.directory=\(data)"], in: deployment.directory)
      #expect(sameFolder.status == 1)
      #expect(sameFolder.tool.errors.contains("another broker is using the data folder"), "\(sameFolder.tool.errors)")

      let port = try #require(URL(string: deployment.a)?.port)
      let samePort = try await Tool.run(
        common + ["--set", "server.port=\(port)", "--set", "data.directory=\(data)-2"], in: deployment.directory)
      #expect(samePort.status == 1)
      #expect(samePort.tool.errors.contains("\(port)"), "\(samePort.tool.errors)")
      #expect(samePort.tool.errors.contains("is taken by another program"), "\(samePort.tool.errors)")

      let sameServices = try await Tool.run(
        [
          "serve", "--set", "server.port=0", "--set", "admin.port=0",
          "--set", "broker.services.commands=\(deployment.commands)", "--set", "data.directory=\(data)-3",
        ], in: deployment.directory)
      #expect(sameServices.status == 1)
      #expect(sameServices.tool.errors.contains(deployment.commands), "\(sameServices.tool.errors)")

      // The first one was not disturbed: not its endpoints file either.
      let ann = try await deployment.client("ann")
      try await ann.publish("still here", to: "dur:x")
      #expect(FileManager.default.fileExists(atPath: "\(data)/endpoints.json"))
    }
  }
}
