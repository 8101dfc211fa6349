import HTTPClient
import Cryptography
import Foundation
import Testing
import Wire

@testable import Push

@Suite("Web Push: encryption and tokens")
struct WebPushTests {
  /// RFC 8291, appendix A.
  private static let serverKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
  private static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
  private static let text = "When I grow up, I want to be a watermelon"
  private static let encrypted = """
    DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A\
    _yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
    """

  @Test("The example of RFC 8291 is encrypted to the bytes that stand there")
  func vector() throws {
    let own = try VAPIDKey(Self.serverKey).key
    let bytes = try WebPushEncryption.encrypt(
      Array(Self.text.utf8), for: try ExampleBrowser.subscription(), own: own,
      salt: try #require(Base64.url.bytes(Self.salt)))
    #expect(Base64.url.text(bytes) == Self.encrypted)
  }

  @Test("The example of RFC 8188 is encoded to the bytes that stand there")
  func record() throws {
    func bytes(_ text: String) throws -> [UInt8] { try #require(Base64.url.bytes(text)) }
    let encoded = try WebPushEncryption.record(
      Array("I am the walrus".utf8), secret: SecretKey(try bytes("yqdlZ-tYemfogSmv7Ws5PQ")),
      salt: try bytes("I1BsxtFttlv3u_Oo94xnmw"), keyID: [])
    #expect(Base64.url.text(encoded) == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
  }

  @Test("The longest text makes 4096 bytes, one byte more is refused, and each message has keys of its own")
  func sizes() throws {
    let subscription = try ExampleBrowser.subscription()
    let longest = [UInt8](repeating: 7, count: PushPayload.webPushBytes)
    let first = try WebPushEncryption.encrypt(longest, for: subscription)
    let second = try WebPushEncryption.encrypt(longest, for: subscription)
    #expect(first.count == 4096 && second.count == 4096)
    #expect(first[..<16] != second[..<16] && first[21..<86] != second[21..<86])
    #expect(throws: UnusableKey()) { try WebPushEncryption.encrypt(longest + [7], for: subscription) }
    #expect(try WebPushEncryption.encrypt([], for: subscription).count == 86 + 17)
  }

  @Test("The token in RFC 8292 is one that its key signed")
  func vapidVector() throws {
    let token = """
      eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6\
      Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSS\
      HzvoD1oA
      """
    let point = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
    let key = try PublicKey(.p256, point: try #require(Base64.url.bytes(point)))
    let read = try ReadToken(token, key)
    #expect(read.isSigned && read.claims.text("aud") == "https://push.example.net")
  }

  private func read(_ authorization: String, _ key: VAPIDKey) throws -> ReadToken {
    let parts = authorization.dropFirst("vapid t=".count).components(separatedBy: ", k=")
    try #require(parts.count == 2 && parts[1] == key.publicText)
    return try ReadToken(parts[0], key.key.publicKey)
  }

  @Test("A token names the origin and us, holds for less than a day, and is made anew before its end")
  func tokens() throws {
    let key = try VAPIDKey()
    let tokens = VAPIDTokens(key, subject: "mailto:push@example.com")
    let origin = "https://push.example.net"
    let first = try tokens.authorization(for: origin, now: 1000)
    let token = try read(first, key)
    #expect(token.isSigned && token.header.text("alg") == "ES256" && token.header.text("typ") == "JWT")
    #expect(token.claims.text("aud") == origin && token.claims.text("sub") == "mailto:push@example.com")
    let end = try #require(token.claims.text("exp").flatMap { Int64($0) })
    #expect(end == 1000 + VAPIDTokens.lifetime && VAPIDTokens.lifetime < 86_400)
    #expect(try tokens.authorization(for: origin, now: 1000 + VAPIDTokens.renewal - 1) == first)
    let next = try tokens.authorization(for: origin, now: 1000 + VAPIDTokens.renewal)
    #expect(next != first && VAPIDTokens.renewal < VAPIDTokens.lifetime)
    let earlier = try read(try tokens.authorization(for: origin, now: 500), key)
    #expect(earlier.claims.text("exp") == "\(500 + VAPIDTokens.lifetime)", "a clock that was set back")
  }

  @Test("However many origins are named, a bounded number of tokens is kept")
  func origins() throws {
    let tokens = VAPIDTokens(try VAPIDKey(), subject: "mailto:a@b")
    for number in 0..<(VAPIDTokens.mostOrigins + 20) {
      _ = try tokens.authorization(for: "https://\(number).example", now: Int64(number))
    }
    #expect(tokens.count == VAPIDTokens.mostOrigins)
  }

  @Test("A key comes back from its text, and is read from PEM; other texts are no keys")
  func keys() throws {
    let key = try VAPIDKey()
    #expect(try VAPIDKey(try key.privateText()).publicText == key.publicText)
    #expect(Base64.url.bytes(key.publicText)?.count == 65)
    #expect(try VAPIDKey(Self.serverKey).publicText == String(Self.point))
    for bad in ["", "AAAA", String(repeating: "A", count: 43), key.key.publicKey.pem] {
      #expect(throws: VAPIDKey.Invalid()) { try VAPIDKey(bad) }
    }
  }

  /// The point of the server's key in RFC 8291.
  private static let point = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

  @Test("The name of what may be replaced is a Topic, is the same each time, and tells nobody what two devices share")
  func tags() throws {
    let tags = CollapseTags(secret: SecretKey([1, 2, 3]))
    let (one, two) = (
      try ExampleBrowser.device("https://a.example/1"), try ExampleBrowser.device("https://a.example/2")
    )
    let tag = tags.tag("chat:7", for: one)
    #expect(tag.utf8.count == 32 && Base64.url.bytes(tag) != nil && tag == tags.tag("chat:7", for: one))
    let others = [
      tags.tag("chat:8", for: one), tags.tag("chat:7", for: two),
      CollapseTags(secret: SecretKey([4])).tag("chat:7", for: one),
    ]
    #expect(!others.contains(tag) && Set(others).count == 3)
  }

  @Test("A request has the headers of RFC 8030, and goes nowhere but to allowed hosts")
  func request() throws {
    let sender = try WebPushSender(
      PushConfiguration.WebPush(key: try VAPIDKey(), subject: "mailto:a@b", allowedHosts: ["example.net"]))
    let device = try ExampleBrowser.device("https://push.example.net/a")
    let message = try PushMessage(title: "Ada", urgency: .veryLow, timeToLive: 60, collapseKey: "chat:7")
    let call = try sender.call(
      message, to: device, try ExampleBrowser.subscription("https://push.example.net/a"), now: 0, milliseconds: 5)
    let headers = Dictionary(uniqueKeysWithValues: call.headers.map { ($0.name, $0.value) })
    #expect(call.method == "POST" && call.url == "https://push.example.net/a" && call.timeoutMilliseconds == 5)
    #expect(headers["TTL"] == "60" && headers["Urgency"] == "very-low" && headers["Content-Encoding"] == "aes128gcm")
    #expect(headers["Topic"]?.utf8.count == 32 && headers["Authorization"]?.hasPrefix("vapid t=") == true)
    let elsewhere = try ExampleBrowser.subscription("https://push.example.org/a")
    #expect {
      try sender.call(message, to: .webPush(elsewhere), elsewhere, now: 0, milliseconds: 5)
    } throws: { error in
      guard case .refused(let said)? = (error as? PreparationFault)?.outcome else { return false }
      return said.contains("push.web.allowed_hosts")
    }
  }
}
