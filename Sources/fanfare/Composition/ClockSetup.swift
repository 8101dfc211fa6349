import Broker
import Foundation
import Logging
import Settings
import Vault
import ZeroMQ

/// The clock that the process counts by, from the settings.
enum ClockSetup {
  /// - Throws: ``Complaint`` where `demo.clock` would move the time of data that are no test server's.
  static func keeper(for settings: Settings, role: ServerProcess.Role, logger: Logger) throws -> ClockKeeper {
    let rules = TrustedClock.Rules(
      maximumStep: settings.clock.maxStep.milliseconds, trustsRestarts: settings.clock.afterRestart == .always)
    let name = role.hasCore ? "clock" : "\(role.rawValue)-clock"
    let files = ClockFiles(folder: folder(of: settings), name: name)
    let keeper = ClockKeeper(
      files: files, rules: rules, logger: logger, isMovable: DemoSetup.movesClock(settings, role: role))
    if role.hasCore {
      do { try enter(settings, role, files, keeper, logger) } catch let fault as VaultFault {
        throw Complaint("\(fault)")
      }
    }
    return keeper
  }

  /// Where the clock's files are: those of the home partition's broker, by whose clock keys are destroyed, stay where they
  /// are without partitions.
  private static func folder(of settings: Settings) -> String {
    settings.cluster.isHome ? settings.data.homeDirectory : settings.data.directory
  }

  /// What ``MovedClock/Start`` says of the data folder.
  private static func enter(
    _ settings: Settings, _ role: ServerProcess.Role, _ files: ClockFiles, _ keeper: ClockKeeper, _ logger: Logger
  ) throws {
    let folder = files.folder
    let start = MovedClock.Start(
      isMovable: DemoSetup.movesClock(settings, role: role),
      // Whether a database server has data is not known before it is asked: a clock that can be moved is not for it.
      hasData: settings.log.engine == .postgres || FileManager.default.fileExists(atPath: "\(folder)/fanfare.sqlite"),
      latest: try files.latestMoved(), now: keeper.unmoved())
    switch start {
    case .ordinary: break
    case .mark: try files.markMoved(keeper.unmoved())
    // The keeper does that once no other process uses the folder.
    case .unmark: break
    case .refuse:
      throw Complaint(
        """
        demo.clock is true, but the data in \(folder) are of a server whose clock could not be moved: moving it would end \
        and destroy what people wait for there. Set data.directory to another folder, or demo.clock to false
        """)
    case .ahead(let latest):
      logger.warning(
        """
        the data in \(folder) are of a test server whose clock was moved, up to \(ClockText.moment(latest)). The clock says \
        what the machine's says again: nothing is destroyed by that, and what was made ahead ends when the clock has come \
        there. Take a new folder to begin anew
        """)
    }
  }
}

extension ClockKeeper {
  /// The time for an input of the broker.
  func brokerTime() -> BrokerTime {
    let time = now()
    return BrokerTime(
      monotonic: Int64(MonotonicClock.now() / 1_000_000), wall: time.wall, doubt: max(0, time.ahead),
      moved: time.moved)
  }

  /// Seconds since 1970 for what others check by their own clocks, and for tokens: they do not end because a test server's
  /// clock was moved.
  func unmovedSeconds() -> Int64 { unmoved() / 1000 }
}
