/// What Clique allows. All times are in milliseconds; characters are Unicode code points.
public struct CliqueRules: Sendable, Equatable {
  /// Messages that may wait in a request, as its sender counts them.
  public var requestMessages = 3
  public var requestCharacters = 1000
  public var messageCharacters = 4000
  /// How long somebody who was declined cannot reach the other again.
  public var declineCooldown: Int64 = 30 * day
  /// After the last message of a request that nobody answered.
  public var requestLifetime: Int64 = 14 * day
  /// How long two people who were in one place together are shown to each other.
  public var crossingWindow: Int64 = day
  /// A phone that dies never leaves: a visit ends by then, unless the phone says again that it is there.
  public var maximumVisit: Int64 = 3 * hour
  /// Members of a group, its founder among them.
  public var groupSize = 50
  /// Of the last message, in a list entry.
  public var previewCharacters = 100
  /// Open conversations with one other person, per person.
  public var maximumConversations = 1000
  public var maximumGroups = 100
  /// Requests of one person that wait, as that person sees them.
  public var maximumRequestsOut = 100
  /// Requests that one person is shown. More reach nobody, and look to their senders like those that are not answered.
  public var maximumRequestsIn = 500
  public var maximumBlocked = 1000
  /// Places that one person is in at the same time: a café within a station within a town.
  public var maximumPlaces = 20
  /// Visitors of a place that are remembered at the same time; the one who has been there longest makes room.
  public var maximumVisitors = 2000
  /// Whoever enters a place meets so many of those who came last. Bounds the work of one event.
  public var maximumMeetings = 200
  /// People that one has crossed within the window; the one crossed first makes room.
  public var maximumCrossed = 500
  /// How long "is typing" stands without being said again.
  public var typingLifetime: Int64 = 5000

  static let hour: Int64 = 3_600_000
  static let day: Int64 = 24 * hour

  public init() {}
}
