public import Cryptography

/// The services that notifications go to, with what they know us by. A service that is nil is not used.
public struct PushConfiguration: Sendable {
  /// Browsers' push services.
  public struct WebPush: Sendable {
    public var key: VAPIDKey
    /// How the operator of a push service reaches ours: `mailto:…` or `https://…` (RFC 8292, section 2.1).
    public var subject: String
    /// Hosts that endpoints may lead to, with the names below them; empty: all.
    public var allowedHosts: [String]
    public var allowsPrivateAddresses: Bool
    /// The page that a notification opens, where the message names none.
    public var link: String?

    public init(
      key: VAPIDKey, subject: String, allowedHosts: [String] = [], allowsPrivateAddresses: Bool = false,
      link: String? = nil
    ) {
      self.key = key
      self.subject = subject
      self.allowedHosts = allowedHosts
      self.allowsPrivateAddresses = allowsPrivateAddresses
      self.link = link
    }
  }

  public struct APNs: Sendable {
    /// On P-256, from the file that Apple gives out.
    public var key: PrivateKey
    public var keyID: String
    public var teamID: String
    /// The bundle identifiers that devices may name; the first is that of devices which name none.
    public var topics: [String]
    /// Without a slash at the end.
    public var productionURL: String
    /// Likewise, for builds from Xcode.
    public var sandboxURL: String

    public init(
      key: PrivateKey, keyID: String, teamID: String, topics: [String], productionURL: String, sandboxURL: String
    ) {
      self.key = key
      self.keyID = keyID
      self.teamID = teamID
      self.topics = topics
      self.productionURL = productionURL
      self.sandboxURL = sandboxURL
    }
  }

  public struct FCM: Sendable {
    public var account: ServiceAccount
    /// Without a slash at the end.
    public var url: String

    public init(account: ServiceAccount, url: String) {
      self.account = account
      self.url = url
    }
  }

  /// Of each service by itself.
  public struct Limits: Sendable {
    /// Notifications that are under way at once.
    public var underWay: Int
    /// Notifications that wait for that; more end with `failed`.
    public var waiting: Int
    /// For a whole call, the wait included.
    public var timeoutMilliseconds: Int

    public init(underWay: Int = 64, waiting: Int = 1024, timeoutMilliseconds: Int = 20_000) {
      self.underWay = underWay
      self.waiting = waiting
      self.timeoutMilliseconds = timeoutMilliseconds
    }
  }

  public var webPush: WebPush?
  public var apns: APNs?
  public var fcm: FCM?
  public var limits: Limits
  /// A file with certificates in PEM that are trusted in place of the system's; nil: the system's.
  public var certificateAuthorities: String?

  public init(
    webPush: WebPush? = nil, apns: APNs? = nil, fcm: FCM? = nil, limits: Limits = Limits(),
    certificateAuthorities: String? = nil
  ) {
    self.webPush = webPush
    self.apns = apns
    self.fcm = fcm
    self.limits = limits
    self.certificateAuthorities = certificateAuthorities
  }
}
