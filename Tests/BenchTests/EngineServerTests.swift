import CLinuxIO
import Foundation
import TestSupport
import Testing

@testable import Bench

func linuxNow() -> UInt64 { linuxio_now() }

/// `fanfare` itself, measured by a worker.
@Suite("A worker and Fanfare", .ownThread)
struct EngineServerTests {
  private static let secret = "a secret that only the tests know, long enough"
  private static let configuration = """
    {"token": {"hmac_secret": "\(secret)"},
     "channel": {"without_namespace": {
       "allow_subscribe_for_client": true, "allow_publish_for_client": true, "history_size": 100,
       "history_ttl": "1h", "force_recovery": true}}}
    """
  /// The settings as flags, like those of the servers that the bench starts.
  private static let patient = patientSettings.flatMap { ["--set", $0] }

  private func plan(
    _ server: ServerProcess, _ format: String, _ measure: Scenario.Measure = .delivery, rate: Double = 200
  ) -> WorkerPlan {
    var plan = WorkerPlan.sample(
      .sample(rate: rate, burst: 2), to: server.endpoints.websocket, dialect: "centrifuge", measure: measure,
      format: format, run: UUID().uuidString)
    plan.target.secret = Self.secret
    return plan
  }

  @Test("Publications arrive and are answered, in both formats")
  func delivery() async throws {
    try await withServer(Self.configuration, arguments: Self.patient) { server in
      for format in ["json", "protobuf"] {
        let report = try await WorkerRunner.run(plan(server, format))
        let group = try #require(report.groups.first)
        #expect(group.expected == 400)
        #expect(group.isWhole)
        #expect(report.acknowledged.count == 80)
        #expect(report.remarks == [])
      }
    }
  }

  @Test("Subscribers with permessage-deflate get the same in fewer bytes, in both formats")
  func compressed() async throws {
    try await withServer(Self.configuration, arguments: Self.patient) { server in
      for format in ["json", "protobuf"] {
        var (bytes, plan) = ([Double](), plan(server, format))
        plan.scenario.groups[0].payload = 500
        for compresses in [false, true] {
          plan.run = UUID().uuidString
          plan.target.compresses = compresses
          let report = try await WorkerRunner.run(plan)
          #expect(try #require(report.groups.first).isWhole)
          #expect(report.remarks == [])
          // What a busy machine brings later is in neither count.
          try #require(report.arrived > 0)
          bytes.append(Double(try #require(report.received)) / Double(report.arrived))
        }
        #expect(bytes[0] > 500)
        #expect(bytes[1] < bytes[0] * 0.8, "\(bytes)")
      }
    }
  }

  @Test("Clients that drop, miss publications and return recover each of them, in both formats")
  func resume() async throws {
    try await withServer(Self.configuration, arguments: Self.patient) { server in
      for format in ["json", "protobuf"] {
        let report = try await WorkerRunner.run(plan(server, format, .resume))
        let group = try #require(report.groups.first)
        #expect(group.intended == 40)
        #expect(group.expected == 200)
        #expect(group.isWhole)
        #expect(report.resumed?.count == 10)
        #expect(report.disconnected == 0)
      }
    }
  }

  @Test("What the history no longer holds is a fault: clients that cannot recover are told of")
  func resumeTooMuch() async throws {
    try await withServer(Self.configuration, arguments: Self.patient) { server in
      var plan = plan(server, "json", .resume, rate: 2000)
      plan.scenario.missed = 150
      // What had not arrived of it when the clients were dropped would be lost too.
      plan.scenario.warmup = 0
      let report = try await WorkerRunner.run(plan)
      #expect(report.groups.first?.lost == 1500)
      #expect(report.disconnected == 10)
      #expect(report.remarks.first?.contains("could not recover") == true, "\(report.remarks)")
    }
  }

  @Test("A refused sign-in is told with the server's code")
  func refused() async throws {
    try await withServer(Self.configuration, arguments: Self.patient) { server in
      var plan = plan(server, "json")
      plan.target.secret = "another secret"
      let runner = try WorkerRunner(plan)
      let error = await #expect(throws: BenchError.self) { try await runner.ready }
      #expect(error?.description.contains("3500") == true)
    }
  }

  @Test(
    "General scenarios run against the server that `make serve` starts, with nothing but its address and secret",
    arguments: ["latency", "fanout", "rooms", "rooms-one", "coalesce"])
  func defaultServer(_ name: String) async throws {
    let file = try #require(
      FileManager.default.contents(atPath: ServerProcess.repository.appending(path: "config/fanfare.json").path))
    let configuration = String(decoding: file, as: UTF8.self)
    let secret = ["--set", "token.hmac_secret=\(Self.secret)", "--set", "client.max_channels=1000"]
    try await withServer(configuration, arguments: Self.patient + secret) { server in
      var plan = plan(server, "json")
      var scenario = try ScenarioFile.load(
        ServerProcess.repository.appending(path: "benchmarks/scenarios/\(name).json").path, overrides: [])
      scenario.setNamespace("")
      (scenario.warmup, scenario.duration) = (0.2, 1)
      for index in scenario.groups.indices {
        scenario.groups[index].channels = min(scenario.groups[index].channels, 150)
        scenario.groups[index].subscribers = min(scenario.groups[index].subscribers, 20)
        scenario.groups[index].rate = 40
        scenario.groups[index].burst = 1
      }
      plan.scenario = scenario
      plan.target = try URLPeer(url: server.endpoints.websocket, secret: Self.secret).target
      let report = try await WorkerRunner.run(plan)
      #expect(report.groups.allSatisfy { $0.isWhole && $0.expected > 0 && $0.refused == 0 }, "\(report.groups)")
      // What publishers get, because they had to subscribe, is nobody's mistake.
      #expect(!report.remarks.contains { $0.contains("no publications of this run") }, "\(report.remarks)")
    }
  }

  @Test("What the server does not allow is one sentence with the setting to change")
  func notAllowed() async throws {
    let cases = [
      (#"{"allow_subscribe_for_client": true}"#, "", "allow_publish_for_subscriber"),
      (#"{"allow_publish_for_client": true}"#, "", "allow_subscribe_for_client"),
      (#"{"allow_subscribe_for_client": true}"#, "nowhere", "--namespace"),
    ]
    for (options, namespace, advice) in cases {
      let configuration =
        #"{"token": {"hmac_secret": "\#(Self.secret)"}, "channel": {"without_namespace": \#(options)}}"#
      try await withServer(configuration, arguments: Self.patient) { server in
        var plan = plan(server, "json")
        plan.scenario.setNamespace(namespace)
        plan.target = try URLPeer(url: server.endpoints.websocket, secret: Self.secret).target
        let work = plan
        let error = await #expect(throws: BenchError.self) { try await WorkerRunner.run(work) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains(advice) && !sentence.contains("\\"), "\(sentence)")
      }
    }
  }

  @Test("TLS carries the same, where the certificate is trusted, and nothing where it is not")
  func tls() async throws {
    let certificate = try TestCertificate()
    let (key, chain) = (certificate.keyPath, certificate.chainPath)
    _ = chmod(key, 0o600)
    let settings = [
      "server.tls.enabled=true", "server.tls.certificate_file=\(chain)", "server.tls.key_file=\(key)",
    ].flatMap { ["--set", $0] }
    try await withServer(Self.configuration, arguments: Self.patient + settings) { server in
      var plan = plan(server, "json")
      plan.target.url = server.endpoints.websocket.replacing("ws://", with: "wss://")
      plan.target.trust = chain
      #expect(try await WorkerRunner.run(plan).groups.first?.isWhole == true)
      plan.target.trust = nil
      let runner = try WorkerRunner(plan)
      let error = await #expect(throws: BenchError.self) { try await runner.ready }
      #expect(error?.description.contains("certificate is not trusted") == true, "\(error?.description ?? "")")
    }
    withExtendedLifetime(certificate) {}
  }
}
