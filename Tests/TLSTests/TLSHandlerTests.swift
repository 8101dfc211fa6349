import NIOCore
import NIOEmbedded
import TLS
import TestSupport
import Testing

@Suite("TLS handler", .ownThread)
struct TLSHandlerTests {
  @Test("both sides talk after the handshake, however the wire divides their bytes", arguments: [1, 2, 5, 100, .max])
  func conversation(piece: Int) throws {
    let pair = try TLSPair(TestCertificate(), piece: piece)
    defer { pair.finish() }
    try pair.pump()
    #expect(pair.server.seen.handshakes.map(\.applicationProtocol) == ["http/1.1"])
    #expect(pair.client.seen.handshakes.map(\.applicationProtocol) == ["http/1.1"])
    pair.client.write("question")
    try pair.pump()
    #expect(pair.server.seen.text == "question")
    pair.server.write("answer")
    pair.server.write(" and more")
    try pair.pump()
    #expect(pair.client.seen.text == "answer and more")
    #expect(pair.server.seen.errors.isEmpty && pair.client.seen.errors.isEmpty)
  }

  @Test("what is written before the handshake ends goes out after it, and its promise is kept then")
  func early() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    let promise = pair.client.channel.eventLoop.makePromise(of: Void.self)
    nonisolated(unsafe) var isWritten = false
    promise.futureResult.whenSuccess { isWritten = true }
    pair.client.write("early", promise: promise)
    #expect(!isWritten)
    try pair.pump()
    #expect(isWritten)
    #expect(pair.server.seen.text == "early")
  }

  @Test("what waits for the handshake is bounded")
  func waitingLimit() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    pair.client.channel.write(ByteBuffer(repeating: 0, count: TLSHandler.waitingLimitBytes), promise: nil)
    #expect(pair.client.channel.isActive)
    let promise = pair.client.channel.eventLoop.makePromise(of: Void.self)
    pair.client.channel.write(ByteBuffer(repeating: 0, count: 1), promise: promise)
    let expected = TLSError.tooMuchWaiting(limitBytes: TLSHandler.waitingLimitBytes)
    #expect(throws: expected) { try promise.futureResult.wait() }
    #expect(pair.client.seen.errors == [expected])
    #expect(!pair.client.channel.isActive)
  }

  @Test("a megabyte arrives whole in both directions")
  func large() throws {
    let pair = try TLSPair(TestCertificate(), piece: 10_000)
    defer { pair.finish() }
    try pair.pump()
    var sent = ByteBuffer()
    for number in 0..<250_000 { sent.writeInteger(UInt32(truncatingIfNeeded: number &* 2_654_435_761)) }
    pair.client.channel.writeAndFlush(sent, promise: nil)
    pair.server.channel.writeAndFlush(sent, promise: nil)
    try pair.pump()
    #expect(pair.server.seen.received == sent)
    #expect(pair.client.seen.received == sent)
  }

  @Test("a certificate for another name is refused, and the server learns that it was")
  func wrongName() throws {
    let pair = try TLSPair(TestCertificate(), name: "example.com")
    defer { pair.finish() }
    try pair.pump()
    guard case .untrustedPeer(let detail)? = pair.client.seen.errors.first else {
      Issue.record("the client accepted the certificate of another host")
      return
    }
    #expect(detail.lowercased().contains("hostname mismatch"))
    #expect(!pair.client.channel.isActive)
    #expect(pair.client.seen.handshakes.isEmpty)
    #expect(pair.server.seen.errors.count == 1)
  }

  @Test("an IP address is checked against the certificate like a name")
  func address() throws {
    let right = try TLSPair(TestCertificate(), name: "127.0.0.1")
    defer { right.finish() }
    try right.pump()
    #expect(right.client.seen.handshakes.count == 1)
    let wrong = try TLSPair(TestCertificate(), name: "127.0.0.2")
    defer { wrong.finish() }
    try wrong.pump()
    #expect(wrong.client.seen.handshakes.isEmpty && wrong.client.seen.errors.count == 1)
  }

  @Test("a certificate that nobody trusted has signed is refused, unless the client asks for no proof")
  func untrusted() throws {
    let strict = try TLSPair(TestCertificate(), trust: .system)
    defer { strict.finish() }
    try strict.pump()
    guard case .untrustedPeer? = strict.client.seen.errors.first else {
      Issue.record("the client trusted a stranger")
      return
    }
    let careless = try TLSPair(TestCertificate(), trust: .insecure, name: "example.com")
    defer { careless.finish() }
    try careless.pump()
    #expect(careless.client.seen.handshakes.count == 1)
  }

  @Test("a close says goodbye, is answered, and is not taken for a cut")
  func goodbye() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    try pair.pump()
    pair.client.write("last words")
    pair.client.channel.close(promise: nil)
    let before = pair.server.sentBytes
    try pair.pump()
    #expect(pair.server.seen.text == "last words")
    #expect(pair.server.seen.isInactive)
    #expect(pair.server.seen.errors.isEmpty)
    #expect(pair.server.sentBytes > before)
  }

  @Test("a connection that is cut off is reported as such (truncation attack)")
  func truncated() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    try pair.pump()
    pair.server.channel.pipeline.fireChannelInactive()
    #expect(pair.server.seen.errors == [.truncated])
    #expect(pair.server.seen.isInactive)
  }

  @Test("after closing its output a side still hears the other")
  func halfClose() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    pair.server.write("all I have to say")
    pair.server.channel.close(mode: .output, promise: nil)
    pair.client.write("heard")
    try pair.pump()
    #expect(pair.client.seen.text == "all I have to say")
    #expect(pair.server.seen.text == "heard")
    #expect(pair.server.wire.isOutputClosed)
    let promise = pair.server.channel.eventLoop.makePromise(of: Void.self)
    pair.server.write("too late", promise: promise)
    #expect(throws: TLSError.closed) { try promise.futureResult.wait() }
  }

  @Test(
    "garbage instead of a handshake ends the connection with a sentence, also byte by byte",
    arguments: [
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\u{16}\u{3}\u{1}\u{7f}\u{7f}garbage garbage garbage", "\0\0\0\0\0\0\0\0",
    ])
  func garbage(text: String) throws {
    for piece in [1, 1_000] {
      let pair = try TLSPair(TestCertificate())
      defer { pair.finish() }
      var rest = Array(text.utf8)[...] + [UInt8](repeating: 0xFF, count: 40_000)
      while !rest.isEmpty, pair.server.channel.isActive {
        pair.server.channel.pipeline.fireChannelRead(ByteBuffer(bytes: rest.prefix(piece)))
        rest = rest.dropFirst(piece)
      }
      #expect(!pair.server.channel.isActive)
      guard case .handshakeFailed? = pair.server.seen.errors.first else {
        Issue.record("no handshake error")
        return
      }
    }
  }

  @Test("a flipped bit in a record ends the connection and delivers nothing")
  func tampered() throws {
    let pair = try TLSPair(TestCertificate())
    defer { pair.finish() }
    try pair.pump()
    pair.client.write("secret")
    var record = try #require(try pair.client.channel.readOutbound(as: ByteBuffer.self))
    let last = record.writerIndex - 1
    record.setInteger((record.getInteger(at: last) ?? UInt8(0)) ^ 1, at: last)
    pair.server.channel.pipeline.fireChannelRead(record)
    #expect(pair.server.seen.text.isEmpty)
    #expect(pair.server.seen.errors.count == 1)
    #expect(!pair.server.channel.isActive)
  }
}
