/// A method of the server API, by the name that Centrifugo gives it; `edit` and those after it are our own.
public enum APIMethod: String, Sendable, CaseIterable {
  case publish
  case broadcast
  case subscribe
  case unsubscribe
  case disconnect
  case refresh
  case presence
  case presenceStats = "presence_stats"
  case history
  case historyRemove = "history_remove"
  case channels
  case info
  case edit
  case delete
  case mapSet = "map_set"
  case mapRemove = "map_remove"
  case mapGet = "map_get"
  case mapList = "map_list"
  case revokeToken = "revoke_token"
  case invalidateUserTokens = "invalidate_user_tokens"
  case inspectChannel = "inspect_channel"
  case inspectUser = "inspect_user"
  case inspectClient = "inspect_client"
  case explain
  case top
  case webhooksList = "webhooks_list"
  case webhookGivenUp = "webhook_given_up"
  case webhookResend = "webhook_resend"
  case userData = "user_data"
  case userExport = "user_export"
  case userDelete = "user_delete"
  case userDeleteStatus = "user_delete_status"
  case cliquePair = "clique_pair"
  case stateThread = "state_thread"
  case cliqueGroups = "clique_groups"
  case cliqueUnblock = "clique_unblock"
  case cliqueReports = "clique_reports"
  case cliqueReport = "clique_report"
  case cliqueReportPicture = "clique_report_picture"
  case cliqueReportSettle = "clique_report_settle"
  case userSuspend = "user_suspend"
  case userUnsuspend = "user_unsuspend"
  case userSuspensions = "user_suspensions"
  case pushSend = "push_send"
  case pushNotify = "push_notify"
  case call
  case why

  /// Methods that a key is given with one word.
  public enum Group: String, Sendable, CaseIterable {
    /// What tells and changes nothing.
    case read
    /// What changes the contents of channels.
    case write
    /// What is about connections, subscriptions and tokens.
    case control
    /// What operators see: connections with their addresses, who may do what and why, where most goes on. A group of its
    /// own, so that a key that was made to read channels does not come to show people's addresses.
    case inspect
    /// What is about webhooks. It shows events of all channels, with what was published.
    case webhooks
    /// What is about all that is kept of one user: looked at, handed out, deleted.
    case privacy
    /// What stands between people in an app, without contents; and a block of Clique is lifted.
    case support
    /// What moderators see and do: reports of people with the messages that were reported, and
    /// suspensions.
    case moderation
    /// What any user could read and do in the apps, in that user's name.
    case apps
    /// What has notifications sent, to devices that the call names or to people.
    case push
    case all

    public var methods: [APIMethod] { APIMethod.allCases.filter { self == .all || $0.group == self } }
  }

  /// The group of the method, beside `all`.
  public var group: Group {
    switch self {
    case .presence, .presenceStats, .history, .channels, .info, .mapGet, .mapList, .why: .read
    case .publish, .broadcast, .edit, .delete, .historyRemove, .mapSet, .mapRemove: .write
    case .subscribe, .unsubscribe, .disconnect, .refresh, .revokeToken, .invalidateUserTokens: .control
    case .inspectChannel, .inspectUser, .inspectClient, .explain, .top: .inspect
    case .webhooksList, .webhookGivenUp, .webhookResend: .webhooks
    case .userData, .userExport, .userDelete, .userDeleteStatus: .privacy
    case .cliquePair, .stateThread, .cliqueGroups, .cliqueUnblock: .support
    case .cliqueReports, .cliqueReport, .cliqueReportPicture, .cliqueReportSettle, .userSuspend, .userUnsuspend,
      .userSuspensions:
      .moderation
    case .pushSend, .pushNotify: .push
    case .call: .apps
    }
  }

  /// What one call of a method is about.
  enum Subject {
    /// A channel that the call names; `broadcast` names several, each of which is judged by itself.
    case channel
    /// All channels that the key may use.
    case everyChannel
    /// Connections, tokens or the server: no channel has a say in it.
    case noChannel
  }

  var subject: Subject {
    switch self {
    case .publish, .broadcast, .subscribe, .unsubscribe, .presence, .presenceStats, .history, .historyRemove, .edit,
      .delete, .mapSet, .mapRemove, .mapGet, .mapList, .inspectChannel, .explain, .why:
      .channel
    // Answers name only channels that the key may use.
    case .channels, .inspectUser, .inspectClient, .top: .everyChannel
    case .disconnect, .refresh, .info, .revokeToken, .invalidateUserTokens, .webhooksList, .webhookGivenUp,
      .webhookResend, .userData, .userExport, .userDelete, .userDeleteStatus, .cliquePair, .stateThread,
      .cliqueGroups, .cliqueUnblock, .cliqueReports, .cliqueReport, .cliqueReportPicture, .cliqueReportSettle,
      .userSuspend, .userUnsuspend,
      .userSuspensions, .pushSend, .pushNotify, .call:
      .noChannel
    }
  }

  /// The methods that a word of a key's grant means: one, those of a group, or none where there is no such word.
  static func methods(of word: String) -> [APIMethod] {
    if let group = Group(rawValue: word) { return group.methods }
    return APIMethod(rawValue: word).map { [$0] } ?? []
  }
}
