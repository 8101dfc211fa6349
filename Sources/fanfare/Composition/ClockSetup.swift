import Broker
import Logging
import Settings
import Vault
import ZeroMQ

/// The clock that the process counts by, from the settings.
enum ClockSetup {
  static func keeper(for settings: Settings, role: ServerProcess.Role, logger: Logger) -> ClockKeeper {
    let rules = TrustedClock.Rules(
      maximumStep: settings.clock.maxStep.milliseconds, trustsRestarts: settings.clock.afterRestart == .always)
    let name = role == .gateway ? "gateway-clock" : "clock"
    return ClockKeeper(files: ClockFiles(folder: settings.data.directory, name: name), rules: rules, logger: logger)
  }
}

extension ClockKeeper {
  /// The time for an input of the broker.
  func brokerTime() -> BrokerTime {
    let time = now()
    return BrokerTime(
      monotonic: Int64(MonotonicClock.now() / 1_000_000), wall: time.wall, doubt: max(0, time.ahead))
  }

  /// The time in seconds since 1970.
  func seconds() -> Int64 { wall() / 1000 }
}
