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
      .reports(.list(.init(.all, user: "é", from: 7, limit: 3))),
      .reports(.settle(.init(number: 1, outcome: .suspended, note: "twice"))),
    ]
    for request in requests {
      let body = LinkBody.request(LinkRequest(id: 1, oldestPending: 1, request: .user(request)))
      let message = LinkMessage(session: 2, sequence: 3, body: body)
      let header = try LinkHeader(bytes: message.header.bytes)
      #expect(LinkMessage(header: header, bytes: message.body.bytes) == message)
    }
    #expect(
      Set(requests.map(\.grant)) == [
        "user_data", "user_export", "user_delete", "user_pair", "user_unblock", "user_moderate",
      ])
  }
}
