import Wire

extension StateApp {
  /// The partition of a person; nil: this one, or there are no others.
  func elsewhere(ofUser user: String) -> Int? { places?.elsewhere(ofUser: user) }

  /// The partition of what two people decide about; nil: this one, or there are no others.
  func elsewhere(of people: StatePair) -> Int? {
    places.flatMap { $0.other($0.partitioning.place(ofPair: people.low, people.high)) }
  }

  /// The partition that knows people's devices; nil: this one, or there are no others.
  var homeElsewhere: Int? { places?.other(Partitioning.home) }

  static let misplaced = AppPlaces.misplaced("state")

  /// - Throws: where a command about what is one person's does not belong here. Threads are checked when they are read.
  func checkPlace(of call: AppCall, _ command: StateCommand) throws(ClientError) {
    switch command {
    case .settings, .discard, .discardUpload, .addPicture, .uploadKey, .lend, .giveBack:
      if elsewhere(ofUser: call.user) != nil { throw Self.misplaced }
    case .cancel(let cancel):
      // A gateway has the pictures discarded where they lie.
      if !cancel.pictures.isEmpty, elsewhere(ofUser: call.user) != nil { throw Self.misplaced }
    case .begin, .send, .seen, .delivered, .block, .unblock, .react, .pictureKey, .gonePictures: break
    }
  }

  func relay(_ says: StateRelay.Says, to place: Int, _ view: any AppView) throws(ClientError) -> AppEffect {
    .relay(AppRelay(to: place, try AppJSON.encode(StateRelay(sent: view.now, says: says))))
  }
}
