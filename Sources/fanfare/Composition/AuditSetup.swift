import Logging
import Settings
import Wire
import ZeroMQ

/// Where what must be proved later is written: the server's log, at a level that is on by default.
enum AuditSetup {
  static func audit(to logger: Logger) -> Audit {
    Audit(now: { Int64(MonotonicClock.now() / 1_000_000) }) { line in
      var metadata: Logger.Metadata = [Audit.field: "\(line.event.rawValue)"]
      for (name, value) in line.fields { metadata[name] = "\(value)" }
      if line.leftOut > 0 { metadata["left_out"] = "\(line.leftOut)" }
      logger.notice("\(sentence(line.event))", metadata: metadata)
    }
  }

  /// What a server began with: the settings that are not what they are without anybody's doing, by where they were given.
  static func fields(of settings: Settings, role: String) -> [String: String] {
    [
      "role": role, "version": Fanfare.version, "data": settings.data.directory,
      "given": settings.channelOrigins.summary,
    ]
  }

  private static func sentence(_ event: AuditEvent) -> String {
    switch event {
    case .signInRefused: "a client was not let in"
    case .keyRefused: "the server API was called without a key that holds"
    case .keyUsed: "server API"
    case .keyCreated: "a key of the server API was created"
    case .keyDeleted: "a key of the server API was deleted"
    case .consoleSignedIn: "somebody signed in to the console"
    case .consoleRefused: "the console refused a password or a request"
    case .consoleRead: "a channel or the settings were looked at in the console"
    case .disconnect: "connections were ended by order"
    case .subscriptionOrder: "subscriptions were changed by order"
    case .revocation: "tokens were revoked"
    case .deletion: "something was deleted by order"
    case .unblock: "a block was lifted by order"
    case .report: "a moderator listed, looked at or settled reports"
    case .suspension: "a user was suspended, or is no more"
    case .settingsLoaded: "the settings were loaded"
    }
  }
}
