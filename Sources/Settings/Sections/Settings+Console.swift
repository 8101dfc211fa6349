extension Settings {
  /// The web console on the port for backends and operators (docs/OPERATIONS.md).
  public struct Console: Sendable, Equatable {
    @Setting public var enabled: Bool
    @Setting public var passwordFile: String
    @Setting public var allow: [String]
    @Setting public var channels: [String]
    @Setting public var idleTimeout: Duration
    @Setting public var sessionLifetime: Duration
    @Setting public var metrics: [String]

    /// What an operator needs, and nothing that shows what people wrote to each other in the apps.
    private static let standardMethods = [
      "read", "write", "control", "inspect", "webhooks", "support", "clique_reports", "user_suspensions", "user_data",
    ]

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag(
        "enabled", true,
        "Show the console at `/console/` on the port for backends and operators (`admin.enabled`); it asks for a password."
      )
      _passwordFile = declare.text(
        "password_file", "",
        "File with the console's password, at least 16 bytes, which only the server's user may read; where it is empty, the password is made on the first start, or with `fanfare console password`."
      )
      _allow = declare.list(
        "allow",
        "What whoever is signed in may do: methods and groups of the server API, as those of an API key.",
        standard: Self.standardMethods)
      _channels = declare.list(
        "channels",
        "On which channels: names, or beginnings and `*`; `*` alone is all but the apps' channels, which have to be named.",
        standard: ["*"])
      _idleTimeout = declare.duration(
        "idle_timeout", .minutes(30), in: .seconds(1) ... .hours(24),
        "Time without a request after which a session ends; what runs by itself on the page does not count.")
      _sessionLifetime = declare.duration(
        "session_lifetime", .hours(12), in: .seconds(1) ... .hours(168), "Time after which a session ends in any case.")
      _metrics = declare.list(
        "metrics",
        "Metrics of other processes whose numbers the console adds to its own, such as \"http://10.0.0.7:9000/metrics\" of a gateway.",
        rule: SettingFaults.ofMetricsAddress)
    }
  }
}
