import Foundation
import TestSupport
import Testing

/// A server whose log is in PostgreSQL. What it promises of publications is shown where the same is shown of SQLite.
@Suite("A log in PostgreSQL", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct PostgresEngineTests {
  @Test("What was published is there for a server that begins with an empty folder, as on another machine")
  func anotherMachine() async throws {
    let settings = try Engine.postgres.settings()
    var position: Peer.Position?
    try await Deployment.with(.serve, settings: settings) { deployment in
      let ann = try await deployment.client("ann")
      position = try await ann.subscribe("dur:room").position
      for number in 1...5 { try await ann.publish("m\(number)", to: "dur:room") }
      await deployment.broker.kill()
    }
    let before = try #require(position)
    try await Deployment.with(.serve, settings: settings) { deployment in
      let ben = try await deployment.client("ben")
      let result = try await ben.subscribe("dur:room", since: .init(epoch: before.epoch, offset: 2))
      #expect(result.recovered == true && result.publications?.map(\.offset) == [3, 4, 5])
      try await ben.publish("m6", to: "dur:room")
      #expect(await eventually { ben.data("dur:room").last == "m6" })
    }
  }

  @Test("A second server does not begin while another has the log, and says who has it")
  func second() async throws {
    let settings = try Engine.postgres.settings()
    try await Deployment.with(.serve, settings: settings) { deployment in
      let folder = deployment.directory.appendingPathComponent("second").path
      let given = settings + ["data.directory=\(folder)", "server.port=0", "admin.port=0"]
      let second = try await Tool.run(["serve"] + given.flatMap { ["--set", $0] }, in: deployment.directory)
      #expect(second.status != 0)
      let wanted = "process \(deployment.broker.identifier) keeps this log until"
      #expect(second.tool.errors.contains(wanted), "\(second.tool.errors)")
      let ann = try await deployment.client("ann")
      try await ann.subscribe("dur:room")
      try await ann.publish("still here", to: "dur:room")
      #expect(await eventually { ann.data("dur:room") == ["still here"] })
    }
  }

  @Test("A standby waits for as long as it is told to, begins when the other server dies, and ends when it is told to")
  func standby() async throws {
    let settings = try Engine.postgres.settings() + ["log.postgres.wait=1h"]
    let configuration = try String(
      contentsOf: ServerProcess.repository.appendingPathComponent("config/fanfare.json"), encoding: .utf8)
    try await withTemporaryFolder { folder in
      @Sendable func begin(_ name: String) async throws -> ServerProcess {
        try await ServerProcess(
          in: folder.appendingPathComponent(name), configuration: configuration,
          arguments: settings.flatMap { ["--set", $0] })
      }
      let first = try await begin("first")
      defer { kill(first.identifier, SIGKILL) }
      let epoch = try await position(on: first, publishing: 3).epoch
      async let other = begin("second")
      #expect(await eventually { said(in: folder.appendingPathComponent("second")).contains("this one waits") })
      let errors = folder.appendingPathComponent("third.txt")
      let third = try ChildProcess(
        ServerProcess.executable(),
        ["serve", "--set", "data.directory=\(folder.path)/third", "--set", "server.port=0", "--set", "admin.port=0"]
          + settings.flatMap { ["--set", $0] },
        environment: ChildProcess.fanfareEnvironment, errors: errors)
      defer { third.signal(SIGKILL) }
      #expect(await eventually { text(errors).contains("process \(first.identifier)") })
      third.signal(SIGTERM)
      #expect(await eventually { !third.isRunning })
      await first.kill()
      let second = try await other
      defer { kill(second.identifier, SIGKILL) }
      #expect(try await position(on: second, publishing: 1) == Peer.Position(epoch: epoch, offset: 4))
      #expect(await second.terminate() == 0)
    }
  }

  /// Where a channel stands after so many publications more.
  private func position(on server: ServerProcess, publishing count: Int) async throws -> Peer.Position {
    let service = Service(server.endpoints.commands)
    var position: Peer.Position?
    for _ in 0..<count { position = try await service.publish("standby", to: "chat:room").position }
    return try #require(position)
  }

  /// What a server that is not up yet has said.
  private func said(in folder: URL) -> String {
    let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return files.filter { $0.lastPathComponent.hasPrefix("stderr") }.map(text).joined()
  }

  private func text(_ file: URL) -> String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

  @Test("The status of the cluster says who has the log; with a file, or where nobody has it, it says that")
  func status() async throws {
    let settings = try Engine.postgres.settings()
    let arguments = ["cluster", "status"] + settings.flatMap { ["--set", $0] }
    try await Deployment.with(.serve, settings: settings) { deployment in
      let told = try await Tool.run(arguments, in: deployment.directory)
      #expect(told.status == 0, "\(told.tool.errors)")
      #expect(told.tool.output.contains("process \(deployment.broker.identifier): 256 shards"), "\(told.tool.output)")
      let json = try await Tool.run(arguments + ["--json"], in: deployment.directory)
      #expect(json.tool.output.contains(#""outbox_rows":0"#), "\(json.tool.output)")
      #expect(await deployment.broker.end() == 0)
      let nobody = try await Tool.run(arguments, in: deployment.directory)
      #expect(nobody.status == 1 && nobody.tool.output.contains("no broker has the log"), "\(nobody.tool.output)")
      let file = try await Tool.run(["cluster", "status"], in: deployment.directory)
      #expect(file.status == 1 && file.tool.errors.contains("log.engine is sqlite"), "\(file.tool.errors)")
    }
  }

  @Test("The connection string is asked for where it is missing, and the password in it is not told")
  func settings() async throws {
    try await withTemporaryFolder { folder in
      let missing = try await Tool.run(["serve", "--set", "log.engine=postgres"], in: folder)
      #expect(missing.status != 0)
      #expect(missing.tool.errors.contains("log.postgres.connection"), "\(missing.tool.errors)")
      let nowhere = "log.postgres.connection=host=\(folder.path) user=fanfare password=hush dbname=x"
      let unreachable = try await Tool.run(
        ["serve", "--set", "log.engine=postgres", "--set", nowhere, "--set", "data.directory=\(folder.path)/data"],
        in: folder)
      #expect(unreachable.status != 0)
      #expect(unreachable.tool.errors.contains("cannot be reached"), "\(unreachable.tool.errors)")
      #expect(!unreachable.tool.errors.contains("hush"))
    }
  }
}
