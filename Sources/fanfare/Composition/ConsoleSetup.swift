import Admin
import Auth
import Cryptography
import Foundation
import Logging
import Metering
import Settings
import Wire
import ZeroMQ

/// The web console, from the settings (docs/OPERATIONS.md).
///
/// The password where none is configured:
///
///     in the data folder   standard error is    what happens
///     a hash                                    it counts
///     nothing              a terminal           one is made, its hash kept, and it is shown there once
///     nothing              anything else        none: what is shown there ends in a log, where a password has no place
struct ConsoleSetup {
  let console: WebConsole
  private let password: ConsolePasswordFile
  /// The data folder; nil: the password stands in a file of the operator's.
  private let folder: String?
  private let others: MetricsReader?

  /// Nil where it is switched off.
  ///
  /// - Parameter api: nil where no broker is in this process.
  init?(
    for settings: Settings, role: ServerProcess.Role, api: ServerAPI?, metrics: PrometheusRegistry, audit: Audit,
    logger: Logger
  ) throws {
    guard settings.admin.enabled, settings.console.enabled else { return nil }
    let file = try Self.passwordFile(for: settings, logger: logger)
    let addresses = settings.console.metrics
    // Each frame waits for them, so that a process which does not answer must not hold up the others for long.
    let others = addresses.isEmpty ? nil : MetricsReader("console", timeoutMilliseconds: 1000)
    let clock = ConsoleClock(now: { Int64(MonotonicClock.now() / 1_000_000) }) { milliseconds in
      try? await Task.sleep(for: .milliseconds(milliseconds))
    }
    console = WebConsole(
      WebConsoleConfiguration(
        version: "Fanfare \(Fanfare.version)", node: "\(role.rawValue) on \(Self.hostName)",
        apps: (settings.clique.enabled ? ["clique"] : []) + (settings.state.enabled ? ["state"] : []),
        grant: try Self.grant(settings.console), idleMilliseconds: settings.console.idleTimeout.milliseconds,
        lifetimeMilliseconds: settings.console.sessionLifetime.milliseconds,
        settings: Self.json(settings.listing)),
      password: {
        let current = file.current()
        return (current.hash, current.generation)
      },
      api: api, metrics: { metrics.render() },
      others: { await others?.pages(at: addresses) ?? ([], []) }, clock: clock, audit: audit)
    self.others = others
    password = file
    folder = settings.console.passwordFile.isEmpty ? settings.data.directory : nil
  }

  /// Says where it is. Where there is no password, makes one, and shows it: on a terminal and nowhere else. To be called when
  /// the server is up: a password that was made by a start that failed would never have been seen.
  ///
  /// - Parameter admin: the port for backends and operators, as a URL.
  func announce(at admin: String, logger: Logger) throws {
    logger.notice("open the console in a browser: \(admin)/console/")
    guard let folder, password.current().hash == nil else { return }
    guard isatty(STDERR_FILENO) == 1 else {
      return logger.notice("the console has no password yet; make one with: fanfare console password")
    }
    let made = try Self.newPassword(in: folder)
    FileHandle.standardError.write(Data("\n  The console's password, which is shown this once: \(made)\n\n".utf8))
  }

  func close() { others?.close() }

  // MARK: Parts

  /// Makes a password and keeps its hash.
  static func newPassword(in folder: String) throws -> String {
    let password = ConsolePassword.make()
    do throws(ConsolePassword.Fault) {
      try ConsolePassword.keep(PasswordHash(of: password), in: folder)
    } catch {
      throw Complaint("\(error)")
    }
    return password
  }

  private static func passwordFile(for settings: Settings, logger: Logger) throws -> ConsolePasswordFile {
    let path = settings.console.passwordFile
    do throws(ConsolePassword.Fault) {
      return try ConsolePasswordFile(
        path.isEmpty ? .folder(settings.data.directory) : .file(path),
        now: { Int64(MonotonicClock.now() / 1_000_000_000) }, logger: logger)
    } catch {
      throw Complaint(path.isEmpty ? "\(error)" : "console.password_file: \(error)")
    }
  }

  private static func grant(_ console: Settings.Console) throws -> APIGrant {
    do throws(APIGrant.Invalid) { return try APIGrant(allow: console.allow, channels: console.channels) } catch {
      throw Complaint("console.allow or console.channels: \(error)")
    }
  }

  private static func json(_ listing: SettingsListing) -> [UInt8] {
    var writer = JSONWriter(capacity: 64 << 10)
    writer.object { writer in
      writer.list("settings") { writer in
        for entry in listing.entries {
          writer.object { writer in
            writer.write("key", entry.key)
            writer.write("value", entry.value)
            writer.write("source", entry.source)
            writer.write("default", entry.standard)
            writer.write("help", entry.meaning)
            if entry.isSecret { writer.write("secret", true) }
          }
        }
      }
    }
    return writer.bytes
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "this machine" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
