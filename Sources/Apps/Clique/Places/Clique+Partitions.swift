import Wire

/// Where everything of Clique stands, where it is shared among partitions (docs/decisions/0074-clique-in-all-partitions.md).
extension Clique {
  /// The id of two people's conversation, named in any order.
  public static func conversationID(_ one: String, _ other: String) -> String {
    CliqueIdentifier.ordered(one, other)
  }

  /// Whether the app is shared among partitions at all.
  var isShared: Bool { places != nil }

  /// Whether this is the only instance of the app, or the one that decides about all that is not two people's.
  var isHome: Bool { places?.isHome ?? true }

  /// The partition of a conversation; nil: this one, or there are no others. Groups are at home.
  func elsewhere(ofConversation id: String) -> Int? {
    places.flatMap { $0.other($0.partitioning.place(ofConversation: id)) }
  }

  /// The partition of what a person sees; nil: this one, or there are no others.
  func elsewhere(ofUser user: String) -> Int? { places?.elsewhere(ofUser: user) }

  static let misplaced = AppPlaces.misplaced("clique")

  /// - Throws: where a command does not belong here.
  func checkPlace(of call: AppCall, _ command: CliqueCommand) throws(ClientError) {
    if places == nil { return }
    switch Self.place(of: command, by: call.user) {
    case .conversation(let id): if elsewhere(ofConversation: id) != nil { throw Self.misplaced }
    case .caller: if elsewhere(ofUser: call.user) != nil { throw Self.misplaced }
    case .home: if !isHome { throw Self.misplaced }
    case .everywhere: break
    }
  }

  /// What a command is about, which says where it is decided.
  private enum CommandPlace {
    case conversation(String)
    case caller
    case home
    /// Each partition answers for what it has.
    case everywhere
  }

  private static func place(of command: CliqueCommand, by user: String) -> CommandPlace {
    switch command {
    case .send(let send): .conversation(id(of: send.target, by: user))
    case .accept(let target), .decline(let target), .disconnect(let target), .block(let target), .unblock(let target):
      .conversation(id(of: target, by: user))
    case .read(let mark), .delivered(let mark): .conversation(mark.conversation)
    case .typing(let id): .conversation(id)
    case .keep(let keep): .conversation(id(of: keep.target, by: user))
    case .draft(let draft): .conversation(id(of: draft.target, by: user))
    case .react(let react): .conversation(react.conversation)
    case .disappear(let disappear): .conversation(id(of: disappear.target, by: user))
    case .reads(let reading): .conversation(reading.conversation)
    case .evidence(let report): .conversation(conversation(of: report, by: user))
    case .totals: .caller
    case .search(let search): search.conversation.map { .conversation($0) } ?? .everywhere
    case .createGroup, .leaveGroup, .changeGroup, .joinGroup, .report, .enter, .leave, .invisible, .crossings,
      .setProfile, .profiles, .people, .picture, .lend, .giveBack:
      .home
    }
  }

  private static func id(of target: CliqueCommand.Target, by user: String) -> String {
    switch target {
    case .person(let other): CliqueIdentifier.ordered(user, other)
    case .conversation(let conversation): conversation.id
    }
  }

  func relay(_ says: CliqueRelay.Says, to place: Int, _ view: any AppView) throws(ClientError) -> AppEffect {
    .relay(AppRelay(to: place, try AppJSON.encode(CliqueRelay(sent: view.now, says: says))))
  }
}
