import Foundation
import TestSupport
import Testing

/// The examples that people copy out of the documents, run as they stand but for the addresses.
@Suite("The examples in the documents", .ownThread)
struct DocumentExampleTests {
  private static let configuration = """
    {
      "channel": {"without_namespace": {
        "allow_subscribe_for_client": true, "allow_publish_for_subscriber": true, "history_size": 10,
        "history_ttl": "1m"}}
    }
    """

  @Test("The service in docs/PROTOCOL.md publishes and hears itself on the tap")
  func service() async throws {
    try await withServer(Self.configuration) { server in
      let example = try Self.example(in: "docs/PROTOCOL.md", containing: "import zmq")
      let script = try example.replacingOnce("ipc://data/services/commands.ipc", with: server.endpoints.commands)
        .replacingOnce("ipc://data/services/tap.ipc", with: server.endpoints.tap)
      let outcome = try await Self.run(script, [])
      #expect(outcome.status == 0, "\(outcome.output)")
      #expect(outcome.output.contains("ok {"))
      #expect(outcome.output.contains(#"{"hello":"world"}"#))
    }
  }

  @Test("The Python of docs/SDKS.md, with the configuration and a token as the page says")
  func pythonSDK() async throws {
    let file = ServerProcess.repository.appendingPathComponent("config/fanfare.json")
    try await withServer(String(contentsOf: file, encoding: .utf8)) { server in
      let example = try Self.example(in: "docs/SDKS.md", containing: "from centrifuge import")
      let script = try example.replacingOnce(
        "ws://127.0.0.1:8000/connection/websocket", with: server.endpoints.websocket
      ).replacingOnce("token=sys.argv[1])", with: "token=sys.argv[1], timeout=60)")
      let outcome = try await Self.run(script, [try await Self.token("ada", server)])
      #expect(outcome.status == 0, "\(outcome.output)\n\(server.errorOutput)")
      #expect(outcome.output == "1 ada hello from Python\n1 kept, 1 here\n")
    }
  }

  /// What `fanfare token` prints for somebody.
  private static func token(_ user: String, _ server: ServerProcess) async throws -> String {
    let outcome = try await Command(
      ServerProcess.executable(), ["token", user, "--set", "data.directory=\(server.directory.path)"]
    ).run(deadline: .seconds(60))
    #expect(outcome.status == 0, "\(outcome.output)")
    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func run(_ script: String, _ arguments: [String]) async throws -> Command.Outcome {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    return try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("example.py")
      try script.write(to: file, atomically: true, encoding: .utf8)
      return try await Command(interpreter, [file.path] + arguments).run(deadline: .seconds(180))
    }
  }

  /// The fenced Python block of a document that holds the text.
  private static func example(in document: String, containing text: String) throws -> String {
    let file = ServerProcess.repository.appendingPathComponent(document)
    let blocks = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```python\n").dropFirst()
    let examples = blocks.compactMap { $0.components(separatedBy: "\n```").first }.filter { $0.contains(text) }
    return try #require(examples.first, "\(document) has no Python example with \"\(text)\"")
  }
}

extension String {
  /// Fails where the text is missing: an example that no longer names the address would run against the wrong server.
  fileprivate func replacingOnce(_ text: String, with other: String) throws -> String {
    try #require(contains(text), "the example does not name \(text)")
    return replacingOccurrences(of: text, with: other)
  }
}
