/// What Clique allows. All times are in milliseconds; characters are Unicode code points.
public struct CliqueRules: Sendable, Equatable {
  /// Messages that may wait in a request, as its sender counts them.
  public var requestMessages: Int
  public var requestCharacters: Int
  public var messageCharacters: Int
  /// How long somebody who was declined cannot reach the other again.
  public var declineCooldown: Int64
  /// After the last message of a request that nobody answered.
  public var requestLifetime: Int64
  /// How long two people who were in one place together are shown to each other.
  public var crossingWindow: Int64
  /// A phone that dies never leaves: a visit ends by then, unless the phone says again that it is there.
  public var maximumVisit: Int64
  /// Members of a group, its founder among them.
  public var groupSize: Int
  /// Of the last message, in a list entry.
  public var previewCharacters = 100
  /// Open conversations with one other person, per person.
  public var maximumConversations: Int
  public var maximumGroups: Int
  /// Requests of one person that wait, as that person sees them.
  public var maximumRequestsOut: Int
  /// Requests that one person is shown. More reach nobody, and look to their senders like those that are not answered.
  public var maximumRequestsIn: Int
  public var maximumBlocked: Int
  /// Places that one person is in at the same time: a café within a station within a town.
  public var maximumPlaces: Int
  /// Visits of one person that are remembered; the one that ended first makes room.
  public var maximumVisits = 64
  /// Two people in a place meet if no more than so many came there between them. Bounds the work of one event.
  public var maximumMeetings = 100
  /// People that one is shown as crossed within the window, those of the last visits first.
  public var maximumCrossed = 500
  /// Visitors that are looked at for one person's crossings.
  var maximumLooks = 2000
  /// Requests that one person may begin in a day, a quarter of them at once; so with the others below.
  public var requestsPerDay: Int
  /// Groups that one person may found.
  public var groupsPerDay: Int
  /// Groups that one person may be drawn into by others.
  public var invitationsPerDay: Int
  public var blocksPerDay: Int
  /// Places that one person may come to. To say again that one is still there costs nothing.
  public var visitsPerDay: Int
  /// Whether a client enters a place only with a token that says so (``AppCall/attestedPlace``).
  public var requiresPlaceToken: Bool
  /// How long "is typing" stands without being said again.
  public var typingLifetime: Int64 = 5000

  static let hour: Int64 = 3_600_000
  static let day: Int64 = 24 * hour

  public init(
    requestMessages: Int, requestCharacters: Int, messageCharacters: Int, declineCooldown: Int64,
    requestLifetime: Int64, crossingWindow: Int64, maximumVisit: Int64, groupSize: Int, maximumConversations: Int,
    maximumGroups: Int, maximumRequestsOut: Int, maximumRequestsIn: Int, maximumBlocked: Int, maximumPlaces: Int,
    requestsPerDay: Int, groupsPerDay: Int, invitationsPerDay: Int, blocksPerDay: Int, visitsPerDay: Int,
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
    self.groupsPerDay = groupsPerDay
    self.invitationsPerDay = invitationsPerDay
    self.blocksPerDay = blocksPerDay
    self.visitsPerDay = visitsPerDay
    self.requiresPlaceToken = requiresPlaceToken
  }
}
