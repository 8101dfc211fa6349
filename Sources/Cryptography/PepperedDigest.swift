/// Digests of texts that must not be kept themselves: with a secret number before them, so that only who has the number
/// can try texts against a digest.
public struct PepperedDigest: Sendable, Equatable {
  private let pepper: [UInt8]

  public init(pepper: [UInt8]) { self.pepper = pepper }

  /// 128 bits of SHA-256, as 32 hexadecimal digits.
  public func digest(of text: some StringProtocol) -> String {
    Digest.sha256.hash(pepper + Array(text.utf8)).prefix(16).hexadecimal
  }
}
