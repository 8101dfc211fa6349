import Cryptography
import Wire

/// Who is signed in to the web console: pure.
///
///     state      use                         time                       sign-out, new password, end of the process
///     none       refused
///     open       used now                    gone after `idle` unused,  gone
///                                            or `lifetime` after it began
///
/// Of a session only the digest of its token is kept: whoever reads this memory can sign in as nobody. Nothing is written to
/// a disk. Where ``most`` are open, the one that was used longest ago makes room for another.
struct ConsoleSessions {
  /// A session by the digest of its token.
  struct ID: Hashable, Sendable {
    fileprivate let digest: [UInt8]

    init(token: String) { digest = Digest.sha256.hash(Array(token.utf8)) }
  }

  private struct Session {
    let began: Int64
    var used: Int64
  }

  static let most = 64
  /// Random bytes of a token.
  static let tokenBytes = 32

  /// Milliseconds without use, and in all.
  private let idle: Int64
  private let lifetime: Int64
  private var open: [ID: Session] = [:]

  /// - Parameters:
  ///   - idle: milliseconds after which an unused session ends.
  ///   - lifetime: milliseconds after which any session ends.
  init(idle: Int64, lifetime: Int64) {
    self.idle = idle
    self.lifetime = lifetime
  }

  var count: Int { open.count }

  /// A new token, which is nowhere else.
  static func makeToken() -> String { Base64.url.text(Randomness.bytes(tokenBytes)) }

  /// - Parameter now: milliseconds of a clock that never goes back; so in all of these.
  mutating func begin(_ token: String, at now: Int64) {
    forgetEnded(at: now)
    if open.count >= Self.most, let oldest = open.min(by: { $0.value.used < $1.value.used })?.key { open[oldest] = nil }
    open[ID(token: token)] = Session(began: now, used: now)
  }

  /// Counts a request of a session.
  ///
  /// - Returns: milliseconds until it ends where nothing more is done; nil: there is no such session any more.
  mutating func use(_ id: ID, at now: Int64) -> Int64? {
    guard left(to: id, at: now) != nil else {
      open[id] = nil
      return nil
    }
    open[id]?.used = now
    return left(to: id, at: now)
  }

  /// As ``use(_:at:)``, without counting as one.
  func left(to id: ID, at now: Int64) -> Int64? {
    guard let session = open[id] else { return nil }
    let left = min(session.used + idle, session.began + lifetime) - now
    return left > 0 ? left : nil
  }

  mutating func end(_ id: ID) { open[id] = nil }

  mutating func endAll() { open = [:] }

  private mutating func forgetEnded(at now: Int64) {
    for id in open.keys where left(to: id, at: now) == nil { open[id] = nil }
  }
}
