public import Wire

/// What becomes of a sealed thread, as its people were told.
extension StateApp {
  public func seal(of publication: Publication, on channel: ChannelName) -> AppSeal? {
    guard let owner = StateChannels.owner(of: channel) else { return nil }
    let isNotice = owner.namespace == StateChannels.eventsNamespace
    let phase =
      isNotice
      ? (try? AppJSON.decode(ToldEvent.self, publication.data))?.event
      : (try? AppJSON.decode(ToldPhase.self, publication.data))?.phase
    return switch phase {
    case .sent, .received: .untilAnswered
    case .expired: .forEver
    case .idle, .revealed, nil: nil
    }
  }

  /// The part of a notice that says what it is of.
  private struct ToldEvent: Decodable {
    var event: StatePhase
  }

  /// The part of an entry of a thread list that says the same.
  private struct ToldPhase: Decodable {
    var phase: StatePhase
  }
}
