import TLS
import Testing

@Suite("Digest")
struct DigestTests {
  @Test("the WebSocket answer is the one in the RFC's example")
  func example() {
    #expect(Digest.webSocketAccept(key: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }
}
