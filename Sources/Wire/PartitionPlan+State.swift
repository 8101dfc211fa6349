// Requests of State, where it is shared among partitions (docs/decisions/0073-state-in-all-partitions.md).

extension Partitioning {
  /// Where all that a command is about stands; nil: in several places.
  func onlyPlace(of command: StateCommand, by user: String) -> Int? {
    let person = place(ofUser: user)
    switch command {
    case .begin(let other), .seen(let other), .delivered(let other), .block(let other), .unblock(let other):
      return place(of: user, and: other)
    case .react(let reaction): return place(of: user, and: reaction.with)
    case .send(let send): return place(of: user, and: send.to) == person ? person : nil
    case .cancel(let cancel):
      let pair = place(of: user, and: cancel.to)
      return cancel.pictures.isEmpty || pair == person ? pair : nil
    case .settings, .discard, .discardUpload, .addPicture, .uploadKey, .lend, .giveBack: return person
    case .pictureKey, .gonePictures: return nil
    }
  }

  /// Somebody alone is no pair, which the app says wherever it is asked.
  func place(of user: String, and other: String) -> Int {
    user.hasSameBytes(as: other) ? place(ofUser: user) : place(ofPair: user, other)
  }

  func plan(for command: StateCommand, of call: BrokerRequest.CallRequest) -> PartitionPlan {
    let user = call.caller.user
    if let place = onlyPlace(of: command, by: user) { return one(.call(call), at: place) }
    let person = place(ofUser: user)
    func part(_ partition: Int, _ command: StateCommand, isGateways: Bool = false) -> PartitionPlan.Part {
      .init(partition: partition, request: call.asking(.state(command), isGateways: isGateways))
    }
    switch command {
    case .send(let send):
      let lending = StateCommand.Lending(
        to: send.to, front: send.front, rear: send.rear, attempt: .random(in: .min ... .max))
      return PartitionPlan(
        [
          part(person, .lend(lending), isGateways: true), part(place(of: user, and: send.to), command),
          part(person, .giveBack(lending), isGateways: true),
        ], .send)
    case .cancel(var cancel):
      let pictures = cancel.pictures
      cancel.pictures = []
      return PartitionPlan(
        [part(person, .discard(pictures)), part(place(of: user, and: cancel.to), .cancel(cancel))], .last,
        awaitsFirst: true)
    case .gonePictures: return each(.gone) { _ in .call(call) }
    default: return each(.any) { _ in .call(call) }
    }
  }
}
