import Testing
import Wire

@Suite("WebSocket frames of replies")
struct FrameTests {
  @Test("JSON goes in a text frame, Protobuf in a binary one; final and not masked")
  func opcodes() {
    #expect(ClientCodec.frame(for: [.serverPing], format: .json) == [0x81, 2] + utf8("{}"))
    #expect(ClientCodec.frame(for: [.serverPing], format: .protobuf) == [0x82, 1, 0])
  }

  @Test("the header has the shortest form of the length, at each of its limits", arguments: WireFormat.allCases)
  func lengths(format: WireFormat) {
    for length in [0, 1, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000, 16_777_216] {
      let message = [UInt8](repeating: 0x37, count: length)
      let opcode: UInt8 = format == .json ? 0x81 : 0x82
      let header: [UInt8] =
        switch length {
        case ..<126: [opcode, UInt8(length)]
        case ..<65_536: [opcode, 126, UInt8(length >> 8), UInt8(length & 255)]
        default:
          [opcode, 127, 0, 0, 0, 0, UInt8(length >> 24), UInt8(length >> 16 & 255), UInt8(length >> 8 & 255)]
            + [UInt8(length & 255)]
        }
      let frame = ServerFrame.message(message, format: format)
      #expect(frame.prefix(header.count).elementsEqual(header))
      #expect(frame.dropFirst(header.count).elementsEqual(message))
    }
  }

  @Test("several replies share one frame", arguments: WireFormat.allCases)
  func several(format: WireFormat) {
    let replies: [ClientReply] = [.publish(id: 1), .serverPing, .ping(id: 2)]
    let message = ClientCodec.encode(replies, format: format)
    let frame = ClientCodec.frame(for: replies, format: format)
    #expect(frame == [format == .json ? 0x81 : 0x82, UInt8(message.count)] + message)
  }

  @Test("a Close frame carries the code and the reason; without a code it is empty")
  func close() {
    #expect(ServerFrame.close(code: 3001, reason: "shutdown") == [0x88, 10, 0x0B, 0xB9] + utf8("shutdown"))
    #expect(ServerFrame.close(code: 1002) == [0x88, 2, 0x03, 0xEA])
    #expect(ServerFrame.close(code: nil, reason: "unheard") == [0x88, 0])
  }

  @Test(
    "a reason that is too long for a control frame is cut at a character's end",
    arguments: [
      (String(repeating: "x", count: 123), 123), (String(repeating: "x", count: 124), 123),
      (String(repeating: "é", count: 100), 122), (String(repeating: "😀", count: 31), 120),
      ("x" + String(repeating: "é", count: 100), 123), (String(repeating: "x", count: 100_000), 123),
      // A single character that is too long by itself: a letter with a hundred accents.
      ("a" + String(repeating: "\u{301}", count: 100), 0),
    ])
  func longReasons(reason: String, kept: Int) {
    let frame = ServerFrame.close(code: 3501, reason: reason)
    #expect(frame.prefix(4).elementsEqual([0x88, UInt8(kept + 2), 0x0D, 0xAD]))
    #expect(frame.dropFirst(4).elementsEqual(reason.utf8.prefix(kept)))
    #expect(String(validating: frame.dropFirst(4), as: UTF8.self) != nil)
  }

  @Test("a Pong carries back what the Ping held, and never more than a control frame may")
  func pong() {
    #expect(ServerFrame.pong([1, 2, 3]) == [0x8A, 3, 1, 2, 3])
    #expect(ServerFrame.pong([]) == [0x8A, 0])
    #expect(ServerFrame.pong(Array(repeating: 7, count: 200)).count == 127)
  }
}
