import Wire

/// What a command of somebody's phone does with a picture of Clique.
struct PictureStep {
  enum Kind {
    /// A gateway says that a picture has begun to come.
    case begin
    /// A gateway says that a picture is here.
    case upload
    case send
    /// Its author removes the message with the picture.
    case remove(ChannelName, UInt64)
    case discard
    /// Somebody reports the message with the picture.
    case report
    /// The profile shows these pictures from now on, and no others.
    case show([String])
    case fetch(Fetch)
  }

  /// What is known when somebody asks for a picture's key.
  struct Fetch {
    /// The asker must get it.
    var isPromised: Bool
    /// It was acknowledged that nobody gets it.
    var isGone: Bool
    /// What the disk says when nothing is under way; nil: it says nothing, or something is.
    var expected: Bool?
  }

  /// Of the picture; "" where the step is about none, or several.
  var id: String
  var kind: Kind

  var isRemoval: Bool { if case .remove = kind { true } else { false } }
}

/// What people know of their pictures of Clique by what they did and how that was answered.
///
///     state       upload answered  send asked  send answered  removal asked  removal, discard or
///                                                                            replacement answered
///     coming      uploaded         -           -              -              gone
///     uploaded    -                sending     -              -              gone
///     sending     -                sending     promised       -              gone
///     promised    -                =           =              doubtful       -
///     doubtful    -                =           =              =              gone
///     gone        =                =           =              =              =
///
/// Promised: its reader fetches it, and its file stays. Gone: nobody ever gets it, and its file goes. In all other states
/// either may be so. A profile's picture is promised while it is the last that the profile was told to show.
struct PictureAlbum {
  struct Picture {
    let id: String
    let owner: String
    let bytes: Int64
    let key: [UInt8]
    var isUploaded = false
    /// The command that sends it, and how often it was given; nil: none was, or each was refused.
    var sending: Command?
    var sends = 0
    /// Everybody to whom it was ever sent, or may have been.
    var readers: Set<String> = []
    var channel: ChannelName?
    /// Of the message that was acknowledged; nil: none was.
    var offset: UInt64?
    var isRemovalAsked = false
    var isDiscardAsked = false
    /// A report of its message was acknowledged while it stood for certain.
    var isReported = false
    /// A profile was told to show it.
    var isForProfile = false
    /// When it was acknowledged that nobody gets it any more, in milliseconds since 1970.
    var goneSince: Int64?

    var isUnused: Bool { isUploaded && sending == nil && !isForProfile && !isDiscardAsked }

    init(_ number: Int, of owner: String, bytes: Int64) {
      id = "clique-picture-\(number)-000000000000"
      self.owner = owner
      self.bytes = bytes
      key = Array("\(id)---------------------".utf8.prefix(32))
    }
  }

  /// What somebody's profile shows by what they know.
  struct Profile {
    var shown: [String] = []
    /// Changes that were not answered.
    var underWay = 0
    /// Changes were made one after another, and each was answered.
    var isSure = true
  }

  /// Every picture that was begun, the oldest first.
  private(set) var pictures: [Picture] = []
  private var places: [String: Int] = [:]
  private var profiles: [String: Profile] = [:]
  /// Conversations that somebody tried to leave or to block the other in.
  var parted: Set<String> = []
  /// Conversations in which messages may disappear.
  var vanishing: Set<String> = []
  /// People who have tried to block anybody: what their profile showed then goes on being shown to some.
  var blockers: Set<String> = []

  subscript(id: String) -> Picture? { places[id].map { pictures[$0] } }

  mutating func change(_ id: String, _ body: (inout Picture) -> Void) {
    if let place = places[id] { body(&pictures[place]) }
  }

  mutating func add(of owner: String, bytes: Int64) -> Picture {
    let picture = Picture(pictures.count, of: owner, bytes: bytes)
    places[picture.id] = pictures.count
    pictures.append(picture)
    return picture
  }

  /// - Returns: whether a message that is gone was removed by its author.
  func wasRemoved(_ offset: UInt64, of channel: ChannelName) -> Bool {
    pictures.contains { $0.offset == offset && $0.channel == channel && $0.isRemovalAsked }
  }

  // MARK: Promises

  /// Whether the picture must be there for a user.
  func isPromised(_ picture: Picture, to user: String) -> Bool {
    let isOwn = picture.owner == user
    guard isKept(picture) else { return false }
    guard let channel = picture.channel, picture.offset != nil else { return isOwn }
    return isOwn || picture.readers == [user] && !parted.contains(String(channel.rest))
  }

  /// Whether the picture's file must stay.
  func isKept(_ picture: Picture) -> Bool {
    if picture.goneSince != nil { return false }
    if let channel = picture.channel, picture.offset != nil {
      return !picture.isRemovalAsked && !vanishing.contains(String(channel.rest))
    }
    let profile = profiles[picture.owner] ?? Profile()
    return profile.isSure && profile.underWay == 0 && profile.shown.contains(picture.id)
  }

  /// Whether somebody may ever have been meant to see the picture.
  func isMeant(_ picture: Picture, for user: String) -> Bool {
    picture.owner == user || picture.isForProfile || picture.readers.contains(user)
  }

  // MARK: Profiles

  /// Nothing is under way, so the next change of a profile is the last one for certain.
  mutating func isQuiet(for user: String) {
    var profile = profiles[user] ?? Profile()
    (profile.underWay, profile.isSure) = (0, true)
    profiles[user] = profile
  }

  mutating func showing(_ ids: [String], by user: String) {
    var profile = profiles[user] ?? Profile()
    // Of two changes under way, nobody knows which one is the last.
    if profile.underWay > 0 { profile.isSure = false }
    profile.underWay += 1
    profiles[user] = profile
    for id in ids { change(id) { $0.isForProfile = true } }
  }

  /// Takes in the answer to a change of a profile.
  ///
  /// - Parameter isDone: nil where that is not known.
  /// - Returns: how many pictures the profile certainly showed before, and shows no more.
  mutating func shown(_ ids: [String], by user: String, isDone: Bool?, at wall: Int64) -> Int {
    var profile = profiles[user] ?? Profile()
    profile.underWay -= 1
    if isDone == nil { profile.isSure = false }
    let replaced = profile.shown.filter { !ids.contains($0) }
    if isDone == true { profile.shown = ids }
    profiles[user] = profile
    guard isDone == true, profile.isSure else { return 0 }
    if !blockers.contains(user) { for id in replaced { change(id) { $0.goneSince = wall } } }
    return replaced.count
  }
}

/// The pictures of a gateway on its disk, which outlive it.
struct SimulatedFolder {
  /// Uploads of which the gateway does not know that the broker has their keys.
  var coming: Set<String> = []
  /// Pictures that were taken in.
  var files: Set<String> = []
  /// Pictures that are gone, and kept for moderators under another name.
  var kept: Set<String> = []
  /// What was kept when a question was asked, by its tag: the answer says nothing of what is kept since.
  var asked: [UInt64: Set<String>] = [:]
}

/// How often each thing happened to pictures, under all seeds together.
struct PictureCoverage {
  var begun = 0
  var uploaded = 0
  var sent = 0
  /// Messages that were acknowledged after they were sent more than once under one key.
  var sentAgain = 0
  var removed = 0
  var discarded = 0
  /// Pictures of messages and profiles that were not discarded, because they are in use.
  var inUse = 0
  var shown = 0
  var replaced = 0
  /// Keys that owners got, and readers.
  var fetched = 0
  var read = 0
  var refused = 0
  /// Files that gateways deleted because they were told, because they asked, and because they were told twice.
  var deleted = 0
  var reconciled = 0
  var toldAgain = 0
  /// Reports of messages with pictures, and pictures that outlived their messages in them.
  var reported = 0
  var keptAlone = 0

  mutating func add(_ other: PictureCoverage) {
    begun += other.begun
    uploaded += other.uploaded
    sent += other.sent
    sentAgain += other.sentAgain
    removed += other.removed
    discarded += other.discarded
    inUse += other.inUse
    shown += other.shown
    replaced += other.replaced
    fetched += other.fetched
    read += other.read
    refused += other.refused
    deleted += other.deleted
    reconciled += other.reconciled
    toldAgain += other.toldAgain
    reported += other.reported
    keptAlone += other.keptAlone
  }

  /// The things that never happened.
  var missing: [String] {
    Mirror(reflecting: self).children.filter { $0.value as? Int == 0 }.compactMap(\.label)
  }
}
