import Log
import Wire

/// Whether a publication with an idempotency key is a new one.
///
/// States of a key in a channel:
/// - unknown. Can transition to: held (publish), and stays unknown where the log refuses.
/// - held, with its offset. Can transition to: unknown (five minutes later).
///
/// While the log has not answered for the publication, nobody was told the held key's ``IdempotencyRecord/offset``.
enum IdempotencyDecision: Equatable {
  case publish
  /// The same publication was made before: answer as the first time.
  case alreadyPublished(offset: UInt64)
  /// The key was used before with other data.
  case conflict
}

func decideIdempotency(_ held: IdempotencyRecord?, digest: UInt64, now: Int64) -> IdempotencyDecision {
  guard let held, held.expires > now else { return .publish }
  return held.digest == digest ? .alreadyPublished(offset: held.offset) : .conflict
}

/// FNV-1a, 64 bits. It guards a publisher against its own mistakes, not against an attacker, and must give the same
/// number after a restart, which Swift's `Hasher` does not.
func digest(of data: [UInt8]) -> UInt64 {
  var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  for byte in data {
    hash ^= UInt64(byte)
    hash &*= 0x0000_0100_0000_01b3
  }
  return hash
}
