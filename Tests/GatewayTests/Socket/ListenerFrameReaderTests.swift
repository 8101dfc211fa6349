import NIOCore
import Testing

@testable import Gateway

@Suite("Frames from clients")
struct ListenerFrameReaderTests {
  private static let client = ListenerRawClient.self

  private func read(_ bytes: [UInt8], pieces: Int = .max, limit: Int = 1_000) -> ([FrameReader.Event], FrameViolation?)
  {
    var reader = FrameReader(maxMessageBytes: limit)
    return reader.events(of: bytes, inPiecesOf: pieces)
  }

  @Test("a conversation means the same whole, in pieces of every size, and byte by byte")
  func drip() {
    let long = [UInt8](repeating: 0x41, count: 300)
    let bytes =
      Self.client.frame(0x81, Array("h€llo 👋".utf8)) + Self.client.frame(0x01, [0xE2, 0x82])
      + Self.client.frame(0x89, [1, 2, 3]) + Self.client.frame(0x80, [0xAC]) + Self.client.frame(0x82, long)
      + Self.client.frame(0x8A, []) + Self.client.frame(0x81, []) + Self.client.frame(0x88, [0x03, 0xE8, 0x6F, 0x6B])
    let expected: [FrameReader.Event] = [
      .message(ByteBuffer(string: "h€llo 👋")), .ping([1, 2, 3]), .message(ByteBuffer(string: "€")),
      .message(ByteBuffer(bytes: long)), .pong, .message(ByteBuffer()), .close(code: 1000),
    ]
    for size in [1, 2, 3, 5, 7, 11, 64, .max] {
      let (events, violation) = read(bytes, pieces: size)
      #expect(events == expected)
      #expect(violation == nil)
    }
  }

  @Test(
    "a frame that breaks the framing rules is found at its first wrong byte",
    arguments: [
      (client.frame(0x81, [0x41], masked: false).prefix(2), FrameViolation.unmasked),
      ([0xC1], .reservedBits), ([0xA1], .reservedBits), ([0x91], .reservedBits), ([0xC9], .reservedBits),
      ([0x83], .reservedOpcode), ([0x87], .reservedOpcode), ([0x8B], .reservedOpcode), ([0x8F], .reservedOpcode),
      ([0x08], .fragmentedControl), ([0x09], .fragmentedControl), ([0x0A], .fragmentedControl),
      ([0x89, 0xFE], .longControl), ([0x88, 0xFF], .longControl), ([0x80], .strayContinuation),
      ([0x00], .strayContinuation), (client.frame(0x01, [0x41])[...] + [0x81], .interleavedMessage),
      (client.frame(0x01, [0x41])[...] + client.frame(0x00, [0x41]) + [0x02], .interleavedMessage),
      (client.frame(0x81, [0x41])[...] + [0x80], .strayContinuation),
    ] as [(ArraySlice<UInt8>, FrameViolation)])
  func framing(bytes: ArraySlice<UInt8>, expected: FrameViolation) {
    #expect(read(Array(bytes), pieces: 1).1 == expected)
    #expect(read(Array(bytes.dropLast()), pieces: 1).1 == nil)
    #expect(expected.closeCode == 1002)
  }

  @Test(
    "close payloads that no peer may send are refused",
    arguments: [
      [0x03], [0, 0], [0x03, 0xE7], [0x03, 0xEC], [0x03, 0xED], [0x03, 0xEE], [0x03, 0xF7], [0x0B, 0xB7],
    ]
      as [[UInt8]])
  func closePayload(payload: [UInt8]) {
    #expect(read(Self.client.frame(0x88, payload)).1 == .invalidClose)
  }

  @Test(
    "close codes of the protocol and of applications are accepted", arguments: [1000, 1003, 1007, 1011, 3000, 4999])
  func closeCodes(code: Int) {
    let (events, _) = read(Self.client.frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)]))
    #expect(events == [.close(code: UInt16(code))])
  }

  @Test("a close reason that is not UTF-8 is refused as such")
  func closeReason() {
    #expect(read(Self.client.frame(0x88, [0x03, 0xE8, 0xC0, 0x80])).1 == .invalidUTF8)
    #expect(read(Self.client.frame(0x88, [0x03, 0xE8, 0xE2])).1 == .invalidUTF8)
  }

  @Test("wrong UTF-8 is found within a frame that is not whole yet")
  func failsFast() {
    let frame = Self.client.frame(0x81, [0x41, 0xF4, 0x90, 0x80, 0x80, 0x42])
    let upToSecondByte = frame.dropLast(3)
    #expect(read(Array(upToSecondByte), pieces: 1).1 == .invalidUTF8)
    #expect(read(Array(upToSecondByte.dropLast()), pieces: 1).1 == nil)
  }

  @Test("text that ends in the middle of a character is refused, and binary may hold anything")
  func unfinishedCharacter() {
    #expect(read(Self.client.frame(0x81, [0xE2, 0x82])).1 == .invalidUTF8)
    #expect(read(Self.client.frame(0x01, [0xE2]) + Self.client.frame(0x80, [0x82])).1 == .invalidUTF8)
    #expect(read(Self.client.frame(0x82, [0xFF, 0xE2])).0 == [.message(ByteBuffer(bytes: [0xFF, 0xE2]))])
  }

  @Test("a message may be as long as the limit, and not a byte longer, in one frame or in many")
  func tooLarge() {
    let half = [UInt8](repeating: 0x41, count: 500)
    #expect(read(Self.client.frame(0x82, half + half)).0.count == 1)
    #expect(read(Self.client.frame(0x02, half) + Self.client.frame(0x80, half)).0.count == 1)
    #expect(read(Self.client.frame(0x82, half + half + [0])).1 == .tooLarge(limit: 1_000))
    #expect(read(Self.client.frame(0x02, half) + Self.client.frame(0x80, half + [0])).1 == .tooLarge(limit: 1_000))
    #expect(FrameViolation.tooLarge(limit: 1).closeCode == 1009)
  }

  @Test(
    "a length near 2^64 is refused by its header alone",
    arguments: [
      [0x80, 0, 0, 0, 0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0x7F, 255, 255, 255, 255, 255, 255, 255],
    ]
      as [[UInt8]])
  func hugeLength(length: [UInt8]) {
    #expect(read([0x82, 0xFF] + length, pieces: 1).1 == .tooLarge(limit: 1_000))
    #expect(read([0x02, 0x81, 0, 0, 0, 0, 7] + [0x80, 0xFF] + length).1 == .tooLarge(limit: 1_000))
  }

  @Test("the declared length allocates nothing: memory follows the bytes that came")
  func allocation() throws {
    var reader = FrameReader(maxMessageBytes: 1 << 30)
    var input = ByteBuffer(bytes: [0x82, 0xFF, 0, 0, 0, 0, 0x3F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [1, 2, 3])
    #expect(try reader.next(&input) == nil)
    #expect(reader.reservedBytes < 1_024)
  }

  @Test("the reader agrees with Swift about every pair of bytes, and about many longer sequences")
  func utf8() {
    func agrees(_ bytes: [UInt8]) -> Bool {
      var validator = UTF8Validator()
      let accepted = bytes.withUnsafeBytes { validator.accept($0) } && validator.isAtBoundary
      return accepted == (String(validating: bytes, as: UTF8.self) != nil)
    }
    var wrong: [[UInt8]] = []
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        if !agrees([first, second]) { wrong.append([first, second]) }
        guard first >= 0xE0 else { continue }
        for third: UInt8 in [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] {
          if !agrees([first, second, third]) { wrong.append([first, second, third]) }
          for fourth: UInt8 in [0x7F, 0x80, 0xBF, 0xC0] {
            if !agrees([first, second, third, fourth]) { wrong.append([first, second, third, fourth]) }
          }
        }
      }
    }
    #expect(wrong.isEmpty)
  }
}

extension FrameReader {
  /// Feeds the bytes in pieces and collects the events, then the violation if there was one.
  mutating func events(of bytes: [UInt8], inPiecesOf count: Int) -> ([Event], FrameViolation?) {
    var events: [Event] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      var input = ByteBuffer(bytes: rest.prefix(count))
      rest = rest.dropFirst(count)
      do {
        while let event = try next(&input) { events.append(event) }
      } catch {
        return (events, error)
      }
    }
    return (events, nil)
  }
}
