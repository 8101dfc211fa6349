import Wire

/// One notification, for one device.
///
/// Texts are those that are shown: whoever makes the message has chosen the language, and what may be said. A text that
/// is too long for a service is shortened, never refused.
public struct PushMessage: Sendable, Equatable {
  /// How much of the device's battery it is worth (RFC 8030, section 5.3).
  public enum Urgency: String, Sendable, CaseIterable {
    case veryLow = "very-low"
    case low
    case normal
    /// Wakes the device: what somebody waits for, such as a message.
    case high
  }

  public let title: String
  public let body: String
  /// For the app, such as the channel and the offset. Names are those of FCM: letters, digits, `_` and `-`, without the
  /// names that it reserves.
  public let data: [String: String]
  /// The number on the app's icon; nil: it stays as it is.
  public let badge: Int?
  public let urgency: Urgency
  /// Seconds for which a service keeps it for a device that is away; 0: it is delivered now or never. At most
  /// ``longestTimeToLive``; more is cut.
  public let timeToLive: Int
  /// Of messages with the same key, a device is shown the newest only. Services are told a digest of it that is made
  /// with a secret and differs from device to device, so that they cannot tell who takes part in one conversation.
  public let collapseKey: String?
  /// Whether it takes back what was shown under the same ``collapseKey``: nothing is shown, and the app is told to
  /// remove it. Title and body are not sent then.
  public let isWithdrawal: Bool
  /// Whether it replaces what is still shown under the same ``collapseKey``, by the app, and shows nothing where that is
  /// gone. It is no withdrawal, and takes the place of no message that waits for a device.
  public let isUpdate: Bool
  public let hasSound: Bool
  /// Where a browser goes when the notification is opened; nil: the page that is configured.
  public let link: String?

  /// Seconds: four weeks, the longest that FCM keeps one.
  public static let longestTimeToLive = 28 * 86_400
  /// Bytes that ``data`` may have as JSON, so that there is room for the text in every service's message.
  public static let dataBytes = 1536
  /// Bytes of the longest ``link``.
  public static let linkBytes = PushForm.linkBytes

  /// What was given is no message. The description is a sentence for whoever made it.
  public struct Invalid: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// - Throws: where data, badge, link or the key of a withdrawal cannot be sent.
  public init(
    title: String, body: String = "", data: [String: String] = [:], badge: Int? = nil, urgency: Urgency = .high,
    timeToLive: Int = 86_400, collapseKey: String? = nil, isWithdrawal: Bool = false, isUpdate: Bool = false,
    hasSound: Bool = true, link: String? = nil
  ) throws(Invalid) {
    try Self.check(data)
    if let badge, !(0...1_000_000).contains(badge) {
      throw Invalid(description: "badge is \(badge); write a number from 0 to 1000000")
    }
    if isWithdrawal || isUpdate, collapseKey == nil {
      throw Invalid(description: "a withdrawal names nothing; give it the collapse key of what was shown")
    }
    if let link, !Self.isLink(link) {
      throw Invalid(
        description: "link is no address of at most \(Self.linkBytes) bytes; write one such as https://example.com/chat"
      )
    }
    self.title = title
    self.body = body
    self.data = data
    self.badge = badge
    self.urgency = urgency
    self.timeToLive = min(max(timeToLive, 0), Self.longestTimeToLive)
    self.collapseKey = collapseKey
    self.isWithdrawal = isWithdrawal
    self.isUpdate = isUpdate && !isWithdrawal
    self.hasSound = hasSound
    self.link = link
  }

  /// Whether it is for the app alone, and the system shows nothing of it by itself.
  var isForApp: Bool { isWithdrawal || isUpdate }

  /// The key under which a service keeps the newest message only, for a device that is away: an update has one of its
  /// own, since what it updates is still to be shown.
  var waitingKey: String? { collapseKey.map { isUpdate ? $0 + "\u{0}update" : $0 } }

  /// Whether a text can be a ``link``.
  public static func isLink(_ text: String) -> Bool { PushForm.isLink(text) }

  private static func check(_ data: [String: String]) throws(Invalid) {
    for name in data.keys.sorted() {
      guard PushForm.isName(name) else {
        throw Invalid(description: "a name in data is not made of 1 to 64 letters, digits, _ and -")
      }
      if PushForm.isReserved(name) {
        throw Invalid(description: "the name \(name) in data is reserved; choose another")
      }
    }
    let size = PushPayload.data(data).count
    if size > dataBytes {
      throw Invalid(
        description: "data has \(size) bytes as JSON; at most \(dataBytes) are sent, so let the app ask for the rest")
    }
  }
}
