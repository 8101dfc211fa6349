import Testing

@testable import Wire

@Suite("Partitions: which one has a channel, and who is asked")
struct PartitioningTests {
  private static func partitioning(_ count: Int) -> Partitioning {
    var app = ChannelOptions()
    app.app = "clique"
    var counted = ChannelOptions()
    counted.userQuotaBytes = 1000
    var pushed = ChannelOptions()
    pushed.push = true
    var following = ChannelOptions()
    following.followsChannel = true
    return Partitioning(
      count: count,
      namespaces: NamespaceTable(namespaces: [
        "chat": ChannelOptions(), "clique": app, "journal": counted, "dm": pushed, "receipts": following,
      ]))
  }

  private let shared = partitioning(8)

  private func name(_ text: String) throws -> ChannelName { try ChannelName(text) }

  @Test("The slots of names never change: logs hold channels by them")
  func slots() {
    #expect(Partitioning.slot(of: "") == 252)
    #expect(
      ["a", "chat:42", "chat:\u{E9}", "$private:1", "news"].map { Partitioning.slot(of: $0) } == [12, 194, 6, 165, 233])
  }

  @Test("Channels are spread evenly, over any number of partitions, and each is always in the same one")
  func spread() throws {
    for count in [1, 2, 3, 7, 64] {
      let partitioning = Self.partitioning(count)
      var found = Array(repeating: 0, count: count)
      for number in 0..<12_800 {
        let channel = try name("chat:room-\(number)")
        let partition = partitioning.partition(of: channel)
        #expect(partition == partitioning.partition(of: channel))
        found[partition] += 1
      }
      let share = 12_800 / count
      #expect(found.allSatisfy { $0 > share / 2 && $0 < 2 * share }, "\(count): \(found)")
    }
  }

  @Test("Twice as many partitions halve each one: what was in one is in one of two")
  func halved() throws {
    let (few, many) = (Self.partitioning(4), Self.partitioning(8))
    for number in 0..<1000 {
      let channel = try name("chat:\(number)")
      #expect(many.partition(of: channel) / 2 == few.partition(of: channel))
    }
  }

  @Test("Channels of apps, with quotas, and that notify people are at home; receipts are where their channel is")
  func placed() throws {
    var elsewhere = 0
    for number in 0..<64 {
      for namespace in ["clique", "journal", "dm", "receipts:clique", "receipts:dm"] {
        #expect(shared.partition(of: try name("\(namespace):\(number)")) == Partitioning.home)
      }
      let channel = try name("chat:\(number)")
      #expect(shared.partition(of: try name("receipts:chat:\(number)")) == shared.partition(of: channel))
      // What follows is not followed further than once.
      _ = shared.partition(of: try name("receipts:receipts:chat:\(number)"))
      if shared.partition(of: channel) != Partitioning.home { elsewhere += 1 }
    }
    #expect(elsewhere > 32)
    #expect(shared.pinnedNamespaces == ["clique", "journal", "dm"] && shared.followingNamespaces == ["receipts"])
  }

  /// A channel in each partition.
  private func channels() throws -> [ChannelName] {
    var found: [Int: ChannelName] = [:]
    for number in 0..<1000 where found.count < 8 {
      let channel = try name("chat:\(number)")
      found[shared.partition(of: channel)] = channel
    }
    return try (0..<8).map { try #require(found[$0]) }
  }

  @Test("A request about a channel is asked of its partition; orders, apps' commands and inspections of users of home")
  func routes() throws {
    for (partition, channel) in try channels().enumerated() {
      let asked: [BrokerRequest] = [
        .publish(.init(channel: channel, data: [])), .subscribe(.init(channel: channel)), .presence(channel),
        .history(.init(channel: channel, limit: 1)), .historyRemove(channel),
        .readMap(.init(channel: channel, read: .init(phase: .state))),
        .edit(.init(channel: channel, offset: 1, data: nil, editor: nil)),
        .once(OnceKey(owner: "o", key: "k"), .historyRemove(channel)),
      ]
      #expect(asked.allSatisfy { shared.onlyPartition(for: $0) == partition })
      let orders: [BrokerRequest] = [
        .beginSubscriptions(SessionTarget(user: "u"), .init(channel: channel)),
        .endSubscriptions(SessionTarget(user: "u"), channel, .server),
        .disconnect(SessionTarget(user: "u"), .forceDisconnect),
        .top(visible: nil), .call(.init(.other(.init(method: "a", data: [])), caller: .init(user: "u", client: "c"))),
        .webhooks(.resend("orders", limit: 1)), .user(.pair(app: "clique", user: "a", other: "b")),
        .user(.delete(.init(user: "u", channels: [channel]))),
      ]
      #expect(orders.allSatisfy { shared.onlyPartition(for: $0) == Partitioning.home })
    }
    let several: [BrokerRequest] = [
      .channels(prefix: ""), .info, .unread(user: "u", []), .user(.data(user: "u")), .webhooks(.list),
      .user(.deletionStatus(user: "u")), .once(OnceKey(owner: "o", key: "k"), .info),
    ]
    #expect(several.allSatisfy { shared.onlyPartition(for: $0) == nil })
    #expect(several.allSatisfy { Self.partitioning(1).onlyPartition(for: $0) == 0 })
  }

  @Test("What is unread is asked where the channels are, and told in the order in which it was asked")
  func unread() throws {
    let channels = try channels()
    let asked = [channels[5], channels[2], channels[5], channels[0]]
    let plan = try shared.plan(for: .unread(user: "u", asked))
    #expect(plan.parts.map(\.partition) == [0, 2, 5])
    #expect(plan.parts[2].request == .unread(user: "u", [channels[5], channels[5]]))
    #expect(plan.merged([.unread([1]), .unread([2]), .unread([3, 4])]) == .unread([3, 2, 4, 1]))
    let error = BrokerResponse.failed(.permissionDenied)
    #expect(plan.merged([.unread([1]), error, .unread([3, 4])]) == error)
    #expect(try shared.plan(for: .unread(user: "", [])).merged([.unread([])]) == .unread([]))
  }

  @Test("Channels of all partitions are one list, and what all brokers carry is one sum")
  func sums() throws {
    let plan = try shared.plan(for: .channels(prefix: "chat:"))
    #expect(plan.parts.map(\.partition) == Array(0..<8) && !plan.awaitsFirst)
    let answers = try channels().reversed().map { BrokerResponse.channels([$0]) }
    #expect(plan.merged(answers) == .channels(try channels().sorted()))
    let info = { (channels: UInt64) in
      BrokerResponse.info(
        ServerInfo(
          broker: .init(version: "v", uptime: channels, channels: channels, publications: 1), gateways: [],
          unanswered: 0))
    }
    guard case .info(let whole) = try shared.plan(for: .info).merged([info(3), info(4)]) else {
      Issue.record("no info")
      return
    }
    #expect(whole.broker.channels == 7 && whole.broker.publications == 2 && whole.broker.uptime == 3)
  }

  @Test("A deletion is as far as the last partition, and one that has not heard of it from home yet waits")
  func deletion() throws {
    let plan = try shared.plan(for: .user(.deletionStatus(user: "u")))
    #expect(plan.parts.map(\.partition) == Array(0..<8))
    func json(_ text: String) -> BrokerResponse { .result(Array(text.utf8)) }
    let done = json(#"{"state":"done","since":5,"done":9}"#)
    #expect(
      plan.merged([done, json(#"{"state":"waiting","since":4}"#), done]) == json(#"{"state":"waiting","since":4}"#))
    #expect(plan.merged([done, json(#"{"state":"done","since":6,"done":8}"#)]) == done)
    #expect(plan.merged([done, json(#"{"state":"none"}"#)]) == json(#"{"state":"none"}"#))
    for state in ["waiting", "deleting"] {
      let home = json("{\"state\":\"\(state)\",\"since\":5}")
      #expect(plan.merged([home, json(#"{"state":"none"}"#), done]) == json(#"{"state":"waiting","since":5}"#))
    }
  }

  @Test("An export goes from partition to partition, by its cursors; what is kept is added up")
  func export() throws {
    func ask(_ cursor: String) throws -> PartitionPlan {
      try shared.plan(for: .user(.export(user: "u", cursor: cursor)))
    }
    func json(_ text: String) -> BrokerResponse { .result(Array(text.utf8)) }
    #expect(try ask("").parts == [.init(partition: 0, request: .user(.export(user: "u", cursor: "")))])
    #expect(
      try ask("").merged([json(#"{"items":[1.0],"cursor":"a.b"}"#)]) == json(#"{"items":[1.0],"cursor":"0.a.b"}"#))
    #expect(try ask("0.a.b").parts == [.init(partition: 0, request: .user(.export(user: "u", cursor: "a.b")))])
    #expect(try ask("0.a.b").merged([json(#"{"items":[]}"#)]) == json(#"{"items":[],"cursor":"1."}"#))
    #expect(try ask("7.").parts == [.init(partition: 7, request: .user(.export(user: "u", cursor: "")))])
    #expect(try ask("7.").merged([json(#"{"items":[]}"#)]) == json(#"{"items":[]}"#))
    for cursor in ["x", "8.", "-1.a", "a.b"] { #expect(throws: ClientError.self) { try ask(cursor) } }
    let kept = try shared.plan(for: .user(.data(user: "u"))).merged([
      json(#"{"kept":[{"kind":"history","namespace":"chat","count":2,"bytes":10}],"present":1,"revocations":1}"#),
      json(
        #"{"kept":[{"kind":"entries","count":1,"bytes":1},{"kind":"history","namespace":"chat","count":1,"bytes":5}],"present":2,"revocations":1}"#
      ),
    ])
    #expect(
      kept
        == json(
          #"{"kept":[{"kind":"entries","count":1,"bytes":1},{"kind":"history","namespace":"chat","count":3,"bytes":15}],"present":3,"revocations":1}"#
        ))
  }

  @Test("Each partition has outboxes of its own for a webhook, which are told apart by their names")
  func webhooks() throws {
    func json(_ text: String) -> BrokerResponse { .result(Array(text.utf8)) }
    let lists = (0..<8).map { json(#"{"webhooks":[{"name":"orders","waiting":\#($0)}]}"#) }
    guard case .result(let bytes) = try shared.plan(for: .webhooks(.list)).merged(lists) else {
      Issue.record("no list")
      return
    }
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains(#"{"name":"orders","waiting":0}"#) && text.contains(#"{"name":"orders@7","waiting":7}"#))
    let resend = BrokerRequest.webhooks(.resend("orders@7", limit: 3))
    #expect(shared.onlyPartition(for: resend) == 7)
    #expect(shared.request(resend, within: 7) == .webhooks(.resend("orders", limit: 3)))
    let once = BrokerRequest.once(OnceKey(owner: "o", key: "k"), resend)
    #expect(shared.onlyPartition(for: once) == 7)
    #expect(
      shared.request(once, within: 7)
        == .once(OnceKey(owner: "o", key: "k"), .webhooks(.resend("orders", limit: 3))))
    #expect(shared.onlyPartition(for: .webhooks(.resend("orders@8", limit: 3))) == 0)
  }
}
