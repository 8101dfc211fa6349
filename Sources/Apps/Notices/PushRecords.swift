import Wire

/// The keys of the app's records.
enum PushKeys {
  static let devices = "devices/"
  static let notices = "notices/"
  static let owner = "owner/"

  /// The user whose record it is; nil: a record of another kind.
  static func user(of key: String, _ kind: String) -> String? {
    guard key.utf8.starts(with: kind.utf8) else { return nil }
    return String(decoding: key.utf8.dropFirst(kind.utf8.count), as: UTF8.self)
  }
}

/// The devices of a person, and what holds for all of them.
///
/// What becomes of a device:
///
/// | | unknown | registered |
/// |---|---|---|
/// | it registers | → registered | anew: its newest keys and wishes count |
/// | it registers for somebody else | → registered there | → unknown here, registered there |
/// | it unregisters | – | → unknown |
/// | its service says that it is gone | – | → unknown, unless it has registered anew since |
/// | one too many registers | – | → unknown, where it has registered longest ago |
/// | the person's data is deleted | – | → unknown |
struct PushPerson: AppRecord {
  struct Device: Codable, Sendable, Equatable {
    var id: String
    var kind: String
    /// What services need to reach it, as JSON. A secret.
    var json: String
    var language: String?
    var topics: [String]?
    var preview: PushCommand.Preview?
    /// When it has registered last, in milliseconds since 1970.
    var registered: Int64
  }

  /// In the order in which they registered last.
  var devices: [Device] = []
  var topics: [String]?
  var preview: PushCommand.Preview?
  var requestPreview: Bool?
  var quiet: QuietHours?
  /// Milliseconds since 1970; nil: not muted.
  var mutedUntil: Int64?
  /// The time up to which changes are paid for (``PushRate``).
  var paidUntil: Int64?

  var due: Int64? { nil }

  /// Whether there is nothing to remember. How many changes were made does not count, where nothing came of them.
  var isBlank: Bool {
    devices.isEmpty && topics == nil && preview == nil && requestPreview == nil && quiet == nil && mutedUntil == nil
  }

  func device(_ id: String) -> Device? { devices.first { $0.id.hasSameBytes(as: id) } }

  /// The devices that want to hear of a topic.
  func devices(wanting topic: String) -> [Device] {
    if let topics, !PushTopics.areMet(topics, by: topic) { return [] }
    return devices.filter { $0.topics.map { PushTopics.areMet($0, by: topic) } ?? true }
  }

  /// When what keeps notifications back is over; nil: nothing does.
  func heldUntil(at now: Int64) -> Int64? {
    let ends = [mutedUntil.flatMap { $0 > now ? $0 : nil }, quiet?.end(at: now)].compactMap(\.self)
    return ends.max()
  }
}

/// Whose a device is.
struct PushOwner: AppRecord {
  var user: String

  var due: Int64? { nil }
}

/// How often a person may do something in a minute, all of it at once. One number is kept: the time up to which all is
/// paid for.
struct PushRate {
  let perMinute: Int

  private static let minute: Int64 = 60_000
  private var cost: Int64 { max(1, Self.minute / Int64(max(1, perMinute))) }

  /// After the clock was set back, nobody must wait for longer than a minute.
  private func mark(_ paid: Int64?, _ now: Int64) -> Int64 { min(max(paid ?? now, now), now + Self.minute) }

  /// When the next may be; not later than `now`: at once.
  func next(after paid: Int64?, at now: Int64) -> Int64 { mark(paid, now) + cost - Self.minute }

  /// The mark after one more.
  func paying(_ paid: Int64?, at now: Int64) -> Int64 { mark(paid, now) + cost }
}

/// What a person is to be told, is being told, and was told lately.
struct PushNotices: AppRecord {
  /// The newest notice that was taken in, by its offset in the outbox.
  var through: UInt64 = 0
  /// The time of that notice: one with a lower offset and a later time is of a new outbox, which begins at 1 again.
  var throughTime: Int64 = 0
  /// The number of the last send.
  var number: UInt64 = 0
  var subjects: [Subject] = []
  /// The one send under way: others wait, so that they arrive in order.
  var underWay: UnderWay?
  /// Devices that are left alone for a while, since services are away.
  var holds: [Hold] = []
  /// Acknowledgements of backends' notices, for those on their way here. Oldest first.
  var acknowledged: [Acknowledgement] = []
  /// What waits for the person by app, whose sum is on the icon.
  var badges: [Badge] = []
  /// What happened, oldest first.
  var lines: [Line] = []
  /// The time up to which sends are paid for (``PushRate``).
  var paidUntil: Int64?
  /// When the record is to be looked at, in milliseconds since 1970.
  var due: Int64?

  var lane: AppLane { underWay == nil ? .notices : .sends }

  struct UnderWay: Codable, Sendable, Equatable {
    var number: UInt64
    var subject: String
    var devices: [String]
    var at: Int64
    /// When it is taken for lost.
    var until: Int64
    /// The process that has begun it (``NotificationRules/process``).
    var process: UInt64?
  }

  struct Hold: Codable, Sendable, Equatable {
    var device: String
    var until: Int64
    /// How often it has failed, one time after another.
    var tries: Int
  }

  struct Badge: Codable, Sendable, Equatable {
    var app: String
    var count: Int
  }

  struct Acknowledgement: Codable, Sendable, Equatable {
    var subject: String
    /// Everything up to it; nil: everything up to ``at``.
    var offset: UInt64?
    var at: Int64
    var isSeen: Bool

    func covers(_ mark: Mark) -> Bool {
      guard let offset else { return mark.time <= at }
      return mark.offset.map { $0 <= offset } ?? false
    }
  }

  /// One of a backend's notices, as it can be acknowledged.
  struct Mark: Codable, Sendable, Equatable {
    var offset: UInt64?
    var time: Int64
    /// How many further notices it stands for; nil: none.
    var more: Int?

    var count: Int { 1 + (more ?? 0) }
  }
}

extension PushNotices {
  struct Subject: Codable, Sendable, Equatable {
    var name: String
    /// Of its newest notice. The app may say another when it is asked.
    var topic: String
    var state: NoticeState = .gone
    /// When the oldest thing came that devices are to be told of, in milliseconds since 1970, as all times here.
    var since: Int64
    /// When the oldest thing came that came since the send under way began.
    var newer: Int64?
    /// When it is to be looked at, unless something is under way.
    var due: Int64
    /// When devices were told last; nil: never.
    var sentAt: Int64?
    /// The first attempt to tell what is to be told now; nil: none yet.
    var triedAt: Int64?
    /// Devices that show it, or may.
    var shownOn: [String] = []
    /// Devices that are still to be told; nil: all.
    var missing: [String]?
    /// How often it was looked at since it is shown.
    var looks = 0
    /// How often a withdrawal was tried.
    var withdrawals = 0
    /// What devices show, as far as it may have to be updated.
    var told: Told?
    /// Whether it is to be looked at as soon as nothing is under way.
    var isHurried: Bool?
    /// What a backend wants to have shown; nil: its app is asked.
    var content: Content?

    /// When it is worth nothing any more.
    func end(_ rules: NotificationRules) -> Int64 {
      (state == .shown ? sentAt ?? since : since).saturatingAdd(rules.timeToLive)
    }
  }

  /// What devices were told.
  struct Told: Codable, Sendable, Equatable {
    /// How much of it the person had not seen.
    var unseen: Int
    /// When it was sent. Updates do not change it, since they tell of nothing new.
    var at: Int64
    /// Devices that still show a higher number; nil: none.
    var stale: [String]?
    /// When an update was sent last.
    var updatedAt: Int64?
    /// How often updates were tried since devices took one.
    var tries: Int?
    /// The newest of it (``AppNotification/newest``), where all devices were told; nil: not known, or not all were.
    var newest: UInt64?
  }

  /// What a backend wants to have shown, and what was acknowledged of it.
  struct Content: Codable, Sendable, Equatable {
    var title: String
    var body: String
    var data: [String: String]
    var link: String?
    /// What no device has acknowledged, oldest first.
    var open: [Mark]
    var newest: Mark
    /// Whether the person has seen the newest.
    var isSeen = false
    /// What the person has not seen, oldest first; nil: what is open.
    var unseen: [Mark]?

    /// More than that are one with the last, which keeps its time: a notice of it goes out sooner then, never later.
    static let mostOpen = 32

    /// Whether the backend says what is shown. Where it does not, the texts of the topic do.
    var hasText: Bool { !title.isEmpty }

    /// How many notices no device has acknowledged.
    var openCount: Int { open.reduce(0) { $0 + $1.count } }
    /// How many notices the person has not seen.
    var unseenCount: Int { isSeen ? 0 : max(1, (unseen ?? open).reduce(0) { $0 + $1.count }) }

    mutating func acknowledge(_ acknowledgement: Acknowledgement) {
      if acknowledgement.isSeen {
        unseen = (unseen ?? open).filter { !acknowledgement.covers($0) }
        if acknowledgement.covers(newest) { isSeen = true }
      }
      open.removeAll { acknowledgement.covers($0) }
    }

    mutating func add(_ mark: Mark) {
      var unseen = isSeen ? [] : unseen ?? open
      Self.add(mark, to: &unseen)
      Self.add(mark, to: &open)
      (self.unseen, newest, isSeen) = (unseen, mark, false)
    }

    private static func add(_ mark: Mark, to marks: inout [Mark]) {
      if marks.count < mostOpen { return marks.append(mark) }
      marks[marks.count - 1].offset = mark.offset
      marks[marks.count - 1].more = marks[marks.count - 1].count
    }

    /// As an app would tell it.
    func notification(_ topic: String) -> AppNotification {
      AppNotification(
        topic: topic, unacknowledged: openCount, unseen: unseenCount, since: open.first?.time ?? newest.time, badge: 0,
        data: data, unseenSince: unseen?.first?.time)
    }
  }

  /// Something that happened.
  struct Line: Codable, Sendable, Equatable {
    enum Event: String, Codable, Sendable {
      /// Services have taken it for these devices.
      case sent
      /// A device had acknowledged it in time, or it was seen, or there is nothing any more.
      case suppressed
      case quiet, limited
      /// Services were away, or asked to wait: it is tried again.
      case later
      case refused
      /// The device is gone.
      case forgotten
      /// Nobody has said what became of it: it is sent again.
      case lost
      case withdrawn, expired
      /// Less is left of what is shown, and devices were told how much.
      case updated
      /// Too many subjects wait.
      case crowded
      /// No device wants to hear it.
      case unwanted
      case suspended
      case givenUp = "given_up"

      var isWaiting: Bool { self == .quiet || self == .limited || self == .later }

      /// Why devices were not told, where they were not.
      var unsent: UnsentNotice.Reason? {
        switch self {
        case .suppressed: .suppressed
        case .expired: .expired
        case .crowded: .crowded
        case .unwanted: .unwanted
        case .suspended: .suspended
        case .givenUp: .givenUp
        case .sent, .quiet, .limited, .later, .refused, .forgotten, .lost, .withdrawn, .updated: nil
        }
      }
    }

    var at: Int64
    var subject: String
    var event: Event
    var devices: [String]?
    /// Until when something waits.
    var until: Int64?
    /// What a service, or who could not reach it, has to say.
    var reason: String?
  }
}

extension PushNotices {
  func index(of subject: String) -> Int? { subjects.firstIndex { $0.name.hasSameBytes(as: subject) } }

  func heldUntil(_ device: String, at now: Int64) -> Int64? {
    holds.first { $0.device.hasSameBytes(as: device) }.flatMap { $0.until > now ? $0.until : nil }
  }

  /// Adds a line. That something still waits replaces the line that it does.
  mutating func note(_ line: Line, _ rules: NotificationRules) {
    var line = line
    line.reason = line.reason.map { NotificationTexts.cut($0, 160) }
    if line.event.isWaiting,
      let last = lines.lastIndex(where: { $0.subject.hasSameBytes(as: line.subject) }), lines[last].event == line.event
    {
      lines.remove(at: last)
    }
    lines.append(line)
    if lines.count > rules.lines { lines.removeFirst(lines.count - rules.lines) }
  }

  /// Counts what waits in the app of a topic.
  ///
  /// - Returns: what waits in all apps.
  mutating func count(_ badge: Int, of topic: String) -> Int {
    let app = String(topic.prefix { $0 != "." })
    let count = min(max(badge, 0), 999_999)
    if let index = badges.firstIndex(where: { $0.app.hasSameBytes(as: app) }) {
      badges[index].count = count
    } else if badges.count < 8 {
      badges.append(Badge(app: app, count: count))
    }
    return min(badges.reduce(0) { $0 + $1.count }, 999_999)
  }

  /// Ends everything, for somebody without devices. What happened is kept for a while.
  mutating func endAll() {
    (subjects, underWay, holds, acknowledged, badges) = ([], nil, [], [], [])
  }

  /// Drops what is over, and works out when the record is to be looked at.
  mutating func settle(at now: Int64, _ rules: NotificationRules) {
    subjects.removeAll { $0.state == .gone }
    lines.removeAll { $0.at.saturatingAdd(rules.linesLifetime) <= now }
    acknowledged.removeAll { $0.at.saturatingAdd(rules.acknowledgementLifetime) <= now || $0.at > now }
    if acknowledged.count > rules.acknowledgements {
      acknowledged.removeFirst(acknowledged.count - rules.acknowledgements)
    }
    // How often a device has failed is remembered for a while after its time, to wait for longer the next time.
    holds.removeAll { $0.until.saturatingAdd(rules.longestRetry) <= now }
    if paidUntil ?? .max <= now { paidUntil = nil }
    let tidy = [
      lines.last.map { $0.at.saturatingAdd(rules.linesLifetime) },
      acknowledged.last.map { $0.at.saturatingAdd(rules.acknowledgementLifetime) },
    ]
    // In the lane of sends the time is that of the send alone.
    due = underWay?.until ?? ([subjects.map(\.due).min()] + tidy).compactMap(\.self).min()
  }

  /// Whether nothing is left to remember. A notice that comes again later than this is too old anyway.
  var isBlank: Bool { subjects.isEmpty && underWay == nil && lines.isEmpty && acknowledged.isEmpty }
}
