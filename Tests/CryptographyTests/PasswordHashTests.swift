import Cryptography
import Testing

@Suite("Hashes of passwords")
struct PasswordHashTests {
  private static let hash = PasswordHash(of: "correct horse battery staple")

  @Test("A hash knows its password and no other, also after it was read from a file")
  func right() throws {
    #expect(Self.hash.isOf("correct horse battery staple"))
    for wrong in ["", "correct horse battery stapl", "correct horse battery staple ", "Correct horse battery staple"] {
      #expect(!Self.hash.isOf(wrong))
    }
    let read = try #require(PasswordHash(text: Self.hash.text))
    #expect(read == Self.hash && read.isOf("correct horse battery staple"))
  }

  @Test("Two hashes of one password differ, and neither holds it")
  func salted() {
    let other = PasswordHash(of: "correct horse battery staple")
    #expect(other != Self.hash && other.text != Self.hash.text)
    #expect(!other.text.contains("horse"))
  }

  /// The digest is what `openssl kdf` makes of the same password and salt with n 1024, r 8 and p 1.
  @Test("It is scrypt (RFC 7914)")
  func vector() throws {
    let salt = "000102030405060708090a0b0c0d0e0f"
    let digest = "9a9f74cc441de571a18c4bf8580ad51f86745d14b39065ad24ad92fc05c99515"
    let hash = try #require(PasswordHash(text: "scrypt$10$8$1$\(salt)$\(digest)"))
    #expect(hash.isOf("correct horse battery staple"))
    #expect(!hash.isOf("correct horse battery stable"))
  }

  @Test(
    "What is no hash, or would take the machine's memory, is not read",
    arguments: [
      "", "scrypt", "scrypt$15$8$1$$", "bcrypt$15$8$1$SALT$DIGEST", "scrypt$30$8$1$SALT$DIGEST",
      "scrypt$15$900$1$SALT$DIGEST", "scrypt$15$8$0$SALT$DIGEST", "scrypt$-1$8$1$SALT$DIGEST",
      "scrypt$15$8$1$SALT$DIGEST$", "scrypt$15$8$1$SALTS$DIGEST", "scrypt$15$8$1$+aSALT$DIGEST",
    ])
  func refused(_ form: String) {
    let (salt, digest) = (String(repeating: "0a", count: 16), String(repeating: "f0", count: 32))
    let text = form.replacing("SALT", with: salt).replacing("DIGEST", with: digest)
    #expect(PasswordHash(text: text) == nil)
    #expect(PasswordHash(text: "scrypt$15$8$1$\(salt)$\(digest)") != nil)
  }
}
