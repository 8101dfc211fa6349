extension Settings {
  /// What all shared polls have in common; the rest stands with their namespaces, and where the backend is asked with the
  /// proxies.
  public struct SharedPoll: Sendable, Equatable {
    @Setting public var hmacSecret: String
    @Setting public var hmacSecretFile: String
    @Setting public var hmacPreviousSecret: String
    /// Seconds since 1970; 0: no limit.
    @Setting public var hmacPreviousSecretUntil: Int
    @Setting public var maxTrackings: Int
    @Setting public var maxDataBytes: Int

    init(_ declare: inout SettingDeclarations) {
      _hmacSecret = declare.text(
        "hmac_secret", "",
        "Secret with which your backend signs the keys that a user may track, at least 32 bytes.", isSecret: true,
        rule: SettingFaults.ofSecret)
      _hmacSecretFile = declare.text("hmac_secret_file", "", "File with that secret; only its owner may read it.")
      _hmacPreviousSecret = declare.text(
        "hmac_previous_secret", "",
        "Secret before that one, with which signatures are still taken while it is being replaced.", isSecret: true,
        rule: SettingFaults.ofSecret)
      _hmacPreviousSecretUntil = declare.integer(
        "hmac_previous_secret_until", 0, in: 0...253_402_300_799,
        "Signatures made with it after this time, in seconds since 1970, are refused; 0: no limit.")
      _maxTrackings = declare.integer(
        "max_trackings", 1_000_000, in: 1...1_000_000_000,
        "Keys that all subscriptions of a gateway track, one that two track counted twice; one more is refused with error 106."
      )
      _maxDataBytes = declare.bytes(
        "max_data_bytes", mebibytes(64), in: 0...mebibytes(1024 * 1024),
        "Bytes of keys' newest data that a gateway keeps for those who track them later; where there is no room, your backend is asked once more."
      )
    }

    public var hasSecret: Bool { !hmacSecret.isEmpty || !hmacSecretFile.isEmpty }
  }
}
