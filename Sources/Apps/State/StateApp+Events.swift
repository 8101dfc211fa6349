import Wire

/// What webhooks are told of a thread: that somebody sent, that both see, that nobody answered. Nothing of what was
/// sent.
extension StateApp {
  /// What one step of a thread is told as; nil: nothing. What somebody has ended is not told, and what time has ended is,
  /// whatever comes next.
  func event(of thread: StateThread, after before: StateThread) -> AppEffect? {
    let isNew = before.since != thread.since
    return switch (before.standing, thread.standing) {
    case (.sealed, .sealed) where !isNew: nil
    // Nobody is to be told by a backend of what the app does not show them.
    case (_, .sealed(let sender, _, _)) where thread.phase(of: sender.other) != .received: nil
    case (_, .sealed(let sender, _, _)): event(.stateSent, thread, from: sender)
    case (.revealed, .revealed) where !isNew: nil
    case (.sealed(let sender, _, _), .revealed): event(.stateRevealed, thread, from: sender)
    case (_, .revealed): event(.stateRevealed, thread, from: .low)
    case (.sealed(let sender, _, _), .expired): event(.stateExpired, before, from: sender)
    default: nil
    }
  }

  /// - Parameter sender: the one who sent first.
  private func event(_ event: WebhookEvents, _ thread: StateThread, from sender: StateSide) -> AppEffect {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("from", thread.people[sender])
      writer.write("to", thread.people[sender.other])
      writer.write("since", thread.since)
      writer.write("until", thread.until)
    }
    return .tell(event, writer.bytes)
  }
}
