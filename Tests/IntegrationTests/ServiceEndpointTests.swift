import Foundation
import TestSupport
import Testing
import ZeroMQ

/// The doors for backend services, and the files that open others: shut unless somebody opens them.
@Suite("Services' endpoints and private files", .ownThread)
struct ServiceEndpointTests {
  private func mode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
  }

  private func change(_ path: String, _ mode: Int) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test("By default services meet the server in a folder that only its user can enter")
  func standard() async throws {
    try await withServer("{}") { server in
      let folder = "\(server.directory.path)/services"
      #expect(server.endpoints.commands == "ipc://\(folder)/commands.ipc")
      #expect(server.endpoints.tap == "ipc://\(folder)/tap.ipc")
      #expect(try mode(folder) == 0o700)
      let (status, tool) = try await Tool.run(
        ["history", "news", "--set", "data.directory=\(server.directory.path)"], in: server.directory)
      #expect(status == 0, "\(tool.errors)")
    }
  }

  @Test("Over tcp a service does what its key may; one without a key gets no answer")
  func keys() async throws {
    try await withTemporaryFolder { folder in
      var publicKeys: [String: String] = [:]
      for name in ["broker", "billing"] {
        let made = try await Tool.run(["config", "curve", "\(folder.path)/\(name).secret"], in: folder)
        publicKeys[name] = made.tool.lines.first
      }
      let configuration = try JSONSerialization.data(withJSONObject: [
        "broker": [
          "services": [
            "commands": "tcp://127.0.0.1:*", "tap": "tcp://127.0.0.1:*",
            "secret_key_file": "\(folder.path)/broker.secret",
            "keys": ["billing \(publicKeys["billing"] ?? "") publish=news"],
          ] as [String: Any]
        ]
      ])
      try await withServer(String(decoding: configuration, as: UTF8.self)) { server in
        let common = ["--endpoint", server.endpoints.commands]
        // Option and key are one word, because a key may begin with a hyphen.
        let key = ["--server-key=\(publicKeys["broker"] ?? "")", "--key-file", "\(folder.path)/billing.secret"]
        let allowed = try await Tool.run(["publish", "news", "1"] + common + key, in: folder)
        #expect(allowed.status == 0, "\(allowed.tool.errors)")
        let refused = try await Tool.run(["publish", "sport", "1"] + common + key, in: folder)
        #expect(refused.status == 1)
        #expect(refused.tool.errors.contains("publish=sport"), "\(refused.tool.errors)")
        let without = try await Tool.run(["publish", "news", "1", "--timeout", "1"] + common, in: folder)
        #expect(without.status == 1)
        #expect(without.tool.errors.contains("may want a key"), "\(without.tool.errors)")
      }
    }
  }

  @Test(
    "A data folder, a socket's folder or a key that others can read keeps the server from starting, and says what to do"
  )
  func openToOthers() async throws {
    try await withTemporaryFolder { folder in
      func refusal(_ role: String, _ settings: [String]) async throws -> String {
        let all = ["server.host=127.0.0.1", "server.port=0", "admin.port=0"] + settings
        let (status, tool) = try await Tool.run([role] + all.flatMap { ["--set", $0] }, in: folder)
        #expect(status == 1)
        return tool.errors
      }
      for name in ["data", "run"] {
        try FileManager.default.createDirectory(
          at: folder.appendingPathComponent(name), withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      }
      let (data, run) = ("\(folder.path)/data", "\(folder.path)/run")
      try change(data, 0o750)
      #expect(try await refusal("serve", ["data.directory=\(data)"]).contains("run: chmod 700 \(data)"))
      try change(data, 0o700)
      try change(run, 0o755)
      let socket = "broker.services.tap=ipc://\(run)/tap.ipc"
      #expect(try await refusal("serve", ["data.directory=\(data)", socket]).contains("run: chmod 700 \(run)"))
      let key = "\(folder.path)/some.key"
      try Data("not read\n".utf8).write(to: URL(fileURLWithPath: key))
      try change(key, 0o640)
      let tls = ["server.tls.enabled=true", "server.tls.certificate_file=\(key)", "server.tls.key_file=\(key)"]
      #expect(try await refusal("serve", ["data.directory=\(data)"] + tls).contains("run: chmod 600 \(key)"))
      let public40 = String(repeating: "a", count: 40)
      let curve = ["backbone.curve.server_public_key=\(public40)", "backbone.curve.client_secret_key_file=\(key)"]
      #expect(try await refusal("gateway", ["data.directory=\(data)"] + curve).contains("run: chmod 600 \(key)"))
      let services = ["broker.services.secret_key_file=\(key)", "broker.services.keys=a \(public40)"]
      #expect(try await refusal("serve", ["data.directory=\(data)"] + services).contains("run: chmod 600 \(key)"))
    }
  }

  @Test("The log warns where the port for clients is open beyond this machine without TLS, and not otherwise")
  func openPort() async throws {
    let warning = "is open beyond this machine without TLS"
    try await withServer("{}") { #expect(!$0.errorOutput.contains(warning)) }
    try await withServer("{}", arguments: ["--set", "server.host=0.0.0.0"]) { server in
      #expect(await eventually { server.errorOutput.contains(warning) })
    }
  }
}
