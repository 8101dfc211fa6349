import Broker
import Logging
import Settings
import Vault
import ZeroMQ

/// What time the process counts by, from the settings.
enum ClockSetup {
  static func keeper(for settings: Settings, role: ServerProcess.Role, logger: Logger) -> ClockKeeper {
    var rules = TrustedClock.Rules()
    rules.maximumStep = settings.clock.maxStep.milliseconds
    rules.trustsRestarts = settings.clock.afterRestart == .always
    let name = role == .gateway ? "gateway-clock" : "clock"
    return ClockKeeper(files: ClockFiles(folder: settings.data.directory, name: name), rules: rules, logger: logger)
  }
}

extension ClockKeeper {
  /// For the broker.
  func brokerTime() -> BrokerTime {
    let time = now()
    return BrokerTime(
      monotonic: Int64(MonotonicClock.now() / 1_000_000), wall: time.wall, doubt: max(0, time.ahead))
  }

  /// Seconds since 1970.
  func seconds() -> Int64 { wall() / 1000 }
}
