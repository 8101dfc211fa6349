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
    for length in [60, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000] {
      let reply = ClientReply.rpc(id: 1, data: payload(forMessageOf: length, format))
      let message = ClientCodec.encode([reply], format: format)
      #expect(message.count == length)
      let opcode: UInt8 = format == .json ? 0x81 : 0x82
      let header: [UInt8] =
        switch length {
        case ..<126: [opcode, UInt8(length)]
        case ..<65_536: [opcode, 126, UInt8(length >> 8), UInt8(length & 255)]
        default: [opcode, 127, 0, 0, 0, 0, 0, UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255)]
        }
      #expect(ClientCodec.frame(for: [reply], format: format) == header + message)
    }
  }

  @Test("several replies share one frame", arguments: WireFormat.allCases)
  func several(format: WireFormat) {
    let replies: [ClientReply] = [.publish(id: 1), .serverPing, .ping(id: 2)]
    let message = ClientCodec.encode(replies, format: format)
    let frame = ClientCodec.frame(for: replies, format: format)
    #expect(frame == [format == .json ? 0x81 : 0x82, UInt8(message.count)] + message)
  }

  /// A JSON string of digits, as long as the whole message asks for.
  private func payload(forMessageOf length: Int, _ format: WireFormat) -> [UInt8] {
    var count = length
    while true {
      let data = [0x22] + Array(repeating: 0x37, count: count) + [0x22] as [UInt8]
      let excess = ClientCodec.encode([.rpc(id: 1, data: data)], format: format).count - length
      if excess <= 0 { return data }
      count -= excess
    }
  }
}
