import Synchronization

/// What an operator must be able to prove later: each is a value of the field ``Audit/field`` of a log line, and a row of
/// the table in docs/OPERATIONS.md.
public enum AuditEvent: String, Sendable, CaseIterable {
  /// A client was not let in: its token is not valid, has ended or was revoked, or it had none.
  case signInRefused = "sign_in_refused"
  /// The server API was called without a key that holds.
  case keyRefused = "key_refused"
  /// A key of the server API was used.
  case keyUsed = "api"
  case keyCreated = "key_created"
  case keyDeleted = "key_deleted"
  /// Somebody signed in to the web console.
  case consoleSignedIn = "console_signed_in"
  /// The web console refused a password, or a request that another page had made.
  case consoleRefused = "console_refused"
  /// A channel's publications were followed, or the settings looked at, in the web console.
  case consoleRead = "console_read"
  /// Connections were ended by order.
  case disconnect
  /// Subscriptions were begun or ended by order, or the end of connections was changed.
  case subscriptionOrder = "subscription_order"
  /// Tokens were revoked.
  case revocation
  /// A publication, a history, a key of a map or what is kept of a user was deleted by order.
  case deletion
  /// A block between two people was lifted by order, in place of the one who had set it.
  case unblock
  /// Reports of people were listed, one of them looked at or settled, by a moderator.
  case report
  /// A user was suspended, or the suspension lifted.
  case suspension
  /// The server began, with these settings.
  case settingsLoaded = "settings_loaded"
}

/// Writes what must be proved later, for all parts of a process.
///
/// Each kind of event has a rate of its own: a stranger who makes up tokens or keys cannot fill the disk, nor push what
/// matters out of the log. What was left out is counted, and told with the next line of the same kind.
public final class Audit: Sendable {
  /// The name of the log field.
  public static let field = "audit"

  /// Lines of one kind: a second's worth, and at once.
  public static let rate = RateLimit(perSecond: 10, burst: 200)

  public struct Line: Sendable, Equatable {
    public var event: AuditEvent
    /// Names and values, without ``Audit/field``.
    public var fields: [String: String]
    /// Lines of this kind that were left out since the last.
    public var leftOut: Int
  }

  private struct Kind {
    var level = TokenLevel(Audit.rate)
    var leftOut = 0
  }

  private let kinds = Mutex<[AuditEvent: Kind]>([:])
  private let now: @Sendable () -> Int64
  private let write: @Sendable (Line) -> Void

  /// Writes nothing: for tests of other things.
  public static let none = Audit(now: { 0 }, write: { _ in })

  /// - Parameters:
  ///   - now: milliseconds that never go back.
  ///   - write: any thread.
  public init(now: @escaping @Sendable () -> Int64, write: @escaping @Sendable (Line) -> Void) {
    self.now = now
    self.write = write
  }

  /// - Parameter fields: made only where the line is written. A value is cut where it is long, since peers choose some.
  public func note(_ event: AuditEvent, _ fields: @autoclosure () -> [String: String]) {
    let time = now()
    let leftOut = kinds.withLock { kinds -> Int? in
      var kind = kinds[event] ?? Kind()
      defer { kinds[event] = kind }
      guard kind.level.take(of: Self.rate, at: time) else {
        kind.leftOut += 1
        return nil
      }
      defer { kind.leftOut = 0 }
      return kind.leftOut
    }
    guard let leftOut else { return }
    write(Line(event: event, fields: fields().mapValues { $0.beginning(bytes: Self.longestValue) }, leftOut: leftOut))
  }

  /// In bytes.
  private static let longestValue = 200
}
