import Cryptography
import Testing
import Wire

@testable import Gateway

@Suite("Signatures of keys that may be tracked")
struct TrackSignatureTests {
  static let secret = "a secret of the backend with 32 b"
  static let now: Int64 = 1_700_000_000

  /// Signs as a backend does.
  static func signature(
    _ keys: [String], user: String = "u", channel: String = "c", issued: Int64 = now, end: Int64 = now + 60,
    secret: String = secret
  ) -> String {
    let keys = Digest.sha256.hash(Array(keys.joined(separator: "\0").utf8)).hexadecimal
    let message = "\(issued)\0\(end)\0\(user)\0\(channel)\0\(keys)"
    let tag = Digest.sha256.authenticate(Array(message.utf8), with: SecretKey(Array(secret.utf8)))
    return "\(issued):\(end):\(tag.hexadecimal)"
  }

  static func batch(_ keys: [String], _ signature: String) -> ClientCommand.TrackBatch {
    var batch = ClientCommand.TrackBatch()
    batch.signature = signature
    batch.items = keys.map { .init(key: $0) }
    return batch
  }

  private func check(
    _ keys: [String], _ signature: String, user: String = "u", channel: String = "c", at now: Int64 = now,
    by signatures: TrackSignatures = TrackSignatures(key: SecretKey(Array(secret.utf8)))
  ) -> Result<Int64, ClientError> {
    Result { () throws(ClientError) in
      try signatures.check(Self.batch(keys, signature), user: user, channel: channel, at: now)
    }
  }

  private func code(_ result: Result<Int64, ClientError>) -> UInt32? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  @Test("a signature made by another program in the documented way is taken")
  func known() {
    // python3: hmac over "1700000000\0" + "1700000060\0u\0c\0" + sha256(b"a\0b").hexdigest()
    let signature =
      "1700000000:1700000060:a9fa0bd6148b60fc634625b4431d20e3705f4f2c447c4c55daf8498802e8a61f"
    #expect(signature == Self.signature(["a", "b"]))
    #expect((try? check(["a", "b"], signature).get()) == Self.now + 60)
  }

  @Test("other keys, another order, user, channel, time or secret is refused")
  func other() {
    let signature = Self.signature(["a", "b"])
    #expect(code(check(["a", "b"], signature)) == nil)
    for keys in [["a"], ["b", "a"], ["a", "b", "c"], ["ab"], ["a", "b", ""]] {
      #expect(code(check(keys, signature)) == 103, "\(keys)")
    }
    #expect(code(check(["a", "b"], signature, user: "v")) == 103)
    #expect(code(check(["a", "b"], signature, channel: "d")) == 103)
    #expect(code(check(["a", "b"], Self.signature(["a", "b"], secret: Self.secret + "x"))) == 103)
    let later = signature.replacing("1700000060", with: "1800000000")
    #expect(code(check(["a", "b"], later)) == 103)
    for text in ["", ":", "::", "a:b:c", "1:2", signature + ":", "-" + signature, signature.uppercased(), "1:2:"] {
      #expect(code(check(["a", "b"], text)) == 103, "\(text)")
    }
  }

  @Test("no field can be moved into the next with a zero byte")
  func zeroBytes() {
    let signature = Self.signature(["k"], user: "u", channel: "d\0c")
    #expect(code(check(["k"], signature, user: "u\0d", channel: "c")) == 103)
    #expect(code(check(["k"], signature, user: "u", channel: "d\0c")) == 103)
  }

  @Test("an expired one is told apart, five seconds late; one without an end never expires")
  func expiry() {
    let signature = Self.signature(["a"])
    #expect(code(check(["a"], signature, at: Self.now + 65)) == nil)
    #expect(code(check(["a"], signature, at: Self.now + 66)) == 109)
    let endless = Self.signature(["a"], end: 0)
    #expect((try? check(["a"], endless, at: .max - 10).get()) == .max)
  }

  @Test("while the secret is replaced, both count, the older one up to a time")
  func rotation() {
    let old = "the secret before that, of 32 bytes"
    func signatures(until: Int64) -> TrackSignatures {
      TrackSignatures(
        key: SecretKey(Array(Self.secret.utf8)), previousKey: SecretKey(Array(old.utf8)), previousUntil: until)
    }
    let signature = Self.signature(["a"], secret: old)
    #expect(code(check(["a"], signature)) == 103)
    #expect(code(check(["a"], signature, by: signatures(until: 0))) == nil)
    #expect(code(check(["a"], signature, by: signatures(until: Self.now))) == nil)
    #expect(code(check(["a"], signature, by: signatures(until: Self.now - 1))) == 103)
    #expect(code(check(["a"], Self.signature(["a"]), by: signatures(until: 1))) == nil)
  }
}
