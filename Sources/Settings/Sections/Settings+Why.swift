extension Settings {
  /// What is kept so that `fanfare why` can say which publication reached whom.
  public struct Why: Sendable, Equatable {
    @Setting public var enabled: Bool
    @Setting public var keep: Duration
    @Setting public var maxBytes: Int

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag(
        "enabled", true,
        "A gateway keeps the intervals of offsets for which users were subscribed, for `fanfare why`. They hold user ids and channels."
      )
      _keep = declare.duration(
        "keep", .seconds(86_400), in: .minutes(1) ... .seconds(2_592_000),
        "How long such an interval is kept after the subscription has ended.")
      _maxBytes = declare.bytes(
        "max_bytes", mebibytes(512), in: mebibytes(4)...mebibytes(65_536),
        "Bytes of intervals in a gateway's data folder; beyond it the oldest go.")
    }
  }
}
