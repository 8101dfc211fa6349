import Log
import Logging
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Broker

/// Endpoints over tcp: who may do what there, by real keys through real sockets.
@Suite("Services and their keys", .skipUnlessStrict(.curve, isThere: Curve.isAvailable), .ownThread)
struct ServiceAccessTests {
  private enum Access { case keys, everyone }

  private let context: Context
  private let server: Curve.KeyPair
  private let keys: [String: Curve.KeyPair]

  init() throws {
    context = try Context()
    server = try .generate()
    keys = ["writer": try .generate(), "all": try .generate(), "app": try .generate()]
  }

  private static func grants() -> [String: ServiceGrant] {
    var writer = ServiceGrant()
    writer.publish = [NamePattern("news"), NamePattern("chat:*")]
    writer.tap = [NamePattern("chat:*")]
    var all = ServiceGrant()
    (all.publish, all.read, all.tap) = ([NamePattern("*")], [NamePattern("*")], [NamePattern("*")])
    var app = ServiceGrant()
    (app.publish, app.tap) = ([NamePattern("clique.*"), NamePattern("*")], [NamePattern("clique.*")])
    (app.mayDisconnect, app.read) = (true, [NamePattern("clique.*")])
    return ["writer": writer, "all": all, "app": app]
  }

  private struct Endpoints {
    var thread: BackboneThread
    var commands: String
    var tap: String
  }

  private func start(_ access: Access, log: LogLines = LogLines()) throws -> Endpoints {
    var table = NamespaceTable(withoutNamespace: ChannelOptions())
    for name in ["chat", "clique.x"] { table.namespaces[name] = ChannelOptions() }
    let found = Mutex<(commands: String?, tap: String)?>(nil)
    let listed = Dictionary(uniqueKeysWithValues: keys.map { ($0.value.publicKey, $0.key) })
    let (context, secret) = (context, server.secretKey)
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { [table] loop in
      let list = try CurveAllowList(named: ["services": listed], in: context, on: loop)
      let core = BrokerCore(
        configuration: BrokerConfiguration(namespaces: table, instance: 7),
        memory: MemoryStore(randomness: FixedEpochs()), disk: ScriptedStore())
      var endpoints = BrokerEndpoints(backbone: "inproc://backbone")
      endpoints.commands = "tcp://127.0.0.1:*"
      endpoints.tap = "tcp://127.0.0.1:*"
      let byKey = ServiceAccess.keys(Self.grants(), .server(secret, allowing: list.domain("services")))
      endpoints.commandsAccess = access == .keys ? byKey : .everyoneOnThisMachine
      endpoints.tapAccess = endpoints.commandsAccess
      let broker = try BrokerBackbone(
        core: core, endpoints: endpoints, context: context, loop: loop, completions: Mailbox(capacity: .max),
        news: Mailbox(capacity: .max),
        logger: Logger(label: "test") { _ in log })
      found.withLock { $0 = broker.serviceEndpoints }
      return [list, broker]
    }
    let services = try #require(found.withLock { $0 })
    return Endpoints(thread: thread, commands: services.commands ?? "", tap: services.tap)
  }

  private func socket(_ kind: Socket.Kind, _ address: String, as name: String?) throws -> Socket {
    let own = name.flatMap { keys[$0] }
    let server = server.publicKey
    let socket = try Socket(
      context, kind,
      Socket.Options {
        $0.receiveTimeoutMilliseconds = 120_000
        $0.sendTimeoutMilliseconds = 120_000
        $0.lingerMilliseconds = 0
        if let own { $0.curve = .client(own, server: server) }
      })
    try socket.connect(address)
    return socket
  }

  private func receive(_ socket: borrowing Socket) throws -> [[UInt8]] {
    var frames: [[UInt8]] = []
    let received = try socket.receiveMultipart(into: &frames, blocking: true)
    try #require(received != nil, "nothing arrived within two minutes")
    return frames
  }

  /// The status, and of an error its code.
  private func ask(_ socket: borrowing Socket, _ method: String, _ parameters: String, _ payload: String? = nil) throws
    -> String
  {
    let frames = ["1", method, parameters] + (payload.map { [$0] } ?? [])
    try socket.send(multipart: frames.map { Array($0.utf8) }, blocking: true)
    let answer = try receive(socket)
    let result = String(decoding: answer[2], as: UTF8.self)
    return String(decoding: answer[1], as: UTF8.self) + (result.contains("103") ? " 103" : "")
  }

  @Test("each key does what its grant says, at every request")
  func commands() throws {
    let endpoints = try start(.keys)
    defer { endpoints.thread.stop() }
    let writer = try socket(.req, endpoints.commands, as: "writer")
    let all = try socket(.req, endpoints.commands, as: "all")
    let app = try socket(.req, endpoints.commands, as: "app")
    #expect(try ask(writer, "publish", #"{"channel":"news"}"#, "1") == "ok")
    #expect(try ask(writer, "publish", #"{"channel":"chat:1"}"#, "1") == "ok")
    #expect(try ask(writer, "publish", #"{"channel":"sport"}"#, "1") == "error 103")
    #expect(try ask(writer, "history", #"{"channel":"news"}"#) == "error 103")
    #expect(try ask(writer, "channels", "{}") == "error 103")
    #expect(try ask(all, "publish", #"{"channel":"clique.x:1"}"#, "1") == "error 103")
    #expect(try ask(all, "disconnect", #"{"user":"u"}"#) == "error 103")
    #expect(try ask(all, "call", #"{"user":"u","method":"clique.list"}"#, "{}") == "error 103")
    #expect(try ask(app, "publish", #"{"channel":"clique.x:1"}"#, "1") == "ok")
    #expect(try ask(app, "disconnect", #"{"user":"u"}"#) == "ok")
    #expect(try ask(app, "revoke_token", #"{"uid":"x"}"#) == "error 103")
  }

  @Test("what a grant does not allow is told at once, with the service's name, and summed up from then on")
  func told() throws {
    let log = LogLines()
    let endpoints = try start(.keys, log: log)
    defer { endpoints.thread.stop() }
    let writer = try socket(.req, endpoints.commands, as: "writer")
    for _ in 0..<50 { #expect(try ask(writer, "publish", #"{"channel":"sport"}"#, "1") == "error 103") }
    let tap = try socket(.sub, endpoints.tap, as: "writer")
    for number in 0..<50 { try tap.subscribe(to: Array("secret \(number)".utf8)) }
    func lines(_ cause: String) -> [String] { log.all.filter { $0.contains("cause=\(cause) ") } }
    let isTold = blocksUntil(within: .seconds(120)) {
      !lines("service_requests").isEmpty && !lines("service_taps").isEmpty
    }
    #expect(isTold)
    for cause in ["service_requests", "service_taps"] {
      #expect(lines(cause).first?.hasPrefix("info ") == true)
      #expect(lines(cause).first?.contains("count=1 most=writer") == true)
      // A cause is logged at once, and then once a minute.
      #expect(lines(cause).count < 10)
    }
  }

  @Test("whoever has no key, or one that is not listed, gets no answer")
  func strangers() throws {
    let endpoints = try start(.keys)
    defer { endpoints.thread.stop() }
    var frames: [[UInt8]] = []
    for own in [nil, try Curve.KeyPair.generate()] {
      let server = server.publicKey
      let stranger = try Socket(
        context, .dealer,
        Socket.Options {
          $0.receiveTimeoutMilliseconds = 500
          $0.lingerMilliseconds = 0
          if let own { $0.curve = .client(own, server: server) }
        })
      try stranger.connect(endpoints.commands)
      try stranger.send(multipart: [[1], Array("channels".utf8)], blocking: true)
      // A known service is served meanwhile.
      let all = try socket(.req, endpoints.commands, as: "all")
      #expect(try ask(all, "channels", "{}") == "ok")
      #expect(try stranger.receiveMultipart(into: &frames, blocking: true) == nil)
    }
  }

  /// Publishes on each of the channels until the tap hears the last one, and gives back what it heard up to there.
  private func heard(
    _ tap: borrowing Socket, of channels: [String], last: String, from publisher: borrowing Socket
  ) throws -> Set<String> {
    var heard: Set<String> = []
    var frames: [[UInt8]] = []
    // The first ones may be published before the subscription is there.
    let isHeard = try blocksUntil(within: .seconds(120)) {
      for channel in channels + [last] {
        #expect(try ask(publisher, "publish", #"{"channel":"\#(channel)"}"#, "1") == "ok")
      }
      while try tap.receiveMultipart(into: &frames) != nil {
        heard.insert(String(decoding: frames[0].dropLast(), as: UTF8.self))
      }
      return heard.contains(last)
    }
    #expect(isHeard)
    // All channels are published on once more, now that the subscription is there for certain.
    for channel in channels + [last] { _ = try ask(publisher, "publish", #"{"channel":"\#(channel)"}"#, "1") }
    var rest = 1
    while rest > 0 {
      let message = try receive(tap)
      let name = String(decoding: message[0].dropLast(), as: UTF8.self)
      heard.insert(name)
      if name == last, try tap.receiveMultipart(into: &frames) == nil { rest = 0 }
    }
    return heard
  }

  @Test("a tap hears what its key may, and everything is everything but the apps' channels")
  func taps() throws {
    let endpoints = try start(.keys)
    defer { endpoints.thread.stop() }
    let publisher = try socket(.req, endpoints.commands, as: "app")
    let channels = ["news", "clique.x:1", "state-of-things", "chat:1"]
    let everything = try socket(.sub, endpoints.tap, as: "all")
    try everything.subscribe(to: [])
    #expect(
      try heard(everything, of: channels, last: "zebra", from: publisher) == [
        "news", "state-of-things", "chat:1", "zebra",
      ])
    let chat = try socket(.sub, endpoints.tap, as: "writer")
    // The first two subscriptions are more than the service may hear, and are refused; the third is not.
    try chat.subscribe(to: [])
    try chat.subscribe(to: Array("news\0".utf8))
    try chat.subscribe(to: Array("chat:".utf8))
    #expect(try heard(chat, of: channels, last: "chat:2", from: publisher) == ["chat:1", "chat:2"])
    let app = try socket(.sub, endpoints.tap, as: "app")
    try app.subscribe(to: Array("clique.".utf8))
    #expect(try heard(app, of: channels, last: "clique.x:2", from: publisher) == ["clique.x:1", "clique.x:2"])
    // The end of one subscription takes nothing from another that overlaps it.
    try everything.subscribe(to: Array("n".utf8))
    try everything.unsubscribe(from: Array("n".utf8))
    #expect(try heard(everything, of: ["news"], last: "zoo", from: publisher).isSuperset(of: ["news", "zoo"]))
  }

  @Test("where everyone on the machine may come in, the apps' channels stay shut")
  func everyone() throws {
    let endpoints = try start(.everyone)
    defer { endpoints.thread.stop() }
    let anyone = try socket(.req, endpoints.commands, as: nil)
    #expect(try ask(anyone, "publish", #"{"channel":"clique.x:1"}"#, "1") == "error 103")
    #expect(try ask(anyone, "history", #"{"channel":"clique.x:1"}"#) == "error 103")
    #expect(try ask(anyone, "call", #"{"user":"u","method":"clique.list"}"#, "{}") == "error 103")
    #expect(try ask(anyone, "disconnect", #"{"user":"u"}"#) == "ok")
    let tap = try socket(.sub, endpoints.tap, as: nil)
    try tap.subscribe(to: [])
    #expect(try heard(tap, of: ["news"], last: "zebra", from: anyone) == ["news", "zebra"])
  }
}
