import Testing

@testable import Wire

@Suite("Trace contexts")
struct TraceContextTests {
  private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test("A traceparent is read, and written as it was")
  func reading() throws {
    let context = try #require(TraceContext(traceparent: Self.text))
    #expect(context.traceHigh == 0x4bf9_2f35_77b3_4da6 && context.traceLow == 0xa3ce_929d_0e0e_4736)
    #expect(context.span == 0x00f0_67aa_0ba9_02b7 && context.isSampled)
    #expect(context.traceparent == Self.text)
    #expect(context.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
    let quiet = try #require(TraceContext(traceparent: String(Self.text.dropLast()) + "0"))
    #expect(!quiet.isSampled && quiet.traceparent.hasSuffix("-00"))
  }

  @Test("Of a later version the fields of this one count, and what follows them is passed over")
  func later() throws {
    let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03"
    for text in [later, later + "-what-the-future-will-be-like"] {
      let context = try #require(TraceContext(traceparent: text), "\(text)")
      #expect(context.traceparent == Self.text)
    }
    #expect(TraceContext(traceparent: later + ".what") == nil)
  }

  @Test(
    "What is no traceparent begins a trace anew",
    arguments: [
      "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", text + "-", text + "-00", "0" + text,
      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473\u{E9}-00f067aa0ba902b7-1",
    ])
  func wrong(_ text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  @Test("Stamps of two clocks, and stamps in the wrong order, have no time between them")
  func stamps() {
    let early = HopStamp(host: 1, nanoseconds: 10)
    #expect(HopStamp(host: 1, nanoseconds: 25).since(early) == 15)
    #expect(HopStamp(host: 2, nanoseconds: 25).since(early) == nil)
    #expect(HopStamp(host: 1, nanoseconds: 9).since(early) == nil)
  }

  static let messages: [LinkTrace] = [
    LinkTrace(
      .request(.max),
      HopTrace(began: HopStamp(host: 1, nanoseconds: 2), last: HopStamp(host: .max, nanoseconds: .max))),
    LinkTrace(
      .publication(ChannelName(checked: "chat:1"), offset: 7),
      HopTrace(
        began: HopStamp(host: 0, nanoseconds: 0), last: HopStamp(host: 3, nanoseconds: 4),
        context: TraceContext(traceHigh: 1, traceLow: 2, span: 3, isSampled: false))),
  ]

  @Test("What the link says of measured messages is read as it was written, and never from a part", arguments: messages)
  func coding(_ message: LinkTrace) throws {
    #expect(try LinkTrace(bytes: message.bytes) == message)
    let body = LinkBody.trace(message)
    let header = LinkMessage(session: 1, sequence: 2, body: body).header
    #expect(LinkMessage(header: header, bytes: body.bytes).body == body)
    for length in 0..<message.bytes.count {
      #expect(throws: MalformedMessage.self) { try LinkTrace(bytes: Array(message.bytes.prefix(length))) }
    }
    #expect(throws: MalformedMessage.self) { try LinkTrace(bytes: message.bytes + [0]) }
    #expect(throws: MalformedMessage.self) { try LinkTrace(bytes: [2] + message.bytes.dropFirst()) }
  }
}
