import ClientProtobuf
import Testing

@testable import Wire

@Suite("Filters in subscribe requests")
struct FilterRequestTests {
  private func subscribe(_ filter: String) throws -> ClientCommand.Subscribe {
    let command = try #require(try read(#"{"id":1,"subscribe":{"channel":"c","tf":\#(filter)}}"#).first)
    guard case .subscribe(let subscribe) = command.body else { throw MalformedInput("no subscribe") }
    return subscribe
  }

  private func subscribe(_ filter: ProtoFilterNode) throws -> ClientCommand.Subscribe {
    let message = with(ProtoCommand()) {
      $0.id = 1
      $0.subscribe.channel = "c"
      $0.subscribe.tf = filter
    }
    let command = try #require(try ClientCodec.decode(framed([message]), format: .protobuf).first)
    guard case .subscribe(let subscribe) = command.body else { throw MalformedInput("no subscribe") }
    return subscribe
  }

  /// The same tree in both encodings.
  private static func node(using random: inout SeededRandom, depth: Int) -> FilterNode {
    func text(_ choices: [String]) -> String { choices[Int.random(in: 0..<choices.count, using: &random)] }
    let comparisons = ["eq", "neq", "in", "nin", "ex", "nex", "sw", "ew", "ct", "gt", "gte", "lt", "lte", "", "is"]
    var node = FilterNode()
    if depth > 1, Bool.random(using: &random) {
      node.op = text(["and", "or", "not", "xor"])
      for _ in 0..<Int.random(in: 0..<3, using: &random) {
        node.nodes.append(Self.node(using: &random, depth: depth - 1))
      }
    } else {
      node.key = text(["", "a", "é\"\\", "user"])
      node.cmp = text(comparisons)
      if ["in", "nin"].contains(node.cmp) {
        node.vals = ["1", text(["", "2", "\n"])]
      } else {
        node.val = text(["", "1", "x"])
      }
    }
    return node
  }

  private static func json(_ node: FilterNode, _ writer: inout JSONWriter) {
    if !node.op.isEmpty { writer.write("op", node.op) }
    if !node.key.isEmpty { writer.write("key", node.key) }
    if !node.cmp.isEmpty { writer.write("cmp", node.cmp) }
    if !node.val.isEmpty { writer.write("val", node.val) }
    writer.list("vals") { writer in for value in node.vals { writer.write(element: value) } }
    writer.list("nodes") { writer in for child in node.nodes { writer.object { json(child, &$0) } } }
  }

  private static func protobuf(_ node: FilterNode) -> ProtoFilterNode {
    with(ProtoFilterNode()) {
      ($0.op, $0.key, $0.cmp, $0.val, $0.vals) = (node.op, node.key, node.cmp, node.val, node.vals)
      $0.nodes = node.nodes.map(protobuf)
    }
  }

  @Test("mean the same in JSON and in Protobuf, right or wrong")
  func sameInBoth() throws {
    var random = SeededRandom(seed: 45)
    var right = 0
    for _ in 0..<2_000 {
      let node = Self.node(using: &random, depth: 4)
      var writer = JSONWriter()
      writer.object { Self.json(node, &$0) }
      let inJSON = try subscribe(String(decoding: writer.bytes, as: UTF8.self))
      #expect(inJSON == (try subscribe(Self.protobuf(node))))
      #expect((inJSON.filter == nil) != (inJSON.refusal == nil))
      if inJSON.filter != nil { right += 1 }
    }
    #expect(right > 300)
  }

  @Test(
    "that make no sense are error 107 of their command alone",
    arguments: [
      #""a""#, "[]", "1", "true", "{}", #"{"op":5}"#, #"{"vals":{}}"#, #"{"vals":[1]}"#, #"{"nodes":[[]]}"#,
      #"{"op":"and","nodes":{}}"#, #"{"key":"a","key":"b","cmp":"ex"}"#, #"{"key":"a","cmp":"gt","val":"ten"}"#,
      #"{"key":"a","cmp":"ex","more":\#(String(repeating: "[", count: 40))\#(String(repeating: "]", count: 40))}"#,
    ])
  func refused(_ filter: String) throws {
    let commands = try read("{\"id\":1,\"subscribe\":{\"channel\":\"c\",\"tf\":\(filter)}}\n{\"id\":2,\"ping\":{}}")
    #expect(commands.count == 2)
    let ask = try subscribe(filter)
    #expect(ask.channel == "c" && ask.filter == nil)
    #expect(ask.refusal?.code == 107)
    #expect(ask.refusal?.message.hasPrefix("the filter ") == true)
  }

  @Test("are taken up to the deepest nesting, and are error 107 far beyond it")
  func depth() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: #"{"op":"not","nodes":["#, count: depth - 1) + #"{"key":"a","cmp":"in","vals":["1"]}"#
        + String(repeating: "]}", count: depth - 1)
    }
    #expect(try subscribe(nested(16)).filter != nil)
    for depth in [17, 31] { #expect(try subscribe(nested(depth)).refusal?.message.contains("deeper than 16") == true) }
    let message = (1..<40).reduce(with(ProtoFilterNode()) { $0.cmp = "ex" }) { node, _ in
      with(ProtoFilterNode()) {
        $0.op = "not"
        $0.nodes = [node]
      }
    }
    #expect(try subscribe(message).refusal?.message.contains("deeper than 16") == true)
  }

  @Test("are bounded in bytes: each key and value, and all of them together")
  func bytes() throws {
    func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    func oneOf(_ count: Int, _ bytes: Int) -> String {
      let values = (0..<count).map { "\"\($0)\(text(bytes - "\($0)".utf8.count))\"" }
      return #"{"key":"a","cmp":"in","vals":[\#(values.joined(separator: ","))]}"#
    }
    #expect(try subscribe(#"{"key":"a","cmp":"eq","val":"\#(text(1_024))"}"#).filter != nil)
    #expect(try subscribe(#"{"key":"\#(text(1_024))","cmp":"ex"}"#).filter != nil)
    for filter in [
      #"{"key":"a","cmp":"eq","val":"\#(text(1_025))"}"#, #"{"key":"\#(text(1_025))","cmp":"ex"}"#, oneOf(1, 1_025),
    ] {
      #expect(try subscribe(filter).refusal?.message.contains("1024 bytes") == true)
    }
    #expect(try subscribe(oneOf(15, 1_024)).filter != nil)
    #expect(try subscribe(oneOf(16, 1_024)).refusal?.message.contains("16384 bytes") == true)
    let both = #"{"op":"or","nodes":[\#(oneOf(8, 1_024)),\#(oneOf(8, 1_024))]}"#
    #expect(try subscribe(both).refusal?.code == 107)
  }

  @Test("that are null, or leave out what is null, are as good as left out")
  func null() throws {
    #expect(try subscribe("null") == with(.init()) { $0.channel = "c" })
    #expect(try subscribe(#"{"op":null,"key":"a","cmp":"ex","vals":null,"other":{"x":1}}"#).filter == .exists(key: "a"))
  }

  @Test("that are no JSON end the connection like every message that is none")
  func noJSON() {
    for filter in ["{", #"{"op" "and"}"#, "{\"op\":\"\u{1}\"}", "nul", String(repeating: "[", count: 70)] {
      #expect(refusal(#"{"id":1,"subscribe":{"channel":"c","tf":\#(filter)}}"#) != nil)
    }
  }

  @Test("survive any damage")
  func damaged() {
    var random = SeededRandom(seed: 46)
    let text =
      #"{"id":1,"subscribe":{"channel":"c","tf":{"op":"or","nodes":[{"key":"a","cmp":"in","vals":["1","é"]}]}}}"#
    for _ in 0..<5_000 {
      var bytes = utf8(text)
      for _ in 0..<Int.random(in: 1..<4, using: &random) {
        bytes[Int.random(in: 40..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      guard let commands = try? ClientCodec.decode(bytes, format: .json) else { continue }
      for command in commands {
        guard case .subscribe(let ask) = command.body else { continue }
        #expect(ask.filter == nil || ask.refusal == nil)
      }
    }
  }

  @Test("leave a subscribe without them as it was")
  func rare() {
    var ask = ClientCommand.Subscribe()
    ask.limit = 5
    #expect(ask != ClientCommand.Subscribe())
    ask.limit = 0
    #expect(ask == ClientCommand.Subscribe() && ask.rare == nil)
  }

  @Test("the frame of a map's publication is its message with a header")
  func frame() {
    let publication = Publication(
      offset: 1, data: Array(repeating: UInt8(ascii: "1"), count: 300), change: KeyChange(key: "k"))
    for format in WireFormat.allCases {
      var frame: [UInt8] = [7]
      ClientCodec.appendFrame(publication, on: "m", format: format, into: &frame)
      let payload = ClientCodec.encode([.push(.publication(channel: "m", publication))], format: format)
      #expect(frame == [7] + ServerFrame.message(payload, format: format))
    }
  }
}
