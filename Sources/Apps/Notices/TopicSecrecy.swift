import Wire

/// What a notification of a topic may never say, whatever the person chose.
enum TopicSecrecy: Sendable, Equatable {
  /// No more than that there is something: a sealed State, and one that ends soon.
  case whole
  /// Neither who asks nor what, except that the person chose to be told who (`request_preview`).
  case request
  /// Not what it says: everything else of State.
  case content
  case none

  init(of topic: String) {
    switch topic {
    case "state.sealed", "state.ends": self = .whole
    case "clique.request": self = .request
    default: self = topic.utf8.starts(with: "state.".utf8) ? .content : .none
    }
  }

  /// What may be said of a notification on a device.
  func values(
    _ notification: AppNotification, _ preview: PushCommand.Preview, tellsRequests: Bool
  ) -> NotificationTexts.Values {
    var values = NotificationTexts.Values(count: notification.unseen)
    switch self {
    case .whole: return values
    case .request:
      if tellsRequests, preview != .nothing { values.sender = notification.sender }
    case .content, .none:
      if preview != .nothing { values.sender = notification.sender }
      if preview == .text, self == .none { values.text = notification.text }
    }
    return values
  }
}
