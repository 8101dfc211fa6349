import Wire

/// What webhooks are told of a thread: that somebody sent, that both see, that nobody answered. Nothing of what was
/// sent.
extension StateApp {
  func events(from before: StateThread, to thread: StateThread) -> [AppEffect] {
    var effects: [AppEffect] = []
    let isNew = before.since != thread.since
    // What was sealed may have run out in the moment in which something new is sent.
    if case .sealed(let sender, _, _) = before.standing, !isRevealed(thread),
      thread.standing == nil || (isNew && before.until <= thread.since)
    {
      effects.append(event(.stateExpired, before, from: sender))
    }
    switch (before.standing, thread.standing) {
    case (.sealed, .sealed) where !isNew: break
    // Nobody is to be told by a backend of what the app does not show them.
    case (_, .sealed(let sender, _, _)) where thread.phase(of: sender.other) != .received: break
    case (_, .sealed(let sender, _, _)): effects.append(event(.stateSent, thread, from: sender))
    case (.revealed, .revealed) where !isNew: break
    case (.sealed(let sender, _, _), .revealed): effects.append(event(.stateRevealed, thread, from: sender))
    case (_, .revealed): effects.append(event(.stateRevealed, thread, from: .low))
    case (.sealed(let sender, _, _), .expired) where effects.isEmpty:
      effects.append(event(.stateExpired, before, from: sender))
    default: break
    }
    return effects
  }

  private func isRevealed(_ thread: StateThread) -> Bool {
    if case .revealed = thread.standing { true } else { false }
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
