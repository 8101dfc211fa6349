import Cryptography
import Testing

@Suite("AES-GCM")
struct SealTests {
  private let nonce = bytes(hex: "cafebabefacedbaddecaf888")
  private let text = bytes(
    hex: """
      d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657\
      ba637b39
      """)
  private let beside = bytes(hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2")

  @Test(
    "seals as the mode's authors do (test cases 4 and 16)",
    arguments: [
      (
        "feffe9928665731c6d6a8f9467308308",
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac97"
          + "3d58e091", "5bc94fbc3221a5db94fae95ae7121a47"
      ),
      (
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a"
          + "bcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b"
      ),
    ])
  func vectors(_ key: String, _ sealed: String, _ tag: String) throws {
    let key = SecretKey(bytes(hex: key))
    let result = try AESGCM.seal(text, with: key, authenticating: beside, nonce: nonce)
    #expect(result == nonce + bytes(hex: sealed) + bytes(hex: tag))
    #expect(try AESGCM.open(result, with: key, authenticating: beside) == text)
    #expect(
      try AESGCM.open(result[12...], nonce: nonce, with: key, authenticating: beside) == text)
  }

  @Test("what was changed anywhere, cut off, or is named otherwise does not open")
  func changes() throws {
    let key = SecretKey(randomBytes: 32)
    for message in [[], [7], text] {
      let sealed = try AESGCM.seal(message, with: key, authenticating: beside)
      #expect(try AESGCM.open(sealed, with: key, authenticating: beside) == message)
      #expect(sealed != (try AESGCM.seal(message, with: key, authenticating: beside)), "a nonce of its own")
      for index in sealed.indices {
        var changed = sealed
        changed[index] ^= 0x80
        #expect(throws: AESGCM.Refusal()) { try AESGCM.open(changed, with: key, authenticating: beside) }
        #expect(throws: AESGCM.Refusal()) {
          try AESGCM.open(Array(sealed[..<index]), with: key, authenticating: beside)
        }
      }
      #expect(throws: AESGCM.Refusal()) { try AESGCM.open(sealed, with: key) }
      #expect(throws: AESGCM.Refusal()) {
        try AESGCM.open(sealed, with: SecretKey(randomBytes: 32), authenticating: beside)
      }
    }
  }

  @Test("keys and nonces of other lengths are refused", arguments: [0, 1, 15, 24, 31, 33])
  func lengths(_ count: Int) throws {
    #expect(throws: AESGCM.Refusal()) { try AESGCM.seal([1], with: SecretKey(randomBytes: count)) }
    let key = SecretKey(randomBytes: 32)
    #expect(throws: AESGCM.Refusal()) { try AESGCM.seal([1], with: key, nonce: Randomness.bytes(count)) }
  }
}
