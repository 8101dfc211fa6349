import Testing
import Wire

@Suite("Requests about one user's data on the link")
struct UserRequestTests {
  @Test("each is the same after it was encoded and decoded")
  func coding() throws {
    let requests: [UserRequest] = [
      .data(user: "ada"), .export(user: "ada", cursor: "p.1048576.2.7.0.state.picture:x"), .deletionStatus(user: "é"),
      .delete(.init(user: "ada", channels: [try ChannelName("inbox:ada")], isBanned: true, bannedUntil: 7)),
      .pair(app: "clique", user: "ada", other: "bob"), .groups(.of(user: "ada")), .groups(.one("g81")),
      .unblock(user: "ada", other: "bob"), .reports(.list(.init())), .reports(.look(.max)),
      .suspensions(.suspend(user: "ada", until: 7, reason: "é")), .suspensions(.lift(user: "ada")),
      .suspensions(.suspend(user: "ada", until: nil, reason: "")), .suspensions(.list),
      .reports(.list(.init(.all, user: "é", from: 7, limit: 3))),
      .reports(.picture(.init(number: 7, id: "0123", start: 1 << 20))), .reports(.picture(.init(number: 0, id: ""))),
      .reports(.settle(.init(number: 1, outcome: .suspended, note: "twice"))),
    ]
    for request in requests {
      let body = LinkBody.request(LinkRequest(id: 1, oldestPending: 1, request: .user(request)))
      let message = LinkMessage(session: 2, sequence: 3, body: body)
      let header = try LinkHeader(bytes: message.header.bytes)
      #expect(LinkMessage(header: header, bytes: message.body.bytes) == message)
    }
    let table = RevocationTable([Revocation(.suspended("é", reason: "x"), expiresAt: 9)])
    let order = LinkOrder(id: 1, order: .revoke(table.all, replacesAll: false, isComplete: true))
    #expect(try LinkOrder(bytes: order.bytes) == order)
    #expect(
      Set(requests.map(\.grant)) == [
        "user_data", "user_export", "user_delete", "user_pair", "user_unblock", "user_moderate",
      ])
  }

  @Test("who is suspended is refused whatever they show, the later suspension counts, and only it is lifted")
  func suspensions() {
    var table = RevocationTable()
    let new = TokenIdentity(id: "t", issuedAt: .max)
    table.insert(Revocation(.user("ada", issuedBefore: 5)))
    #expect(!table.refuses(new, of: "ada") && table.suspension(of: "ada") == nil)
    table.insert(Revocation(.suspended("ada", reason: "spam"), expiresAt: 100))
    let later = table.insert(Revocation(.suspended("ada", reason: "again"), expiresAt: 50))
    #expect(later.expiresAt == 50 && table.suspensions == [later])
    #expect(table.refuses(new, of: "ada") && table.refuses(new, of: "ada", channel: "news"))
    #expect(!table.refuses(new, of: "Ada") && !table.refuses(new, of: "") && table.suspension(of: "") == nil)
    #expect(table.found(for: "ada").ofUser.count == 1)
    table.removeExpired(at: 50)
    #expect(!table.refuses(new, of: "ada") && table.refuses(TokenIdentity(issuedAt: 4), of: "ada"))
  }
}
