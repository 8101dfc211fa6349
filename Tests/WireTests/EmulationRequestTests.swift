import TestSupport
import Testing
import Wire

@Suite("Commands that come by a request of their own")
struct EmulationRequestTests {
  private static let json = #"{"session":"s-1","node":"n","data":"{\"id\":1,\"send\":{\"data\":{}}}\n{}"}"#

  /// `session` = 1, `node` = 2, `data` = 3, all of wire type 2.
  private static let protobuf: [UInt8] =
    [0x0A, 3] + Array("s-1".utf8) + [0x12, 1] + Array("n".utf8) + [0x1A, 4, 3, 0x08, 1, 0x22]

  private static func read(_ text: String) throws(MalformedInput) -> EmulationRequest {
    try EmulationRequest(Array(text.utf8), format: .json)
  }

  @Test("JSON has the commands as a string, as centrifuge-js writes it")
  func readsJSON() throws {
    let request = try Self.read(Self.json)
    #expect(request.session == "s-1")
    #expect(request.node == "n")
    #expect(String(decoding: request.commands, as: UTF8.self) == "{\"id\":1,\"send\":{\"data\":{}}}\n{}")
  }

  @Test("a node may be left out, and members that nobody knows are passed over")
  func leftOut() throws {
    #expect(try Self.read(#"{"session":"s","data":"{}","more":[1,{"a":null}]}"#).node.isEmpty)
    #expect(try Self.read(#"{"data":"{}","node":null,"session":"s"}"#).node.isEmpty)
  }

  @Test("Protobuf has the commands as bytes")
  func readsProtobuf() throws {
    let request = try EmulationRequest(Self.protobuf, format: .protobuf)
    #expect(request == EmulationRequest(session: "s-1", node: "n", commands: [3, 0x08, 1, 0x22]))
    // Fields that nobody knows, of each wire type, and a field that stands twice, of which the last counts.
    let unknown: [UInt8] = [
      0x20, 0x96, 1, 0x29, 1, 2, 3, 4, 5, 6, 7, 8, 0x35, 1, 2, 3, 4, 0x3A, 2, 9, 9, 0x12, 1, 0x6D,
    ]
    #expect(try EmulationRequest(Self.protobuf + unknown, format: .protobuf).node == "m")
  }

  @Test(
    "what is no request is refused with a sentence",
    arguments: [
      "", "{", "[]", "null", "1", #""session""#, "{}", #"{"session":"s"}"#, #"{"data":"{}"}"#,
      #"{"session":1,"data":"{}"}"#, #"{"session":"s","data":{}}"#, #"{"session":"s","data":["{}"]}"#,
      #"{"session":"s","node":3,"data":"{}"}"#, #"{"session":null,"data":"{}"}"#, #"{"session":"s","data":"{}"} x"#,
      #"{"session":"s","session":"t","data":"{}"}"#, #"{"session":"\ud800","data":"{}"}"#,
      "{\"session\":\"\u{0}\",\"data\":\"{}\"}", #"{"session":"s","data":"\x"}"#,
      "{\"session\":\"" + String(repeating: "s", count: 129) + "\",\"data\":\"{}\"}",
      "{\"session\":\"s\",\"data\":\"{}\"," + (0..<20).map { "\"k\($0)\":1" }.joined(separator: ",") + "}",
      #"{"a":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
    ])
  func refusesJSON(_ text: String) {
    let error = #expect(throws: MalformedInput.self) { try Self.read(text) }
    #expect(error?.description.isEmpty == false)
  }

  @Test(
    "what is no message is refused",
    arguments: [
      [0x0A], [0x0A, 5, 1], [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], [0x08], [0x0B], [0x0C],
      [0x09, 1, 2], [0x0D, 1, 2, 3], [0x0A, 2, 0xC3, 0x28],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
      [0x0A, 0xC8, 1] + [UInt8](repeating: 0x73, count: 200),
    ] as [[UInt8]])
  func refusesProtobuf(_ bytes: [UInt8]) {
    #expect(throws: MalformedInput.self) { try EmulationRequest(bytes, format: .protobuf) }
  }

  @Test("a request that is cut off anywhere is refused, or is one without its last fields", arguments: [false, true])
  func cutOff(asProtobuf: Bool) {
    let whole = asProtobuf ? Self.protobuf : Array(Self.json.utf8)
    for count in whole.indices {
      let request = try? EmulationRequest(Array(whole[..<count]), format: asProtobuf ? .protobuf : .json)
      if asProtobuf {
        #expect(request.map { $0.commands.isEmpty } ?? true)
      } else {
        #expect(request == nil)
      }
    }
  }

  @Test("damaged bytes never trap, and a damaged request is refused or read", arguments: 0..<20 as Range<UInt64>)
  func damaged(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let isProtobuf = Bool.random(using: &random)
      var bytes = isProtobuf ? Self.protobuf : Array(Self.json.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = .random(in: .min ... .max, using: &random)
        case 1: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
        default: if bytes.count > 1 { bytes.remove(at: place) }
        }
      }
      if let request = try? EmulationRequest(bytes, format: isProtobuf ? .protobuf : .json) {
        #expect(request.commands.count <= bytes.count && request.session.utf8.count <= 128)
      }
    }
  }
}
