/// What Clique allows. All times are in milliseconds; characters are Unicode code points.
public struct CliqueRules: Sendable, Equatable {
  /// Messages that may wait in a request, as its sender counts them.
  public var requestMessages: Int
  public var requestCharacters: Int
  public var messageCharacters: Int
  /// How long requests of somebody who was declined do not reach the other.
  public var declineCooldown: Int64
  /// From the last message of a request to its end, if nobody answers it.
  public var requestLifetime: Int64
  /// How long two people who were in one place together are shown to each other.
  public var crossingWindow: Int64
  /// How long a visit lasts at most, unless the phone prolongs it: a phone that dies never leaves.
  public var maximumVisit: Int64
  /// Members of a group, its founder among them.
  public var groupSize: Int
  /// Characters of the last message in a list entry, and most characters of a group's name.
  public var previewCharacters = 100
  /// Open conversations with one other person that one person may have.
  public var maximumConversations: Int
  public var maximumGroups: Int
  /// Requests of one person that may wait for answers, as that person sees them.
  public var maximumRequestsOut: Int
  /// Requests that one person is shown. Further ones reach nobody, and look to their senders as if nobody answered.
  public var maximumRequestsIn: Int
  public var maximumBlocked: Int
  /// Places that one person may be in at the same time: a café within a station within a town.
  public var maximumPlaces: Int
  /// Visits of one person that are remembered; the one that ended first makes room.
  public var maximumVisits = 64
  /// Two people in a place count as met only if no more than so many others came there between the two. Limits the work
  /// that one visit makes.
  public var maximumMeetings = 100
  /// People whom one person is shown as crossed within the window, those of the last visits first.
  public var maximumCrossed = 500
  /// Most visitors that are looked at for one person's crossings.
  var maximumLooks = 2000
  /// Requests that one person may begin in a day, a quarter of them at once, as with the other numbers per day below.
  public var requestsPerDay: Int
  /// Messages that one person may send in a day in requests, to whomever; 0: as many as requests have room for.
  public var requestMessagesPerDay: Int
  /// Groups that one person may found in a day.
  public var groupsPerDay: Int
  /// Groups that others may found with one person in a day.
  public var invitationsPerDay: Int
  public var blocksPerDay: Int
  /// Visits that one person may begin in a day. Prolonging a visit does not count.
  public var visitsPerDay: Int
  /// Whether a client may enter a place only with a token for it (``AppCall/attestedPlace``).
  public var requiresPlaceToken: Bool
  /// Reports that one person may make in a day.
  public var reportsPerDay = 20
  /// Reports that are kept, settled ones among them.
  public var maximumReports = 10_000
  /// Bytes of all pictures that are kept with reports. A report beyond that keeps texts alone.
  public var reportPictureBytes: Int64 = 8 << 30
  /// Characters of what is said with a report.
  public var reportCharacters = 1000
  /// Changes of one person's profile in a day.
  public var profileChangesPerDay = 100
  /// The fields that a profile may have beside name and picture.
  public var profileFields = ["university"]
  /// Whether a request to somebody whom the server does not know is refused.
  public var knownUsersOnly = false
  /// How long a picture is kept that nobody sends.
  public var pictureLifetime: Int64 = 24 * 3_600_000
  /// Pictures that one person has uploaded, or uploads, and not sent.
  public var unsentPictures = 32
  /// Bytes of one person's pictures that are kept.
  public var pictureBytes: Int64 = 1 << 30
  /// Whether people are notified of what happens while they are away (``AppEffect/notify(_:)``).
  public var notifies = false
  /// How long "is typing" stands without being said again.
  public var typingLifetime: Int64 = 5000

  static let hour: Int64 = 3_600_000
  static let day: Int64 = 24 * hour

  public init(
    requestMessages: Int, requestCharacters: Int, messageCharacters: Int, declineCooldown: Int64,
    requestLifetime: Int64, crossingWindow: Int64, maximumVisit: Int64, groupSize: Int, maximumConversations: Int,
    maximumGroups: Int, maximumRequestsOut: Int, maximumRequestsIn: Int, maximumBlocked: Int, maximumPlaces: Int,
    requestsPerDay: Int, requestMessagesPerDay: Int, groupsPerDay: Int, invitationsPerDay: Int, blocksPerDay: Int,
    visitsPerDay: Int,
    requiresPlaceToken: Bool
  ) {
    self.requestMessages = requestMessages
    self.requestCharacters = requestCharacters
    self.messageCharacters = messageCharacters
    self.declineCooldown = declineCooldown
    self.requestLifetime = requestLifetime
    self.crossingWindow = crossingWindow
    self.maximumVisit = maximumVisit
    self.groupSize = groupSize
    self.maximumConversations = maximumConversations
    self.maximumGroups = maximumGroups
    self.maximumRequestsOut = maximumRequestsOut
    self.maximumRequestsIn = maximumRequestsIn
    self.maximumBlocked = maximumBlocked
    self.maximumPlaces = maximumPlaces
    self.requestsPerDay = requestsPerDay
    self.requestMessagesPerDay = requestMessagesPerDay
    self.groupsPerDay = groupsPerDay
    self.invitationsPerDay = invitationsPerDay
    self.blocksPerDay = blocksPerDay
    self.visitsPerDay = visitsPerDay
    self.requiresPlaceToken = requiresPlaceToken
  }
}
