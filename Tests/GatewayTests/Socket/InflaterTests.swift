import NIOCore
import TestSupport
import Testing

@testable import Gateway

@Suite("Decompressing messages of clients")
struct InflaterTests {
  private func inflater() throws -> Inflater { try #require(Inflater()) }

  private func inflate(_ payload: [UInt8], limit: Int = 100_000, isText: Bool = false) throws -> [UInt8] {
    let message = try inflater().inflate(ByteBuffer(bytes: payload), limitBytes: limit, isText: isText)
    return Array(message.readableBytesView)
  }

  @Test(
    "the examples of RFC 7692, section 7.2.3, mean what they are said to mean",
    arguments: [
      ([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
      // Not compressed; the last block marked as such; two blocks; an empty message.
      ([0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], "Hello"),
      ([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "Hello"),
      ([0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
      ([0x00], ""),
    ] as [([UInt8], String)])
  func examples(payload: [UInt8], expected: String) throws {
    #expect(try inflate(payload, isText: true) == Array(expected.utf8))
  }

  @Test("whatever a client compresses comes out again, from any window and level", arguments: 9...15)
  func roundTrips(windowBits: Int) throws {
    var random = SeededGenerator(seed: UInt64(windowBits))
    let inflater = try inflater()
    for level: Int32 in 0...9 {
      for _ in 0..<10 {
        let count = Int.random(in: 0..<[20, 500, 40_000][Int.random(in: 0..<3, using: &random)], using: &random)
        let letters: ClosedRange<UInt8> = Bool.random(using: &random) ? 0x61...0x64 : 0...255
        let message = (0..<count).map { _ in UInt8.random(in: letters, using: &random) }
        let payload = DeflateReader.deflate(message, windowBits: windowBits, level: level)
        let inflated = try inflater.inflate(ByteBuffer(bytes: payload), limitBytes: count, isText: false)
        #expect(Array(inflated.readableBytesView) == message)
      }
    }
  }

  @Test("what is no deflate is refused, and the next message is read none the less")
  func corrupt() throws {
    let inflater = try inflater()
    let good = DeflateReader.deflate(Array("a message that is fine".utf8))
    let bad: [[UInt8]] = [
      [], [0x07], [0x06], [0xFF], [0x00, 0x05, 0x00, 0xFA, 0xFE, 0x48], [0x02],  // No tail fits behind the last.
      Array(good.dropLast()), Array(good.prefix(3)), good + [0x48], [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
      // Points back to before the message.
      [0x02, 0x02, 0x00, 0x00],
    ]
    for payload in bad {
      #expect(throws: FrameViolation.corruptMessage, "\(payload)") {
        try inflater.inflate(ByteBuffer(bytes: payload), limitBytes: 1_000, isText: false)
      }
      let message = try inflater.inflate(ByteBuffer(bytes: good), limitBytes: 1_000, isText: true)
      #expect(message == ByteBuffer(string: "a message that is fine"))
    }
    #expect(FrameViolation.corruptMessage.closeCode == 1007)
  }

  @Test("messages forget each other: none can point back into the one before")
  func noContext() throws {
    let inflater = try inflater()
    let secret = Array("the secret of somebody else".utf8)
    _ = try inflater.inflate(ByteBuffer(bytes: DeflateReader.deflate(secret)), limitBytes: 100, isText: false)
    // A fixed block: a copy of three bytes from one byte back, and nothing before it.
    #expect(throws: FrameViolation.corruptMessage) {
      try inflater.inflate(ByteBuffer(bytes: [0x02, 0x02, 0x00, 0x00]), limitBytes: 100, isText: false)
    }
  }

  @Test("of a bomb no more is made than a message of the longest and a piece")
  func bomb() throws {
    let bomb = DeflateReader.deflate([UInt8](repeating: 0, count: 50 << 20), level: 9)
    #expect(bomb.count < 60_000)
    let inflater = try inflater()
    for limit in [0, 1_000, 65_536] {
      #expect(throws: FrameViolation.tooLarge(limit: limit)) {
        try inflater.inflate(ByteBuffer(bytes: bomb), limitBytes: limit, isText: true)
      }
      #expect(inflater.madeBytes <= limit + Inflater.pieceBytes)
    }
  }

  @Test(
    "a message may be as long as the limit, and not a byte longer", arguments: [0, 1, 1_000, 16_384, 32_768, 40_000])
  func limit(bytes: Int) throws {
    let payload = DeflateReader.deflate([UInt8](repeating: 0x41, count: bytes))
    #expect(try inflate(payload, limit: bytes).count == bytes)
    if bytes > 0 {
      #expect(throws: FrameViolation.tooLarge(limit: bytes - 1)) { try inflate(payload, limit: bytes - 1) }
    }
  }

  @Test("text is judged as it comes out")
  func utf8() throws {
    let wrong = DeflateReader.deflate(Array("a".utf8) + [0xC0, 0x80])
    #expect(throws: FrameViolation.invalidUTF8) { try inflate(wrong, isText: true) }
    #expect(try inflate(wrong).count == 3)
    let unfinished = DeflateReader.deflate([0xE2, 0x82])
    #expect(throws: FrameViolation.invalidUTF8) { try inflate(unfinished, isText: true) }
    // A character that two pieces share.
    let long = [UInt8](repeating: 0x41, count: Inflater.pieceBytes - 1) + Array("€".utf8)
    #expect(try inflate(DeflateReader.deflate(long), isText: true) == long)
  }

  @Test("random bytes are refused or read, and never more", arguments: UInt64(0)..<50)
  func fuzz(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let inflater = try inflater()
    for _ in 0..<200 {
      var payload = DeflateReader.deflate((0..<200).map { _ in UInt8.random(in: 0x61...0x64, using: &random) })
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        payload[Int.random(in: payload.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      do throws(FrameViolation) {
        let message = try inflater.inflate(ByteBuffer(bytes: payload), limitBytes: 1_000, isText: true)
        #expect(message.readableBytes <= 1_000)
      } catch {
        #expect([.corruptMessage, .invalidUTF8, .tooLarge(limit: 1_000)].contains(error))
      }
    }
  }
}
