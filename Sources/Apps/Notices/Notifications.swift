public import Wire

/// Who is notified of what, and when (docs/PUSH.md, "Who is notified, and when").
///
/// Other apps and backends say that something has happened (``PushIntent``). This one waits whether a device of the
/// person acknowledges it, has the person's devices told of what is left, and takes back what the person has seen
/// elsewhere. ``NoticeState`` has the states and transitions of one subject, ``PushPerson`` those of a device.
public struct Notifications: App {
  public let rules: NotificationRules

  public init(_ rules: NotificationRules) { self.rules = rules }

  public static let name = "push"

  public var name: String { Self.name }

  public var namespaces: [String: ChannelOptions] { Self.namespaces }

  public var answerTimeout: Int64 { rules.answerTimeout }

  /// A person's own devices, and the settings for all of them, as entries.
  static let devicesNamespace = "push.devices"

  public static var namespaces: [String: ChannelOptions] {
    var devices = ChannelOptions()
    devices.app = AppName(name)
    devices.kind = .map
    devices.mapMode = .persistent
    devices.mapOrder = .descending
    devices.mapMaximumEntries = 64
    devices.historySize = 64
    devices.historyTTLMilliseconds = 24 * 3_600_000
    devices.forceRecovery = true
    devices.durability = .durable
    devices.allowSubscribeForClient = true
    return [devicesNamespace: devices]
  }

  public func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .push(let command) = call.command, call.source != .gateway else { throw .methodNotFound }
    return switch command {
    case .register(let register): try self.register(register, call, view)
    case .unregister(let device): try unregister(device, call, view)
    case .devices: AppDecision(reply: try person(call.user, view).json)
    case .settings(let settings): try change(settings, call, view)
    case .delivered(let mark): try acknowledge(mark, isSeen: false, by: call.user, view)
    case .seen(let mark): try acknowledge(mark, isSeen: true, by: call.user, view)
    }
  }

  public func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let user = PushKeys.user(of: key, PushKeys.notices) else { return AppDecision() }
    return AppDecision(
      try decide(about: user, isDue: true, view) { (round) throws(ClientError) in try round.advance() })
  }

  public func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let owner = Self.owner(of: channel) else { throw .unknownChannel }
    guard !user.isEmpty, owner.hasSameBytes(as: user) else {
      throw .permissionDenied.saying("this channel belongs to another user")
    }
    return AppAdmission()
  }

  public func entry(
    _ key: String, of channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppEntry? {
    guard let owner = Self.owner(of: channel) else { return nil }
    return try person(owner, view).entry(key)
  }

  public func picture(
    in key: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? { nil }

  // MARK: Channels

  static func owner(of channel: ChannelName) -> String? {
    guard let namespace = channel.namespace, namespace.description.hasSameBytes(as: devicesNamespace) else {
      return nil
    }
    return String(channel.rest)
  }

  static func channel(of user: String) throws(ClientError) -> ChannelName {
    do throws(ChannelName.Invalid) {
      return try ChannelName("push.devices:", user)
    } catch {
      throw ClientError.badRequest.saying(error.description)
    }
  }

  // MARK: Records

  func person(_ user: String, _ view: any AppView) throws(ClientError) -> PushPerson {
    try view.record(PushPerson.self, PushKeys.devices + user) ?? PushPerson()
  }
}

extension Notifications {
  /// Takes notices from their outbox, in order. One that comes again changes nothing.
  ///
  /// When the decision is on disk, the notices are done with, and the outbox may forget them. Nothing is sent by it but
  /// what waits for nothing.
  public func take(_ intents: [PushIntent], _ view: any AppView) throws(ClientError) -> AppDecision {
    var order: [IdentifierKey] = []
    var byUser: [IdentifierKey: [PushIntent]] = [:]
    for intent in intents {
      for user in intent.users where !user.isEmpty {
        let key = IdentifierKey(user)
        if byUser[key] == nil { order.append(key) }
        byUser[key, default: []].append(intent)
      }
    }
    var effects: [AppEffect] = []
    for user in order {
      let person = try person(user.string, view)
      // Nearly nobody has a device where few do: that costs one look.
      let wanted = byUser[user, default: []].filter { !person.devices(wanting: $0.topic).isEmpty }
      if wanted.isEmpty { continue }
      effects += try decide(about: user.string, view) { (round) throws(ClientError) in
        for intent in wanted { round.take(intent) }
        try round.advance()
      }
    }
    return AppDecision(effects)
  }

  /// Takes what became of a send (``AppEffect/push(_:)``). An answer that comes late, or again, changes nothing but
  /// that devices that are gone are forgotten.
  public func answered(_ answer: PushAnswer, _ view: any AppView) throws(ClientError) -> AppDecision {
    AppDecision(
      try decide(about: answer.user, view) { (round) throws(ClientError) in
        round.take(answer)
        try round.advance()
      })
  }

  /// Looks at one subject of a person before its time, because something of it was acknowledged or seen
  /// (``AppEffect/acknowledge(user:subject:)``).
  public func look(
    at subject: String, of user: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    AppDecision(
      try decide(about: user, view) { (round) throws(ClientError) in
        try round.lookEarly(at: subject)
        try round.advance()
      })
  }

  /// The subjects that wait or are shown, of each person whose record a decision writes: those for which
  /// ``look(at:of:_:)`` can change anything.
  public static func openSubjects(in effects: [AppEffect]) -> [(user: String, subjects: [String])] {
    effects.compactMap { effect in
      switch effect {
      case .write(let key, let record):
        guard let user = PushKeys.user(of: key, PushKeys.notices), let notices = record as? PushNotices else {
          return nil
        }
        return (user, notices.subjects.map(\.name))
      case .erase(let key): return PushKeys.user(of: key, PushKeys.notices).map { ($0, []) }
      default: return nil
      }
    }
  }

  private func acknowledge(
    _ mark: PushCommand.Mark, isSeen: Bool, by user: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    AppDecision(
      try decide(about: user, view) { (round) throws(ClientError) in
        round.acknowledge(mark, isSeen: isSeen)
        try round.lookEarly(at: mark.subject)
        try round.advance()
      })
  }

  /// Decides about one person with devices, and writes what changed.
  ///
  /// - Parameters:
  ///   - person: the person as the same decision writes it; nil: as it stands.
  ///   - isDue: whether a record whose time has come is written in any case.
  func decide(
    about user: String, as changed: PushPerson? = nil, isDue: Bool = false, _ view: any AppView,
    _ body: (inout NoticeRound) throws(ClientError) -> Void
  ) throws(ClientError) -> [AppEffect] {
    let key = PushKeys.notices + user
    let stored = try view.record(PushNotices.self, key)
    let person: PushPerson
    if let changed { person = changed } else { person = try self.person(user, view) }
    if person.devices.isEmpty, stored == nil { return [] }
    var round = NoticeRound(rules, view, user, person, stored ?? PushNotices())
    if !person.devices.isEmpty { try body(&round) }
    var effects: [AppEffect] = []
    if !round.gone.isEmpty { effects += try change(user, to: round.person, without: round.gone) }
    if round.person.devices.isEmpty { round.notices.endAll() }
    round.notices.settle(at: view.now, rules)
    if round.notices.isBlank {
      if stored != nil { effects.append(.erase(key: key)) }
    } else if isDue && (stored?.due ?? .max) <= view.now || round.notices != stored {
      effects.append(.write(key: key, round.notices))
    }
    return effects + round.unsent.map(AppEffect.unsent) + round.sends.map(AppEffect.push)
  }
}
