import Testing
import Wire

@Suite("Orders about connections, and revoked tokens")
struct OrderTests {
  private static let target = SessionTarget(user: "ann", client: "c", session: nil, whitelist: ["a", "b"])

  private static let orders: [SessionOrder] = [
    .disconnect(target, .invalidToken), .disconnect(SessionTarget(session: "s"), .init(code: 4999, reason: "")),
    .unsubscribe(target, name("chat:1"), .server),
    .subscribe(target, OrderedSubscription(channel: name("chat:1"))), .subscribe(target, everything),
    .refresh(target, .now), .refresh(SessionTarget(user: ""), .at(.min)), .refresh(target, .at(1_700_000_000)),
    .refresh(target, .never), .forget(["ann", "é"]),
    .readmit([Revocation(.user("ann", issuedBefore: 7)), Revocation(.user("ann", issuedBefore: 7, channel: "é"))]),
    .revoke([], replacesAll: true, isComplete: true),
    .revoke(
      [
        Revocation(.id("é"), expiresAt: 5), Revocation(.user("ann", issuedBefore: -1)),
        Revocation(.user("ann", issuedBefore: .max, channel: "news"), expiresAt: .min),
      ], replacesAll: false, isComplete: false),
  ]

  private static let everything = OrderedSubscription(
    channel: name("$x"), info: Array("{}".utf8), data: [], since: StreamPosition(epoch: "é", offset: .max))

  private static func name(_ text: String) -> ChannelName {
    guard let name = try? ChannelName(text) else { preconditionFailure("\(text) is no channel name") }
    return name
  }

  @Test("an order is read as it was written, and nothing that is cut or too long is read at all", arguments: orders)
  func coding(_ order: SessionOrder) throws {
    let message = LinkOrder(id: 300, order: order)
    let bytes = message.bytes
    #expect(try LinkOrder(bytes: bytes) == message)
    for length in bytes.indices {
      #expect(throws: MalformedMessage.self) { try LinkOrder(bytes: Array(bytes[..<length])) }
    }
    #expect(throws: MalformedMessage.self) { try LinkOrder(bytes: bytes + [0]) }
    #expect(try LinkObeyed(bytes: LinkObeyed(id: 300).bytes) == LinkObeyed(id: 300))
  }

  @Test("a gateway may pass such a request on")
  func requests() throws {
    let channel = Self.name("chat:1")
    let requests: [BrokerRequest] = [
      .disconnect(Self.target, .forceDisconnect), .endSubscriptions(Self.target, channel, .server),
      .beginSubscriptions(Self.target, .init(channel: channel)), .beginSubscriptions(Self.target, Self.everything),
      .refresh(Self.target, .now), .refresh(Self.target, .at(-1)), .refresh(Self.target, .never),
      .revoke(.init(.id("x"))), .revoke(.init(.user("ann", issuedBefore: nil))),
      .revoke(.init(.user("ann", issuedBefore: 7, channel: "news"), expiresAt: 9)),
    ]
    for request in requests {
      let message = LinkRequest(id: 1, oldestPending: 1, request: request)
      #expect(try LinkRequest(bytes: message.bytes) == message)
      #expect(!request.isRemembered)
    }
  }

  @Test("what an order brings along counts in the link's windows")
  func costs() {
    func cost(_ data: [UInt8]) -> Int {
      let subscription = OrderedSubscription(channel: Self.name("chat:1"), data: data)
      return LinkBody.order(LinkOrder(id: 1, order: .subscribe(Self.target, subscription))).cost
    }
    #expect(cost(Array(repeating: 0x31, count: 1000)) == cost([]) + 1000)
  }

  @Test("all that is given of a target must be so, and who is on the list is spared")
  func targets() {
    #expect(Self.target.includes(user: "ann", client: "c", session: "s"))
    #expect(!Self.target.includes(user: "ann", client: "d", session: "s"))
    #expect(!Self.target.includes(user: "ben", client: "c", session: "s"))
    #expect(!SessionTarget(user: "ann", whitelist: ["c"]).includes(user: "ann", client: "c", session: "s"))
    #expect(SessionTarget(session: "s").includes(user: "", client: "c", session: "s"))
    // A target without any property includes nobody.
    #expect(!SessionTarget().includes(user: "ann", client: "c", session: "s"))
    // Two names that look alike and differ in their bytes are two users.
    #expect(!SessionTarget(user: "\u{E9}").includes(user: "e\u{301}", client: "c", session: "s"))
  }

  @Test("a token is refused by its id, or by its user and time; a channel narrows that to its own tokens")
  func table() {
    let table = RevocationTable([
      Revocation(.id("x")), Revocation(.user("ann", issuedBefore: 100)),
      Revocation(.user("ben", issuedBefore: 100, channel: "news")),
    ])
    func refuses(_ id: String?, _ time: Int64?, _ user: String, _ channel: String? = nil) -> Bool {
      table.refuses(TokenIdentity(id: id, issuedAt: time), of: user, channel: channel)
    }
    #expect(refuses("x", 500, "cleo") && refuses("x", nil, "", "news"))
    #expect(!refuses("X", 500, "cleo") && !refuses(nil, 500, "cleo"))
    #expect(refuses("y", 99, "ann") && refuses("y", 99, "ann", "news"))
    #expect(!refuses("y", 100, "ann") && !refuses("y", 100, "ann", "news"))
    // A token without the time at which it was issued counts as old.
    #expect(refuses("y", nil, "ann"))
    #expect(refuses(nil, 99, "ben", "news") && !refuses(nil, 99, "ben") && !refuses(nil, 99, "ben", "other"))
    #expect(!RevocationTable().refuses(TokenIdentity(id: "x"), of: "ann"))
  }

  @Test("of two revocations of the same tokens the later time and the later end hold, in whatever order they come")
  func merging() {
    let (early, late) = (
      Revocation(.user("ann", issuedBefore: 10), expiresAt: 900),
      Revocation(.user("ann", issuedBefore: 20), expiresAt: 90)
    )
    let both = Revocation(.user("ann", issuedBefore: 20), expiresAt: 900)
    for order in [[early, late], [late, early]] {
      var table = RevocationTable()
      for revocation in order { table.insert(revocation) }
      #expect(table.all == [both])
    }
  }

  @Test("what has come to its end is dropped, and nothing else")
  func ends() {
    var table = RevocationTable([Revocation(.id("a"), expiresAt: 10), Revocation(.id("b"), expiresAt: 11)])
    #expect(table.expired(at: 10, limit: 5) == [Revocation(.id("a"), expiresAt: 10)])
    table.removeExpired(at: 10)
    #expect(table.all == [Revocation(.id("b"), expiresAt: 11)])
    table.remove(Revocation(.id("b")))
    #expect(table.isEmpty)
  }

  @Test("whoever goes through a table in parts meets all that was there at the beginning and still is")
  func parts() {
    var table = RevocationTable((0..<10).map { Revocation(.id("\($0)")) })
    var met: Set<String> = []
    var place: Int? = 0
    while let from = place {
      let part = table.part(from: from, limit: 3)
      #expect(part.revocations.count <= 3)
      met.formUnion(part.revocations.map(\.key))
      place = part.next
      // One that was met goes, one that was not goes, and others come in their places.
      for number in [from, 9 - from / 3] { table.remove(Revocation(.id("\(number)"))) }
      table.insert(Revocation(.id("new \(from)")))
    }
    let stayed = Set(table.all.map(\.key).filter { !$0.hasPrefix("token:new") })
    #expect(!stayed.isEmpty && stayed.isSubset(of: met))
    #expect(RevocationTable().part(from: 0, limit: 3).next == nil)
    for revocation in table.all { table.remove(revocation) }
    #expect(table.part(from: 6, limit: 3).revocations.isEmpty)
  }

  @Test("a user's revocations are found among those of others, also after some have come, gone and ended")
  func byUser() {
    var table = RevocationTable([Revocation(.id("ann")), Revocation(.user("annie", issuedBefore: 5))])
    #expect(table.count(of: "ann") == 0 && table.found(for: "ann").byID == 1)
    table.insert(Revocation(.user("ann", issuedBefore: 5), expiresAt: 90))
    for (channel, end) in [("a", 10), ("b", 20), ("b", 30)] as [(String, Int64)] {
      table.insert(Revocation(.user("ann", issuedBefore: 5, channel: channel), expiresAt: end))
    }
    #expect(table.count(of: "ann") == 3 && table.all(of: "ann", limit: 2).count == 2)
    #expect(Set(table.all(of: "ann", limit: .max).map(\.key)) == ["user:ann", "channel:1:a:ann", "channel:1:b:ann"])
    table.removeExpired(at: 10)
    #expect(table.count(of: "ann") == 2)
    for revocation in table.all(of: "ann", limit: .max) { table.remove(revocation) }
    table.remove(Revocation(.user("ann", issuedBefore: 5)))
    #expect(table.count(of: "ann") == 0 && table.found(for: "annie").ofUser.count == 1)
    #expect(table == RevocationTable([Revocation(.id("ann")), Revocation(.user("annie", issuedBefore: 5))]))
  }
}
