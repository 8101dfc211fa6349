/// What an app tells when people may have to be notified, in the transaction of what happened
/// (``AppEffect/notify(_:)``).
///
/// It says no more than whom it concerns: what is to be shown is asked when it is to be sent
/// (``App/notification(about:for:_:)``), so that nobody is told of what was read, taken back or blocked meanwhile.
public struct AppNotice: Sendable, Equatable {
  /// The kind of what happened, by which people choose what they want to hear, with the app's name: `clique.message`.
  public var topic: String
  /// What it is about: later notices about the same subject replace what was shown. A channel, such as
  /// `clique.chat:p3f…`.
  public var subject: String
  /// Whom it concerns, each once. Whoever caused it is not among them.
  public var users: [String]

  public init(topic: String, subject: String, users: [String]) {
    self.topic = topic
    self.subject = subject
    self.users = users
  }
}

/// What a person is to be told of a subject now, from the app's records.
public struct AppNotification: Sendable, Equatable {
  /// As in ``AppNotice/topic``: a request that was accepted meanwhile is a message now.
  public var topic: String
  /// What no device of the person has acknowledged: messages, requests, States. 0: nothing more is sent, but what was
  /// shown stays.
  public var unacknowledged: Int
  /// What the person has not seen. 0: what was shown is withdrawn. Fewer than devices show: that is updated.
  public var unseen: Int
  /// When the oldest of that happened, in milliseconds since 1970: where that was after the notification that devices
  /// show, all of that is seen. Nil: not known.
  public var unseenSince: Int64?
  /// When the oldest of what no device has acknowledged happened, in milliseconds since 1970.
  public var since: Int64
  /// Everything that waits for the person in the app, for the badge on its icon.
  public var badge: Int
  /// Who wrote it, as other people see them; nil: nobody in particular, or it is a secret.
  public var sender: String?
  /// What the newest of it says; nil: it has no text, or it is a secret that no setting of the person's opens.
  public var text: String?
  /// For the app on the phone, such as the channel and the offset: short names and values.
  public var data: [String: String]
  /// Grows with whatever comes, where this may be known a moment before the notice of it: what devices were told up to this
  /// is not told again. Nil: a notice is there as soon as what it tells of.
  public var newest: UInt64?

  public init(
    topic: String, unacknowledged: Int, unseen: Int, since: Int64, badge: Int, sender: String? = nil,
    text: String? = nil, data: [String: String] = [:], unseenSince: Int64? = nil, newest: UInt64? = nil
  ) {
    self.unseenSince = unseenSince
    self.newest = newest
    self.topic = topic
    self.unacknowledged = unacknowledged
    self.unseen = unseen
    self.since = since
    self.badge = badge
    self.sender = sender
    self.text = text
    self.data = data
  }
}

/// A notice as it stands in the outbox of notices, and is handed to the app ``Notifications``.
public struct PushIntent: Sendable, Equatable {
  /// In the outbox: grows by one with each notice. One that was handed over before may come again after a restart.
  public var offset: UInt64
  /// Milliseconds since 1970.
  public var time: Int64
  public var topic: String
  public var subject: String
  public var users: [String]
  /// What a backend wants to have shown, where the notice is of a backend and not of an app; nil: the app is asked.
  public var content: Content?

  public struct Content: Sendable, Equatable {
    /// Empty: the texts of the topic say that there is something (``NotificationTexts``).
    public var title: String
    public var body: String
    public var data: [String: String]
    public var link: String?
    /// What it is to be acknowledged by: the channel whose offset is named with `push.delivered`; nil: it cannot be
    /// acknowledged, and goes out at once.
    public var offset: UInt64?

    public init(
      title: String, body: String = "", data: [String: String] = [:], link: String? = nil, offset: UInt64? = nil
    ) {
      self.title = title
      self.body = body
      self.data = data
      self.link = link
      self.offset = offset
    }
  }

  public init(
    offset: UInt64, time: Int64, topic: String, subject: String, users: [String], content: Content? = nil
  ) {
    self.offset = offset
    self.time = time
    self.topic = topic
    self.subject = subject
    self.users = users
    self.content = content
  }
}

/// One notification for the devices of one person, on its way to the services that bring it there
/// (``AppEffect/push(_:)``).
public struct PushSend: Sendable, Equatable {
  /// One device: its name, which gives nothing away, and what it was registered with, as JSON.
  public struct Device: Sendable, Equatable {
    public var id: String
    public var json: [UInt8]
    /// Title and body in the device's language.
    public var title: String
    public var body: String

    public init(id: String, json: [UInt8], title: String, body: String) {
      self.id = id
      self.json = json
      self.title = title
      self.body = body
    }
  }

  public var user: String
  /// Tells sends to one person apart: the answer names it.
  public var number: UInt64
  public var devices: [Device]
  /// Of notifications with one key a device shows the newest. Secret from services (`Push/Messages/PushMessage.swift`).
  public var collapseKey: String
  /// Takes back what was shown under the key.
  public var isWithdrawal: Bool
  /// Replaces what is still shown under the key, without a sound, and shows nothing where it is gone.
  public var isUpdate: Bool
  public var badge: Int?
  public var data: [String: String]
  public var link: String?
  /// Seconds for which a service keeps it for a device that is away.
  public var timeToLive: Int
  /// Whether the device may be woken for it and sounds.
  public var isUrgent: Bool

  public init(
    user: String, number: UInt64, devices: [Device], collapseKey: String, isWithdrawal: Bool = false,
    isUpdate: Bool = false, badge: Int? = nil, data: [String: String] = [:], link: String? = nil, timeToLive: Int,
    isUrgent: Bool
  ) {
    self.user = user
    self.number = number
    self.devices = devices
    self.collapseKey = collapseKey
    self.isWithdrawal = isWithdrawal
    self.isUpdate = isUpdate
    self.badge = badge
    self.data = data
    self.link = link
    self.timeToLive = timeToLive
    self.isUrgent = isUrgent
  }
}

/// Something that a person was not told of, for the metrics.
public struct UnsentNotice: Sendable, Equatable {
  public enum Reason: String, Sendable, CaseIterable {
    /// A device had acknowledged it in time, or it was seen or taken back.
    case suppressed
    /// No device wants to hear of it.
    case unwanted
    case suspended
    /// It became too old.
    case expired
    /// Too many other things wait for the person.
    case crowded
    /// Services did not take it, or the withdrawal or update of it, for too long.
    case givenUp = "given_up"
  }

  public var reason: Reason
  /// How many devices were not told, by the kind of their service.
  public var kinds: [String: Int]

  public init(_ reason: Reason, kinds: [String: Int]) {
    self.reason = reason
    self.kinds = kinds
  }
}

/// What became of a ``PushSend``.
public struct PushAnswer: Sendable, Equatable {
  public enum Verdict: Sendable, Equatable {
    case taken
    /// The device is gone. It is forgotten, unless it has registered after that time (milliseconds since 1970; nil: the
    /// service names none).
    case forget(since: Int64?)
    /// Milliseconds after which it may be tried again; nil: the service names none.
    case later(after: Int64?, reason: String)
    /// Tried again would be answered the same.
    case refused(reason: String)
    /// Nothing was taken, and it may be tried again.
    case failed(reason: String)
    /// The notification went out and nobody said what became of it: it may be tried again, and the device may show it.
    case unanswered(reason: String)
  }

  public var user: String
  public var number: UInt64
  /// By ``PushSend/Device/id``. A device without an answer counts as unanswered.
  public var verdicts: [String: Verdict]

  public init(user: String, number: UInt64, verdicts: [String: Verdict]) {
    self.user = user
    self.number = number
    self.verdicts = verdicts
  }
}
