public import Wire

/// One effect of a decision. The effects that write happen in one transaction, or none of them does; the others follow
/// when that is on disk.
///
/// Indirect, because effects are passed on for every message, and Swift would count a reference for each of their
/// parts.
public indirect enum AppEffect: Sendable {
  case write(key: String, any AppRecord)
  case erase(key: String)
  /// A publication on a stream channel of the app.
  case publish(AppPublication)
  /// Changes a publication on a channel of the app; nil data removes it, for everybody. One that is gone after a time
  /// (``Publication/vanishes``) is removed whatever it is, also where it tells that another was changed.
  case edit(ChannelName, offset: UInt64, data: [UInt8]?, from: AppConcealment? = nil)
  /// Works out an entry of a map channel again (``App/entry(_:of:_:)``).
  case refresh(ChannelName, key: String, AppTiming)
  /// Opens a channel before the decision is performed, and writes nothing to it: for a decision that elsewhere would
  /// write there, and is not to be told from that one by how long its answer takes.
  case open(ChannelName)
  /// Works out again the entries that show a subject (``App/entries(showing:_:)``), a moment later, and once for many
  /// touches: for what happens very often and shows in many lists.
  case touch(String)
  /// Decides again what the user may see of the channel, when the transaction is on disk. The user's subscribed devices
  /// are unsubscribed or get another filter.
  case readmit(user: String, ChannelName)
  /// Overwrites what SQLite's file and journal still hold of old pages, as soon as possible, because keys were
  /// destroyed.
  case scrub
  /// Has the gateways delete pictures, or keep them for moderators, when the transaction is on disk, and once more a
  /// while later, also after a restart.
  case pictureFates([PictureFate])
  /// Tells webhooks that want to know of it, in the transaction of the decision. The data is JSON, and holds nothing of
  /// what people write or show each other.
  case tell(WebhookEvents, [UInt8])
  /// Somebody may have to be notified of what the decision does: noted in its transaction.
  case notify(AppNotice)
  /// A device of the user has acknowledged, or the user has seen, what there is about a subject
  /// (``AppNotice/subject``). A hint that makes what was shown go sooner: it is looked after now and then in any case.
  case acknowledge(user: String, subject: String)
  /// Has a notification sent to a person's devices, when the transaction is on disk. Of the app ``Notifications``
  /// alone.
  case push(PushSend)
  /// Counts that a person was not told of something, when the transaction is on disk. Likewise.
  case unsent(UnsentNotice)
  /// Sends something to the same app in another partition, in the transaction of the decision: it arrives there exactly
  /// once, in order, a moment later (``App/receive(_:_:)``). Never to the app's own partition.
  case relay(AppRelay)
}

/// What an app sends to itself in another partition.
public struct AppRelay: Sendable, Equatable {
  public var partition: Int
  /// JSON of the app's own. It stands in the database until it is taken in, and in its backups: it must hold nothing that
  /// the log may not hold.
  public var data: [UInt8]

  public init(to partition: Int, _ data: [UInt8]) {
    self.partition = partition
    self.data = data
  }
}

extension AppEffect {
  /// Has the gateways delete pictures of which nothing is kept.
  static func discardPictures(_ ids: [String]) -> AppEffect { .pictureFates(ids.map(PictureFate.init(gone:))) }
}

/// The users from whom a change of a publication is kept.
public struct AppConcealment: Sendable, Equatable {
  /// Users who go on reading the publication as it was before (``FormerVersions``).
  public var users: [String]
  /// Tags for the publication that tells of the change.
  public var tags: [String: String]

  public init(users: [String], tags: [String: String]) {
    self.users = users
    self.tags = tags
  }
}

public enum AppTiming: Sendable, Equatable {
  /// In the transaction of the decision: whoever sees the decision's other changes sees the entry's.
  case atomically
  /// A moment later. Many changes of one entry count as one.
  case soon
}

public struct AppPublication: Sendable, Equatable {
  public var channel: ChannelName
  public var data: [UInt8]
  public var info: ClientInfo?
  public var tags: [String: String]
  /// Two publications with the same key within five minutes count as one.
  public var idempotencyKey: String?
  /// What two publications with the same key must have in common, where their data holds a time; nil: the data.
  public var identity: [UInt8]?

  public init(
    channel: ChannelName, data: [UInt8], info: ClientInfo? = nil, tags: [String: String] = [:],
    idempotencyKey: String? = nil
  ) {
    self.channel = channel
    self.data = data
    self.info = info
    self.tags = tags
    self.idempotencyKey = idempotencyKey
  }
}
