/// Whether somebody may do something with a channel, and what decided it.
///
/// Two bytes and no text: every publish makes one. The sentence is made when somebody asks for it (`fanfare explain`).
public struct AccessVerdict: Sendable, Equatable {
  public let isAllowed: Bool
  public let reason: AccessReason

  static func allowed(_ reason: AccessReason) -> AccessVerdict { AccessVerdict(isAllowed: true, reason: reason) }
  static func refused(_ reason: AccessReason) -> AccessVerdict { AccessVerdict(isAllowed: false, reason: reason) }
}

/// What decided an ``AccessVerdict``.
public enum AccessReason: Sendable, Equatable {
  /// The app decides, when the broker asks it.
  case app
  /// Nobody writes to the app's channel but the app.
  case appWrites
  /// The app's channels are for users, and this client has none.
  case appNeedsUser
  /// The user is on the channel that this one belongs to.
  case onSubject
  /// The user may subscribe to the channel that this one belongs to.
  case subject
  /// The user may not subscribe to the channel that this one belongs to.
  case subjectClosed
  /// Who may see the presence of the channel that this one belongs to may see it here.
  case presenceOfSubject
  /// The map shows who is on another channel, and the broker alone writes to it.
  case presenceMap
  /// The user is not on the channel that this one belongs to.
  case notOnSubject
  /// The name belongs to no channel, though the namespace follows others.
  case noSubject
  /// The name begins with `$`.
  case privateName
  /// The name is that of a personal channel, to which the server subscribes its user.
  case personalChannel
  /// The name lists users, which the namespace does not allow.
  case userLimitsOff
  /// The name lists users, and this user is not among them.
  case notListed
  /// The name lists users, and this user is among them.
  case listed
  /// The backend is asked for each subscription, and decides.
  case backend
  /// An option of the namespace.
  case option(AccessOption)
}

/// The options of a namespace that say who may do what.
public enum AccessOption: UInt8, Sendable, CaseIterable {
  case subscribeForClient, subscribeForAnonymous
  case publishForSubscriber, publishForClient, publishForAnonymous
  case historyForSubscriber, historyForClient, historyForAnonymous
  case presenceForSubscriber, presenceForClient, presenceForAnonymous

  /// The option's key in the configuration.
  public var key: String {
    switch self {
    case .subscribeForClient: "allow_subscribe_for_client"
    case .subscribeForAnonymous: "allow_subscribe_for_anonymous"
    case .publishForSubscriber: "allow_publish_for_subscriber"
    case .publishForClient: "allow_publish_for_client"
    case .publishForAnonymous: "allow_publish_for_anonymous"
    case .historyForSubscriber: "allow_history_for_subscriber"
    case .historyForClient: "allow_history_for_client"
    case .historyForAnonymous: "allow_history_for_anonymous"
    case .presenceForSubscriber: "allow_presence_for_subscriber"
    case .presenceForClient: "allow_presence_for_client"
    case .presenceForAnonymous: "allow_presence_for_anonymous"
    }
  }
}

extension AccessReason {
  /// The key, within the namespace, of the option that decided; nil: the name or an app did.
  public var option: String? {
    switch self {
    case .option(let option): option.key
    case .userLimitsOff: "allow_user_limited_channels"
    case .presenceOfSubject, .presenceMap: "map_presence"
    case .onSubject, .subject, .subjectClosed, .notOnSubject, .noSubject: "follows_channel"
    case .backend: "subscribe_proxy_enabled"
    case .app, .appWrites, .appNeedsUser, .privateName, .personalChannel, .notListed, .listed: nil
    }
  }

  /// What decided, as a sentence.
  ///
  /// - Parameter isAllowed: the verdict that the reason goes with.
  public func sentence(isAllowed: Bool) -> String {
    switch self {
    case .app: "the channel belongs to an app, which decides when the broker asks it"
    case .appWrites: "the channel belongs to an app, which alone writes to it: call one of its methods"
    case .appNeedsUser: "the channel belongs to an app, and is for users only: sign in with a token that has a sub"
    case .onSubject: "the user is subscribed to the channel that this one belongs to"
    case .subject: "the user may subscribe to the channel that this one belongs to"
    case .subjectClosed:
      "the user is not subscribed to the channel that this one belongs to, and may not subscribe to it"
    case .presenceOfSubject:
      "the user \(isAllowed ? "may" : "may not") see the presence of the channel that this one shows"
    case .presenceMap: "the map shows who is on another channel, and nobody writes to it"
    case .notOnSubject:
      "the user is not subscribed to the channel that this one belongs to, or the namespace does not allow it to "
        + "subscribers"
    case .noSubject:
      "the name does not say which channel it belongs to: what follows the namespace is not a channel's name"
    case .privateName: "names that begin with $ are opened by a subscription token alone"
    case .personalChannel: "the name is a personal channel's: the server subscribes its user, and nobody else"
    case .userLimitsOff: "the name lists users, and the namespace does not allow such names"
    case .notListed: "the name lists the users who may subscribe, and this user is not among them"
    case .listed: "the name lists this user"
    case .backend: "the backend is asked for each subscription without a token, and its answer is not known here"
    case .option(let option): "\(option.key) is \(isAllowed ? "on" : "off") in the namespace"
    }
  }
}
