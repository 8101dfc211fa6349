import Testing
import Wire

@testable import Broker

@Suite("The audit of users' deletions")
struct UserAuditTests {
  @Test("the audit line of a user's deletion names the user, and who asked for it")
  func named() {
    let lines = Lines()
    let audit = Audit(now: { 0 }, write: { lines.all.append($0) })
    let request = BrokerRequest.user(.delete(.init(user: "ada")))
    audit.note(request, answered: .result([]), by: "support", door: "api")
    audit.note(.user(.data(user: "ada")), answered: .result([]), by: "support", door: "api")
    #expect(lines.all.count == 1, "to look is no deletion")
    #expect(lines.all.first?.event == .deletion)
    let fields = lines.all.first?.fields ?? [:]
    #expect(fields == ["what": "user", "user": "ada", "channels": "0", "by": "support", "door": "api"])
  }

  @Test("the audit line of a lifted block names the two, who did it, and whether it failed")
  func lifted() {
    let lines = Lines()
    let audit = Audit(now: { 0 }, write: { lines.all.append($0) })
    let unblock = BrokerRequest.user(.unblock(user: "eve", other: "ada"))
    let request = BrokerRequest.once(OnceKey(owner: "support", key: "k"), unblock)
    audit.note(request, answered: .result(Array("{}".utf8)), by: "support", door: "api")
    audit.note(unblock, answered: .failed(.notAvailable), by: "", door: "zeromq")
    audit.note(.user(.groups(.of(user: "eve"))), answered: .result([]), by: "support", door: "api")
    #expect(lines.all.map(\.event) == [.unblock, .unblock], "to look lifts nothing")
    let fields = ["app": "clique", "user": "eve", "other": "ada", "by": "support", "door": "api"]
    #expect(lines.all.first?.fields == fields)
    #expect(lines.all.last?.fields["failed"] == "108")
  }

  /// For one thread.
  private final class Lines: @unchecked Sendable {
    var all: [Audit.Line] = []
  }
}
