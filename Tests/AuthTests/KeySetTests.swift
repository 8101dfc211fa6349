import Auth
import Foundation
import Cryptography
import TestSupport
import Testing

@Suite("Key sets")
struct KeySetTests {
  let clock = TestClock()

  private func verifier(_ sources: KeySetSource..., secret: String? = nil) async throws -> JWTVerifier {
    let clock = clock
    return try JWTVerifier(
      VerifierConfiguration(hmacSecret: secret, keySets: sources), now: { clock.now }, logger: silentLogger)
  }

  /// An address whose answer may take long: only a test of the timeout is to see it.
  private func source(
    _ url: String, timeToLive: Int64 = 3600, minimumRefreshInterval: Int64 = 10, timeout: Duration = .seconds(600)
  ) -> KeySetSource {
    KeySetSource(
      .url(url), timeToLive: timeToLive, maximumAge: nil, minimumRefreshInterval: minimumRefreshInterval,
      timeout: timeout)
  }

  private func withServer<R>(_ answer: LocalServer.Answer, _ body: (LocalServer) async throws -> R) async throws -> R {
    let server = try LocalServer(answer)
    defer { server.stop() }
    return try await body(server)
  }

  private let noMatch = "no key of the key set matches the token's kid, algorithm and signature"

  /// The coordinates of a public key, as a key set writes them.
  private func coordinates(of key: PrivateKey) -> (x: String, y: String) {
    let point = key.publicKey.point
    return (base64URL(point[1..<33]), base64URL(point[33...]))
  }

  @Test("Keys of every kind are taken from a file, and what is not for signatures is passed over")
  func file() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let p256 = try PrivateKey(on: .p256)
      let point = coordinates(of: p256)
      let other = coordinates(of: try PrivateKey(on: .p256))
      let ed = try SetKey("ed")
      let document = #"""
        {"keys":[{"kty":"oct","kid":"oct","k":"AAAA"},{"kty":"OKP","crv":"X25519","kid":"x","x":"AAAA"},
        {"kty":"EC","crv":"P-256","kid":"enc","use":"enc","x":"\#(point.x)","y":"\#(point.y)"},
        {"kty":"EC","crv":"P-256","kid":"ec","alg":"ES256","x":"\#(point.x)","y":"\#(point.y)"},
        {"kty":"EC","crv":"P-256","kid":"wrong-alg","alg":"ES384","x":"\#(other.x)","y":"\#(other.y)"},
        {"kty":"RSA","kid":"rs","alg":"RS384","n":"\#(ExampleRSA.modulus)","e":"AQAB"},\#(ed.json)]}
        """#
      try document.write(toFile: folder + "/keys.json", atomically: true, encoding: .utf8)
      let verifier = try await verifier(KeySetSource(.file(folder + "/keys.json")))
      let ec = TestSigner.ecdsa(p256)
      let rs256 = try TestSigner.rsa(ExampleRSA.privateKey(), .sha256)
      let rs384 = try TestSigner.rsa(ExampleRSA.privateKey(), .sha384)
      let cases: [(TestSigner, String, String, String)] = [
        (ec, "ES256", "ec", "accepted"), (ed.signer, "EdDSA", "ed", "accepted"), (rs384, "RS384", "rs", "accepted"),
        (rs256, "RS256", "rs", noMatch), (ec, "ES256", "enc", noMatch), (ec, "ES256", "wrong-alg", noMatch),
        (ec, "ES256", "ed", noMatch),
      ]
      for (signer, algorithm, keyID, expected) in cases {
        let token = try signer.token(header: #"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#, "{}")
        #expect(await refusal { try await verifier.verifyConnection(token) } == expected)
      }
    }
  }

  @Test("A shared secret in a key set is never used: HS256 with it is refused")
  func symmetricKeyInSet() async throws {
    let ed = try SetKey("ed")
    let oct = #"{"kty":"oct","kid":"oct","alg":"HS256","k":"\#(base64URL(testSecret.utf8))"}"#
    try await withServer(.body(#"{"keys":[\#(oct),\#(ed.json)]}"#)) { server in
      let verifier = try await verifier(source(server.url))
      let token = try TestSigner.hmac().token(header: #"{"alg":"HS256","kid":"oct"}"#, "{}")
      #expect(
        await refusal { try await verifier.verifyConnection(token) } == "no HMAC secret is configured for HS256")
      #expect(server.requests == 0)
    }
  }

  @Test("A set is fetched once and kept until its time is over")
  func caching() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { server in
      let verifier = try await verifier(source(server.url, timeToLive: 100))
      for _ in 0..<5 { #expect(try await verifier.verifyConnection(key.token()).user == "42") }
      #expect(server.requests == 1)
      clock.advance(99)
      _ = try await verifier.verifyConnection(key.token())
      #expect(server.requests == 1)
      clock.advance(1)
      _ = try await verifier.verifyConnection(key.token())
      #expect(server.requests == 2)
    }
  }

  @Test("Rotation: a new kid is found at once, and a withdrawn one stops working")
  func rotation() async throws {
    let old = try SetKey("old")
    let new = try SetKey("new")
    try await withServer(.body(SetKey.document(old))) { server in
      let verifier = try await verifier(source(server.url, minimumRefreshInterval: 10))
      _ = try await verifier.verifyConnection(old.token())
      server.respond(.body(SetKey.document(new)))
      clock.advance(10)
      _ = try await verifier.verifyConnection(new.token())
      #expect(server.requests == 2)
      clock.advance(10)
      #expect(await refusal { try await verifier.verifyConnection(old.token()) } == noMatch)
    }
  }

  @Test("A flood of made-up kids causes one request per interval")
  func unknownKeyIDFlood() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { server in
      let verifier = try await verifier(source(server.url, minimumRefreshInterval: 10))
      for index in 0..<50 {
        let token = try key.signer.token(header: #"{"alg":"EdDSA","kid":"made-up-\#(index)"}"#, "{}")
        #expect(await refusal { try await verifier.verifyConnection(token) } == noMatch)
      }
      #expect(server.requests == 1)
      clock.advance(10)
      let token = try key.signer.token(header: #"{"alg":"EdDSA","kid":"made-up"}"#, "{}")
      #expect(await refusal { try await verifier.verifyConnection(token) } == noMatch)
      #expect(server.requests == 2)
    }
  }

  @Test("Many tokens at once share one request")
  func singleFlight() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { server in
      let verifier = try await verifier(source(server.url, minimumRefreshInterval: 0))
      let token = try key.token()
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<32 { group.addTask { try await verifier.verifyConnection(token).user } }
        for try await user in group { #expect(user == "42") }
      }
      #expect(server.requests == 1)
    }
  }

  @Test("Two sources never share a kid: the second one's key does not stand in for the first one's")
  func sourcesApart() async throws {
    let first = try SetKey("same")
    let second = try SetKey("same")
    try await withServer(.body(SetKey.document(first))) { one in
      try await withServer(.body(SetKey.document(second))) { two in
        let only = try await verifier(source(one.url))
        #expect(await refusal { try await only.verifyConnection(second.token()) } == noMatch)
        let both = try await verifier(source(one.url), source(two.url))
        _ = try await both.verifyConnection(first.token())
        _ = try await both.verifyConnection(second.token())
      }
    }
  }

  @Test("While the source fails the old keys hold for one more term, then tokens are refused as temporary")
  func outage() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { server in
      let verifier = try await verifier(source(server.url, timeToLive: 100, minimumRefreshInterval: 10))
      _ = try await verifier.verifyConnection(key.token())
      server.respond(.status(500, headers: ""))
      clock.advance(199)
      _ = try await verifier.verifyConnection(key.token())
      clock.advance(1)
      #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
      let asked = server.requests
      #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
      #expect(server.requests == asked)
      server.respond(.body(SetKey.document(key)))
      clock.advance(10)
      _ = try await verifier.verifyConnection(key.token())
    }
  }

  @Test("A key that was withdrawn stops counting at the stated age while its source is down, also below two terms")
  func maximumAge() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { server in
      var source = source(server.url, timeToLive: 100, minimumRefreshInterval: 10)
      source.maximumAge = 130
      let verifier = try await verifier(source)
      _ = try await verifier.verifyConnection(key.token())
      server.respond(.status(500, headers: ""))
      clock.advance(129)
      _ = try await verifier.verifyConnection(key.token())
      clock.advance(1)
      #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
    }
  }

  @Test("A key that is not in the set any more stops counting as soon as the set is read again")
  func withdrawn() async throws {
    let (old, new) = (try SetKey("a"), try SetKey("b"))
    try await withServer(.body(SetKey.document(old))) { server in
      let verifier = try await verifier(source(server.url, timeToLive: 100))
      _ = try await verifier.verifyConnection(old.token())
      server.respond(.body(SetKey.document(new)))
      clock.advance(100)
      #expect(await refusal { try await verifier.verifyConnection(old.token()) } == noMatch)
    }
  }

  @Test("The configured secret works while the key set does not")
  func secretBesideSet() async throws {
    let verifier = try await verifier(KeySetSource(.file("/does/not/exist")), secret: testSecret)
    let token = try TestSigner.hmac().token(#"{"sub":"7"}"#)
    #expect(try await verifier.verifyConnection(token).user == "7")
    let key = try SetKey("a")
    #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
  }

  @Test("A redirect is not followed")
  func redirect() async throws {
    let key = try SetKey("a")
    try await withServer(.body(SetKey.document(key))) { target in
      try await withServer(.status(302, headers: "Location: \(target.url)\r\n")) { server in
        let verifier = try await verifier(source(server.url))
        #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
        #expect(server.requests == 1)
        #expect(target.requests == 0)
      }
    }
  }

  @Test("An answer over 1 MiB is given up, with a stated length and without")
  func hugeAnswer() async throws {
    let key = try SetKey("a")
    let padded = SetKey.document(key) + String(repeating: " ", count: KeySetSource.maximumBytes)
    for answer in [LocalServer.Answer.body(padded), .flood(bytes: 4 * KeySetSource.maximumBytes)] {
      try await withServer(answer) { server in
        let verifier = try await verifier(source(server.url))
        #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
      }
    }
  }

  @Test(
    "A source that never ends its answer is given up after the timeout, also when it keeps sending",
    .timeLimit(.minutes(15)), arguments: [LocalServer.Answer.stall, .drip])
  func stalledAnswer(_ answer: LocalServer.Answer) async throws {
    let key = try SetKey("a")
    try await withServer(answer) { server in
      let verifier = try await verifier(source(server.url, timeout: .milliseconds(200)))
      #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
    }
  }

  @Test(
    "An answer that is no key set is refused",
    arguments: ["", "{}", "[]", #"{"keys":[]}"#, #"{"keys":{}}"#, #"{"keys":[{"kty":"EC"}]}"#, "<html>"])
  func garbage(_ body: String) async throws {
    let key = try SetKey("a")
    try await withServer(.body(body)) { server in
      let verifier = try await verifier(source(server.url))
      #expect(await refusal { try await verifier.verifyConnection(key.token()) }.hasPrefix("unavailable"))
    }
  }

  @Test(
    "An address without TLS to another machine is refused at the start",
    arguments: [
      "http://id.example/keys", "ftp://id.example/keys", "file:///etc/passwd", "https://", "keys",
      "http://127.0.0.1.evil.com/", "https://user@id.example/",
    ])
  func plainAddress(_ address: String) async throws {
    #expect(throws: VerifierConfigurationError.unacceptableKeySetAddress) {
      try JWTVerifier(VerifierConfiguration(keySets: [KeySetSource(.url(address))]))
    }
  }
}
