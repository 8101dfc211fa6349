import Foundation
import Testing

@testable import Bench

@Suite("The Centrifuge dialect")
struct CentrifugeDialectTests {
  private let first = "~ff~0000000000000000000000000000000axxxx"
  private let second = "~ff~0000000000000100000000000000000axxxx"

  @Test("Publications are found wherever they stand, several to a message, and decoys are not")
  func publications() throws {
    var talk = try Talk("json")
    let pushes = [
      #"{"push":{"channel":"c","pub":{"data":"\#(first)","offset":9}}}"#,
      #"{"push":{"channel":"c","pub":{"data":"\#(second)","offset":10,"info":{"user":"x"}}}}"#,
      #"{"push":{"channel":"c","pub":{"offset":11,"data":"\#(first)"}}}"#,
      #"{"push":{"channel":"c","pub":{"offset":12, "tags":{"data":"\#(second)"}, "data":"\#(second)"}}}"#,
      #"{"push":{"channel":"c","join":{"info":{"user":"~ff~","client":"\"data\":\"~ff~"}}}}"#,
      #"{"push":{"channel":"c","pub":{"data":"\#(first)","offset":13}}}"#,
    ]
    try talk.receive(pushes[0])
    try talk.receive(pushes.joined(separator: "\n"))
    try talk.receive(pushes[5] + "\n" + pushes[5] + "\n")
    let expected = [first, first, second, first, second, first, first, first]
    #expect(talk.contents == expected)
  }

  @Test("It connects, subscribes once it is connected, and answers pings as the server wishes")
  func handshake() throws {
    var talk = try Talk("json")
    #expect(talk.open() == [#"{"id":1,"connect":{"name":"fanfare-bench"}}"#])
    #expect(
      try talk.receive(#"{"id":1,"connect":{"client":"a","ping":25,"pong":true}}"#)
        == [#"{"id":2,"subscribe":{"channel":"c"}}"#])
    try talk.receive(#"{"id":2,"subscribe":{"epoch":"e","offset":4}}"#)
    #expect(talk.sink.confirmed == 1)
    #expect(try talk.receive("{}") == ["{}"])
    var silent = try Talk("json")
    _ = silent.open()
    try silent.receive(#"{"id":1,"connect":{"client":"a"}}"#)
    #expect(try silent.receive("{}") == [])
  }

  @Test("A publisher's answers are counted, refusals with their reason")
  func publishing() throws {
    for format in ["json", "protobuf"] {
      var talk = try Talk(format, role: .publisher)
      _ = talk.open()
      try talk.receiveReply(id: 1, field: 5, json: #"{"id":1,"connect":{}}"#, protobuf: [])
      #expect(talk.sink.confirmed == 1)
      try talk.receiveReply(id: 2, field: 8, json: #"{"id":2,"publish":{}}"#, protobuf: [])
      try talk.receiveReply(
        id: 3, field: 2, json: #"{"id":3,"error":{"code":111,"message":"too \"many\"\nrequests"}}"#,
        protobuf: [0x08, 111, 0x12, 19] + Array("too \"many\" requests".utf8))
      #expect(talk.sink.acknowledged == 2)
      #expect(talk.sink.refused == 1)
      #expect(talk.state.refusal == "error 111, too \"many\" requests")
      let error = #expect(throws: BenchError.self) {
        try talk.receiveReply(
          id: 4, field: 2, json: #"{"id":4,"error":{"code":103,"message":"permission denied"}}"#,
          protobuf: [0x08, 103, 0x12, 17] + Array("permission denied".utf8))
      }
      #expect(error?.description.contains("allow_publish_for_subscriber") == true, "it would be refused for ever")
    }
  }

  @Test("A publication is valid JSON of the payload's size")
  func publication() throws {
    var talk = try Talk("json", role: .publisher)
    let line = talk.publish(String(repeating: "y", count: 40))
    let command = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
    let publish = try #require(command["publish"] as? [String: Any])
    #expect(publish["channel"] as? String == "c")
    #expect(publish["data"] as? String == String(repeating: "y", count: 38))
  }

  @Test("Protobuf publications are found behind their lengths, with and without quotation marks")
  func protobuf() throws {
    var talk = try Talk("protobuf")
    let messages = [push("\"\(first)\"", offset: 300), push(second, offset: 301), push("\"\(second)\"", offset: 0)]
    try talk.receive(bytes: messages.flatMap { $0 })
    #expect(talk.contents.map { $0.prefix(40) } == [first, second, second].map { $0.prefix(40) })
  }

  @Test("What a publisher sends as Protobuf is a command with its lengths right")
  func protobufPublication() throws {
    var talk = try Talk("protobuf", role: .publisher)
    let bytes = talk.publish(String(repeating: "y", count: 200))
    bytes.withUnsafeBytes { raw in
      var frame = ProtobufReader(raw)
      var command = ProtobufReader(frame.bytes())
      #expect(frame.isAtEnd && !frame.isBroken)
      #expect([command.varint(), command.varint(), command.varint()] == [0x08, 1, 0x3A])
      var publish = ProtobufReader(command.bytes())
      #expect(command.isAtEnd && !command.isBroken)
      #expect(publish.varint() == 0x0A)
      #expect(publish.text() == "c")
      #expect(publish.varint() == 0x12)
      #expect(publish.text() == "\"" + String(repeating: "y", count: 198) + "\"")
      #expect(publish.isAtEnd && !publish.isBroken)
    }
  }

  @Test("A returning client asks for what follows the last publication it saw, and a failed recovery is an error")
  func recovery() throws {
    for format in ["json", "protobuf"] {
      var talk = try Talk(format, measure: .resume)
      _ = talk.open()
      try talk.receiveReply(id: 1, field: 5, json: #"{"id":1,"connect":{}}"#, protobuf: [])
      try talk.receiveReply(
        id: 2, field: 6, json: #"{"id":2,"subscribe":{"epoch":"e","offset":4}}"#,
        protobuf: [0x32, 1, 0x65, 0x48, 4])
      if format == "json" {
        try talk.receive(#"{"push":{"channel":"c","pub":{"data":"\#(first)","offset":5}}}"#)
      } else {
        try talk.receive(bytes: push(first, offset: 5))
      }
      #expect(talk.state.epochs == ["e"] && talk.state.offsets == [5])
      talk.state.recovers = true
      (talk.state.phase, talk.state.nextID) = (0, 1)
      _ = talk.open()
      let asked = try talk.receiveReply(id: 1, field: 5, json: #"{"id":1,"connect":{}}"#, protobuf: [])
      if format == "json" {
        #expect(asked == [#"{"id":2,"subscribe":{"channel":"c","recover":true,"epoch":"e","offset":5}}"#])
      }
      var failing = talk
      #expect(throws: BenchError.self) {
        try failing.receiveReply(
          id: 2, field: 6, json: #"{"id":2,"subscribe":{"was_recovering":true,"epoch":"f","offset":6}}"#,
          protobuf: [0x32, 1, 0x66, 0x60, 1])
      }
      var publication = ProtobufWriter()
      publication.field(4, second)
      publication.field(6, 6)
      try talk.receiveReply(
        id: 2, field: 6,
        json:
          #"{"id":2,"subscribe":{"recovered":true,"epoch":"e","offset":6,"publications":[{"data":"\#(second)","offset":6}]}}"#,
        protobuf: [0x32, 1, 0x65, 0x3A, UInt8(publication.bytes.count)] + publication.bytes + [0x40, 1, 0x48, 6])
      #expect(talk.contents.map { $0.prefix(40) } == [first, second].map { $0.prefix(40) })
      #expect(talk.state.offsets == [6])
    }
  }

  @Test("A refusal, an ending push and what is not the protocol are errors; half of a message never is a crash")
  func errors() throws {
    var talk = try Talk("json")
    #expect(throws: BenchError.self) { try talk.receive(#"{"id":1,"error":{"code":101,"message":"unauthorized"}}"#) }
    #expect(throws: BenchError.self) { try talk.receive(#"{"push":{"channel":"c","unsubscribe":{"code":2500}}}"#) }
    #expect(throws: BenchError.self) { try talk.receive("HTTP/1.1 400 Bad Request") }
    let whole = Array(#"{"id":2,"subscribe":{"epoch":"e","publications":[{"data":"\#(first)","offset":6}]}}"#.utf8)
    for count in 1..<whole.count {
      var half = try Talk("json")
      #expect(throws: BenchError.self) { try half.receive(bytes: Array(whole[..<count])) }
    }
    let binary = push(first, offset: 5)
    for count in 1..<binary.count {
      var half = try Talk("protobuf")
      #expect(throws: BenchError.self) { try half.receive(bytes: Array(binary[..<count])) }
    }
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: BenchError.self) { try talk.receive(#"{"x":\#(deep)"#) }
  }

  @Test(
    "At an address whose server speaks Clique all publishers are the writer, who talks with a reader of each channel")
  func clique() throws {
    let peer = try URLPeer(url: "ws://127.0.0.1:1/c", dialect: CliqueConversations.dialect, secret: "s")
    #expect(try peer.describe().settings.hasSuffix(CliqueConversations.about))
    #expect(!peer.target.subscribesPublishers, "the writer would get each message, too")
    // The first half of SHA-256 over both names with their lengths, worked out by another program.
    let conversation = "pd34566e5b83865c991b5a2a0e012a45a"
    var reader = try Talk(to: peer.target, .subscriber, ["plain:pair-3f-7"])
    #expect(try user(opening: &reader) == "reader-7")
    #expect(
      try reader.receive(#"{"id":1,"connect":{}}"#)
        == [#"{"id":2,"subscribe":{"channel":"clique.chat:\#(conversation)"}}"#])
    var writer = try Talk(to: peer.target, .publisher, [])
    #expect(try user(opening: &writer) == "writer")
    #expect(try writer.receive(#"{"id":1,"connect":{}}"#) == [])
    #expect(writer.sink.confirmed == 1)
    let line = String(decoding: writer.publish("hello~~", to: "plain:pair-3f-7"), as: UTF8.self)
    let call = #"{"method":"clique.send","data":{"conversation":"\#(conversation)","text":"hello"}}"#
    #expect(line == #"{"id":2,"rpc":\#(call)}"#)
    try writer.receive(#"{"id":2,"rpc":{"data":{"conversation":"\#(conversation)","offset":3}}}"#)
    #expect(writer.sink.acknowledged == 1 && writer.sink.refused == 0)
  }

  /// Whom the token names with which a connection is opened.
  private func user(opening talk: inout Talk) throws -> String? {
    struct Command: Decodable {
      struct Connect: Decodable { var token: String }
      var connect: Connect
    }
    struct Claims: Decodable { var sub: String }
    let first = try #require(talk.open().first)
    let token = try JSONDecoder().decode(Command.self, from: Data(first.utf8)).connect.token
    var claims = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
    claims += String(repeating: "=", count: (4 - claims.count % 4) % 4)
    return try JSONDecoder().decode(Claims.self, from: try #require(Data(base64Encoded: claims))).sub
  }

  private func push(_ data: String, offset: UInt64) -> [UInt8] {
    var (publication, push, reply) = (ProtobufWriter(), ProtobufWriter(), ProtobufWriter())
    publication.field(4, data)
    publication.field(5, [0x0A, 1, 0x75])
    publication.field(6, offset)
    push.field(2, "c")
    push.field(4, publication.bytes)
    reply.field(4, push.bytes)
    var frame: [UInt8] = []
    Varint.append(reply.bytes.count, to: &frame)
    return frame + reply.bytes
  }
}

/// A conversation of one connection.
private struct Talk {
  let dialect: CentrifugeDialect
  var state: DialectState
  var sink = Sink()

  init(_ format: String, role: Role = .subscriber, measure: Scenario.Measure = .delivery) throws {
    let group = Scenario.Group(
      name: "g", channels: 1, subscribers: 1, rate: 1, payload: 64, burst: 1, publishers: 1, slow: 0, namespace: "")
    let plan = WorkerPlan.sample(
      group, to: "ws://127.0.0.1:1/connection/websocket", dialect: "centrifuge", measure: measure, format: format)
    dialect = try CentrifugeDialect(target: plan.target, scenario: plan.scenario)
    state = DialectState(role: role, client: 0, channels: role == .subscriber ? ["c"] : [])
    (state.epochs, state.offsets) = ([""], [0])
  }

  init(to target: Target, _ role: Role, _ channels: [String]) throws {
    let plan = WorkerPlan.sample(.sample(), to: target.url, dialect: target.dialect)
    dialect = try CentrifugeDialect(target: target, scenario: plan.scenario)
    state = DialectState(role: role, client: 0, channels: channels)
  }

  var contents: [String] { sink.captured.map { String(decoding: $0.prefix(while: { $0 != 34 }), as: UTF8.self) } }

  mutating func open() -> [String] {
    var out = Outgoing()
    dialect.open(&state, into: &out)
    return Self.messages(out)
  }

  mutating func publish(_ content: String, to channel: String = "c") -> [UInt8] {
    var out = Outgoing()
    Array(content.utf8).withUnsafeBytes { dialect.publish($0, to: channel, &state, into: &out) }
    return out.bytes
  }

  @discardableResult
  mutating func receive(_ text: String) throws -> [String] { try receive(bytes: Array(text.utf8)) }

  @discardableResult
  mutating func receive(bytes: [UInt8]) throws -> [String] {
    var out = Outgoing()
    let count = try bytes.withUnsafeBytes { try dialect.receive($0, &state, &sink, into: &out) }
    #expect(count == bytes.count)
    return Self.messages(out)
  }

  @discardableResult
  mutating func receiveReply(id: UInt8, field: Int, json: String, protobuf: [UInt8]) throws -> [String] {
    guard dialect.isProtobuf else { return try receive(json) }
    var (reply, frame) = (ProtobufWriter(), [UInt8]())
    reply.field(1, UInt64(id))
    reply.field(field, protobuf)
    Varint.append(reply.bytes.count, to: &frame)
    return try receive(bytes: frame + reply.bytes)
  }

  private static func messages(_ out: Outgoing) -> [String] {
    var (messages, start): ([String], Int) = ([], 0)
    for end in out.ends {
      messages.append(String(decoding: out.bytes[start..<end], as: UTF8.self))
      start = end
    }
    return messages
  }
}
