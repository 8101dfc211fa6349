public import Logging
import Synchronization
public import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The keys of the server API while the server runs: the file in the data folder is looked at again as it is used, at
/// most once a second, so that new and deleted keys count without a restart.
///
/// A file that cannot be used is logged once and not taken: the former keys stay until a good one comes. A file that
/// was removed takes its keys with it.
///
/// A look costs one `stat`, and reads at most 1 MiB where the file has changed. Others who ask meanwhile wait for it:
/// two looks end in the order in which they began, and no deleted key comes back by the slower one.
public final class APIKeyFile: Sendable {
  /// What tells one version of the file from another; zeros where it cannot be looked at.
  struct Version: Sendable, Equatable {
    var inode: UInt64 = 0
    var size: Int64 = 0
    /// A file that was refused for its mode is good after a change of nothing else.
    var mode: UInt32 = 0
    /// When the file was changed last, in nanoseconds. It is `st_ctime`, which nobody can set back, as a copy that
    /// keeps a file's times does with `st_mtime`.
    var changed: Int64 = 0
  }

  /// Where the keys come from: the file, or what a test has in its place.
  struct Source: Sendable {
    var version: @Sendable () -> Version
    var load: @Sendable () throws(APIKeyFault) -> APIKeys
  }

  private struct State {
    var keys: APIKeys
    /// The version that the keys were read from or that was refused for good; nil: it is read at the next look.
    var version: Version?
    /// What the clock said at the last look.
    var lookedAt: Int64
    /// What was logged of the file since it was good.
    var complaint: String?
  }

  private let source: Source
  private let configured: String
  private let now: @Sendable () -> Int64
  private let logger: Logger
  private let audit: Audit
  private let state: Mutex<State>

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - folder: the data folder. A file that is not there yet is looked for.
  ///   - configured: one more key, which the configuration holds; empty: there is none.
  ///   - now: seconds of a clock that never goes back.
  /// - Throws: where there is a file that cannot be used: a server should not start with fewer keys than it is meant to
  ///   have.
  public convenience init(
    folder: String, configured: String = "", now: @escaping @Sendable () -> Int64,
    logger: Logger = Logger(label: "fanfare.api"), audit: Audit = .none
  ) throws(APIKeyFault) {
    let path = folder + "/" + APIKeys.fileName
    let source = Source(
      version: { APIKeyFile.version(of: path) },
      load: { () throws(APIKeyFault) in try APIKeys.load(from: folder) })
    try self.init(source, configured: configured, now: now, logger: logger, audit: audit)
  }

  init(
    _ source: Source, configured: String, now: @escaping @Sendable () -> Int64, logger: Logger, audit: Audit = .none
  ) throws(APIKeyFault) {
    self.source = source
    self.configured = configured
    self.now = now
    self.logger = logger
    self.audit = audit
    let (time, version) = (now(), source.version())
    let keys = try source.load().adding(configured: configured)
    state = Mutex(State(keys: keys, version: version, lookedAt: time))
  }

  /// The keys as of now.
  public func current() -> APIKeys {
    state.withLock { state in
      let time = now()
      if time != state.lookedAt {
        state.lookedAt = time
        look(&state)
      }
      return state.keys
    }
  }

  /// The key with this text, as of now; nil where there is none.
  public func key(for text: String) -> APIKey? { current().key(for: text) }

  private func look(_ state: inout State) {
    // The version is taken before the contents: a file that is replaced in between is read once more at the next look.
    let version = source.version()
    if version == state.version { return }
    do throws(APIKeyFault) {
      let before = Set(state.keys.keys.map(\.name))
      state.keys = try source.load().adding(configured: configured)
      state.version = version
      let after = Set(state.keys.keys.map(\.name))
      for name in after.subtracting(before).sorted() { audit.note(.keyCreated, ["key": name]) }
      for name in before.subtracting(after).sorted() { audit.note(.keyDeleted, ["key": name]) }
      state.complaint = nil
      logger.notice("the API keys were read again", metadata: ["keys": "\(state.keys.keys.count)"])
    } catch {
      // What the system refused may pass while the file stays as it is; what is wrong with the file does not.
      if case .file(.system) = error { state.version = nil } else { state.version = version }
      let sentence = "\(error)"
      if sentence == state.complaint { return }
      state.complaint = sentence
      logger.error("the file of API keys cannot be used, the former keys stay", metadata: ["error": "\(sentence)"])
    }
  }

  private static func version(of path: String) -> Version {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return Version() }
    #if canImport(Glibc)
      let time = status.st_ctim
    #else
      let time = status.st_ctimespec
    #endif
    return Version(
      inode: UInt64(status.st_ino), size: Int64(status.st_size), mode: UInt32(status.st_mode),
      changed: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}
