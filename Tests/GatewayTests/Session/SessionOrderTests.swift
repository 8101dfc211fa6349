import Auth
import Logging
import NIOCore
import Testing
import Wire
import ZeroMQ

@testable import Gateway

@Suite("Orders about connections, in the gateway")
struct SessionOrderTests {
  // MARK: The session

  private static func live(
    _ token: TokenIdentity, subscriptions: [String: SubscriptionGrant] = [:], personal: String? = nil
  ) -> SessionBench {
    var bench = SessionBench(.open) { $0.personalChannelNamespace = personal }
    var connect = ClientCommand.Connect()
    connect.token = "token"
    guard let tag = bench.feed(.connect(connect), id: 1).checkTag else { return bench }
    let claims = ConnectionClaims(user: "ann", subscriptions: subscriptions, token: token)
    let asked = bench.feed(.connectionTokenChecked(tag: tag, .success(claims)))
    for case .request(let tag, .subscribe) in asked { bench.feed(.brokerAnswered(tag: tag, .at(0))) }
    return bench
  }

  private static func isRefusedSignIn(_ action: SessionAction) -> Bool {
    if case .signInRefused = action { true } else { false }
  }

  private static func refresh(_ bench: inout SessionBench, _ claims: ConnectionClaims) -> [SessionAction] {
    guard let tag = bench.feed(.refresh(token: "newer"), id: 2).checkTag else { return [] }
    return bench.feed(.connectionTokenChecked(tag: tag, .success(claims)))
  }

  @Test("a connection whose token is revoked ends with 3500 and gets nothing more; any other stays")
  func connection() {
    var bench = Self.live(TokenIdentity(id: "x", issuedAt: 50))
    bench.join("news")
    for others in [
      Revocation(.id("y")), Revocation(.user("ann", issuedBefore: 50)), Revocation(.user("ben", issuedBefore: 99)),
    ] {
      #expect(bench.feed(.tokensRevoked(RevocationTable([others]))).isEmpty)
    }
    let actions = bench.feed(.tokensRevoked(RevocationTable([Revocation(.user("ann", issuedBefore: 51))])))
    #expect(actions.first == .detach(channel("news")))
    #expect(actions.last == .close(.invalidToken))
    #expect(bench.session.phase == .closed)
    // A connection that was let in and is ended was not refused: the audit must not say so.
    #expect(!actions.contains(where: Self.isRefusedSignIn))
  }

  @Test("a connection of somebody who is suspended ends with 3500, whatever its token says of itself; any other stays")
  func suspended() {
    for token in [TokenIdentity(id: "x", issuedAt: .max), TokenIdentity()] {
      var bench = Self.live(token)
      for other in ["ben", "Ann"] {
        let table = RevocationTable([Revocation(.suspended(other, reason: ""))])
        #expect(bench.feed(.tokensRevoked(table)).isEmpty)
      }
      let actions = bench.feed(.tokensRevoked(RevocationTable([Revocation(.suspended("ann", reason: "spam"))])))
      #expect(actions.last == .close(.invalidToken))
      #expect(bench.session.phase == .closed)
    }
  }

  @Test("a connection that is still being made ends, too")
  func connecting() {
    var bench = SessionBench(.open)
    var connect = ClientCommand.Connect()
    connect.token = "token"
    guard let tag = bench.feed(.connect(connect), id: 1).checkTag else {
      Issue.record("no check")
      return
    }
    let claims = ConnectionClaims(
      user: "ann", subscriptions: ["news": SubscriptionGrant()], token: TokenIdentity(id: "x"))
    bench.feed(.connectionTokenChecked(tag: tag, .success(claims)))
    #expect(bench.session.phase == .connecting)
    let actions = bench.feed(.tokensRevoked(RevocationTable([Revocation(.id("x"))])))
    #expect(actions.contains(.close(.invalidToken)) && actions.contains(where: Self.isRefusedSignIn))
  }

  @Test("after a refresh the newer token is the one that counts")
  func refreshed() {
    var bench = Self.live(TokenIdentity(id: "x"))
    _ = Self.refresh(&bench, ConnectionClaims(user: "ann", token: TokenIdentity(id: "y")))
    #expect(bench.feed(.tokensRevoked(RevocationTable([Revocation(.id("x"))]))).isEmpty)
    #expect(bench.feed(.tokensRevoked(RevocationTable([Revocation(.id("y"))]))).contains(.close(.invalidToken)))
  }

  @Test("of a subscription whose token is revoked no more than that ends, and the client is told 2000")
  func subscription() throws {
    var bench = Self.live(TokenIdentity(id: "x"))
    bench.join("open")
    let asked = bench.subscribe("news") { $0.token = "t" }
    let tag = try #require(asked.checkTag)
    let claims = SubscriptionClaims(user: "ann", channel: "news", token: TokenIdentity(id: "s", issuedAt: 5))
    bench.answer(bench.feed(.subscriptionTokenChecked(tag: tag, .success(claims))), .at(0))
    let other = RevocationTable([Revocation(.user("ann", issuedBefore: 9, channel: "open"))])
    #expect(bench.feed(.tokensRevoked(other)).isEmpty)
    let actions = bench.feed(
      .tokensRevoked(RevocationTable([Revocation(.user("ann", issuedBefore: 9, channel: "news"))])))
    #expect(actions.first == .detach(channel("news")))
    #expect(actions.contains(.send(.push(.unsubscribe(channel: "news", .server)))))
    #expect(bench.session.phase == .live && bench.session.subscriptions.keys.map(\.string).sorted() == ["open"])
  }

  @Test("what a refreshed token no longer grants ends with 2000; the user's own channel and the client's own stay")
  func ungranted() {
    var bench = Self.live(
      TokenIdentity(), subscriptions: ["news": .init(), "sport": .init()], personal: "")
    bench.join("mine")
    #expect(bench.session.subscriptions.keys.map(\.string).sorted() == ["#ann", "mine", "news", "sport"])
    let actions = Self.refresh(&bench, ConnectionClaims(user: "ann", subscriptions: ["sport": .init()]))
    #expect(actions.contains(.detach(channel("news"))))
    #expect(actions.contains(.send(.push(.unsubscribe(channel: "news", .server)))))
    #expect(bench.session.subscriptions.keys.map(\.string).sorted() == ["#ann", "mine", "sport"])
    // The answer comes first: an SDK takes the push for one about the channel alone.
    guard case .send(.refresh) = actions.first else {
      Issue.record("\(actions)")
      return
    }
  }

  // MARK: The link

  private func revoke(_ revocations: [Revocation], all: Bool = false, complete: Bool = true) -> SessionOrder {
    .revoke(revocations, replacesAll: all, isComplete: complete)
  }

  @Test("the link hands an order to the loops and confirms it when it is carried out")
  func confirms() throws {
    let scene = LinkScene()
    scene.welcome()
    _ = scene.sends()
    let order = SessionOrder.disconnect(SessionTarget(user: "ann"), .forceDisconnect)
    scene.receive(.order(LinkOrder(id: 5, order: order)))
    #expect(scene.tells() == [.sessionOrder(5, order)])
    #expect(scene.sends().isEmpty)
    scene.perform { scene.link.obeyed(5, at: scene.now, into: &$0) }
    #expect(scene.lastSent()?.body == .obeyed(LinkObeyed(id: 5)))
    #expect(scene.sends() == [.obeyed])
  }

  @Test("all that is in force takes the place of what was known, once the last part is there")
  func snapshot() {
    let scene = LinkScene()
    scene.welcome()
    let (a, b, c) = (Revocation(.id("a")), Revocation(.id("b")), Revocation(.id("c")))
    scene.receive(.order(LinkOrder(id: 1, order: revoke([a]))))
    #expect(scene.tells() == [.revoked(1, news: RevocationTable([a]), all: RevocationTable([a]))])
    scene.receive(.order(LinkOrder(id: 0, order: revoke([b], all: true, complete: false))))
    #expect(scene.tells().isEmpty)
    #expect(scene.link.revocations == RevocationTable([a]))
    scene.receive(.order(LinkOrder(id: 0, order: revoke([c]))))
    let all = RevocationTable([b, c])
    #expect(scene.tells() == [.revoked(0, news: all, all: all)])
  }

  @Test("sessions hear of a table in many parts once, when it is whole: whoever came in between is ended then")
  func manyParts() {
    let scene = LinkScene()
    scene.welcome()
    var whole = RevocationTable()
    for number in 0..<50 {
      let part = [Revocation(.id("\(number)")), Revocation(.user("user \(number)", issuedBefore: 9))]
      for revocation in part { whole.insert(revocation) }
      scene.receive(.order(LinkOrder(id: 0, order: revoke(part, all: number == 0, complete: number == 49))))
      if number < 49 { #expect(scene.tells().isEmpty && scene.link.revocations.isEmpty) }
    }
    #expect(scene.tells() == [.revoked(0, news: whole, all: whole)])
    #expect(scene.link.revocations == whole)
    let next = Revocation(.id("next"))
    scene.receive(.order(LinkOrder(id: 7, order: revoke([next]))))
    whole.insert(next)
    #expect(scene.tells() == [.revoked(7, news: RevocationTable([next]), all: whole)])
  }

  @Test("what is taken back counts no more, and touches no session")
  func readmitted() {
    let scene = LinkScene()
    scene.welcome()
    let (ann, bob) = (Revocation(.user("ann", issuedBefore: 9)), Revocation(.user("bob", issuedBefore: 9)))
    let channel = Revocation(.user("ann", issuedBefore: 9, channel: "a"))
    scene.receive(.order(LinkOrder(id: 0, order: revoke([ann, channel, bob], all: true))))
    _ = scene.tells()
    scene.receive(.order(LinkOrder(id: 0, order: .readmit([ann, channel]))))
    #expect(scene.tells() == [.revoked(0, news: RevocationTable(), all: RevocationTable([bob]))])
    #expect(scene.link.revocations == RevocationTable([bob]))
  }

  @Test("a part whose session broke is no beginning of the next one's")
  func brokenSnapshot() {
    let scene = LinkScene()
    scene.welcome()
    scene.receive(.order(LinkOrder(id: 0, order: revoke([Revocation(.id("a"))], all: true, complete: false))))
    scene.reopen()
    scene.receive(.order(LinkOrder(id: 0, order: revoke([Revocation(.id("b"))], all: true))))
    let all = RevocationTable([Revocation(.id("b"))])
    #expect(scene.tells() == [.revoked(0, news: all, all: all)])
  }

  // MARK: Checks under way

  @Test("a token that is revoked while it is checked is refused, whichever comes first")
  func checkUnderWay() async throws {
    let revocations = Revocations()
    let refusals = Refusals(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let verifier = RevocationVerifier(verifier: OneToken(), revocations: revocations, refusals: refusals)
    _ = try await verifier.verifyConnection("t")
    _ = try await verifier.verifySubscription("t")
    revocations.replace(with: RevocationTable([Revocation(.id("x"))]))
    await #expect(throws: TokenError.revoked(of: "ann")) { try await verifier.verifyConnection("t") }
    await #expect(throws: TokenError.revoked(of: "ann")) { try await verifier.verifySubscription("t") }
    #expect(refusals.count(.revokedToken) == 2)
    #expect(revocations.refuses(ConnectionClaims(user: "ann", token: TokenIdentity(id: "x"))))
    // Nobody can revoke what was never a token.
    #expect(!revocations.refuses(ConnectionClaims(user: "")))
  }
}

private struct OneToken: TokenVerifier {
  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
    ConnectionClaims(user: "ann", token: TokenIdentity(id: "x"))
  }
  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    SubscriptionClaims(user: "ann", channel: "news", token: TokenIdentity(id: "x"))
  }
}
