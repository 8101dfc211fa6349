import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import TLS

@Suite("TLS memory", .ownThread)
struct TLSMemoryTests {
  @Test("what a large message needed is given back when it has passed, in both directions")
  func givenBack() throws {
    let certificate = try TestCertificate()
    let handlers = [
      try TLSContext.server(certificate.files).makeServerHandler(),
      try TLSContext.client(trust: .authorities(path: certificate.chainPath)).makeClientHandler(
        serverName: "localhost"),
    ]
    let pair = TLSPair(server: try .init(handlers[0]), client: try .init(handlers[1]))
    defer { pair.finish() }
    try pair.pump()
    let large = String(repeating: "x", count: 1 << 20)
    for _ in 0..<3 {
      pair.client.write(large)
      pair.server.write(large)
      pair.server.write("small")
      try pair.pump()
    }
    #expect(pair.server.seen.received.readableBytes == 3 << 20)
    #expect(pair.client.seen.received.readableBytes == 3 * ((1 << 20) + 5))
    for handler in handlers { #expect(handler.session.heldBytes == 0) }
    for handler in handlers { #expect(handler.session.loop.heldBytes <= TLSLoop.keptBytes) }
    // The server's, whose records are ours.
    #expect(handlers.map(\.session.isTakenOver) == [true, false])
    pair.client.write("and on")
    try pair.pump()
    #expect(pair.server.seen.text.hasSuffix("xand on"))
    #expect(pair.server.seen.errors.isEmpty && pair.client.seen.errors.isEmpty)
  }
}
