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

  /// Tells gateways of the newest deletions, because a batch of them is done, or because the broker has only now read what
  /// it keeps.
  ///
  /// - Parameter obedient: gateways that have forgotten the users of that batch by order. Their marks move on, and they
  ///   have nothing to look for.
  func tellDeletions(obedient: Set<UInt64> = [], in turn: inout Turn) {
    for link in links.open {
      guard let session = link.open else { continue }
      if obedient.contains(link.gateway) {
        moveMark(of: link, session, in: &turn)
      } else {
        tellDeletions(to: link, session, in: &turn)
      }
    }
  }

  /// A gateway that has missed others besides is told of them with its next session.
  private func moveMark(of link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    guard let deletions, case .waiting(let mark) = session.deletions, let next = deletions.done.step(after: mark) else {
      return
    }
    session.deletions = .told
    links.send(.deletions(LinkDeletions(pepper: [], records: [], through: next)), to: link.gateway, in: &turn)
  }

  private func tellDeletions(to link: PeerLink, _ session: PeerSession, in turn: inout Turn) {
    guard let deletions, deletions.isLoaded, let pepper = deletions.pepper,
      case .waiting(let mark) = session.deletions, let page = deletions.done.page(after: mark, pepper: pepper)
    else { return }
    session.deletions = .told
    links.send(.deletions(page), to: link.gateway, in: &turn)
  }
}
