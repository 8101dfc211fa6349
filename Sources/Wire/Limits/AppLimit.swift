/// A limit of an app, named by the setting that rules it or, where it is fixed, by what it limits.
///
/// An app is pure and counts nothing: its refusals carry the limit (``ClientError/limit``), or its decisions do, and
/// the broker counts each limit by its own name and tells the operator.
public enum AppLimit: String, Sendable, CaseIterable {
  case cliqueRequestMessages = "clique.request_messages"
  case cliqueRequestCharacters = "clique.request_characters"
  case cliqueMessageCharacters = "clique.message_characters"
  case cliqueGroupSize = "clique.group_size"
  case cliqueConversations = "clique.max_conversations"
  case cliqueGroups = "clique.max_groups"
  case cliqueRequestsSent = "clique.max_requests_sent"
  /// Nobody is refused: a request beyond the limit reaches nobody.
  case cliqueRequestsReceived = "clique.max_requests_received"
  case cliqueBlocked = "clique.max_blocked"
  case cliquePlaces = "clique.max_places"
  case cliqueRequestsPerDay = "clique.max_requests_per_day"
  case cliqueRequestMessagesPerDay = "clique.max_request_messages_per_day"
  case cliqueGroupsPerDay = "clique.max_groups_per_day"
  case cliqueInvitationsPerDay = "clique.max_invitations_per_day"
  case cliqueBlocksPerDay = "clique.max_blocks_per_day"
  case cliqueVisitsPerDay = "clique.max_visits_per_day"
  /// Fixed: characters of a group's name.
  case cliqueGroupName = "clique.group_name"
  /// Fixed: links of a group that hold at a time.
  case cliqueGroupLinks = "clique.group_links"
  /// Fixed: conversations that one person pins.
  case cliquePinned = "clique.pinned"
  /// Fixed: conversations in which one person has a draft.
  case cliqueDrafts = "clique.drafts"
  /// Fixed: reactions of one person in one conversation.
  case cliqueReactions = "clique.reactions"
  /// Fixed: reports of one person in a day, that are kept, and characters of what is said with one.
  case cliqueReportsPerDay = "clique.reports_per_day"
  case cliqueReports = "clique.reports"
  case cliqueReportText = "clique.report_text"
  /// Fixed: bytes of what is searched for.
  case cliqueSearchText = "clique.search_text"
  /// Fixed: times after which messages of one conversation disappear that are on their way.
  case cliqueDisappearTimes = "clique.disappear_times"
  case cliqueUnsentPictures = "clique.max_unsent_pictures"
  case cliquePictureBytes = "clique.max_picture_bytes_per_user"
  /// Fixed: pictures that one person discards in a day.
  case cliquePictureDiscards = "clique.picture_discards_per_day"
  case stateRecorders = "state.max_recorders"
  case stateThreads = "state.max_threads"
  /// Nobody is refused: what is sent beyond the limit is not shown to its receiver. The same of the
  /// next.
  case stateReceived = "state.max_received"
  case stateReceivedPerDay = "state.max_received_per_day"
  case stateBlocks = "state.max_blocks"
  case stateUnsentPictures = "state.max_unsent_pictures"
  case statePictureBytes = "state.max_picture_bytes_per_user"
  case stateChanges = "state.max_changes_per_minute"
  /// Fixed: characters and bytes of a caption.
  case stateCaption = "state.caption"
  case pushChanges = "push.max_changes_per_minute"
  case cliqueProfileChangesPerDay = "clique.max_profile_changes_per_day"
  /// Fixed: characters of a name, and of another field of a profile.
  case cliqueProfileText = "clique.profile_text"

  /// The name in metrics and logs: `clique_max_places`.
  public var name: String { String(rawValue.map { $0 == "." ? "_" : $0 }) }

  /// The cause under which refusals are logged.
  public var cause: RefusalCause {
    // The documentation of an app has the app's name.
    let app = rawValue.prefix { $0 != "." }.uppercased()
    return RefusalCause(name, "calls of users went over the limit \(rawValue) (docs/\(app).md)")
  }
}
