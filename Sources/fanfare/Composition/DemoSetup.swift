import Auth
import Gateway
import Settings
import Vault
import Wire

/// The demo at `/demo`, from the settings (docs/DEMO.md).
enum DemoSetup {
  /// The namespaces that a part of the page needs.
  private static let namespaces = [
    "sites": ["sites", "site-choice"], "favorites": ["favorites"], "journal": ["journal"], "busy": ["busy"],
  ]

  /// Only where broker and gateway are one process: tokens of one gateway's demo are none of another's, and each would
  /// publish on the busy channel.
  static func isOn(_ settings: Settings, role: ServerProcess.Role) -> Bool { role == .serve && settings.demo.enabled }

  /// Whether the demo's page can move the clock.
  static func movesClock(_ settings: Settings, role: ServerProcess.Role) -> Bool {
    isOn(settings, role: role) && settings.demo.clock
  }

  /// - Parameter clock: of which tokens take the time that nobody moves.
  /// - Returns: nil where the demo is off.
  static func configuration(
    for settings: Settings, role: ServerProcess.Role, version: String, clock: ClockKeeper
  ) throws -> DemoConfiguration? {
    guard isOn(settings, role: role) else { return nil }
    let tokens = try DemoTokens(now: { clock.unmovedSeconds() })
    var configuration = DemoConfiguration(version: version, apps: apps(settings), tokens: tokens)
    if movesClock(settings, role: role) { configuration.clock = DemoKeeper(keeper: clock) }
    return configuration
  }

  /// The process's clock, as the demo's page sees it.
  private struct DemoKeeper: DemoClock {
    let keeper: ClockKeeper

    var moment: DemoMoment { Self.moment(keeper.now()) }

    func advance(by milliseconds: Int64) throws(DemoClockRefusal) -> DemoMoment {
      do throws(MovedClock.Refusal) { return Self.moment(try keeper.advance(by: milliseconds)) } catch {
        throw DemoClockRefusal("\(error)")
      }
    }

    private static func moment(_ time: TrustedClock.Time) -> DemoMoment {
      DemoMoment(offset: time.moved, now: time.wall)
    }
  }

  /// What this server can show: an app that is off, or a part without its channels, would greet people with errors.
  private static func apps(_ settings: Settings) -> [String] {
    let configured = settings.channels.namespaces
    return ["clique", "state", "sites", "favorites", "journal", "busy"].filter { app in
      switch app {
      case "clique": settings.clique.enabled
      case "state": settings.state.enabled
      default: namespaces[app, default: []].allSatisfy { configured[$0] != nil }
      }
    }
  }

  /// The page's address, from that of the WebSocket on the same port.
  static func address(_ websocket: String?) -> String? {
    guard let websocket, let mark = websocket.firstRange(of: "://") else { return nil }
    let authority = websocket[mark.upperBound...].prefix { $0 != "/" }
    return "\(websocket.hasPrefix("wss") ? "https" : "http")://\(authority)/demo"
  }
}
