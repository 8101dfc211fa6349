import Wire

/// How far the telling of deletions is in one session of a link: see ``LinkDeletions`` for the states.
enum DeletionTelling: Equatable {
  case silent
  case waiting(after: DeletionMark?)
  case told
}

/// Deletions that a gateway has missed: it was away when they were done (``LinkDeletions``).
extension BrokerCore {
  /// A gateway says how far it has carried deletions out.
  func forgotten(_ forgotten: LinkForgotten, by link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    session.deletions = .waiting(after: forgotten.through)
    tellDeletions(to: link, session, in: &turn)
  }

  /// Tells gateways of the newest deletions: those that have waited for them, where the broker has only now read what it
  /// keeps, or that were not ordered to forget the users of a batch which is done.
  ///
  /// - Parameter spared: gateways that have forgotten these users by order.
  func tellDeletions(sparing spared: Set<UInt64> = [], in turn: inout Turn) {
    for link in links.open where !spared.contains(link.gateway) {
      if let session = link.open { tellDeletions(to: link, session, in: &turn) }
    }
  }

  private func tellDeletions(to link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    guard let deletions, deletions.isLoaded, let pepper = deletions.pepper,
      case .waiting(let mark) = session.deletions, let page = deletions.done.page(after: mark, pepper: pepper)
    else { return }
    session.deletions = .told
    links.send(.deletions(page), to: link.gateway, in: &turn)
  }
}
