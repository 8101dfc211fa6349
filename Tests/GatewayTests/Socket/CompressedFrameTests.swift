import NIOCore
import Testing

@testable import Gateway

/// See ``ListenerFrameReaderTests`` for what holds of all frames.
@Suite("Compressed frames from clients")
struct CompressedFrameTests {
  private static let client = ListenerRawClient.self

  private func read(
    _ bytes: [UInt8], pieces: Int = .max, limit: Int = 1_000, compresses: Bool = true
  ) throws -> ([FrameReader.Event], FrameViolation?) {
    let inflater: Inflater = try #require(Inflater())
    var reader = FrameReader(maxMessageBytes: limit, inflater: compresses ? inflater : nil)
    return reader.events(of: bytes, inPiecesOf: pieces)
  }

  @Test("a conversation of compressed and other messages means the same whole, in pieces, and byte by byte")
  func drip() throws {
    let long = (0..<900).map { UInt8($0 % 7 + 0x41) }
    let (hello, big) = (DeflateReader.deflate(Array("h€llo 👋".utf8)), DeflateReader.deflate(long))
    var bytes = Self.client.frame(0xC1, hello) + Self.client.frame(0x81, Array("plain".utf8))
    bytes += Self.client.frame(0xC2, big) + Self.client.frame(0xC1, [0x00])
    // In fragments, one of them empty, a ping and a pong between them; the characters do not end where they do.
    bytes += Self.client.frame(0x41, Array(hello.prefix(3))) + Self.client.frame(0x89, [1, 2])
    bytes +=
      Self.client.frame(0x00, []) + Self.client.frame(0x8A, []) + Self.client.frame(0x80, Array(hello.dropFirst(3)))
    bytes += Self.client.frame(0x01, [0x41]) + Self.client.frame(0x80, [0x42])
    bytes += Self.client.frame(0x88, [0x03, 0xE8])
    let expected: [FrameReader.Event] = [
      .message(ByteBuffer(string: "h€llo 👋")), .message(ByteBuffer(string: "plain")), .message(ByteBuffer(bytes: long)),
      .message(ByteBuffer()), .ping([1, 2]), .pong, .message(ByteBuffer(string: "h€llo 👋")),
      .message(ByteBuffer(string: "AB")), .close(code: 1000),
    ]
    for size in [1, 2, 3, 5, 7, 11, 64, .max] {
      let (events, violation) = try read(bytes, pieces: size)
      #expect(events == expected)
      #expect(violation == nil)
    }
  }

  @Test(
    "the bit may stand on the first frame of a message, where it was agreed on, and nowhere else",
    arguments: [
      ([0xC1], false), ([0xC2], false), ([0xC8], true), ([0xC9], true), ([0xCA], true), ([0xA1], true), ([0x91], true),
      ([0xE1], true), ([0xD2], true), (client.frame(0x41, [0x00]) + [0xC0], true),
      (client.frame(0x01, [0x41]) + [0xC0], true), (client.frame(0x01, [0x41]) + [0x40], true),
    ] as [([UInt8], Bool)])
  func reservedBits(bytes: [UInt8], compresses: Bool) throws {
    #expect(try read(bytes, pieces: 1, compresses: compresses).1 == .reservedBits)
    #expect(FrameViolation.reservedBits.closeCode == 1002)
  }

  @Test("what cannot be decompressed, and text that is none, is refused when the last of it is there")
  func corrupt() throws {
    #expect(try read(Self.client.frame(0xC2, [0x07])).1 == .corruptMessage)
    #expect(try read(Self.client.frame(0xC1, [])).1 == .corruptMessage)
    #expect(try read(Self.client.frame(0x42, [0x07])).1 == nil, "more may come")
    let wrong = DeflateReader.deflate([0x41, 0xC0, 0x80])
    #expect(try read(Self.client.frame(0xC1, wrong)).1 == .invalidUTF8)
    #expect(try read(Self.client.frame(0xC2, wrong)).0 == [.message(ByteBuffer(bytes: [0x41, 0xC0, 0x80]))])
    // Of the compressed bytes nobody expects that they are text.
    #expect(
      try read(Self.client.frame(0x41, [0xF2, 0x48]) + Self.client.frame(0x80, [0xCD, 0xC9, 0xC9, 0x07, 0x00])).1 == nil
    )
  }

  @Test("a message is as long as it is when decompressed, in one frame or in many")
  func tooLarge() throws {
    let most = DeflateReader.deflate([UInt8](repeating: 0x41, count: 1_000))
    let more = DeflateReader.deflate([UInt8](repeating: 0x41, count: 1_001))
    #expect(try read(Self.client.frame(0xC2, most)).0.count == 1)
    #expect(try read(Self.client.frame(0xC2, more)).1 == .tooLarge(limit: 1_000))
    let halves = Self.client.frame(0x42, Array(more.prefix(5))) + Self.client.frame(0x80, Array(more.dropFirst(5)))
    #expect(try read(halves).1 == .tooLarge(limit: 1_000))
    // What does not become shorter is a little longer than the message.
    let stored = DeflateReader.deflate((0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }, level: 0)
    #expect(stored.count > 1_000)
    #expect(try read(Self.client.frame(0xC2, stored)).0.count == 1)
    #expect(try read([0xC2, 0xFE, 0x04, 0xFF]).1 == .tooLarge(limit: 1_000))
    #expect(
      try read([0x42, 0x81, 0, 0, 0, 0, 7] + [0x80, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 7)).1
        == .tooLarge(limit: 1_000))
  }

  @Test("between two reads a message holds what came of it, and not what it stands for")
  func memory() throws {
    let inflater: Inflater = try #require(Inflater())
    var reader = FrameReader(maxMessageBytes: 1 << 24, inflater: inflater)
    let bomb = DeflateReader.deflate([UInt8](repeating: 0, count: 10 << 20))
    var input = ByteBuffer(bytes: Self.client.frame(0x42, bomb))
    #expect(try reader.next(&input) == nil)
    #expect(reader.reservedBytes <= 2 * bomb.count)
  }
}
