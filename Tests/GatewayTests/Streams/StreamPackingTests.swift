import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Messages in the body of an answer that does not end")
struct StreamPackingTests {
  private static func pack(_ packing: Packing, _ payload: String, _ format: WireFormat = .json) -> String {
    String(decoding: packing.pack(ServerFrame.message(Array(payload.utf8), format: format), format), as: UTF8.self)
  }

  @Test("each reply of a frame is an event, and all are in one chunk")
  func events() {
    #expect(Self.pack(.events, "{}") == "a\r\ndata: {}\n\n\r\n")
    #expect(Self.pack(.events, "{\"id\":1}\n{\"id\":2}") == "20\r\ndata: {\"id\":1}\n\ndata: {\"id\":2}\n\n\r\n")
  }

  @Test("replies in a row have a newline behind each in JSON, and their own lengths in Protobuf")
  func lines() {
    #expect(Self.pack(.lines, "{}") == "3\r\n{}\n\r\n")
    #expect(Self.pack(.lines, "{\"id\":1}\n{\"id\":2}") == "12\r\n{\"id\":1}\n{\"id\":2}\n\r\n")
    #expect(Packing.lines.pack(ServerFrame.message([0], format: .protobuf), .protobuf) == Array("1\r\n\0\r\n".utf8))
    let two: [UInt8] = [2, 8, 1, 2, 8, 2]
    #expect(
      Packing.lines.pack(ServerFrame.message(two, format: .protobuf), .protobuf)
        == Array("6\r\n".utf8) + two + Array("\r\n".utf8))
  }

  @Test("nothing makes no chunk, which would end the body")
  func nothing() {
    #expect(Self.pack(.events, "").isEmpty)
    #expect(Packing.lines.pack(ServerFrame.message([], format: .protobuf), .protobuf).isEmpty)
  }

  @Test("the length of a message is found among others, for payloads of any size", arguments: [Packing.events, .lines])
  func lengths(_ packing: Packing) {
    for size in [2, 9, 10, 15, 16, 117, 125, 126, 4_000, 4_096, 65_535, 65_536, 1 << 20] {
      let payload = String(repeating: "x", count: size)
      let one = packing.pack(ServerFrame.message(Array(payload.utf8), format: .json), .json)
      let rest = packing.pack(ServerFrame.message(Array("{}".utf8), format: .json), .json)
      (one + rest).withUnsafeBytes { #expect(packing.length(of: $0) == one.count) }
      one.withUnsafeBytes { #expect(packing.length(of: $0) == one.count) }
    }
  }

  @Test(
    "bytes that begin with no chunk count as one message, and never trap",
    arguments: ["", "x", "a", "\r\n", "ffffffffffff\r\n", "12345678", "G\r\n"])
  func noChunk(_ text: String) {
    Array(text.utf8).withUnsafeBytes { #expect(Packing.events.length(of: $0) == text.utf8.count) }
  }

  @Test("a tape of chunks knows where each message ends, whatever its length", arguments: [Packing.events, .lines])
  func tape(_ packing: Packing) {
    let form = TapeForm(format: .json, packing: packing)
    let tape = Tape(
      form: form, lane: .publications, conflationLimitBytes: 1 << 20, directory: OutletDirectory())
    var ends: [UInt64] = []
    for size in [2, 20, 300, 70_000, 1] {
      let payload = [UInt8](repeating: 0x78, count: size)
      let message = packing.pack(ServerFrame.message(payload, format: .json), .json)
      tape.append(message, key: .channel)
      ends.append((ends.last ?? 0) + UInt64(message.count))
    }
    var found: [UInt64] = []
    while (found.last ?? 0) < tape.end {
      let place = found.last ?? 0
      found.append(tape.frameEnd(from: place, holding: place))
    }
    #expect(found == ends)
  }

  @Test("a disconnect push tells the code in either packing")
  func disconnect() {
    let push = ClientCodec.frame(for: [.push(.disconnect(.slow))], format: .json)
    let event = String(decoding: Packing.events.pack(push, .json), as: UTF8.self)
    #expect(event.contains(#"data: {"push":{"disconnect":{"code":3008,"reason":"slow""#))
  }
}
