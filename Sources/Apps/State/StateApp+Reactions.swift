import Wire

extension StateApp {
  /// Marks what was revealed with what the caller says to it, in place of what they said before.
  func react(
    _ reaction: StateCommand.Reaction, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let visit = try access(call.user, with: reaction.with, view)
    var shape = visit.now.shape
    if case .refused(let refusal) = shape.apply(.react, by: visit.me) { throw StateError.refused(refusal) }
    guard case .revealed(var both) = visit.now.standing else { throw .internalError }
    guard view.latest < visit.now.until else {
      throw .internalError.saying("the server's clock waits to be confirmed; try again later")
    }
    let before = both[visit.me].reaction
    // What says the same again changes nothing, so that a repeated call tells nobody anything.
    if let text = reaction.text, let before, opened(before) == text { return AppDecision() }
    if reaction.text == nil, before == nil { return AppDecision() }
    var person = try person(call.user, view)
    try pay(&person, view)
    if let text = reaction.text {
      guard vault.isReady(at: view.now) else { return AppDecision([], .later) }
      both[visit.me].reaction = try sealed(text, view)
    } else {
      both[visit.me].reaction = nil
    }
    var thread = visit.now
    thread.standing = .revealed(both)
    return AppDecision(
      try change(from: visit.before, to: thread, looksAtBoth: true, view, visit.own(person)))
  }

  /// The text under a key of its own, which goes with the reveal as those of captions do.
  private func sealed(_ text: String, _ view: any AppView) throws(ClientError) -> ReleasedContents.Caption {
    do throws(KeyVaultError) {
      let sealed = try vault.encrypt(Array(text.utf8), at: view.now)
      return ReleasedContents.Caption(key: try vault.release(sealed.key), box: sealed.box)
    } catch {
      throw StateError.vault(error)
    }
  }
}
