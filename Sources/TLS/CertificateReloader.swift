public import Logging
public import NIOCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Gives a server its new certificate without a restart: when told to (SIGHUP), and when the files have changed.
///
/// A certificate that cannot be used is logged and not taken; the old one stays until a good one comes. Whoever renews
/// certificates writes two files one after the other: a look in between finds two that do not match, and the next look
/// finds both new.
public final class CertificateReloader: Sendable {
  /// What tells one version of a file from another. The inode is part of it, because renewals replace files.
  private struct Fingerprint: Equatable {
    var inode: UInt64 = 0
    var size: Int64 = 0
    var seconds: Int64 = 0
    var nanoseconds: Int64 = 0
  }

  private let context: TLSContext
  private let logger: Logger
  /// The fingerprints of chain and key at the last look.
  private let seen: Mutex<[Fingerprint]>

  /// - Parameter context: the context of a server; a client's has no files to watch.
  public init(_ context: TLSContext, logger: Logger = Logger(label: "fanfare.tls")) {
    self.context = context
    self.logger = logger
    seen = Mutex(Self.fingerprints(of: context))
  }

  /// Reads the files now, changed or not.
  ///
  /// - Returns: true where the new certificate is in use.
  @discardableResult
  public func reload() -> Bool {
    let now = Self.fingerprints(of: context)
    seen.withLock { $0 = now }
    do {
      try context.reload()
      logger.notice("the TLS certificate was read again; new connections get it")
      return true
    } catch {
      logger.error("the new TLS certificate is not used, the old one stays", metadata: ["error": "\(error)"])
      return false
    }
  }

  /// Reads the files where they have changed since the last look.
  ///
  /// - Returns: true where a new certificate is in use.
  @discardableResult
  public func reloadIfChanged() -> Bool {
    let now = Self.fingerprints(of: context)
    let hasChanged = seen.withLock { $0 != now }
    return hasChanged && reload()
  }

  /// Looks at the files again and again, until the task is cancelled.
  public func watch(on eventLoop: any EventLoop, every interval: TimeAmount = .seconds(30)) -> RepeatedTask {
    eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in self.reloadIfChanged() }
  }

  private static func fingerprints(of context: TLSContext) -> [Fingerprint] {
    guard let files = context.certificateFiles else { return [] }
    return [files.chainPath, files.keyPath].map { path in
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
