public import Wire

/// One value of the configuration, with the key that it stands under and who gave it.
///
/// A field of a section is one of these: `settings.client.pingInterval` is the value, `settings.client.$pingInterval` the
/// setting. So what is said of a setting takes its name from the field, and nobody spells a key a second time.
@propertyWrapper
public struct Setting<Value: Sendable & Equatable>: Sendable, Equatable, CustomStringConvertible {
  public let wrappedValue: Value
  let place: SettingPlace

  public var projectedValue: Setting { self }

  /// The key, as messages write it: `client.ping_interval`.
  public var description: String { place.key }

  init(_ value: Value, _ place: SettingPlace) {
    wrappedValue = value
    self.place = place
  }

  /// Settings are the same where their values are, whoever gave them.
  public static func == (a: Setting, b: Setting) -> Bool { a.wrappedValue == b.wrappedValue }
}

/// A rate, which is two settings: `publications_per_second` and `publications_burst`.
@propertyWrapper
public struct RateSetting: Sendable, Equatable {
  public let perSecond: Setting<Int>
  public let burst: Setting<Int>

  public var wrappedValue: RateLimit { RateLimit(perSecond: perSecond.wrappedValue, burst: burst.wrappedValue) }

  public var projectedValue: RateSetting { self }
}

/// The key of a value and who gave it: what a message about the value begins with.
struct SettingPlace: Sendable {
  /// The key with its sections: `client.ping_interval`.
  let key: String
  let source: SettingSource
}
