import Cryptography

/// Identifiers that are worked out rather than drawn, so that a decision stays a function of its input.
///
/// They are the first 128 bits of SHA-256 over parts with their lengths before them: two people's conversation has the
/// same id on every machine, and nobody can choose a user id so that two conversations share one.
enum CliqueIdentifier {
  static func pair(_ a: String, _ b: String) -> String { "p" + hex([a, b]) }

  static func group(by user: String, key: String) -> String { "g" + hex(["group", user, key]) }

  /// The identifier of the parts, as 32 hexadecimal digits.
  static func hex(_ parts: [String]) -> String {
    var message: [UInt8] = []
    for part in parts {
      let count = UInt64(part.utf8.count)
      for shift in stride(from: UInt64(56), through: 0, by: -8) {
        message.append(UInt8(truncatingIfNeeded: count >> shift))
      }
      message.append(contentsOf: part.utf8)
    }
    return Digest.sha256.hash(message).prefix(16).hexadecimal
  }
}
