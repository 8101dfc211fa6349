public import Wire

/// Who is notified of what, and when (docs/PUSH.md, "Who is notified, and when").
///
/// Other apps and backends say that something has happened (``PushIntent``). This one waits whether a device of the
/// person acknowledges it, has the person's devices told of what is left, and takes back what the person has seen
/// elsewhere. ``NoticeShape`` has the states and transitions of one subject, ``PushPerson`` those of a device.
public struct Notifications: App {
  public let rules: NotificationRules

  public init(_ rules: NotificationRules) { self.rules = rules }

  public static let name = "push"

  public var name: String { Self.name }

  public var namespaces: [String: ChannelOptions] { [:] }

  public func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    throw .methodNotFound
  }

  public func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision { AppDecision() }

  public func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission { throw .unknownChannel }

  public func entry(
    _ key: String, of channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppEntry? { nil }

  public func picture(
    in key: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppPicture? { nil }
}

extension Notifications {
  /// Takes notices from their outbox, in order. One that comes again changes nothing.
  ///
  /// When the decision is on disk, the notices are done with, and the outbox may forget them.
  public func take(_ intents: [PushIntent], _ view: any AppView) throws(ClientError) -> AppDecision { AppDecision() }

  /// Takes what became of a send (``AppEffect/push(_:)``). An answer that comes late, or again, changes nothing but
  /// that devices that are gone are forgotten.
  public func answered(_ answer: PushAnswer, _ view: any AppView) throws(ClientError) -> AppDecision { AppDecision() }

  /// Looks at one subject of a person before its time, because something of it was acknowledged or seen
  /// (``AppEffect/acknowledge(user:subject:)``).
  public func look(
    at subject: String, of user: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision { AppDecision() }

  /// What became of a person's notifications, as JSON for `fanfare why`.
  ///
  /// - Parameter subject: nil: of all subjects.
  public func lines(
    about subject: String?, of user: String, _ view: any AppView
  ) throws(ClientError) -> [UInt8] { Array("{}".utf8) }

  /// The subjects that wait or are shown, of each person whose record a decision writes: those for which
  /// ``look(at:of:_:)`` can change anything.
  public static func openSubjects(in effects: [AppEffect]) -> [(user: String, subjects: [String])] { [] }
}
