public import Cryptography
import Wire

/// Checks which keys of a shared poll a user may track: the backend has signed them.
///
/// A signature is `iat:exp:hmac`: when it was made and when it ends, in seconds since 1970 (0: never), and the HMAC of
/// both, the user, the channel and the keys in their order, as lower-case hexadecimal digits. Zero bytes part the fields
/// that are signed, and the keys within the digest that stands for them, so that no text of one field can pass for
/// another's: whoever has a zero byte in theirs is refused.
public struct TrackSignatures: Sendable {
  private let key: SecretKey
  /// Signatures of which are still taken; nil: there is none.
  private let previousKey: SecretKey?
  /// Seconds since 1970 after which none is made with the previous key any more; 0: no limit.
  private let previousUntil: Int64

  public init(key: SecretKey, previousKey: SecretKey? = nil, previousUntil: Int64 = 0) {
    self.key = key
    self.previousKey = previousKey
    self.previousUntil = previousUntil
  }

  /// Seconds for which an expired signature is taken: clocks differ, and it was on its way.
  static let graceSeconds: Int64 = 5

  /// - Parameters:
  ///   - now: seconds since 1970.
  /// - Returns: when the signature ends, in seconds since 1970; `Int64.max`: never.
  /// - Throws: error 103 where it is not the backend's, 109 where it has expired.
  func check(
    _ batch: ClientCommand.TrackBatch, user: String, channel: String, at now: Int64
  ) throws(ClientError) -> Int64 {
    let invalid = ClientError.permissionDenied.saying("the signature is not one of these keys for this user")
    let parts = batch.signature.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 3, let issued = Self.seconds(parts[0]), let end = Self.seconds(parts[1]) else { throw invalid }
    guard !user.utf8.contains(0), !channel.utf8.contains(0) else { throw invalid }
    var keys: [UInt8] = []
    for (place, item) in batch.items.enumerated() {
      if place > 0 { keys.append(0) }
      keys += item.key.utf8
    }
    var message = Array(parts[0]) + [0] + Array(parts[1]) + [0]
    message += Array(user.utf8) + [0] + Array(channel.utf8) + [0]
    message += Array(Digest.sha256.hash(keys).hexadecimal.utf8)
    let tag = Array(parts[2])
    guard isSigned(message, tag, with: key) || isSignedBefore(message, tag, issued) else { throw invalid }
    guard end != 0 else { return .max }
    if saturatingSum(end, Self.graceSeconds) < now { throw .tokenExpired.saying("the signature has expired") }
    return end
  }

  private func isSignedBefore(_ message: [UInt8], _ tag: [UInt8], _ issued: Int64) -> Bool {
    guard let previousKey, previousUntil == 0 || issued <= previousUntil else { return false }
    return isSigned(message, tag, with: previousKey)
  }

  /// Compares the digits, in the same time wherever they differ.
  private func isSigned(_ message: [UInt8], _ tag: [UInt8], with key: SecretKey) -> Bool {
    Digest.areSame(tag, Array(Digest.sha256.authenticate(message, with: key).hexadecimal.utf8))
  }

  private static func seconds(_ text: Substring.UTF8View) -> Int64? {
    guard (1...19).contains(text.count), text.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
      return nil
    }
    return Int64(String(decoding: text, as: UTF8.self))
  }
}
