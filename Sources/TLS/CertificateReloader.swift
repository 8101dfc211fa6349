public import Logging
public import NIOCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Gives a server its new certificates without a restart: when told to (SIGHUP), and when the files have changed; and
/// what is stapled to them, when that has changed.
///
/// A certificate that cannot be used is logged and not taken; the old ones stay until all are good. Whoever renews
/// certificates writes two files one after the other: a look in between finds two that do not match, and the next look
/// finds both new. A response that cannot be stapled, or has expired, is logged once and left out.
public final class CertificateReloader: Sendable {
  /// What tells one version of a file from another. The inode is part of it, because renewals replace files.
  private struct Fingerprint: Equatable {
    var inode: UInt64 = 0
    var size: Int64 = 0
    var seconds: Int64 = 0
    var nanoseconds: Int64 = 0
  }

  /// The fingerprints of the files at the last look.
  private struct Seen {
    var certificates: [Fingerprint]
    var responses: [Fingerprint]
    /// How the responses were when that was last logged.
    var told: [StapledResponse.Condition]
  }

  private let context: TLSContext
  private let logger: Logger
  private let seen: Mutex<Seen>

  /// Logs which responses cannot be stapled.
  ///
  /// - Parameter context: the context of a server; a client's has no files to watch.
  public init(_ context: TLSContext, logger: Logger = Logger(label: "fanfare.tls")) {
    self.context = context
    self.logger = logger
    let responses = context.responses
    seen = Mutex(
      Seen(
        certificates: Self.fingerprints(context.paths), responses: Self.fingerprints(responses.map(\.path)),
        told: responses.map { _ in .good }))
    tellResponses()
  }

  /// Reads the files now, changed or not.
  ///
  /// - Returns: true where the new certificates are in use.
  @discardableResult
  public func reload() -> Bool {
    let certificates = Self.fingerprints(context.paths)
    let responses = Self.fingerprints(context.responses.map(\.path))
    seen.withLock { ($0.certificates, $0.responses) = (certificates, responses) }
    do {
      try context.reload()
      logger.notice("the TLS certificates were read again; new connections get them")
      tellResponses()
      return true
    } catch {
      logger.error("the new TLS certificates are not used, the old ones stay", metadata: ["error": "\(error)"])
      // What is stapled to the old ones may be new all the same.
      context.readResponses()
      tellResponses()
      return false
    }
  }

  /// Reads the files where they have changed since the last look.
  ///
  /// - Returns: true where new certificates are in use.
  @discardableResult
  public func reloadIfChanged() -> Bool {
    let certificates = Self.fingerprints(context.paths)
    if seen.withLock({ $0.certificates != certificates }) { return reload() }
    let responses = Self.fingerprints(context.responses.map(\.path))
    let haveChanged = seen.withLock { seen in
      defer { seen.responses = responses }
      return seen.responses != responses
    }
    if haveChanged { context.readResponses() }
    tellResponses()
    return false
  }

  /// Looks at the files again and again, until the task is cancelled, and has old keys of tickets forgotten.
  public func watch(on eventLoop: any EventLoop, every interval: TimeAmount = .seconds(30)) -> RepeatedTask {
    eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
      self.reloadIfChanged()
      self.context.forgetOldKeys()
    }
  }

  /// Logs of each response what is new about it.
  private func tellResponses() {
    let now = context.clock.wall()
    let responses = context.responses
    let conditions = responses.map { $0.condition(at: now) }
    let told = seen.withLock { seen in
      defer { seen.told = conditions }
      return seen.told
    }
    for (response, (old, new)) in zip(responses, zip(told, conditions)) where old != new {
      if new == .good {
        logger.notice("the OCSP response is good again, and stapled", metadata: ["file": "\(response.path)"])
      } else {
        logger.error("the OCSP response is not stapled: it \(new)", metadata: ["file": "\(response.path)"])
      }
    }
  }

  private static func fingerprints(_ paths: [String]) -> [Fingerprint] {
    paths.map { path in
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return Fingerprint() }
      #if canImport(Glibc)
        let time = status.st_mtim
      #else
        let time = status.st_mtimespec
      #endif
      return Fingerprint(
        inode: UInt64(status.st_ino), size: Int64(status.st_size), seconds: Int64(time.tv_sec),
        nanoseconds: Int64(time.tv_nsec))
    }
  }
}
