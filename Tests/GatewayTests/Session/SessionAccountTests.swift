import Testing
import Wire

@testable import Gateway

@Suite("People and their own data, in the session")
struct SessionAccountTests {
  private static func call(_ user: String, _ method: String, _ data: String) -> [SessionAction] {
    var bench = SessionBench.live(user: user)
    return bench.feed(.rpc(method: method, data: Array(data.utf8)))
  }

  @Test("who is signed in asks about themselves, whomever the call names")
  func own() {
    #expect(Self.call("ann", "fanfare.account.data", "{}").requests == [.user(.data(user: "ann"))])
    #expect(Self.call("ann", "fanfare.account.data", #"{"user":"bob"}"#).requests == [.user(.data(user: "ann"))])
    #expect(
      Self.call("ann", "fanfare.account.export", #"{"cursor":"3","user":"bob"}"#).requests
        == [.user(.export(user: "ann", cursor: "3"))])
    #expect(
      Self.call("ann", "fanfare.account.delete", #"{"user":"ann","channels":["room:x"],"ban":true}"#).requests
        == [.user(.delete(.init(user: "ann")))])
  }

  @Test("who has their data deleted is sent away with the answer, however late that comes, and gets nothing else")
  func farewell() {
    let revoked = RevocationTable([Revocation(.suspended("ann", reason: "gone"))])
    for answer in [BrokerResponse.result(Array(#"{"state":"waiting"}"#.utf8)), .failed(.internalError)] {
      var bench = SessionBench.live(user: "ann")
      bench.join("room")
      let asked = bench.feed(.rpc(method: "fanfare.account.delete", data: Array(#"{"user":"ann"}"#.utf8)))
      let looked = bench.feed(.rpc(method: "fanfare.account.data", data: Array("{}".utf8)))
      let left = bench.feed(.tokensRevoked(revoked))
      #expect(left.closeCode == nil && left.unsubscribes == ["room"])
      #expect(bench.feed(.tokensRevoked(revoked)).isEmpty && bench.feed(.kick(.forceDisconnect)).isEmpty)
      #expect(bench.feed(.rpc(method: "fanfare.account.data", data: Array("{}".utf8))).isEmpty, "nothing is read")
      #expect(!bench.wantsInput)
      #expect(bench.answer(looked, .result([])).isEmpty, "nothing else is answered")
      let last = bench.answer(asked, answer)
      #expect(last.replies.count == 1 && last.closeCode == DisconnectCode.invalidToken.code && !bench.awaitsAnswers)
    }
    var other = SessionBench.live(user: "ann")
    _ = other.feed(.rpc(method: "fanfare.account.data", data: Array("{}".utf8)))
    #expect(other.feed(.tokensRevoked(revoked)).closeCode != nil, "nothing else keeps anybody")
  }

  @Test("nobody deletes by mistake, or without having signed in")
  func refused() {
    for (user, method, data, code) in [
      ("ann", "fanfare.account.delete", "{}", 107), ("ann", "fanfare.account.delete", #"{"user":"bob"}"#, 107),
      ("ann", "fanfare.account.delete", "[]", 107),
      ("ann", "fanfare.account.export", #"{"cursor":"123456789012345678901"}"#, 107),
      ("", "fanfare.account.data", "{}", 103), ("", "fanfare.account.export", "{}", 103),
      ("", "fanfare.account.delete", #"{"user":""}"#, 103),
      ("ann", "fanfare.account.other", "{}", 108),
    ] as [(String, String, String, UInt32)] {
      let actions = Self.call(user, method, data)
      #expect(actions.requests.isEmpty && actions.errorCode == code, "\(user) \(method) \(data): \(actions)")
    }
  }
}
