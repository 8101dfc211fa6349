import Testing
import Wire

@testable import Broker

@Suite("What operators see and do between people")
struct UserSupportTests {
  private func request(_ method: String, _ parameters: String) throws -> BrokerRequest {
    try ServiceRequest.read([Array(method.utf8), Array(parameters.utf8)]).request
  }

  private func refusal(_ method: String, _ parameters: String) -> ClientError? {
    do {
      _ = try request(method, parameters)
      return nil
    } catch { return error as? ClientError }
  }

  @Test("a request names a user, a group, or two different people, and says what is missing")
  func reading() throws {
    #expect(try request("clique_groups", #"{"user":"ada"}"#) == .user(.groups(.of(user: "ada"))))
    let id = "g" + String(repeating: "0", count: 32)
    #expect(try request("clique_groups", #"{"user":"ada","conversation":"\#(id)"}"#) == .user(.groups(.one(id))))
    let unblock = BrokerRequest.user(.unblock(user: "eve", other: "ada"))
    #expect(try request("clique_unblock", #"{"user":"eve","other":"ada"}"#) == unblock)
    let once = try request("clique_unblock", #"{"user":"eve","other":"ada","idempotency_key":"k"}"#)
    #expect(once == .once(OnceKey(owner: "", key: "k"), unblock))
    for (method, parameters) in [
      ("clique_groups", "{}"), ("clique_groups", #"{"conversation":"p0"}"#),
      ("clique_groups", #"{"conversation":"group"}"#), ("clique_unblock", #"{"user":"eve"}"#),
      ("clique_unblock", #"{"other":"eve"}"#), ("clique_unblock", #"{"user":"eve","other":"eve"}"#),
      ("clique_unblock", #"{"user":"eve","other":"a\u0001"}"#),
      ("clique_unblock", #"{"user":"eve","other":"\#(String(repeating: "x", count: 200))"}"#),
    ] {
      #expect(refusal(method, parameters)?.code == ClientError.badRequest.code, "\(method) \(parameters)")
    }
  }

  @Test("a moderator's request names a report, and what was found")
  func reports() throws {
    #expect(try request("clique_reports", "{}") == .user(.reports(.list(.init(limit: 20)))))
    let query = ReportRequest.Query(.all, user: "ada", from: 12, limit: 50)
    let parameters = #"{"state":"all","user":"ada","cursor":"12","limit":1000}"#
    #expect(try request("clique_reports", parameters) == .user(.reports(.list(query))))
    #expect(try request("clique_report", #"{"report":12}"#) == .user(.reports(.look(12))))
    let settle = BrokerRequest.user(.reports(.settle(.init(number: 12, outcome: .warned, note: "x"))))
    let found = #"{"report":12,"outcome":"warned","note":"x"}"#
    #expect(try request("clique_report_settle", found) == settle)
    #expect(settle.audited?.fields == ["app": "clique", "action": "settle", "report": "12", "outcome": "warned"])
    #expect(BrokerRequest.user(.reports(.look(12))).audited?.event == .report)
    for (method, parameters) in [
      ("clique_reports", #"{"state":"new"}"#), ("clique_reports", #"{"cursor":"x"}"#),
      ("clique_reports", #"{"limit":0}"#), ("clique_report", "{}"), ("clique_report", #"{"report":0}"#),
      ("clique_report_settle", #"{"report":1}"#), ("clique_report_settle", #"{"report":1,"outcome":"hung"}"#),
      ("clique_report_settle", #"{"outcome":"other"}"#),
    ] {
      #expect(refusal(method, parameters)?.code == ClientError.badRequest.code, "\(method) \(parameters)")
    }
  }

  @Test("who is suspended can do nothing, over a restart too, until it is lifted")
  func suspension() throws {
    let scene = try DeletionScene()
    let suspend = BrokerRequest.user(.suspensions(.suspend(user: "ada", until: nil, reason: "threats")))
    #expect(
      try request("user_suspend", #"{"user":"ada","reason":"threats"}"#) == suspend
        && request("user_unsuspend", #"{"user":"ada"}"#) == .user(.suspensions(.lift(user: "ada"))))
    #expect(refusal("user_suspend", "{}")?.code == 107)
    #expect(suspend.audited?.fields == ["action": "suspend", "user": "ada", "until": "lifted", "reason": "threats"])
    scene.ask(suspend)
    for _ in 0..<20 { scene.step() }
    let listed = #"{"suspensions":[{"user":"ada","reason":"threats"}]}"#
    #expect(scene.answer(to: .user(.suspensions(.list))) == listed)
    try scene.kill()
    #expect(scene.answer(to: .user(.suspensions(.list))) == listed)
    #expect(scene.answer(to: .user(.suspensions(.suspend(user: "bob", until: 1, reason: "")))).contains("in the past"))
    for _ in 0..<2 { #expect(scene.answer(to: .user(.suspensions(.lift(user: "ada")))) == "{}") }
    try scene.kill()
    #expect(scene.answer(to: .user(.suspensions(.list))) == #"{"suspensions":[]}"#)
  }

  @Test("an operator lifts a block as the user would, twice as well as once, and nobody else's with it")
  func unblock() throws {
    let scene = try DeletionScene()
    func pair(_ user: String, _ other: String) -> String {
      scene.answer(to: .user(.pair(app: "clique", user: user, other: other)))
    }
    for (user, other) in [("eve", "ada"), ("ada", "eve"), ("eve", "bob")] {
      try scene.call(user, "clique.block", "{\"person\":\"\(other)\"}")
    }
    for _ in 0..<20 { scene.step() }
    #expect(pair("ada", "eve").contains(#""blocked_by":["ada","eve"]"#))
    let unblock = BrokerRequest.user(.unblock(user: "eve", other: "ada"))
    for _ in 0..<2 {
      #expect(scene.answer(to: unblock) == "{}")
      #expect(pair("ada", "eve").contains(#""blocked_by":["ada"]"#))
      #expect(pair("bob", "eve").contains(#""blocked_by":["eve"]"#))
    }
    let once = BrokerRequest.once(OnceKey(owner: "support", key: "k"), unblock)
    for _ in 0..<2 { #expect(scene.answer(to: once) == "{}") }
    #expect(scene.answer(to: .user(.unblock(user: "nobody", other: "ada"))) == "{}")
    try scene.kill()
    #expect(pair("ada", "eve").contains(#""blocked_by":["ada"]"#))
  }

  @Test("groups are shown by member and by id, and not what they are called")
  func groups() throws {
    let scene = try DeletionScene()
    try scene.call("ada", "clique.send", #"{"to":"bob","text":"hi"}"#)
    try scene.call("bob", "clique.send", #"{"to":"ada","text":"hi"}"#)
    for _ in 0..<5 { scene.step() }
    try scene.call("ada", "clique.group.create", #"{"members":["bob"],"name":"Sunday"}"#)
    for _ in 0..<5 { scene.step() }
    let shown = scene.answer(to: .user(.groups(.of(user: "bob"))))
    #expect(shown.contains(#""members":["ada","bob"]"#) && !shown.contains("Sunday"), "\(shown)")
    let id = shown.split(separator: "\"")[5]
    #expect(scene.answer(to: .user(.groups(.one(String(id))))) == shown)
  }
}
