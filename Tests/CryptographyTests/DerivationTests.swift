import Cryptography
import Testing

/// One of the test cases of RFC 5869, appendix A.
struct DerivationVector: Sendable, CustomTestStringConvertible {
  let name: String
  let digest: Digest
  let secret: [UInt8]
  let salt: [UInt8]
  let info: [UInt8]
  /// The derived key, in hexadecimal digits.
  let derived: String

  var testDescription: String { name }

  private static func run(_ first: UInt8, _ count: Int) -> [UInt8] { (0..<count).map { first + UInt8($0) } }
  private static func same(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

  static let all: [DerivationVector] = [
    DerivationVector(
      name: "A.1, SHA-256", digest: .sha256, secret: same(0x0b, 22), salt: run(0, 13), info: run(0xf0, 10),
      derived: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
    DerivationVector(
      name: "A.2, SHA-256, longer", digest: .sha256, secret: run(0, 80), salt: run(0x60, 80), info: run(0xb0, 80),
      derived: """
        b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e\
        09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
        """),
    DerivationVector(
      name: "A.3, SHA-256, neither salt nor info", digest: .sha256, secret: same(0x0b, 22), salt: [], info: [],
      derived: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
    DerivationVector(
      name: "A.4, SHA-1", digest: .sha1, secret: same(0x0b, 11), salt: run(0, 13), info: run(0xf0, 10),
      derived: "085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3f896"),
    DerivationVector(
      name: "A.6, SHA-1, neither salt nor info", digest: .sha1, secret: same(0x0b, 22), salt: [], info: [],
      derived: "0ac1af7002b3d761d1e55298da9d0506b9ae52057220a306e07b6b87e8df21d0ea00033de03984d34918"),
    DerivationVector(
      name: "A.7, SHA-1, no salt given", digest: .sha1, secret: same(0x0c, 22), salt: [], info: [],
      derived: "2c91117204d745f3500d636a62f64f0ab3bae548aa53d423b0d1f27ebba6f5e5673a081d70cce7acfc48"),
  ]
}

@Suite("Derived keys (HKDF)")
struct DerivationTests {
  @Test("a derived key is that of RFC 5869", arguments: DerivationVector.all)
  func vector(_ vector: DerivationVector) {
    let expected = bytes(hex: vector.derived)
    let derived = SecretKey(vector.secret).derived(
      salt: vector.salt, info: vector.info, count: expected.count, with: vector.digest)
    #expect(derived.bytes == expected)
  }

  @Test("a shorter key is the beginning of a longer one, up to 255 digests", arguments: Digest.allCases)
  func lengths(_ digest: Digest) {
    let secret = SecretKey([1, 2, 3])
    let longest = secret.derived(info: [7], count: 255 * digest.count, with: digest).bytes
    for count in [1, digest.count - 1, digest.count, digest.count + 1, 254 * digest.count] {
      #expect(secret.derived(info: [7], count: count, with: digest).bytes == Array(longest.prefix(count)))
    }
  }

  @Test("another secret, salt or info gives another key")
  func separation() {
    let keys = [
      SecretKey([1]).derived(salt: [2], info: [3], count: 32), SecretKey([9]).derived(salt: [2], info: [3], count: 32),
      SecretKey([1]).derived(salt: [9], info: [3], count: 32), SecretKey([1]).derived(salt: [2], info: [9], count: 32),
      SecretKey([]).derived(info: [], count: 32),
    ]
    #expect(Set(keys.map(\.bytes)).count == keys.count)
  }
}
