/// A command of the app Notifications (`docs/PUSH.md`), read and checked.
public indirect enum PushCommand: Sendable, Equatable {
  case register(Register)
  /// - device: the id that `push.register` answered with.
  case unregister(device: String)
  case devices
  case settings(Settings)
  /// A device has what there is about a subject.
  case delivered(Mark)
  /// The person has seen what there is about a subject.
  case seen(Mark)

  /// The commands without their contents; the raw value stands for a command on the link.
  public enum Method: UInt8, Sendable, CaseIterable {
    case register = 1
    case unregister, devices, settings, delivered, seen

    public var name: String {
      switch self {
      case .register: "push.register"
      case .unregister: "push.unregister"
      case .devices: "push.devices"
      case .settings: "push.settings"
      case .delivered: "push.delivered"
      case .seen: "push.seen"
      }
    }

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
  }

  /// How much of what is waiting a notification says.
  public enum Preview: String, Sendable, Codable, CaseIterable {
    /// That there is something.
    case nothing
    /// Who it is from, too.
    case sender
    /// And what it says.
    case text
  }

  public struct Register: Sendable, Equatable {
    /// Where its notifications go, as JSON: an object whose form the module Push knows.
    public var device: [UInt8]
    /// Such as `de-AT`; nil: the server's own texts.
    public var language: String?
    /// What the device wants to hear (``PushTopics``); nil: everything.
    public var topics: [String]?
    /// Nil: as the person's settings say.
    public var preview: Preview?

    public init(device: [UInt8], language: String? = nil, topics: [String]? = nil, preview: Preview? = nil) {
      self.device = device
      self.language = language
      self.topics = topics
      self.preview = preview
    }
  }

  /// What holds for all devices of a person. What is nil stays as it is.
  public struct Settings: Sendable, Equatable {
    public enum QuietChange: Sendable, Equatable {
      case stays
      case ends
      case becomes(Quiet)
    }

    public var topics: [String]?
    public var preview: Preview?
    /// Whether a request says who asks.
    public var requestPreview: Bool?
    public var quiet = QuietChange.stays
    /// Milliseconds since 1970; 0: not muted.
    public var mutedUntil: Int64?

    public init() {}

    /// Whether the command only asks.
    public var isQuestion: Bool { self == Settings() }
  }

  /// Hours of each day in which nothing is sent. They may go over midnight.
  public struct Quiet: Sendable, Codable, Equatable {
    public enum Zone: Sendable, Codable, Equatable {
      /// Minutes east of UTC.
      case minutes(Int)
      /// Such as `Europe/Vienna`.
      case name(String)
    }

    /// Minutes from midnight, of which the first is quiet and the second is not. Never the same.
    public var from: Int
    public var to: Int
    public var zone: Zone

    public init(from: Int, to: Int, zone: Zone) {
      self.from = from
      self.to = to
      self.zone = zone
    }
  }

  public struct Mark: Sendable, Equatable {
    public var subject: String
    /// Everything up to it; nil: everything until now.
    public var offset: UInt64?

    public init(subject: String, offset: UInt64? = nil) {
      self.subject = subject
      self.offset = offset
    }
  }

  /// Longest user id in bytes, so that the names of channels stay below their limit.
  public static let maximumUserBytes = 200
  /// Bytes of ``Register/device``.
  static let maximumDeviceBytes = 4096
  /// Bytes of ``Mark/subject``.
  public static let maximumSubjectBytes = 255

  public var method: Method {
    switch self {
    case .register: .register
    case .unregister: .unregister
    case .devices: .devices
    case .settings: .settings
    case .delivered: .delivered
    case .seen: .seen
    }
  }

  var payloadBytes: Int {
    switch self {
    case .register(let register): register.device.count
    case .unregister, .devices, .settings, .delivered, .seen: 0
    }
  }
}

/// What somebody wants to hear: names of topics, such as `clique.message`; one that ends in `*` stands for all that
/// begin so.
public enum PushTopics {
  public static let most = 32
  public static let mostBytes = 64

  /// Whether a text can be a topic, or stand for several.
  public static func isValid(_ topic: String) -> Bool {
    let name = topic.utf8.last == UInt8(ascii: "*") ? topic.utf8.dropLast() : topic.utf8[...]
    return (1...mostBytes).contains(topic.utf8.count)
      && name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }

  /// Whether a topic is among those that somebody wants.
  public static func areMet(_ wanted: [String], by topic: String) -> Bool {
    wanted.contains { name in
      name.utf8.last == UInt8(ascii: "*")
        ? topic.utf8.starts(with: name.utf8.dropLast()) : name.hasSameBytes(as: topic)
    }
  }
}
