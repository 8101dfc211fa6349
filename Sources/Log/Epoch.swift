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
}
