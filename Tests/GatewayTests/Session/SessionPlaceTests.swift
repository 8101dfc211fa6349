import Auth
import Logging
import NIOCore
import Testing
import Wire

@testable import Gateway

@Suite("Place tokens, in the session")
struct SessionPlaceTests {
  private static func live(user: String = "ann") -> SessionBench {
    .live(user: user, apps: ["clique"])
  }

  private static func call(
    _ bench: inout SessionBench, _ method: String, _ data: String, id: UInt32 = 7
  ) -> [SessionAction] {
    bench.feed(.rpc(method: method, data: Array(data.utf8)), id: id)
  }

  private static let enter = #"{"place":"park","token":"t.o.k"}"#

  private static func claims(user: String = "ann", left: Int64 = 60, _ bench: SessionBench) -> PlaceClaims {
    PlaceClaims(user: user, place: "park", expiresAt: bench.wall + left)
  }

  /// The calls that go to the broker, with the place that is attested.
  private static func calls(_ actions: [SessionAction]) -> [String] {
    actions.requests.compactMap { request in
      guard case .call(let call) = request else { return nil }
      return call.attestedPlace.map { "\(call.command.method) in \($0)" } ?? call.command.method
    }
  }

  @Test("without a token the call goes its way at once, attesting nothing")
  func without() {
    var bench = Self.live()
    for data in [#"{"place":"park"}"#, #"{"place":"park","token":null}"#] {
      let actions = Self.call(&bench, "clique.enter", data)
      #expect(Self.calls(actions) == ["clique.enter"] && actions.checkTag == nil, "\(data)")
    }
  }

  @Test("a command whose form is wrong is refused here, and the broker is not asked")
  func form() {
    for (user, method, data, code) in [
      ("ann", "clique.send", #"{"to":"bob"}"#, 107), ("ann", "clique.nothing", "{}", 104),
      ("ann", "clique.read", #"{"conversation":"p","offset":1}"#, 103), ("ann", "clique.enter", "", 107),
      ("", "clique.send", #"{"to":"bob","text":"hi"}"#, 103), ("ann", "clique.send", #"{"to":"ann","text":"x"}"#, 107),
    ] as [(String, String, String, UInt32)] {
      var bench = Self.live(user: user)
      let actions = Self.call(&bench, method, data)
      #expect(actions.errorCode == code && actions.requests.isEmpty, "\(method) \(data)")
      #expect(bench.session.pending.isEmpty)
    }
  }

  @Test("a token is checked first, and the place that it names goes to the app beside the call")
  func attested() throws {
    var bench = Self.live()
    let asked = Self.call(&bench, "clique.enter", Self.enter)
    let tag = try #require(asked.checkTag)
    #expect(asked == [.checkPlaceToken(tag: tag, "t.o.k")])
    let actions = bench.feed(.placeTokenChecked(tag: tag, .success(Self.claims(bench))))
    #expect(Self.calls(actions) == ["clique.enter in park"])
    let answered = bench.answer(actions, .result(Array("{}".utf8)))
    #expect(answered.replies == [.rpc(id: 7, data: Array("{}".utf8))])
  }

  @Test("escapes and other methods make no way around the check")
  func around() {
    var bench = Self.live()
    #expect(Self.call(&bench, "clique.enter", #"{"place":"park","\u0074oken":"x"}"#).checkTag != nil)
    bench = Self.live()
    #expect(Self.call(&bench, "clique.enter", #"{"token":"a","token":"b"}"#).errorCode == 107)
    #expect(Self.call(&bench, "clique.enter", #"{"token":7}"#).errorCode == 107)
    let long = String(repeating: "x", count: 4097)
    #expect(Self.call(&bench, "clique.enter", #"{"token":"\#(long)"}"#).errorCode == 107)
    #expect(Self.call(&bench, "clique.enter", #"{"token":"\#(long.dropLast())"}"#).checkTag != nil)
    bench = Self.live()
    // Other methods take no place tokens, so the call goes on without a check.
    #expect(Self.calls(Self.call(&bench, "clique.leave", Self.enter)) == ["clique.leave"])
  }

  @Test("a token that is wrong, old, somebody else's or cannot be checked enters nothing")
  func refused() throws {
    let wrong: [(Result<PlaceClaims, TokenError>, UInt32)] = [
      (.failure(.invalid(reason: "x")), 103), (.failure(.expired), 109), (.failure(.unavailable(reason: "x")), 100),
      (.success(Self.claims(user: "bob", Self.live())), 103), (.success(Self.claims(left: 0, Self.live())), 109),
      (.failure(.revoked(of: "ann")), 103),
    ]
    for (result, code) in wrong {
      var bench = Self.live()
      let tag = try #require(Self.call(&bench, "clique.enter", Self.enter).checkTag)
      let actions = bench.feed(.placeTokenChecked(tag: tag, result))
      #expect(actions.errorCode == code && actions.requests.isEmpty, "\(result)")
      #expect(bench.session.phase == .live)
      #expect(bench.session.pending.isEmpty && !bench.isCheckingPlace)
    }
  }

  @Test("the app's commands behind it wait for the check, in their order; what belongs to others does not")
  func order() throws {
    var bench = Self.live()
    let tag = try #require(Self.call(&bench, "clique.enter", Self.enter, id: 2).checkTag)
    #expect(bench.feed(.ping, id: 3).replies == [.ping(id: 3)])
    #expect(bench.subscribe("news", id: 4).requests.count == 1)
    #expect(Self.calls(Self.call(&bench, "clique.leave", #"{"place":"park"}"#, id: 5)).isEmpty)
    #expect(Self.call(&bench, "clique.enter", Self.enter, id: 6).isEmpty)
    // All commands wait behind the one that waits, so that the client's order is kept.
    #expect(bench.subscribe("sport", id: 8).isEmpty)
    #expect(!bench.wantsInput)
    let actions = bench.feed(.placeTokenChecked(tag: tag, .success(Self.claims(bench))))
    #expect(Self.calls(actions) == ["clique.enter in park", "clique.leave"])
    let second = try #require(actions.checkTag)
    // The second token is checked in its turn; the subscribe behind it is another's business.
    #expect(actions.requests.last?.channel == channel("sport"))
    #expect(bench.wantsInput)
    let last = bench.feed(.placeTokenChecked(tag: second, .failure(.expired)))
    #expect(last.errorCode == 109 && !bench.hasWaiting)
  }

  @Test("a connection checks one place token at a time, whatever it sends")
  func one() {
    var bench = Self.live()
    var checks = 0
    for id in 2..<300 as Range<UInt32> {
      checks +=
        Self.call(&bench, "clique.enter", Self.enter, id: id).filter {
          if case .checkPlaceToken = $0 { true } else { false }
        }.count
    }
    #expect(checks == 1 && bench.session.pending.count == 1)
  }

  @Test("an unsubscribe during the check is done at once, and the check goes on")
  func unsubscribe() throws {
    var bench = Self.live()
    bench.join("news")
    let tag = try #require(Self.call(&bench, "clique.enter", Self.enter).checkTag)
    let actions = bench.feed(.unsubscribe(channel: "news"), id: 9)
    #expect(actions.contains(.detach(channel("news"))) && actions.replies == [.unsubscribe(id: 9)])
    #expect(
      Self.calls(bench.feed(.placeTokenChecked(tag: tag, .success(Self.claims(bench))))) == ["clique.enter in park"])
  }

  @Test("whoever is gone during the check enters nothing, and no check is begun for them")
  func disconnect() throws {
    for input in [SessionInput.transportClosed, .kick(.forceDisconnect), .shutdown] {
      var bench = Self.live()
      let tag = try #require(Self.call(&bench, "clique.enter", Self.enter).checkTag)
      #expect(bench.isPending(tag))
      bench.feed(input)
      #expect(!bench.isPending(tag) && bench.isDrained)
      #expect(bench.feed(.placeTokenChecked(tag: tag, .success(Self.claims(bench)))).isEmpty)
    }
  }

  @Test("a server that drains waits for the check and the answer")
  func draining() throws {
    var bench = Self.live()
    let tag = try #require(Self.call(&bench, "clique.enter", Self.enter).checkTag)
    bench.feed(.draining)
    #expect(bench.awaitsAnswers)
    let actions = bench.feed(.placeTokenChecked(tag: tag, .success(Self.claims(bench))))
    #expect(bench.awaitsAnswers)
    bench.answer(actions, .result(Array("{}".utf8)))
    #expect(!bench.awaitsAnswers)
  }

  // MARK: The driver and the gate

  private struct Fixed: TokenVerifier {
    let place: PlaceClaims

    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
      ConnectionClaims(user: place.user)
    }
    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims { throw .expired }
    func verifyPlace(_ token: String) async throws(TokenError) -> PlaceClaims { place }
  }

  @Test("a revoked place token is refused, by its id and by its user's time, before and after it is checked")
  func revoked() async throws {
    let claims = PlaceClaims(
      user: "ann", place: "park", expiresAt: 9, token: TokenIdentity(id: "x", issuedAt: 50))
    let revocations = Revocations()
    let refusals = Refusals(logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    let verifier = RevocationVerifier(verifier: Fixed(place: claims), revocations: revocations, refusals: refusals)
    #expect(try await verifier.verifyPlace("t") == claims)
    for revocation in [Revocation(.id("x")), Revocation(.user("ann", issuedBefore: 51))] {
      revocations.replace(with: RevocationTable([revocation]))
      #expect(revocations.refuses(claims))
      await #expect(throws: TokenError.revoked(of: "ann")) { try await verifier.verifyPlace("t") }
    }
    for revocation in [Revocation(.id("y")), Revocation(.user("ann", issuedBefore: 50))] {
      revocations.replace(with: RevocationTable([revocation]))
      #expect(try await verifier.verifyPlace("t") == claims)
    }
  }

  @Test("the gate lets place tokens through with those of people who are in, and a verifier without places refuses")
  func gate() async throws {
    let claims = PlaceClaims(user: "ann", place: "park", expiresAt: 9)
    let gate = TokenGate(Fixed(place: claims), width: 1)
    for _ in 0..<3 { #expect(try await gate.others.verifyPlace("t") == claims) }
    await #expect(throws: TokenError.self) { try await FixedVerifier(user: "ann").verifyPlace("t") }
  }
}
