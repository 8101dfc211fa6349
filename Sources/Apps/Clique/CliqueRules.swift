/// What Clique allows. All times are in milliseconds; characters are Unicode code points.
public struct CliqueRules: Sendable, Equatable {
  /// Messages that may wait in a request, as its sender counts them.
  public var requestMessages = 3
  public var requestCharacters = 1000
  public var messageCharacters = 4000
  /// How long requests of somebody who was declined do not reach the other.
  public var declineCooldown: Int64 = 30 * day
  /// From the last message of a request to its end, if nobody answers it.
  public var requestLifetime: Int64 = 14 * day
  /// How long two people who were in one place together are shown to each other.
  public var crossingWindow: Int64 = day
  /// How long a visit lasts at most, unless the phone prolongs it: a phone that dies never leaves.
  public var maximumVisit: Int64 = 3 * hour
  /// Members of a group, its founder among them.
  public var groupSize = 50
  /// Characters of the last message in a list entry, and most characters of a group's name.
  public var previewCharacters = 100
  /// Open conversations with one other person that one person may have.
  public var maximumConversations = 1000
  public var maximumGroups = 100
  /// Requests of one person that may wait for answers, as that person sees them.
  public var maximumRequestsOut = 100
  /// Requests that one person is shown. Further ones reach nobody, and look to their senders as if nobody answered.
  public var maximumRequestsIn = 500
  public var maximumBlocked = 1000
  /// Places that one person may be in at the same time: a café within a station within a town.
  public var maximumPlaces = 20
  /// Visits of one person that are remembered. With one more, the oldest that has ended is forgotten.
  public var maximumVisits = 64
  /// Two people in a place count as met only if no more than so many others came there between the two. Limits the work
  /// that one visit makes.
  public var maximumMeetings = 100
  /// People whom one person is shown as crossed within the window, those of the last visits first.
  public var maximumCrossed = 500
  /// Most visitors that are looked at for one person's crossings.
  var maximumLooks = 2000
  /// Requests that one person may begin in a day, a quarter of them at once, as with the other numbers per day below.
  public var requestsPerDay = 200
  /// Groups that one person may found in a day.
  public var groupsPerDay = 40
  /// Groups that others may found with one person in a day.
  public var invitationsPerDay = 40
  public var blocksPerDay = 400
  /// Visits that one person may begin in a day. Prolonging a visit does not count.
  public var visitsPerDay = 400
  /// Whether a client may enter a place only with a token for it (``AppCall/attestedPlace``).
  public var requiresPlaceToken = false
  /// How long somebody is shown as typing after they last said so.
  public var typingLifetime: Int64 = 5000

  static let hour: Int64 = 3_600_000
  static let day: Int64 = 24 * hour

  public init() {}
}
