/// One key of the configuration: everything that parsing, checking and the reference need to know of it.
struct SettingKey: Sendable {
  enum Kind: Sendable, Equatable {
    case bool
    case integer(ClosedRange<Int>)
    /// A number of bytes, or text such as "64KiB".
    case bytes(ClosedRange<Int>)
    /// Text such as "25s"; the range is in milliseconds.
    case duration(ClosedRange<Int>)
    case string
    case choice([String])
    case strings
    /// A list of objects whose members are texts of these names.
    case objects([String])
  }

  /// The names of the sections and then of the key. A namespace's name is one element, dots and all.
  let path: [String]
  let kind: Kind
  let standard: SettingValue
  /// What the key means: one line of the reference.
  let meaning: String
  /// Whether messages must not show the value.
  let isSecret: Bool

  init(_ path: [String], _ kind: Kind, _ standard: SettingValue, _ meaning: String, isSecret: Bool) {
    self.path = path
    self.kind = kind
    self.standard = standard
    self.meaning = meaning
    self.isSecret = isSecret
  }

  /// The key as it is written in messages and after `--set`.
  var name: String { path.joined(separator: ".") }

  var environmentName: String { Self.environmentName(path) }

  /// The variable for a key: `client.ping_interval` → `FANFARE_CLIENT_PING_INTERVAL`.
  static func environmentName(_ path: [String]) -> String {
    let letters = path.joined(separator: "_").uppercased().map { character in
      character.isASCII && (character.isLetter || character.isNumber) ? character : "_"
    }
    return "FANFARE_" + String(letters)
  }
}

/// A value after its unit is resolved: bytes and milliseconds are plain numbers.
enum SettingValue: Sendable, Equatable {
  case bool(Bool)
  case int(Int)
  case string(String)
  case strings([String])
  case objects([[String: String]])
}

func kibibytes(_ count: Int) -> Int { count * 1024 }
func mebibytes(_ count: Int) -> Int { count * 1024 * 1024 }

extension Duration {
  static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
  static func hours(_ count: Int) -> Duration { .seconds(3600 * count) }

  /// The duration in milliseconds, to which settings are exact.
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
