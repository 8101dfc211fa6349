import Testing

@testable import Bench

@Suite("The WebSocket client's frames")
struct EngineFrameTests {
  @Test(
    "Frames arrive whole however the bytes are cut: short, long, in fragments, with a ping between them",
    arguments: [1, 2, 3, 7, 64, 5000])
  func drip(_ size: Int) throws {
    let long = String(repeating: "y", count: 300)
    let huge = String(repeating: "z", count: 70_000)
    let bytes =
      frame("one") + frame(long) + frame("two ", opcode: 1, isFinal: false) + frame("are you there", opcode: 9)
      + frame("halves", opcode: 0) + frame(huge) + frame("") + frame("end")
    let read = try readAll(bytes, pieces: size)
    #expect(read.contents == ["one", long, "two halves", huge, "", "end"])
    #expect(read.pongs == ["are you there"])
  }

  @Test("What a byte stream leaves of one frame comes again before the next one's")
  func stream() throws {
    for size in [1, 4, 100] {
      let read = try readAll(frame("abcdefg") + frame("hi") + frame("jklmno"), pieces: size, unit: 5)
      #expect(read.contents == ["abcde", "fghij", "klmno"])
    }
  }

  @Test("A close is told with its code and reason")
  func close() {
    let error = #expect(throws: BenchError.self) {
      try readAll([0x88, 9, 0x0D, 0xAC] + Array("invalid".utf8), pieces: 100)
    }
    #expect(error?.description == "the server closed the connection with code 3500, invalid")
  }

  @Test(
    "A server that breaks the protocol is refused",
    arguments: [
      [0x81, 0x81, 0, 0, 0, 0, 65], [0x80, 1, 65], [0x83, 0], [0x01, 0, 0x81, 0],
      [0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0],
    ] as [[UInt8]])
  func broken(_ bytes: [UInt8]) {
    #expect(throws: BenchError.self) { try readAll(bytes, pieces: 100) }
  }

  @Test(
    "What the client sends is one masked frame that unmasks to the same", arguments: [0, 1, 125, 126, 65535, 65536])
  func masking(_ count: Int) throws {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
    var store = ByteStore()
    defer { store.free() }
    payload.withUnsafeBytes { WebSocketCodec.append(opcode: 2, $0, mask: 0x4433_2211, to: &store) }
    let bytes = Array(store.bytes)
    let head = count < 126 ? 2 : count < 65536 ? 4 : 10
    #expect(bytes[0] == 0x82 && bytes[1] & 0x80 == 0x80)
    let mask = Array(bytes[head..<(head + 4)])
    let length = head == 2 ? Int(bytes[1] & 127) : bytes[2..<head].reduce(0) { $0 << 8 | Int($1) }
    #expect(length == count)
    #expect(bytes[(head + 4)...].enumerated().map { $1 ^ mask[$0 % 4] } == payload)
  }

  @Test("The upgrade is believed with the right answer alone, and a refusal is told with status and body")
  func upgrade() throws {
    let key = "dGhlIHNhbXBsZSBub25jZQ=="
    let good =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    // The reply is cut at each byte, since a string's prefixes never end between the two bytes of a line's end.
    for count in 0..<good.utf8.count {
      #expect(try read(String(decoding: good.utf8.prefix(count), as: UTF8.self), key) == nil)
    }
    #expect(try read(good + "x", key) == good.utf8.count)
    #expect(throws: BenchError.self) { try read(good.replacing("s3p", with: "S3p"), key) }
    let error = #expect(throws: BenchError.self) {
      try read("HTTP/1.1 403 Forbidden\r\nA: b\r\n\r\nno such origin", key)
    }
    #expect(error?.description == "the upgrade to WebSocket was refused: HTTP/1.1 403 Forbidden: no such origin")
  }

  private func read(_ text: some StringProtocol, _ key: String) throws -> Int? {
    try Array(text.utf8).withUnsafeBytes { try WebSocketCodec.readUpgrade($0, key: key) }
  }

  private func frame(_ text: String, opcode: UInt8 = 1, isFinal: Bool = true) -> [UInt8] {
    let count = text.utf8.count
    var bytes: [UInt8] = [opcode | (isFinal ? 0x80 : 0)]
    switch count {
    case ..<126: bytes.append(UInt8(count))
    case ..<65536: bytes += [126, UInt8(count >> 8), UInt8(count & 255)]
    default: bytes += [127] + stride(from: 56, through: 0, by: -8).map { UInt8(count >> $0 & 255) }
    }
    return bytes + Array(text.utf8)
  }

  private func readAll(_ bytes: [UInt8], pieces: Int, unit: Int? = nil) throws -> (contents: [String], pongs: [String])
  {
    let dialect = UnitDialect(unit: unit)
    var state = DialectState(role: .subscriber, client: 0, channels: ["c"])
    var (reader, sink, out, pongs) = (WebSocketReader(), Sink(), Outgoing(), ByteStore())
    defer { pongs.free() }
    var waiting: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      waiting += bytes[start..<min(bytes.count, start + pieces)]
      let consumed = try waiting.withUnsafeBytes {
        try reader.read($0, dialect, &state, &sink, &out, pongs: &pongs, mask: 0)
      }
      waiting.removeFirst(consumed)
    }
    #expect(waiting.isEmpty)
    var answers: [String] = []
    var rest = Array(pongs.bytes)
    while rest.count >= 6 {
      let count = Int(rest[1] & 127)
      #expect(rest[0] == 0x8A)
      answers.append(String(decoding: rest[6..<(6 + count)], as: UTF8.self))
      rest.removeFirst(6 + count)
    }
    return (sink.captured.map { String(decoding: $0, as: UTF8.self) }, answers)
  }
}

/// Delivers what it is given, whole or in units of so many bytes.
private struct UnitDialect: Dialect {
  let unit: Int?
  init(unit: Int?) { self.unit = unit }
  init(target: Target, scenario: Scenario) { unit = nil }
  func framing(_ role: Role) -> Framing { .raw }
  func open(_ state: inout DialectState, into out: inout Outgoing) {}
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) -> Int {
    guard let unit else {
      sink.deliver(bytes)
      return bytes.count
    }
    var place = 0
    while bytes.count - place >= unit {
      sink.deliver(UnsafeRawBufferPointer(rebasing: bytes[place..<(place + unit)]))
      place += unit
    }
    return place
  }
  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {}
}
