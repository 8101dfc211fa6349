public import Cryptography
public import Logging
import Synchronization

/// The console's password while the server runs. Its file is looked at as it is used, at most once a second, so that a new
/// password counts without a restart.
///
/// A file that cannot be used is logged once and not taken: the former password stays. A hash that was removed from the data
/// folder takes the password with it.
public final class ConsolePasswordFile: Sendable {
  /// Where the password stands.
  public enum Place: Sendable, Equatable {
    /// The hash in the data folder (``ConsolePassword/fileName``).
    case folder(String)
    /// The password itself, in a file of the operator's.
    case file(String)
  }

  /// The password of a moment.
  public struct Current: Sendable, Equatable {
    /// Nil: there is none, and nobody signs in.
    public var hash: PasswordHash?
    /// Another number for another password.
    public var generation: UInt64
  }

  private struct State {
    var text: String?
    var current: Current
    /// What the clock said at the last look.
    var lookedAt: Int64
    var complaint: String?
  }

  private let place: Place
  private let now: @Sendable () -> Int64
  private let logger: Logger
  private let state: Mutex<State>

  /// - Parameter now: seconds of a clock that never goes back.
  /// - Throws: where there is a file that cannot be used, or none where one is configured.
  public init(
    _ place: Place, now: @escaping @Sendable () -> Int64, logger: Logger
  ) throws(ConsolePassword.Fault) {
    self.place = place
    self.now = now
    self.logger = logger
    let time = now()
    let text = try Self.text(at: place)
    let hash = try Self.hash(of: text, at: place)
    state = Mutex(State(text: text, current: Current(hash: hash, generation: 1), lookedAt: time))
  }

  /// The password as of now. Takes a tenth of a second where a configured password has changed.
  public func current() -> Current {
    state.withLock { state in
      let time = now()
      if time != state.lookedAt {
        state.lookedAt = time
        look(&state)
      }
      return state.current
    }
  }

  private func look(_ state: inout State) {
    do throws(ConsolePassword.Fault) {
      let text = try Self.text(at: place)
      defer { state.complaint = nil }
      if text == state.text { return }
      state.current = Current(hash: try Self.hash(of: text, at: place), generation: state.current.generation + 1)
      state.text = text
      logger.notice("the console's password was read again: whoever was signed in signs in anew")
    } catch {
      let sentence = "\(error)"
      if sentence == state.complaint { return }
      state.complaint = sentence
      logger.error("the console's password cannot be read, the former one stays", metadata: ["error": "\(sentence)"])
    }
  }

  private static func text(at place: Place) throws(ConsolePassword.Fault) -> String? {
    switch place {
    case .folder(let folder): try ConsolePassword.contents(of: folder + "/" + ConsolePassword.fileName)
    case .file(let path): try ConsolePassword.read(path)
    }
  }

  private static func hash(of text: String?, at place: Place) throws(ConsolePassword.Fault) -> PasswordHash? {
    guard let text else { return nil }
    switch place {
    case .file: return PasswordHash(of: text)
    case .folder(let folder):
      guard let hash = PasswordHash(text: text) else {
        throw .damaged(path: folder + "/" + ConsolePassword.fileName)
      }
      return hash
    }
  }
}
