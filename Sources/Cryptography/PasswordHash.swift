internal import COpenSSL

/// What is kept of a password: a salted digest that is slow to work out (scrypt, RFC 7914), so that whoever reads it can
/// try few passwords.
public struct PasswordHash: Sendable, Equatable {
  /// What one digest costs. Memory is 128 bytes × `blocks` × 2^`logarithm`.
  private struct Cost: Sendable, Equatable {
    var logarithm: Int
    var blocks: Int
    var parallel: Int

    /// 32 MiB, and about a tenth of a second.
    static let standard = Cost(logarithm: 15, blocks: 8, parallel: 1)

    /// A file that somebody has written must not take the machine's memory.
    var isBearable: Bool {
      (10...17).contains(logarithm) && (1...8).contains(blocks) && (1...4).contains(parallel)
    }
  }

  private static let name = "scrypt"
  private static let saltBytes = 16
  private static let digestBytes = 32
  /// Beyond what one digest takes at most.
  private static let mostMemory: UInt64 = 256 << 20

  private let cost: Cost
  private let salt: [UInt8]
  private let digest: [UInt8]

  /// Takes about a tenth of a second and 32 MiB.
  public init(of password: String) {
    cost = .standard
    salt = Randomness.bytes(Self.saltBytes)
    digest = Self.digest(of: password, salt, cost)
  }

  /// Reads ``text``; nil where it is none, or would cost more than a server may spend on it.
  public init?(text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0] == Self.name, let logarithm = Int(parts[1]), let blocks = Int(parts[2]),
      let parallel = Int(parts[3]), let salt = Self.bytes(parts[4]), let digest = Self.bytes(parts[5])
    else { return nil }
    let cost = Cost(logarithm: logarithm, blocks: blocks, parallel: parallel)
    guard cost.isBearable, salt.count == Self.saltBytes, digest.count == Self.digestBytes else { return nil }
    (self.cost, self.salt, self.digest) = (cost, salt, digest)
  }

  /// For a file: `scrypt$15$8$1$SALT$DIGEST`, the last two in hexadecimal digits.
  public var text: String {
    "\(Self.name)$\(cost.logarithm)$\(cost.blocks)$\(cost.parallel)$\(salt.hexadecimal)$\(digest.hexadecimal)"
  }

  /// Whether it is this password's. Takes as long as making one; the comparison takes the same time for any wrong one.
  public func isOf(_ password: String) -> Bool {
    Digest.areSame(digest, Self.digest(of: password, salt, cost))
  }

  private static func digest(of password: String, _ salt: [UInt8], _ cost: Cost) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: digestBytes)
    let bytes = password.utf8.map { CChar(bitPattern: $0) }
    let isDone =
      unsafe EVP_PBE_scrypt(
        bytes, bytes.count, salt, salt.count, 1 << UInt64(cost.logarithm), UInt64(cost.blocks),
        UInt64(cost.parallel), mostMemory, &result, result.count) == 1
    precondition(isDone, "OpenSSL lacks scrypt, which it must have, or memory is out")
    return result
  }

  private static func bytes(_ text: Substring) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2), text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    var bytes: [UInt8] = []
    var rest = text
    while !rest.isEmpty {
      guard let byte = UInt8(rest.prefix(2), radix: 16), rest.first != "+" else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}
