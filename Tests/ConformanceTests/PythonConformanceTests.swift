import Foundation
import TestSupport
import Testing

@Suite("The official Python SDK against the server", .ownThread)
struct PythonConformanceTests {
  enum Format: String, CaseIterable, CustomTestStringConvertible {
    case json
    case protobuf

    var testDescription: String { rawValue }
  }

  /// Where the phones connect: those of one person by different gateways, where there are two.
  enum Place: String, CaseIterable, CustomTestStringConvertible {
    case oneProcess = "one process"
    case twoGateways = "two gateways"

    var testDescription: String { rawValue }
    var gateways: Int { self == .oneProcess ? 0 : 2 }
  }

  /// The format matters to a gateway alone, so that one is enough where there are two of them.
  static let everywhere: [(Format, Place)] =
    Format.allCases.map { ($0, .oneProcess) } + [(.protobuf, .twoGateways)]
  /// For what waits for a minute.
  static let onceEach: [(Format, Place)] = [(.json, .twoGateways), (.protobuf, .oneProcess)]

  private static let apiKey = "conformance-key-of-the-server-api"
  private static let secret = "conformance-secret-of-more-than-thirty-two-bytes"

  /// Times so small that expiry and pings happen within a script, and not so small that a busy machine passes them. A
  /// gateway that a busy machine lets wait is not given up.
  private static let configuration = """
    {
      "client": {"ping_interval": "30s", "pong_timeout": "29s", "token_expiry_grace": "20s", "request_timeout": "50s"},
      "token": {"hmac_secret": "\(secret)"},
      "broker": {"gateway_timeout": "1m"},
      "channel": {
        "without_namespace": {\(allowed), "history_size": 100, "history_ttl": "10m"},
        "namespaces": [
          {"name": "brief", \(allowed), "history_size": 2, "history_ttl": "10m"},
          {"name": "closed"},
          {"name": "patched", \(allowed), "history_size": 100, "history_ttl": "10m", "allow_delta": true},
          {"name": "favorites", "kind": "map", "map_mode": "persistent", "map_order": "ascending"}
        ]
      }
    }
    """

  private static let allowed = """
    "allow_subscribe_for_client": true, "allow_publish_for_subscriber": true, "allow_history_for_subscriber": true,
    "allow_presence_for_subscriber": true, "presence": true, "join_leave": true, "force_recovery": true
    """

  @Test("Connecting, publications, joins, presence, history and permissions", arguments: Format.allCases)
  func basics(format: Format) async throws { try await run("basics", format) }

  @Test("Recovery across connections that are cut", arguments: Format.allCases)
  func recovery(format: Format) async throws { try await run("recovery", format) }

  @Test("Delta compression, live and across connections that are cut", arguments: Format.allCases)
  func delta(format: Format) async throws { try await run("delta", format) }

  @Test("Tokens: invalid, expired, refreshed, and of subscriptions", arguments: Format.allCases)
  func tokens(format: Format) async throws { try await run("tokens", format) }

  @Test("A service publishes and taps over ZeroMQ")
  func services() async throws { try await run("services", .json) }

  @Test("The server API serves Centrifugo's own client, method by method")
  func serverAPI() async throws {
    try await run("server_api", .json, settings: ["admin.api.key=\(Self.apiKey)"])
  }

  @Test("The server API answers as docs/openapi.json says, to the document's examples and to calls made up from it")
  func schema() async throws { try await run("schema", .json, settings: ["admin.api.key=\(Self.apiKey)"]) }

  @Test("Clique: the life of conversations on two phones each of two people", arguments: everywhere)
  func clique(format: Format, place: Place) async throws { try await run("clique", format, place) }

  @Test("Clique: profiles, the badge and reports on two phones each", arguments: everywhere)
  func cliquePeople(format: Format, place: Place) async throws {
    try await run("clique_people", format, place, settings: ["admin.api.key=\(Self.apiKey)"])
  }

  @Test("Clique: pictures, and messages that disappear, on two phones each", arguments: onceEach)
  func cliqueMedia(format: Format, place: Place) async throws { try await run("clique_media", format, place) }

  @Test("State: the life of threads on two phones each of two people", arguments: everywhere)
  func state(format: Format, place: Place) async throws { try await run("state", format, place) }

  @Test("State: late answers, expiry and the end of a reveal", arguments: everywhere)
  func stateTimes(format: Format, place: Place) async throws {
    try await run(
      "state_times", format, place,
      settings: [
        "state.lifetime=40s", "state.reveal_lifetime=20s", "state.record_limit=10s", "state.upload_grace=0s",
      ])
  }

  @Test(
    "Beside the client for browsers: each sees all of the other, in the same order",
    .skipUnlessStrict(.node, isThere: NodeProgram.executable != nil), arguments: Format.allCases)
  func beside(format: Format) async throws {
    let node = try #require(NodeProgram.executable)
    let script = ServerProcess.repository.appendingPathComponent("Tests/WebTests/javascript/beside.mjs")
    try await run("beside", format, environment: ["NODE": node.path, "BESIDE": script.path])
  }

  @Test("Clients with and without permessage-deflate hear the same, and a publication is compressed once for all")
  func compressed() async throws { try await run("compressed", .json) }

  private func run(
    _ script: String, _ format: Format, _ place: Place = .oneProcess, settings: [String] = [],
    environment: [String: String] = [:]
  ) async throws {
    let interpreter = try await PythonEnvironment.shared.interpreter()
    try await ServerGroup.with(Self.configuration, settings: settings, gateways: place.gateways) { servers in
      let file = PythonEnvironment.shared.scripts.appendingPathComponent("\(script).py")
      let broker = servers.endpoints()
      let (one, other) =
        place == .oneProcess ? (broker, broker) : (servers.endpoints("gateway0"), servers.endpoints("gateway1"))
      let command = Command(
        interpreter, [file.path],
        environment: [
          "SERVER_URL": one.websocket ?? "", "OTHER_URL": other.websocket ?? "", "COMMANDS": broker.commands ?? "",
          "TAP": broker.tap ?? "", "ADMIN_URL": broker.admin ?? "", "API_KEY": Self.apiKey,
          "TOKEN_SECRET": Self.secret, "WIRE_FORMAT": format.rawValue,
          // Python is to write no bytecode beside the scripts in the repository.
          "PYTHONDONTWRITEBYTECODE": "1",
        ].merging(environment) { $1 })
      let outcome = try await command.run(deadline: .seconds(360))
      #expect(outcome.status == 0, "\(outcome.output)\nThe server's log ends with:\n\(servers.errorOutput())")
      // A script that ended early without a word would pass otherwise.
      #expect(outcome.output.contains("ok: "))
    }
  }
}
