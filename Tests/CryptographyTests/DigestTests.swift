import Cryptography
import Testing

func bytes(hex text: String) -> [UInt8] {
  let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

@Suite("Digests, against published vectors")
struct DigestTests {
  @Test("digests of \"abc\" (FIPS 180-4)")
  func digests() {
    let expected: [Digest: String] = [
      .sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
      .sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      .sha384: """
      cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7
      """,
      .sha512: """
      ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd\
      454d4423643ce80e2a9ac94fa54ca49f
      """,
    ]
    for digest in Digest.allCases {
      #expect(digest.hash(Array("abc".utf8)) == expected[digest].map(bytes(hex:)))
      #expect(digest.hash([]).count == digest.count)
    }
  }

  @Test("keyed digests (RFC 4231, case 2)")
  func keyedDigests() {
    let key = SecretKey(Array("Jefe".utf8))
    let message = Array("what do ya want for nothing?".utf8)
    let expected: [Digest: String] = [
      .sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      .sha384: """
      af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649
      """,
      .sha512: """
      164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
      caeab1a34d4a6b4b636e070a38bce737
      """,
    ]
    for (digest, tag) in expected {
      var tag = bytes(hex: tag)
      #expect(digest.authenticate(message, with: key) == tag)
      #expect(digest.isAuthentic(message, tag, with: key))
      #expect(!digest.isAuthentic(message, tag.dropLast(), with: key))
      #expect(!digest.isAuthentic(message, tag, with: SecretKey(Array("jefe".utf8))))
      tag[0] ^= 1
      #expect(!digest.isAuthentic(message, tag, with: key))
    }
  }

  @Test("two digests are the same when all of their bytes are, and never where one is longer")
  func sameness() {
    let digest = Digest.sha256.hash([1])
    #expect(Digest.areSame(digest, Digest.sha256.hash([1])) && Digest.areSame([], []))
    for index in digest.indices {
      var other = digest
      other[index] ^= 1
      #expect(!Digest.areSame(digest, other) && !Digest.areSame(digest, Array(digest[..<index])))
    }
    #expect(!Digest.areSame(digest, digest + [0]) && !Digest.areSame([], [0]))
  }

  @Test("random bytes are not drawn twice, and a secret keeps what it was given")
  func randomness() {
    let drawn = (0..<100).map { _ in Randomness.bytes(16) }
    #expect(Set(drawn).count == 100)
    #expect(Randomness.bytes(0).isEmpty)
    #expect(SecretKey([1, 2, 3]).bytes == [1, 2, 3])
    #expect(SecretKey([]).bytes.isEmpty)
    #expect(SecretKey(randomBytes: 32).count == 32)
  }
}
