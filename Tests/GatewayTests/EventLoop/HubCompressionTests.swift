import NIOEmbedded
import Testing
import Wire

@testable import Gateway

@Suite("Compressed messages in the hub")
struct HubCompressionTests {
  private let fanOut = FanOut(limits: .init(queueBytes: 10_000), ring: nil, clock: { 0 })
  private let hub: Hub
  private let loop = EmbeddedEventLoop()
  private let counters = ListenerCounters()
  private let compressors: Compressors

  init() {
    hub = Hub(fanOut: fanOut, namespaces: NamespaceTable())
    compressors = Compressors(CompressionOptions(leastBytes: 100), counters: counters)
  }

  private func member(_ id: UInt64, _ window: DeflateWindow?, _ format: WireFormat = .json) throws -> HubMember {
    let packing: Packing = try window.map { .deflated(try #require(compressors[$0])) } ?? .frames
    return HubMember(id, format, loop, packing: packing)
  }

  private func frames(_ text: String) -> EncodedFrames {
    let payload = Array(text.utf8)
    var frames = EncodedFrames(
      json: ServerFrame.message(payload, format: .json), protobuf: ServerFrame.message(payload, format: .protobuf))
    frames.packed = PackedFrames()
    return frames
  }

  private func deliver(_ frames: EncodedFrames) {
    hub.deliver(frames, on: Fixed.channel)
    fanOut.runSlice()
  }

  private func texts(of member: HubMember) -> [String?] {
    member.transport.frames.map { frame in
      DeflateReader.payload(of: frame).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test(
    "plain and compressed subscribers of one channel read the same, and a message is compressed once for each window")
  func mixed() throws {
    let plain = try member(1, nil)
    let alike = try (2..<6).map { try member(UInt64($0), .large) }
    let others = [try member(6, .small), try member(7, .large, .protobuf), try member(8, nil, .protobuf)]
    for member in [plain] + alike + others { hub.attach(member.driver, to: Fixed.channel, []) }
    let long = String(repeating: "again and ", count: 50)
    let frames = frames(long)
    deliver(frames)
    deliver(self.frames("short"))
    for member in [plain] + alike + others { #expect(texts(of: member) == [long, "short"]) }
    #expect(plain.transport.frames[0] == frames.json)
    for member in alike {
      #expect(member.transport.frames[0][0] == 0xC1)
      #expect(member.transport.frames[1][0] == 0x81, "on one tape, what is short stays as it is")
      #expect(member.transport.frames == alike[0].transport.frames)
    }
    // For large and small in JSON, and for large in Protobuf.
    #expect(counters.bytesToCompress == 3 * (frames.json?.count ?? 0))
    // Another event loop finds what this one has made.
    _ = frames[alike[0].driver.form]
    #expect(counters.bytesToCompress == 3 * (frames.json?.count ?? 0))
  }

  @Test("what waits for a reader is cut where frames end, compressed or not")
  func frameEnds() throws {
    let compressor = try #require(compressors[.large])
    let form = TapeForm(format: .json, packing: .deflated(compressor))
    let directory = OutletDirectory()
    let tape = Tape(form: form, lane: .publications, conflationLimitBytes: 1_000, directory: directory)
    let member = try member(1, .large)
    tape.sit(member.driver, held: false, positioned: false)
    var ends: [UInt64] = []
    for text in [String(repeating: "a", count: 500), "short", String(repeating: "b", count: 9_000)] {
      let frame = try #require(frames(text)[form])
      tape.append(frame, key: .channel)
      ends.append(tape.end)
    }
    for position in 0..<tape.end {
      #expect(tape.frameEnd(from: 0, holding: position) == ends.first { $0 > position })
    }
    tape.leave(member.transport)
  }

  @Test("how much of what waits compressed has been read is not guessed")
  func coverage() throws {
    let member = try member(1, .large)
    hub.attach(member.driver, to: Fixed.channel, [])
    var frames = frames(String(repeating: "again and ", count: 50))
    frames.offset = 7
    deliver(frames)
    #expect(hub.reach(of: member.driver, on: Fixed.channel)?.written == 7)
    #expect(hub.reach(of: member.driver, on: Fixed.channel)?.unsure == 0)
    member.transport.queued(1)
    #expect(hub.reach(of: member.driver, on: Fixed.channel)?.unsure == .max)
    member.transport.dequeued(1)
    let compressed = try #require(frames[member.driver.form])
    #expect(FrameOffset.read(compressed, format: .json) == nil)
  }
}
