extension Settings {
  /// The page at `/demo`, on which anybody signs in as anybody (docs/DEMO.md).
  public struct Demo: Sendable, Equatable {
    @Setting public var enabled: Bool
    @Setting public var clock: Bool

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag(
        "enabled", false,
        "`fanfare serve` shows the demo at `/demo`, where whoever reaches the port for clients signs in under any name, without a password ([DEMO.md](DEMO.md))."
      )
      _clock = declare.flag(
        "clock", false,
        "For test servers only: whoever is signed in there moves the server's clock forward, whereupon what people wait for ends and is destroyed before its time. Needs `demo.enabled`, and a data folder of its own."
      )
    }
  }
}
