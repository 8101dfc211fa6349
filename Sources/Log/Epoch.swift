import Wire

/// Makes epochs: short, and random, so that no two lives of a channel share one by chance.
public enum Epoch {
  /// 36^8 is 2.8 × 10^12: the chance that a channel's next epoch equals one that some client still holds is nil.
  public static let length = 8
  static let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)

  /// Eight characters of `a`–`z` and `0`–`9`.
  public static func random(using generator: inout some RandomNumberGenerator) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length)
    for _ in 0..<length { bytes.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The epoch of a channel of which nothing is stored: the same whenever it is asked for, so that a channel on which
  /// nothing was published yet keeps its epoch over restarts without a row of its own. The first publication writes the
  /// epoch into the channel's row.
  ///
  /// - Parameters:
  ///   - seed: random text, drawn when the store was made.
  ///   - generation: rises when a channel is forgotten that may have had this name. Offsets that were given out in its
  ///     epoch are forgotten then, and must not be given out again in the same epoch.
  static func derived(from seed: String, generation: Int64, durability: Durability, name: ChannelName) -> String {
    // FNV-1a, then the finish of SplitMix64, so that names that differ little differ in every character.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for part in [seed, "\(generation)", durability.rawValue, name.string] {
      for byte in part.utf8 {
        hash ^= UInt64(byte)
        hash &*= 0x0000_0100_0000_01b3
      }
      hash ^= 0xFF  // Ends a part: no byte of UTF-8 is 0xFF.
      hash &*= 0x0000_0100_0000_01b3
    }
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    hash ^= hash >> 31
    var bytes: [UInt8] = []
    for _ in 0..<length {
      bytes.append(alphabet[Int(hash % UInt64(alphabet.count))])
      hash /= UInt64(alphabet.count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// What the epochs of a store's channels are made of beside what stands in the channels' rows.
struct EpochParts: Sendable, Equatable {
  /// Random text from which the epochs of channels without a row follow.
  var seed: String
  /// Ends the epochs of `durable` channels: changes when acknowledged entries are missing. May be empty.
  var era: String
  /// Ends the epochs of `relaxed` channels: changes whenever entries that were delivered may be missing. May be empty.
  var run: String
}
