import Auth
import Foundation
import Push
import Synchronization
import TestSupport
import Testing

/// Processes that notify people, with the services to which they send: one that is all, or a broker and gateways. Each
/// is reaped whatever happens.
final class NotifyingServers: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private static let key = "key-of-the-server-api-for-notifications"
  private static let secret = "conformance-secret-of-more-than-thirty-two-bytes"

  private let group: ServerGroup
  private let minter: TokenMinter

  /// - Parameter push: members of the section `push` beside the services' own.
  private init(_ services: PushServers, _ push: String, in folder: URL) throws {
    minter = try TokenMinter(hmacSecret: Self.secret)
    group = try ServerGroup(
      """
      {"token":{"hmac_secret":"\(Self.secret)"},"admin":{"api":{"key":"\(Self.key)"}},
       "push":\(try services.settings().dropLast()),"notifications":true,\(push)},
       "channel":{"namespaces":[{"name":"inbox","push":true,"durability":"durable","history_size":100,"history_ttl":"1h",
         "allow_user_limited_channels":true,"allow_subscribe_for_client":true,"allow_publish_for_client":true}]}}
      """, in: folder)
  }

  /// - Parameters:
  ///   - answers: of the services, by token.
  ///   - gateways: how many there are; 0: one process is all.
  static func with(
    _ answers: [String: PushServers.Answer] = [:], push: String, gateways: Int = 0,
    _ body: (NotifyingServers, PushServers) async throws -> Void
  ) async throws {
    let services = try await PushServers(answers)
    defer { services.stop() }
    try await withTemporaryFolder { folder in
      let servers = try NotifyingServers(services, push, in: folder)
      do {
        try await servers.group.start(gateways: gateways)
        try await body(servers, services)
      } catch {
        await servers.group.kill()
        throw Failure(description: "\(error); the server said at last: \(servers.group.errorOutput())")
      }
      await servers.group.kill()
    }
    #expect(services.broken == [])
  }

  /// SIGKILL to the one process, which then goes on with the same data.
  func killAndRestart() async throws { try await group.killAndRestart() }

  // MARK: Who talks to them

  /// - Parameter place: a gateway; nil: where one process is all.
  func phone(of user: String, at place: String = ServerGroup.broker) async throws -> NotifiedPhone {
    let phone = try NotifiedPhone(group.endpoints(place).websocket ?? "")
    try await phone.ask(#""connect":{"token":"\#(try minter.connectionToken(user: user, expiresIn: 3600))"}"#)
    return phone
  }

  /// What `fanfare why` says of the first publication on a channel.
  func why(_ user: String, _ channel: String) async throws -> String {
    let arguments = ["why", "--user", user, channel, "1", "--endpoint", group.endpoints().commands ?? ""]
    return try await Command(try ServerProcess.executable(), arguments).run(deadline: .seconds(120)).output
  }

  /// A call of the server API.
  func call(_ method: String, _ body: String) async throws -> String {
    let script = """
      import sys, urllib.request as u
      request = u.Request(sys.argv[1], sys.argv[2].encode(), {"X-API-Key": sys.argv[3]})
      print(u.build_opener(u.ProxyHandler({})).open(request, timeout=120).read().decode())
      """
    let url = "\(group.endpoints().admin ?? "")/api/\(method)"
    let interpreter = try await PythonEnvironment.shared.interpreter()
    let outcome = try await Command(interpreter, ["-c", script, url, body, Self.key]).run(deadline: .seconds(120))
    guard outcome.status == 0 else { throw Failure(description: "\(method): \(outcome.output)") }
    return outcome.output
  }

  /// The files of the broker's data in which a text stands.
  func files(holding text: String) throws -> [String] {
    let all = FileManager.default.enumerator(at: group.data(), includingPropertiesForKeys: [.isRegularFileKey])
    var found: [String] = []
    while let file = all?.nextObject() as? URL {
      guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true,
        let bytes = try? Data(contentsOf: file)
      else { continue }
      if bytes.range(of: Data(text.utf8)) != nil { found.append(file.lastPathComponent) }
    }
    return found
  }
}

/// One device of somebody, on the JSON protocol.
final class NotifiedPhone: Sendable {
  struct Fault: Error, CustomStringConvertible {
    var description: String
  }

  private final class Memory: Sendable {
    let replies = Mutex<[Int: String]>([:])
    let socket = Mutex<WebSocketPeer?>(nil)
  }

  private let memory = Memory()
  private let nextID = Mutex(1)
  let socket: WebSocketPeer

  init(_ url: String) throws {
    let memory = memory
    socket = try WebSocketPeer(url) { message in
      for line in message.split(separator: "\n") {
        if line == "{}" {
          _ = memory.socket.withLock { $0 }?.send("{}")
        } else if let id = Self.object(String(line))["id"] as? Int {
          memory.replies.withLock { $0[id] = String(line) }
        }
      }
    }
    memory.socket.withLock { $0 = socket }
  }

  /// Ends the connection. Until then the reading thread holds the phone's socket.
  func cut() {
    memory.socket.withLock { $0 = nil }
    socket.cut()
  }

  static func object(_ text: String) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
  }

  /// - Parameter request: `"publish":{…}`.
  @discardableResult
  func ask(_ request: String) async throws -> [String: Any] {
    let id = nextID.withLock { next in
      defer { next += 1 }
      return next
    }
    socket.send("{\"id\":\(id),\(request)}")
    _ = await eventually { self.memory.replies.withLock { $0[id] != nil } || self.socket.closing != nil }
    guard let reply = memory.replies.withLock({ $0.removeValue(forKey: id) }) else {
      throw Fault(description: "no answer to \(request): \(String(describing: socket.closing))")
    }
    let fields = Self.object(reply)
    if let error = fields["error"] { throw Fault(description: "\(request): \(error)") }
    return fields
  }

  @discardableResult
  func call(_ method: String, _ data: String = "{}") async throws -> [String: Any] {
    let reply = try await ask(#""rpc":{"method":"\#(method)","data":\#(data)}"#)
    return (reply["rpc"] as? [String: Any])?["data"] as? [String: Any] ?? [:]
  }

  func publish(on channel: String) async throws {
    try await ask(#""publish":{"channel":"\#(channel)","data":"a secret"}"#)
  }

  /// Registers the device with the number, for FCM.
  ///
  /// - Returns: its id.
  @discardableResult
  func register(_ number: Int) async throws -> String { try await register(PushServers.fcm(number)) }

  @discardableResult
  func register(_ device: PushDevice) async throws -> String {
    let json = String(decoding: device.json, as: UTF8.self)
    return try await call("push.register", "{\"device\":\(json)}")["device"] as? String ?? ""
  }

  /// The ids of the person's devices.
  func devices() async throws -> [String] {
    let devices = try await call("push.devices")["devices"] as? [[String: Any]] ?? []
    return devices.compactMap { $0["device"] as? String }
  }

  /// The keys of a map, as the server has them now. Once for each connection.
  func keys(of map: String) async throws -> [String] {
    let reply = try await ask(#""subscribe":{"channel":"\#(map)","type":1,"phase":2}"#)
    let page = reply["subscribe"] as? [String: Any]
    let entries = page?["state"] as? [[String: Any]] ?? []
    return entries.compactMap { $0["key"] as? String }.sorted()
  }
}
