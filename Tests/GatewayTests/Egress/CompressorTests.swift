import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Compressing frames")
struct CompressorTests {
  private let counters = ListenerCounters()

  private func compressor(_ window: DeflateWindow = .large, leastBytes: Int = 0) -> Compressor {
    Compressor(window, CompressionOptions(leastBytes: leastBytes), counters: counters, pool: DeflaterPool())
  }

  private static func text(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    let words = ["hello", "world", "{\"text\":", "how are you", "é", "\u{1F600}", "0123456789"]
    var text: [UInt8] = []
    while text.count < count { text += Array((words.randomElement(using: &random) ?? "").utf8) }
    return Array(text.prefix(count))
  }

  @Test(
    "what clients read is what was to be sent, in every window, over one stream after another",
    arguments: UInt64(0)..<20)
  func roundTrips(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let compressors = DeflateWindow.allCases.map { compressor($0) }
    for _ in 0..<40 {
      let count = Int.random(in: 0..<[10, 200, 5_000, 70_000][Int.random(in: 0..<4, using: &random)], using: &random)
      let message =
        Bool.random(using: &random)
        ? Self.text(count, &random) : (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      for compressor in compressors {
        let format: WireFormat = Bool.random(using: &random) ? .json : .protobuf
        let plain = ServerFrame.message(message, format: format)
        let frame = compressor.compress(plain, format)
        #expect(frame.count <= plain.count)
        #expect(frame.withUnsafeBytes { ServerFrame.length(of: $0) } == frame.count)
        #expect(frame[0] & 0xBF == plain[0])
        #expect(frame[0] & 0x40 == 0 ? frame == plain : frame.count < plain.count)
        #expect(DeflateReader.payload(of: frame, windowBits: compressor.window.rawValue) == message)
      }
    }
  }

  @Test("a message does not point back further than its reader remembers", arguments: DeflateWindow.allCases)
  func windows(window: DeflateWindow) throws {
    var random = SeededGenerator(seed: 7)
    let once = (0..<20_000).map { _ in UInt8.random(in: 0x61...0x70, using: &random) }
    // What comes again stands 200, 3,000 and 20,000 bytes back: each window finds what it can.
    let message = Array(once.prefix(200) + once.prefix(3_000) + once + once)
    let plain = ServerFrame.message(message, format: .protobuf)
    let frame = compressor(window).compress(plain, .protobuf)
    #expect(frame[0] == 0xC2)
    #expect(DeflateReader.payload(of: frame, windowBits: window.rawValue) == message)
    if window != .small {
      // The test's own reader does notice.
      #expect(DeflateReader.payload(of: frame, windowBits: 9) == nil)
    }
  }

  @Test("messages forget each other: the same one becomes the same bytes, so that tapes may be shared")
  func noContext() {
    var random = SeededGenerator(seed: 1)
    let compressor = compressor()
    let messages = (0..<20).map { _ in ServerFrame.message(Self.text(400, &random), format: .json) }
    let first = messages.map { compressor.compress($0, .json) }
    #expect(messages.reversed().map { compressor.compress($0, .json) } == first.reversed())
  }

  @Test("short messages, those of more than 64 KiB and those that do not become shorter stay as they are")
  func stays() {
    var random = SeededGenerator(seed: 2)
    let compressor = compressor(leastBytes: 100)
    let repeated = { ServerFrame.message([UInt8](repeating: 0x41, count: $0), format: .json) }
    #expect(compressor.compress(repeated(99), .json) == repeated(99))
    #expect(compressor.compress(repeated(100), .json)[0] == 0xC1)
    #expect(compressor.compress(repeated(Deflater.mostBytes), .json)[0] == 0xC1)
    #expect(compressor.compress(repeated(Deflater.mostBytes + 1), .json) == repeated(Deflater.mostBytes + 1))
    let noise = ServerFrame.message((0..<1_000).map { _ in UInt8.random(in: 0...255, using: &random) }, format: .json)
    #expect(compressor.compress(noise, .json) == noise)
    #expect(self.compressor().compress(ServerFrame.message([], format: .json), .json) == [0x81, 0])
  }

  @Test("bytes are counted before and after, for messages that are worth a try alone")
  func counts() {
    let compressor = compressor(leastBytes: 100)
    let frame = ServerFrame.message([UInt8](repeating: 0x41, count: 1_000), format: .json)
    let compressed = compressor.compress(frame, .json)
    _ = compressor.compress(ServerFrame.message([UInt8](repeating: 0x41, count: 99), format: .json), .json)
    #expect(counters.bytesToCompress == frame.count)
    #expect(counters.bytesCompressed == compressed.count)
    #expect(compressed.count < 50)
  }

  @Test("connections with the same window have the same form of tape, and others have another")
  func forms() throws {
    let compressors = Compressors(CompressionOptions(leastBytes: 1), counters: counters)
    let large = try #require(compressors[.large])
    let form = TapeForm(format: .json, packing: .deflated(large))
    #expect(form == TapeForm(format: .json, packing: .deflated(try #require(compressors[.large]))))
    #expect(form != TapeForm(format: .json, packing: .deflated(try #require(compressors[.small]))))
    #expect(!form.isPlain)
  }
}
