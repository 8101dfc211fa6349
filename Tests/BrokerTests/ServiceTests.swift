import Log
import Logging
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Broker

/// A broker on its thread, with real sockets around it.
@Suite("BrokerBackbone and its sockets", .timeLimit(.minutes(15)), .ownThread)
struct ServiceTests {
  static let channel = "m"

  private func start(
    _ context: Context, backbone: String = "tcp://127.0.0.1:*"
  ) throws -> (BackboneThread, backbone: String, commands: String, tap: String) {
    var options = ChannelOptions()
    options.historySize = 5
    options.historyTTLMilliseconds = 3_600_000
    options.presence = true
    var table = NamespaceTable(withoutNamespace: options)
    options.dataFormat = .binary
    table.namespaces["bin"] = options
    var configuration = BrokerConfiguration(namespaces: table, instance: 7)
    // The gateway here is a socket that sends no heartbeats; and nothing here is about what is forgotten when.
    configuration.gatewayTimeout = 600_000
    configuration.idleChannelTimeout = 3_600_000
    let found = Found()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { [configuration] loop in
      let core = BrokerCore(
        configuration: configuration, memory: MemoryStore(randomness: FixedEpochs()), disk: ScriptedStore())
      var endpoints = BrokerEndpoints(backbone: backbone)
      endpoints.commands = "tcp://127.0.0.1:*"
      endpoints.tap = "tcp://127.0.0.1:*"
      let broker = try BrokerBackbone(
        core: core, endpoints: endpoints, context: context, loop: loop, completions: Mailbox(capacity: .max),
        news: Mailbox(capacity: .max),
        logger: Logger(label: "test"))
      found.backbone.withLock { $0 = broker.backboneEndpoint ?? "" }
      found.services.withLock { $0 = broker.serviceEndpoints }
      return [broker]
    }
    let services = try #require(found.services.withLock { $0 })
    return (thread, found.backbone.withLock { $0 }, services.commands ?? "", services.tap)
  }

  private func socket(_ context: Context, _ kind: Socket.Kind, _ address: String) throws -> Socket {
    let socket = try Socket(
      context, kind,
      Socket.Options {
        $0.receiveTimeoutMilliseconds = 120_000
        $0.sendTimeoutMilliseconds = 120_000
        $0.lingerMilliseconds = 0
        if kind == .dealer { $0.routingID = LinkIdentity.bytes(of: 5) }
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

  private func ask(_ socket: borrowing Socket, _ frames: [String]) throws -> [String] {
    try socket.send(multipart: frames.map { Array($0.utf8) }, blocking: true)
    return try receive(socket).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("every method answers a REQ socket, and history shows what was published")
  func methods() throws {
    let context = try Context()
    let (thread, _, commands, _) = try start(context)
    defer { thread.stop() }
    let req = try socket(context, .req, commands)
    let epoch = try epoch(req)
    let published = try ask(
      req, ["1", "publish", #"{"channel":"m","idempotency_key":"k","tags":{"t":"v"}}"#, "{\n}"])
    #expect(published == ["1", "ok", #"{"epoch":"\#(epoch)","offset":1}"#])
    #expect(
      try ask(req, ["2", "publish", #"{"channel":"m","idempotency_key":"k"}"#, "{\n}"]) == [
        "2", "ok", #"{"epoch":"\#(epoch)","offset":1}"#,
      ])
    let history = try ask(req, ["3", "history", #"{"channel":"m","limit":-1,"reverse":true}"#])
    #expect(history[2].contains(#""publications":[{"data":{ },"offset":1,"tags":{"t":"v"},"time":"#))
    let since = #"{"channel":"m","limit":5,"since":{"epoch":"\#(epoch)","offset":1}}"#
    #expect(
      try ask(req, ["4", "history", since]) == ["4", "ok", #"{"epoch":"\#(epoch)","offset":1,"publications":[]}"#])
    #expect(try ask(req, ["5", "history_remove", #"{"channel":"m"}"#]) == ["5", "ok", "{}"])
    #expect(try ask(req, ["6", "presence", #"{"channel":"m"}"#]) == ["6", "ok", #"{"members":[]}"#])
    #expect(
      try ask(req, ["7", "presence_stats", #"{"channel":"m"}"#]) == ["7", "ok", #"{"num_clients":0,"num_users":0}"#])
    #expect(try ask(req, ["8", "channels"]) == ["8", "ok", #"{"channels":[]}"#])
  }

  private func epoch(_ req: borrowing Socket) throws -> String {
    let answer = try ask(req, ["0", "history", #"{"channel":"m"}"#])[2]
    let start = try #require(answer.firstRange(of: #""epoch":""#)).upperBound
    return String(answer[start...].prefix { $0 != "\"" })
  }

  @Test("an empty idempotency key is none")
  func emptyKey() throws {
    let context = try Context()
    let (thread, _, commands, _) = try start(context)
    defer { thread.stop() }
    let req = try socket(context, .req, commands)
    for data in ["1", "2"] {
      let answer = try ask(req, ["1", "publish", #"{"channel":"m","idempotency_key":""}"#, data])
      #expect(answer[1] == "ok")
    }
  }

  @Test("binary namespaces take any bytes and give them as base64")
  func binary() throws {
    let context = try Context()
    let (thread, _, commands, _) = try start(context)
    defer { thread.stop() }
    let req = try socket(context, .req, commands)
    #expect(try ask(req, ["1", "publish", #"{"channel":"bin:1"}"#, "abc"])[1] == "ok")
    #expect(try ask(req, ["2", "history", #"{"channel":"bin:1","limit":1}"#])[2].contains(#"{"data":"YWJj","#))
  }

  @Test(
    "every mistake is answered with its code and what to do",
    arguments: [
      (["nothing"], 104, "there is no method \"nothing\""), (["publish"], 107, "publish needs the payload"),
      (["publish", #"{"channel":"m"}"#, ""], 107, "publish needs the payload"),
      (["publish", #"{"channel":"m"}"#, "{"], 107, "the payload is not JSON"),
      (["publish", "{}", "1"], 107, "the channel name is empty"),
      (["publish", #"{"channel":"none:1"}"#, "1"], 102, "is not configured"),
      (["publish", #"{"channel":"a\u0000"}"#, "1"], 107, "control character"),
      (["history", "{"], 107, "the parameters cannot be read: a key in quotes expected at byte 1"),
      (["history", #"{"channel":1}"#], 107, "channel must be a string"),
      (["history", #"{"channel":"m","limit":1e300}"#], 107, "limit must be a whole number"),
      (["history", #"{"channel":"m","since":{"epoch":"x","offset":1}}"#], 112, "epoch"),
      (["history", #"{"channel":"m","since":{"epoch":"x","offset":-1}}"#], 107, "since must be an object"),
      (["history", "[]"], 107, "the parameters cannot be read: an object expected"),
      (["history", ""], 107, "the channel name is empty"),
      ([], 107, "a request is the frames"), (["publish", "{}", "1", "2"], 107, "a request is the frames"),
      (["publish", "{}", "1", "2", "3", "4"], 107, "a request is the frames"),
      (["history", String(repeating: "[", count: 100_000)], 107, "nested deeper than 32 levels"),
      (
        ["publish", "{\"channel\":\"m\",\"idempotency_key\":\"\(String(repeating: "k", count: 256))\"}", "1"], 107,
        "the idempotency_key is longer than 255 bytes"
      ),
    ] as [([String], Int, String)])
  func mistakes(frames: [String], code: Int, sentence: String) throws {
    let context = try Context()
    let (thread, _, commands, _) = try start(context)
    defer { thread.stop() }
    let dealer = try socket(context, .dealer, commands)
    let answer = try ask(dealer, ["id"] + frames)
    #expect(answer.prefix(2) == ["id", "error"])
    #expect(answer.last?.contains("\"code\":\(code),") == true, "\(answer)")
    #expect(answer.last?.contains(sentence.replacing("\"", with: "\\\"")) == true, "\(answer)")
  }

  @Test("a DEALER gets its delimiter back, or none where it sent none, and many answers in order")
  func dealer() throws {
    let context = try Context()
    let (thread, _, commands, _) = try start(context)
    defer { thread.stop() }
    let dealer = try socket(context, .dealer, commands)
    #expect(try ask(dealer, ["", "7", "channels"]) == ["", "7", "ok", #"{"channels":[]}"#])
    for number in 0..<50 {
      try dealer.send(multipart: ["\(number)", "channels"].map { Array($0.utf8) }, blocking: true)
    }
    for number in 0..<50 { #expect(try receive(dealer).first == Array("\(number)".utf8)) }
    // A message without an id is too short to be answered, and does no harm.
    try dealer.send([], blocking: true)
    #expect(try ask(dealer, ["8", "channels"]).first == "8")
  }

  @Test("a tap of a channel is not a tap of one whose name begins like it")
  func tap() throws {
    let context = try Context()
    let (thread, _, commands, tapAddress) = try start(context)
    defer { thread.stop() }
    let tap = try socket(context, .sub, tapAddress)
    try tap.subscribe(to: Array("news".utf8) + [0])
    let req = try socket(context, .req, commands)
    var frames: [[UInt8]] = []
    // A subscription takes its time: publish until it is there.
    for _ in 0..<100_000 {
      _ = try ask(req, ["1", "publish", #"{"channel":"newsroom"}"#, "0"])
      _ = try ask(req, ["1", "publish", #"{"channel":"news"}"#, "1"])
      if try tap.receiveMultipart(into: &frames) != nil { break }
    }
    try #require(frames.count == 3)
    #expect(frames[0] == Array("news".utf8) + [0])
    #expect(String(decoding: frames[1], as: UTF8.self).hasPrefix(#"{"epoch":""#))
    #expect(frames[2] == Array("1".utf8))
  }

  @Test("a gateway by hand: hello, subscribe, publish, live", arguments: ["tcp://127.0.0.1:*", "inproc://by-hand"])
  func gateway(address: String) throws {
    let context = try Context()
    let (thread, backbone, _, _) = try start(context, backbone: address)
    defer { thread.stop() }
    // Garbage from peers that are no gateways, or no good ones, hurts nobody.
    let stranger = try Socket(context, .dealer, Socket.Options { $0.lingerMilliseconds = 0 })
    try stranger.connect(backbone)
    for frames in [[[]], [[1], [2]], [[1], [2], [3]], [Array(repeating: 1, count: 17), [1]]] as [[[UInt8]]] {
      try stranger.send(multipart: frames, blocking: true)
    }
    let dealer = try socket(context, .dealer, backbone)
    var sequence: UInt64 = 0
    func say(_ kind: LinkHeader.Kind, _ body: [UInt8]) throws {
      let header = LinkHeader(kind: kind, session: 1, sequence: sequence)
      sequence += 1
      try dealer.send(multipart: [header.bytes, body], blocking: true)
    }
    try say(.hello, LinkHello(gateway: 5).bytes)
    let channel = try ChannelName(Self.channel)
    try say(.request, LinkRequest(id: 1, oldestPending: 1, request: .subscribe(.init(channel: channel))).bytes)
    let publish = BrokerRequest.publish(.init(channel: channel, data: [0x31]))
    try say(.request, LinkRequest(id: 2, oldestPending: 1, request: publish).bytes)
    var kinds: [LinkHeader.Kind] = []
    while kinds.count < 4 {
      let kind = try LinkHeader(bytes: try receive(dealer)[0]).kind
      if kind != .brokerHeartbeat { kinds.append(kind) }
    }
    #expect(kinds == [.welcome, .reply, .publication, .reply])
  }
}

/// What the loop's thread tells the test's.
final class Found: Sendable {
  let backbone = Mutex("")
  let services = Mutex<(commands: String?, tap: String)?>(nil)
}
