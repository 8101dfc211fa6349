public import Wire

/// The rules of one app: what its commands mean, who may see its channels, what its lists hold.
///
/// An app is pure. It looks at its records through an ``AppView``, answers with an ``AppDecision``, and keeps nothing
/// between two calls; the broker performs the effects of a decision as one transaction of the log, all or none. A
/// decision sees what earlier decisions wrote, whether or not that is on disk yet. The broker answers, and shows
/// subscribers what changed, only when it is on disk.
public protocol App: Sendable {
  /// The app's name, with which its methods, records and namespaces begin: `clique` has `clique.send` and
  /// `clique.chat:…`.
  var name: String { get }
  /// The channels that only this app writes to, by namespace.
  var namespaces: [String: ChannelOptions] { get }

  /// Decides about a command. Its form was checked when it was read (``AppCommand``), so only the records still have a
  /// say.
  ///
  /// - Throws: the error for the caller. Nothing is written then.
  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision

  /// Decides about a record whose time has come (``AppRecord/due``). The decision must erase it or give it a later
  /// time.
  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision

  /// Milliseconds from the beginning of what a record of the lane ``AppLane/sends`` waits for to the time at which the
  /// record is due.
  var answerTimeout: Int64 { get }

  /// Whether a user may subscribe to a channel, read its history and see who is there.
  ///
  /// - Throws: the error for a user who may not.
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission

  /// Decides about what this app has sent from another partition (``AppEffect/relay(_:)``): exactly once, in the order in
  /// which that partition's decisions were committed.
  ///
  /// - Parameter data: as in ``AppRelay/data``.
  /// - Throws: a temporary error where it has to be tried again; another where it can never be taken in.
  func receive(_ data: [UInt8], _ view: any AppView) throws(ClientError) -> AppDecision

  /// Decides about an author's wish to change or remove a publication. The decision's answer is not used.
  ///
  /// - Throws: the error for the author. Nothing is changed then.
  func edit(_ edit: AppEdit, _ view: any AppView) throws(ClientError) -> AppDecision

  /// Whether the app is shared among partitions and has something to say of entries that are worked out again
  /// (``follows(_:of:isAwaited:_:)``).
  var tellsOfEntries: Bool { get }

  /// What else an entry of a list entails when it is worked out again: records, and what is sent to other partitions. For
  /// an entry of a channel that another partition has, it is all that there is.
  ///
  /// - Parameter isAwaited: somebody waits for it to be on disk, and must not learn from that time what has changed for
  ///   others.
  func follows(
    _ key: String, of channel: ChannelName, isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect]

  /// The entries of map channels that show a subject that was touched (``AppEffect/touch(_:)``).
  func entries(showing subject: String, _ view: any AppView) throws(ClientError) -> [(
    channel: ChannelName, key: String
  )]

  /// The keys of a map channel in memory alone, which is empty when it is opened and filled with the entries of these
  /// keys.
  func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String]

  /// The list on disk whose entries a map channel in memory alone sums up (``AppView/entries(of:)``); nil: it shows
  /// records. While the channel is open, each change of the list works its entries out again, a moment later.
  func source(of channel: ChannelName) -> ChannelName?

  /// The entry that a map channel of the app holds for a key, worked out from the records; nil: none.
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry?

  /// An entry as subscribers see it, from what the log keeps of it (``AppEntry/kept``).
  func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8]

  /// A publication that is gone after a time (``Publication/vanishes``), as the log is to keep it: with its data, and what
  /// it was before changes, made unreadable by a key that is destroyed then.
  func sealed(_ publication: Publication, on channel: ChannelName) -> Publication

  /// Such a publication as it is, from what the log keeps of it; once it may be over, or its key is gone, as one that was
  /// removed, with its tag.
  ///
  /// - Parameter latest: the latest that the time may be now, in milliseconds since 1970.
  func opened(_ kept: Publication, on channel: ChannelName, at latest: Int64) -> Publication

  /// An entry without what may have ended, while the machine's clock is not confirmed.
  ///
  /// - Parameter latest: the latest that the time may be now, in milliseconds since 1970.
  func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8]

  /// What a person is to be told now of a subject that was told of earlier (``AppEffect/notify(_:)``); nil: nothing any
  /// more, because it is gone, muted, or not for the person. What was shown of it is withdrawn then.
  func notification(about subject: String, for user: String, _ view: any AppView) throws(ClientError)
    -> AppNotification?

  /// The name under which a user is known to a reader; nil: the app knows none, or none that the reader may see.
  func shownName(of user: String, to reader: String, _ view: any AppView) throws(ClientError) -> String?

  /// Whether what a publication of the app tells of is kept from both people, for whoever asks what became of it; nil: it
  /// is not.
  func seal(of publication: Publication, on channel: ChannelName) -> AppSeal?

  /// The channels of the app on disk that belong to a user alone, and go with the user's data.
  func channels(of user: String) -> [ChannelName]

  /// Decides what becomes of a record when users' data is deleted.
  ///
  /// - Returns: nil where the record names none of them any more, and stays as it is.
  func forget(_ users: SoughtUsers, in key: String, _ view: any AppView) throws(ClientError) -> AppDecision?

  /// Whether the payload of a publication on a stream of the app names one of the users.
  func names(_ users: SoughtUsers, _ publication: Publication, on channel: ChannelName) -> Bool

  /// The picture of a record, where a user whose data is exported may have a copy of it; nil: there is none, or it is not
  /// for the user.
  func picture(in key: String, for user: String, _ view: any AppView) throws(ClientError) -> AppPicture?

  /// A picture that is kept with a report.
  ///
  /// - Throws: where there is none such.
  func reportedPicture(_ request: ReportRequest.Picture, _ view: any AppView) throws(ClientError) -> AppPicture

  /// What stands between two people, as JSON without contents, for whoever has to help them.
  func standing(between user: String, and other: String, _ view: any AppView) throws(ClientError) -> [UInt8]

  /// Decides what a moderator asks or does about reports of people. The answer is JSON.
  func moderate(_ request: ReportRequest, _ view: any AppView) throws(ClientError) -> AppDecision

  /// The groups of a user, or one group, as JSON without contents, for whoever has to help people.
  func groups(_ query: UserRequest.Groups, _ view: any AppView) throws(ClientError) -> [UInt8]
}

extension App {
  public var answerTimeout: Int64 { 0 }

  public func receive(_ data: [UInt8], _ view: any AppView) throws(ClientError) -> AppDecision {
    throw .notAvailable.saying("the app \(name) is not shared among partitions")
  }

  public var tellsOfEntries: Bool { false }

  public func follows(
    _ key: String, of channel: ChannelName, isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] { [] }

  public func entries(
    showing subject: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] { [] }

  public func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String] { [] }

  public func source(of channel: ChannelName) -> ChannelName? { nil }

  public func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8] { kept }

  public func sealed(_ publication: Publication, on channel: ChannelName) -> Publication { publication }

  public func opened(_ kept: Publication, on channel: ChannelName, at latest: Int64) -> Publication { kept }

  public func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8] { shown }

  public func groups(_ query: UserRequest.Groups, _ view: any AppView) throws(ClientError) -> [UInt8] {
    throw .notAvailable.saying("the app \(name) has no groups")
  }

  public func moderate(_ request: ReportRequest, _ view: any AppView) throws(ClientError) -> AppDecision {
    throw .notAvailable.saying("the app \(name) takes no reports")
  }

  public func reportedPicture(
    _ request: ReportRequest.Picture, _ view: any AppView
  ) throws(ClientError) -> AppPicture { throw .notAvailable.saying("the app \(name) takes no reports") }

  public func shownName(
    of user: String, to reader: String, _ view: any AppView
  ) throws(ClientError) -> String? { nil }

  public func seal(of publication: Publication, on channel: ChannelName) -> AppSeal? { nil }

  public func notification(
    about subject: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppNotification? { nil }

  public func edit(_ edit: AppEdit, _ view: any AppView) throws(ClientError) -> AppDecision {
    AppDecision([.edit(edit.channel, offset: edit.original.offset, data: edit.data)])
  }
}

/// A change or removal of a publication by its author, who may see the channel.
public struct AppEdit: Sendable {
  public var channel: ChannelName
  /// The publication as it stands in the history.
  public var original: Publication
  /// The new payload, valid JSON; nil: the publication is to be removed.
  public var data: [UInt8]?
  /// The author, whose user is never empty.
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
  /// The latest that the time may be, in milliseconds since 1970: later than ``now`` while the machine's clock is not
  /// confirmed. What has ended by ``latest`` is not shown; what has not ended by ``now`` is not destroyed.
  var latest: Int64 { get }

  /// True where a broker process before this one has done the command: the gateway that repeats it could not know. The
  /// log tells so for a minute.
  var isAskedAgain: Bool { get }

  /// The record with the key, including changes on their way to the disk; nil: there is none.
  ///
  /// - Throws: where the log cannot be read.
  func record<Record: AppRecord>(_ type: Record.Type, _ key: String) throws(ClientError) -> Record?

  /// The newest offset that was given out on a channel; the next publication gets the one after it.
  func top(of channel: ChannelName) throws(ClientError) -> UInt64

  /// The offset of this command's publication, if the same command came before with the same idempotency key, or from
  /// the same request; nil: it comes for the first time.
  func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64?

  /// The newest publications that are on disk, newest first.
  func newest(_ count: Int, of channel: ChannelName) throws(ClientError) -> [Publication]

  /// The publication with the offset, as it will be once every change under way is on disk; nil: the channel keeps none.
  func publication(_ offset: UInt64, of channel: ChannelName) throws(ClientError) -> Publication?

  /// The entries of a map channel as its subscribers see them now, in no order. Those of a list may be a moment behind
  /// the records.
  func entries(of channel: ChannelName) throws(ClientError) -> [Publication]
  /// The newest publications up to an offset that are on disk, newest first.
  func newest(_ count: Int, through offset: UInt64, of channel: ChannelName) throws(ClientError) -> [Publication]

  /// What the app of a topic wants a person to be told now of a subject (``App/notification(about:for:_:)``); nil:
  /// nothing, or there is no such app.
  func notification(
    of topic: String, about subject: String, for user: String
  ) throws(ClientError) -> AppNotification?

  /// Whether a moderator has suspended the user, who is sent no notifications then.
  func isSuspended(_ user: String) throws(ClientError) -> Bool

  /// A user's name as a reader may see it, by the app that has profiles (``App/shownName(of:to:_:)``); without one, the
  /// user id.
  func shownName(of user: String, to reader: String) throws(ClientError) -> String

  /// Whether the data of a user was deleted here after that moment, or is being deleted: what another partition has sent
  /// before must not bring it back.
  ///
  /// - Parameter time: milliseconds since 1970.
  func wasForgotten(_ user: String, since time: Int64) throws(ClientError) -> Bool

  /// Looks at one of many things. Where the store has to be asked for it first, this is nil, so that the app goes on with
  /// the others and the store is asked for all of them together; what the app decides then is thrown away.
  func unlessMissing<Result>(_ body: () throws(ClientError) -> Result?) throws(ClientError) -> Result?
}

extension AppView {
  public var latest: Int64 { now }
  public var isAskedAgain: Bool { false }

  public func isSuspended(_ user: String) throws(ClientError) -> Bool { false }

  public func wasForgotten(_ user: String, since time: Int64) throws(ClientError) -> Bool { false }

  /// Whether the data of any of the users was deleted since. The empty name is nobody's.
  func wereForgotten(_ users: [String], since time: Int64) throws(ClientError) -> Bool {
    for user in users where !user.isEmpty { if try wasForgotten(user, since: time) { return true } }
    return false
  }

  public func shownName(of user: String, to reader: String) throws(ClientError) -> String { user }

  public func unlessMissing<Result>(
    _ body: () throws(ClientError) -> Result?
  ) throws(ClientError) -> Result? { try body() }

  public func offset(ofRepeated idempotencyKey: String?, on channel: ChannelName) throws(ClientError) -> UInt64? { nil }

  public func publication(_ offset: UInt64, of channel: ChannelName) throws(ClientError) -> Publication? { nil }

  public func entries(of channel: ChannelName) throws(ClientError) -> [Publication] { [] }

  public func notification(
    of topic: String, about subject: String, for user: String
  ) throws(ClientError) -> AppNotification? { nil }

  /// For views that hold all publications in memory.
  public func newest(
    _ count: Int, through offset: UInt64, of channel: ChannelName
  ) throws(ClientError) -> [Publication] {
    Array(try newest(.max, of: channel).lazy.filter { $0.offset <= offset }.prefix(count))
  }
}

/// Something that an app keeps, durably, under a key.
public protocol AppRecord: Codable, Sendable, Equatable {
  /// When the app is to look at the record again (``App/due(_:_:)``), in milliseconds since 1970, over restarts; nil:
  /// never.
  var due: Int64? { get }
  /// The lane in which the record waits for that.
  var lane: AppLane { get }
}

extension AppRecord {
  public var lane: AppLane { .endings }
}

/// The lanes in which records wait for their time: a record never waits behind those of another lane, however many.
public enum AppLane: Int64, Sendable, CaseIterable {
  /// Something ends when the record is due, for people or on the disk. Also records written before there were lanes.
  case endings = 0
  /// The record is only tidied up: nobody sees whether that comes a minute later.
  case upkeep = 1
  /// A person is to be notified, or was.
  case notices = 2
  /// Something waits for an answer from outside that is due ``App/answerTimeout`` after it was begun. What a process
  /// before this one has begun nobody will answer, so it is due as soon as the records are loaded.
  case sends = 3
}

/// The answer to a command, and what it changes.
public struct AppDecision: Sendable {
  public enum Answer: Sendable, Equatable {
    /// The answer, as JSON.
    case reply([UInt8])
    /// The answer is the result of a search.
    case search(MessageSearch)
    /// The command needs something that is on its way to the disk, and is run again when that is there. The decision
    /// has no effects.
    case later
  }

  public var effects: [AppEffect]
  public var answer: Answer
  /// A limit that was reached without refusing the command. It is counted like one that refuses
  /// (``ClientError/limit``).
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

/// What a user may see of a channel.
public struct AppAdmission: Sendable, Equatable {
  /// The user sees only publications, joins and members that pass this filter; nil: all.
  public var audience: TagFilter?
  /// The error for a new subscription; nil: the user may subscribe. A subscription that exists stays even if this is
  /// set, and gets what passes the filter, so that nobody sees the user leave.
  public var refusal: ClientError?

  public init(audience: TagFilter? = nil, refusal: ClientError? = nil) {
    self.audience = audience
    self.refusal = refusal
  }
}

/// Until when what a publication tells of is shown to nobody.
public enum AppSeal: Sendable, Equatable {
  case untilAnswered
  case forEver
}

/// What a map channel holds for a key.
public struct AppEntry: Sendable, Equatable {
  /// The entry as subscribers see it, as JSON.
  public var data: [UInt8]
  /// What the log keeps instead of ``data``, where that holds what no file may hold. ``App/shown(_:of:)`` turns it
  /// back.
  public var kept: [UInt8]?
  public var score: Int64
  /// Milliseconds since 1970; `Int64.max`: never.
  public var expires: Int64
  /// Tags that say who may see the entry, as on publications.
  public var tags: [String: String]
  /// Whose entry it is, where somebody in particular has made it: it goes with that user's data, and is exported with it.
  public var info: ClientInfo?

  public init(
    data: [UInt8], kept: [UInt8]? = nil, score: Int64, expires: Int64 = .max, tags: [String: String] = [:],
    info: ClientInfo? = nil
  ) {
    self.tags = tags
    self.info = info
    self.data = data
    self.kept = kept
    self.score = score
    self.expires = expires
  }
}
