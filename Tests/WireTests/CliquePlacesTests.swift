import Testing

@testable import Wire

/// Clique in four partitions, with ids of conversations as good as real ones.
enum CliquePlan {
  static let partitioning = partitioning(isShared: true)

  static func partitioning(_ count: Int = 4, isShared: Bool) -> Partitioning {
    func options(_ sharing: ChannelOptions.Sharing) -> ChannelOptions {
      var options = ChannelOptions()
      (options.app, options.sharing) = ("clique", isShared ? sharing : .home)
      return options
    }
    let namespaces = [
      "clique.chat": options(.conversation), "clique.list": options(.user), "clique.blocked": options(.home),
    ]
    return Partitioning(count: count, namespaces: NamespaceTable(namespaces: namespaces), conversation: conversation)
  }

  @Sendable static func conversation(_ a: String, _ b: String) -> String {
    let isOrdered = a.utf8.lexicographicallyPrecedes(b.utf8)
    let names = isOrdered ? "\(a) \(b)" : "\(b) \(a)"
    let digits = TraceContext.hexadecimal(names.utf8.reduce(17) { ($0 ^ UInt64($1)) &* 0x9E37_79B9_7F4A_7C15 })
    return "p" + digits + digits
  }

  /// Somebody whose conversation with Ann is at home, or is not.
  static func other(isHome: Bool) throws -> String {
    try #require(
      (0..<1000).lazy.map { "user-\($0)" }.first {
        (partitioning.place(ofConversation: conversation("ann", $0)) == Partitioning.home) == isHome
      })
  }

  static func command(_ method: String, _ data: String, by user: String = "ann") throws -> CliqueCommand {
    guard case .clique(let command) = try AppCommand(method, Array(data.utf8), by: user) else {
      throw ClientError.internalError
    }
    return command
  }

  static func call(_ command: CliqueCommand, by user: String = "ann", isGateways: Bool = false) -> BrokerRequest {
    .call(.init(.clique(command), caller: ClientInfo(user: user, client: "c"), isGateways: isGateways))
  }
}

@Suite("Clique in all partitions: where things are, and who is asked")
struct CliquePlacesTests {
  private let shared = CliquePlan.partitioning
  private let picture = AppCommandExample.front
  private let group = AppCommandExample.group

  @Test("A conversation of two has its own place, by its id; groups, and what is of many, are at home")
  func places() throws {
    var counts = Array(repeating: 0, count: 4)
    for number in 0..<400 {
      let id = CliquePlan.conversation("ann", "user-\(number)")
      let place = shared.place(ofConversation: id)
      #expect(place == Partitioning.slot(of: id) * 4 / Partitioning.slots)
      #expect(shared.partition(of: try ChannelName("clique.chat:" + id)) == place)
      #expect(CliquePlan.partitioning(1, isShared: true).place(ofConversation: id) == Partitioning.home)
      counts[place] += 1
      let user = "user-\(number)"
      #expect(shared.partition(of: try ChannelName("clique.list:" + user)) == shared.place(ofUser: user))
      #expect(shared.partition(of: try ChannelName("clique.blocked:" + user)) == Partitioning.home)
      #expect(shared.partition(of: try ChannelName("clique.chat:g" + id.dropFirst())) == Partitioning.home)
    }
    #expect(counts.allSatisfy { $0 > 50 }, "\(counts)")
    #expect(shared.pinnedNamespaces == ["clique.blocked"])
    let apart = CliquePlan.partitioning(isShared: false)
    #expect(apart.pinnedNamespaces == ["clique.chat", "clique.list", "clique.blocked"])
    #expect(shared.sharedNamespaces == ["clique.chat", "clique.list"] && apart.sharedNamespaces.isEmpty)
    #expect(shared.sharesClique && !apart.sharesClique && !CliquePlan.partitioning(1, isShared: true).sharesClique)
    #expect(!shared.sharesState)
  }

  @Test("Two partitionings are one whatever works out the ids of conversations")
  func equality() {
    let (bare, named) = (
      Partitioning(count: 4, namespaces: NamespaceTable()),
      Partitioning(count: 4, namespaces: NamespaceTable(), conversation: CliquePlan.conversation)
    )
    #expect(bare == named && bare != Partitioning(count: 3, namespaces: NamespaceTable()) && bare != shared)
  }

  /// Where a command goes (decision 0074, "How a command goes").
  private enum Route {
    case conversation, person, home
    /// The conversation that the command names; all where it names none.
    case searched
    /// As ``conversation``; with a picture and elsewhere than at home, several steps.
    case sent
    /// Home alone where what is reported is there; else two steps.
    case reported
    /// Home first.
    case pictureKey
  }

  private func route(_ method: CliqueCommand.Method) -> Route {
    switch method {
    case .send: .sent
    case .accept, .decline, .disconnect, .block, .unblock, .read, .delivered, .typing, .keep, .draft, .react,
      .disappear, .reads, .evidence:
      .conversation
    case .totals: .person
    case .search: .searched
    case .report: .reported
    case .pictureKey: .pictureKey
    case .createGroup, .leaveGroup, .addToGroup, .removeFromGroup, .renameGroup, .appoint, .dismiss, .makeGroupLink,
      .groupLinks, .revokeGroupLinks, .joinGroup, .enter, .leave, .invisible, .crossings, .setProfile, .profiles,
      .people, .pictureAdded, .pictureUpload, .pictureGone, .pictureDiscard, .lend, .giveBack:
      .home
    }
  }

  /// Commands about what is named: a conversation, or the person whom it is with.
  private func commands(_ named: String, conversation id: String) throws -> [CliqueCommand] {
    let texts = [
      ("clique.accept", ""), ("clique.decline", ""), ("clique.disconnect", ""), ("clique.block", ""),
      ("clique.unblock", ""), ("clique.keep", #","muted":true"#), ("clique.draft", #","text":"x""#),
      ("clique.disappear", #","after":0"#), ("clique.report", #","reason":"spam","offset":7"#),
    ]
    let sent = named.replacing("\"person\"", with: "\"to\"")
    let marked = "{\"conversation\":\"\(id)\",\"offset\":7"
    let conversation = "{\"conversation\":\"\(id)\"}"
    let report = try CliquePlan.command("clique.report", "{\(named),\"reason\":\"spam\",\"offset\":7}")
    guard case .report(let reported) = report else { throw ClientError.internalError }
    return try texts.map { try CliquePlan.command($0, "{\(named)\($1)}") } + [
      CliquePlan.command("clique.send", "{\(sent),\"text\":\"hi\"}"),
      CliquePlan.command("clique.send", "{\(sent),\"picture\":{\"id\":\"\(picture)\"}}"),
      CliquePlan.command("clique.read", marked + "}"), CliquePlan.command("clique.delivered", marked + "}"),
      CliquePlan.command("clique.react", marked + #","reaction":"!"}"#),
      CliquePlan.command("clique.typing", conversation),
      CliquePlan.command("clique.search", "{\"conversation\":\"\(id)\",\"text\":\"x\"}"),
      CliquePlan.command("clique.search", #"{"person":"bob","text":"x"}"#), CliquePlan.command("clique.totals", ""),
      .reads(.init(conversation: id, offset: 7, picture: picture)), .evidence(reported),
      .lend(.init(conversation: id, picture: picture, attempt: 1)),
      .giveBack(.init(conversation: id, picture: picture, attempt: 1)),
    ]
  }

  /// Commands that name no conversation of two.
  private func others() throws -> [CliqueCommand] {
    let named = Set(try commands("\"person\":\"bob\"", conversation: AppCommandExample.pair).map(\.method))
    return AppCommandExample.all.compactMap { command in
      if case .clique(let command) = command, !named.contains(command.method) { command } else { nil }
    }
  }

  private func expected(of command: CliqueCommand, at place: Int, by user: String) -> Int? {
    switch route(command.method) {
    case .conversation: return place
    case .person: return shared.place(ofUser: user)
    case .home: return Partitioning.home
    case .searched:
      guard case .search(let search) = command, search.conversation != nil else { return nil }
      return place
    case .sent:
      guard case .send(let send) = command, send.message.extras?.picture != nil else { return place }
      return place == Partitioning.home ? place : nil
    case .reported: return place == Partitioning.home ? place : nil
    case .pictureKey: return nil
    }
  }

  @Test("Each command is asked where what it is about is decided, whether it names the person or the conversation")
  func routes() throws {
    var methods: Set<CliqueCommand.Method> = []
    var elsewhere = 0
    for number in 0..<32 {
      let other = "user-\(number)"
      let id = CliquePlan.conversation("ann", other)
      let place = shared.place(ofConversation: id)
      if place != Partitioning.home { elsewhere += 1 }
      let asked =
        try commands("\"person\":\"\(other)\"", conversation: id)
        + commands("\"conversation\":\"\(id)\"", conversation: id) + others()
      for command in asked {
        methods.insert(command.method)
        let request = CliquePlan.call(command, isGateways: command.isGateways)
        let expected = expected(of: command, at: place, by: "ann")
        #expect(shared.onlyPartition(for: request) == expected, "\(command.method) of \(id) at \(place)")
        let once = BrokerRequest.once(OnceKey(owner: "o", key: "k"), request)
        #expect(shared.onlyPartition(for: once) == expected)
        if let expected {
          #expect(try shared.plan(for: request).next(after: []) == [.init(partition: expected, request: request)])
        }
      }
    }
    #expect(methods == Set(CliqueCommand.Method.allCases), "a command has no row here")
    #expect(elsewhere > 16)
  }

  @Test("Whatever is asked of a group is asked of home, and so is everything where Clique is not shared")
  func home() throws {
    let ofGroup = try commands("\"conversation\":\"\(group)\"", conversation: group)
    for command in ofGroup where ![.totals, .search].contains(command.method) {
      #expect(shared.onlyPartition(for: CliquePlan.call(command)) == Partitioning.home, "\(command.method)")
    }
    let other = try CliquePlan.other(isHome: false)
    let person = try CliquePlan.command(
      "clique.report", "{\"person\":\"\(other)\",\"conversation\":\"\(group)\",\"reason\":\"spam\"}")
    #expect(shared.onlyPartition(for: CliquePlan.call(person)) == Partitioning.home)
    let apart = CliquePlan.partitioning(isShared: false)
    let named = try commands("\"person\":\"\(other)\"", conversation: CliquePlan.conversation("ann", other)) + others()
    for command in named {
      let request = CliquePlan.call(command)
      #expect(apart.onlyPartition(for: request) == Partitioning.home)
      #expect(try apart.plan(for: request).next(after: []) == [.init(partition: Partitioning.home, request: request)])
    }
    let pair = BrokerRequest.user(.pair(app: "clique", user: "ann", other: other))
    #expect(apart.onlyPartition(for: pair) == Partitioning.home)
  }

  @Test("What services ask of two people is asked of their conversation; of groups and reports, of home")
  func services() throws {
    let other = try CliquePlan.other(isHome: false)
    let place = shared.place(ofConversation: CliquePlan.conversation("ann", other))
    for (user, other) in [("ann", other), (other, "ann")] {
      #expect(shared.onlyPartition(for: .user(.pair(app: "clique", user: user, other: other))) == place)
      #expect(shared.onlyPartition(for: .user(.unblock(user: user, other: other))) == place)
      #expect(shared.onlyPartition(for: .user(.pair(app: "state", user: user, other: other))) == Partitioning.home)
    }
    let requests: [UserRequest] = [.groups(.of(user: "ann")), .groups(.one(group))]
    #expect(requests.allSatisfy { shared.onlyPartition(for: .user($0)) == Partitioning.home })
    #expect(shared.onlyPartition(for: .user(.export(user: "ann", cursor: ""))) == nil)
  }
}
