public import Wire

/// The rules of one app: what its commands mean, who may see its channels, what its lists hold.
///
/// An app is pure. It looks at its records through an ``AppView``, answers with an ``AppDecision``, and keeps nothing
/// between two calls; the broker performs the effects of a decision as one transaction of the log, all or none.
/// Decisions see what decisions before them wrote, whether or not it is on disk yet: the broker answers, and shows
/// what changed, when it is.
public protocol App: Sendable {
  /// Its methods and records begin with it, and its namespaces: `clique` has `clique.send` and `clique.chat:…`.
  var name: String { get }
  /// The channels that only this app writes to, by namespace.
  var namespaces: [String: ChannelOptions] { get }

  /// A command, whose form was looked at when it was read (``AppCommand``): what is left is what the records say.
  ///
  /// - Throws: what the caller is told. Nothing is written then.
  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision

  /// The time of a record has come (``AppRecord/due``). The decision must erase the record or give it a later time.
  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision

  /// Whether somebody may subscribe to a channel, read its history and see who is there.
  ///
  /// - Throws: what is told to those who may not.
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission

  /// The author of a publication wants to change it, or to remove it. The decision's answer is not used.
  ///
  /// - Throws: what the author is told. Nothing is changed then.
  func edit(_ edit: AppEdit, _ view: any AppView) throws(ClientError) -> AppDecision

  /// The entries of map channels that show something that was touched (``AppEffect/touch(_:)``).
  func entries(showing subject: String, _ view: any AppView) throws(ClientError) -> [(
    channel: ChannelName, key: String
  )]

  /// What a map channel that is in memory alone may hold entries for, when it is opened: it was empty after a restart.
  func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String]

  /// What a map channel of the app holds for a key, worked out from the records; nil: nothing.
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry?

  /// What subscribers see of an entry, from what the log keeps of it (``AppEntry/kept``).
  func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8]

  /// An entry without what may have ended, while nobody knows for certain what time it is.
  ///
  /// - Parameter latest: the latest that it may be now.
  func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8]
}

/// One command, by one of a user's devices.
public struct AppCall: Sendable, Equatable {
  public enum Source: Sendable, Equatable {
    case client
    /// What a gateway says itself, which no client can: a picture that it took in, for example.
    case gateway
    /// A service says it for a user, and is believed.
    case service
  }

  /// Its text is made when it is asked for: nearly no command needs it.
  public enum Key: Sendable, Equatable, CustomStringConvertible {
    case gateway(UInt64, request: UInt64)
    case text(String)

    public var description: String {
      switch self {
      case .gateway(let gateway, let request): "\(gateway)-\(request)"
      case .text(let text): text
      }
    }
  }

  public var command: AppCommand
  /// Who calls. The user is never empty.
  public var caller: ClientInfo
  public var source: Source
  /// The place that a signed token says the caller is in, as the gateway has checked; nil: there was none.
  public var attestedPlace: String?
  /// Tells a command that is asked again from a new one, over restarts too.
  public var key: Key

  public init(
    _ command: AppCommand, caller: ClientInfo, source: Source = .client, attestedPlace: String? = nil, key: Key
  ) {
    self.command = command
    self.caller = caller
    self.source = source
    self.attestedPlace = attestedPlace
    self.key = key
  }

  public var user: String { caller.user }
}

extension App {
  public func entries(
    showing subject: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] { [] }

  public func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String] { [] }

  public func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8] { kept }

  public func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8] { shown }

  public func edit(_ edit: AppEdit, _ view: any AppView) throws(ClientError) -> AppDecision {
    AppDecision([.edit(edit.channel, offset: edit.original.offset, data: edit.data)])
  }
}

/// Somebody who may see a channel changes what they published there.
public struct AppEdit: Sendable {
  public var channel: ChannelName
  /// As it stands in the history.
  public var original: Publication
  /// Valid JSON; nil: it is to be removed.
  public var data: [UInt8]?
  /// The author. The user is never empty.
  public var editor: ClientInfo

  public init(channel: ChannelName, original: Publication, data: [UInt8]?, editor: ClientInfo) {
    self.channel = channel
    self.original = original
    self.data = data
    self.editor = editor
  }
}

/// What an app may look at while it decides: its own records, and its channels.
public protocol AppView: AnyObject {
  /// Milliseconds since 1970, by the broker's clock.
  var now: Int64 { get }
  /// The latest that it may be now: later than ``now`` while the machine's clock waits to be confirmed. What has ended
  /// by this is not shown; what has not ended by ``now`` is not destroyed.
  var latest: Int64 { get }

  /// A broker before this one has done the command, as its records say: who asks could not know. They say so for a
  /// minute.
  var isAskedAgain: Bool { get }

  /// - Throws: where the log cannot be read.
  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record?

  /// The newest offset that was given out on a stream channel; the next publication gets the one after it.
  func top(of channel: ChannelName) throws(ClientError) -> UInt64

  /// The offset that this command's publication was given when the command came before, as its key or the one who asks
  /// tells; nil: it comes for the first time.
  func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64?

  /// The newest publications that are on disk, newest first.
  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication]
}

extension AppView {
  public var latest: Int64 { now }
  public var isAskedAgain: Bool { false }

  public func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64? { nil }
}

/// Something that an app keeps, durably, under a key.
public protocol AppRecord: Codable, Sendable, Equatable {
  /// When the app wants to look at it again, in milliseconds since 1970; nil: never. Survives restarts.
  var due: Int64? { get }
  /// In which lane it waits for that.
  var lane: AppLane { get }
}

extension AppRecord {
  public var lane: AppLane { .endings }
}

/// The lanes in which records wait for their time: none of one lane ever waits behind any number of another's.
public enum AppLane: Int64, Sendable, CaseIterable {
  /// Something ends, for people or on the disk. Also what was written before there were lanes.
  case endings = 0
  /// Nothing but tidying up: nobody sees whether it comes a minute later.
  case upkeep = 1
}

/// What is to be done. All of it happens in one transaction, or nothing.
///
/// Indirect: it goes from hand to hand for every message, and its parts would each be counted each time.
public indirect enum AppEffect: Sendable {
  case write(key: String, any AppRecord)
  case erase(key: String)
  /// A publication on a stream channel of the app.
  case publish(AppPublication)
  /// A publication of the app's channel is changed, as by its author; nil data: removed, for everybody.
  case edit(ChannelName, offset: UInt64, data: [UInt8]?, from: AppConcealment? = nil)
  /// The entry of a map channel is worked out again (``App/entry(_:of:_:)``).
  case refresh(ChannelName, key: String, AppTiming)
  /// What ``App/entries(showing:_:)`` names is worked out again, within a moment and many times as one: for what happens
  /// very often, and shows in many lists.
  case touch(String)
  /// What the user may see of the channel has changed: those of the user's devices that are subscribed are let go or
  /// given another filter. Afterwards.
  case readmit(user: String, ChannelName)
  /// Keys were destroyed: what SQLite keeps of the old pages and its journal is overwritten, as soon as it can be.
  case scrub
  /// Afterwards, and again after a restart until it is done.
  case discardPictures([String])
}

/// Whom a change of a publication is kept from.
public struct AppConcealment: Sendable, Equatable {
  /// They go on reading what they read before (``FormerVersions``).
  public var users: [String]
  /// Of the publication that tells of the change.
  public var tags: [String: String]

  public init(users: [String], tags: [String: String]) {
    self.users = users
    self.tags = tags
  }
}

public enum AppTiming: Sendable, Equatable {
  /// In the transaction of the decision: whoever sees one change sees the other.
  case atomically
  /// Within a moment, many changes of one entry as one.
  case soon
}

public struct AppPublication: Sendable, Equatable {
  public var channel: ChannelName
  public var data: [UInt8]
  public var info: ClientInfo?
  public var tags: [String: String]
  /// The same key within five minutes publishes once.
  public var idempotencyKey: String?

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

/// The answer to a command, and what it changes.
public struct AppDecision: Sendable {
  public enum Answer: Sendable, Equatable {
    /// JSON.
    case reply([UInt8])
    /// Answered when the search is done.
    case search(MessageSearch)
    /// What the command needs is on its way to the disk: it is run again when that is there. Without effects.
    case later
  }

  public var effects: [AppEffect]
  public var answer: Answer
  /// A limit that refuses nobody, and was reached: to be counted, as one that does (``ClientError/limit``).
  public var reached: AppLimit?

  public init(_ effects: [AppEffect] = [], reply: [UInt8] = Array("{}".utf8)) { self.init(effects, .reply(reply)) }

  public init(_ effects: [AppEffect], _ answer: Answer) {
    self.effects = effects
    self.answer = answer
  }

  public init(search: MessageSearch) {
    effects = []
    answer = .search(search)
  }
}

/// Somebody may see a channel.
public struct AppAdmission: Sendable, Equatable {
  /// Publications, joins and members that do not pass it do not exist for this user; nil: all do.
  public var audience: TagFilter?
  /// Nobody is let in and told anything; whoever is subscribed already stays, and gets what passes. So nobody sees them
  /// leave. Nil: they may come.
  public var refusal: ClientError?

  public init(audience: TagFilter? = nil, refusal: ClientError? = nil) {
    self.audience = audience
    self.refusal = refusal
  }
}

/// What a map channel holds for a key.
public struct AppEntry: Sendable, Equatable {
  /// JSON.
  public var data: [UInt8]
  /// What the log keeps in its place, where subscribers see what no file may hold; ``App/shown(_:of:)`` turns it back.
  public var kept: [UInt8]?
  public var score: Int64
  /// Milliseconds since 1970; `Int64.max`: never.
  public var expires: Int64
  /// Who may see it, as with publications.
  public var tags: [String: String]

  public init(
    data: [UInt8], kept: [UInt8]? = nil, score: Int64, expires: Int64 = .max, tags: [String: String] = [:]
  ) {
    self.tags = tags
    self.data = data
    self.kept = kept
    self.score = score
    self.expires = expires
  }
}
