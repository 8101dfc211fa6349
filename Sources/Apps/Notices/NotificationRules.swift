public import Wire

/// The numbers and texts of the app ``Notifications``. Times are in milliseconds.
public struct NotificationRules: Sendable {
  /// From the oldest thing that no device has acknowledged to the notification of it.
  public var delay: Int64 = 5_000
  /// Between two notifications about one subject, at the least.
  public var repeatInterval: Int64 = 15_000
  /// Notifications that one person is sent in a minute, all of which can go at once. More wait; withdrawals are free.
  public var sendsPerMinute = 20
  /// After which a notification is worth nothing any more, sent or not.
  public var timeToLive: Int64 = 24 * 3_600_000
  /// From the first attempt to the end of attempts, where services are away.
  public var giveUpAfter: Int64 = 3_600_000
  /// Devices of one person. One more takes the place of the one that has registered longest ago.
  public var devices = 16
  /// Subjects of one person that wait or are shown.
  public var subjects = 64
  /// After which a send that nobody has answered is taken for lost, and done again.
  public var answerTimeout: Int64 = 60_000
  /// Tells the processes of the broker apart: a send of another one is taken for lost at once, since its answer has
  /// nowhere to go.
  public var process: UInt64 = 0
  /// From one look at what is shown to the next: at first, and at most. It doubles.
  public var firstRecheck: Int64 = 30_000
  public var longestRecheck: Int64 = 3_600_000
  /// From a failure to the next attempt: at first, and at most. It doubles.
  public var firstRetry: Int64 = 1_000
  public var longestRetry: Int64 = 300_000
  /// How often a withdrawal is tried.
  public var withdrawals = 3
  /// How often in a minute one person may register devices and change settings.
  public var changesPerMinute = 30
  /// Lines of what became of a person's notifications, for `fanfare why`, and how long they are kept.
  public var lines = 32
  public var linesLifetime: Int64 = 7 * 24 * 3_600_000
  /// Acknowledgements of one person that are remembered for what is still on its way to the app, and for how long.
  public var acknowledgements = 64
  public var acknowledgementLifetime: Int64 = 600_000
  /// The operator's own texts, which come before the built-in ones.
  public var texts = NotificationTexts()
  /// Names a device that somebody registers, from its JSON.
  ///
  /// - Throws: error 107 with a sentence where it is no device, or one for a service that has no key.
  public var identify: @Sendable (_ device: [UInt8]) throws(ClientError) -> PushDeviceName

  public init(identify: @escaping @Sendable (_ device: [UInt8]) throws(ClientError) -> PushDeviceName) {
    self.identify = identify
  }
}

/// What the app needs to know of a device.
public struct PushDeviceName: Sendable, Equatable {
  /// The same for the same endpoint or token, and gives nothing away.
  public var id: String
  /// The service behind it: `web`, `apns` or `fcm`.
  public var kind: String
  /// The device as it is to be kept and handed to the Notifier, as JSON.
  public var json: [UInt8]

  public init(id: String, kind: String, json: [UInt8]) {
    self.id = id
    self.kind = kind
    self.json = json
  }
}
