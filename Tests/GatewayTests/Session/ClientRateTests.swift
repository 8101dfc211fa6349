import Testing
import Wire

@testable import Gateway

@Suite("How fast a client may go")
struct ClientRateTests {
  private static func rates(_ limits: [RateKind: RateLimit]) -> ClientRates {
    var rates = ClientRates()
    for (kind, limit) in limits { rates[kind] = limit }
    return rates
  }

  private static func publish(_ channel: String = "a") -> ClientCommand.Body {
    var ask = ClientCommand.Publish()
    ask.channel = channel
    ask.data = Array("1".utf8)
    return .publish(ask)
  }

  private func bench(_ limits: [RateKind: RateLimit], user: [RateKind: RateLimit] = [:]) -> SessionBench {
    var namespaces = NamespaceTable(withoutNamespace: .open)
    namespaces.add([:], of: "clique")
    return SessionBench.live {
      $0.rates = Self.rates(limits)
      $0.userRates = Self.rates(user)
      $0.pongTimeoutMilliseconds = 8_000
    }
  }

  @Test("A burst passes; what is faster is taken too, and the client is read later for as long as it owes")
  func publications() {
    var bench = bench([.publications: RateLimit(perSecond: 100, burst: 1000)])
    for _ in 0..<1000 {
      let actions = bench.feed(Self.publish())
      #expect(actions.requests.count == 1)
      #expect(bench.wantsInput)
      bench.answer(actions, .published(StreamPosition(epoch: "e", offset: 1)))
    }
    var actions: [SessionAction] = []
    for _ in 0..<50 { actions += bench.feed(Self.publish()) }
    #expect(actions.requests.count == 1)
    #expect(actions.causes == [RateCause.connection(.publications)])
    #expect(!bench.wantsInput)
    // Nothing is refused: each waits for its turn, ten milliseconds after the one before it.
    for number in 2...50 {
      #expect(bench.pass(milliseconds: 9).requests.isEmpty)
      let next = bench.pass(milliseconds: 1)
      #expect(next.requests.count == 1, "publication \(number)")
      actions += next
    }
    #expect(actions.errorCode == nil)
    bench.pass(milliseconds: 10)
    #expect(bench.wantsInput)
  }

  @Test("No pong is missed while the client is not read")
  func pong() {
    var bench = bench([.commands: RateLimit(perSecond: 1, burst: 10)])
    #expect(bench.pass(milliseconds: 10_000).contains(.send(.serverPing)))
    for _ in 0..<20 { bench.feed(.ping) }
    #expect(!bench.wantsInput)
    #expect(bench.pass(milliseconds: 9_000).closeCode == nil)
    bench.pass(milliseconds: 2_000)
    #expect(bench.wantsInput)
    #expect(bench.pass(milliseconds: 8_000).closeCode == 3012)
  }

  @Test("Each kind has a limit of its own, and the others go on")
  func kinds() {
    var bench = bench([
      .subscribes: RateLimit(perSecond: 10, burst: 10), .cliqueCalls: RateLimit(perSecond: 10, burst: 10),
      .pushCalls: RateLimit(perSecond: 10, burst: 10),
    ])
    for number in 0..<10 { bench.subscribe("c\(number)") }
    #expect(bench.wantsInput)
    #expect(bench.subscribe("one more").causes == [RateCause.connection(.subscribes)])
    #expect(!bench.wantsInput)
    bench.pass(milliseconds: 5_000)
    for _ in 0..<10 { bench.feed(.rpc(method: "clique.list", data: [])) }
    #expect(bench.wantsInput)
    #expect(bench.feed(.rpc(method: "clique.list", data: [])).causes == [RateCause.connection(.cliqueCalls)])
    bench.pass(milliseconds: 5_000)
    for _ in 0..<10 { bench.feed(.rpc(method: "push.register", data: [])) }
    #expect(bench.wantsInput)
    #expect(bench.feed(.rpc(method: "push.seen", data: [])).causes == [RateCause.connection(.pushCalls)])
    bench.pass(milliseconds: 5_000)
    for _ in 0..<100 { bench.feed(Self.publish()) }
    for _ in 0..<100 { bench.feed(.rpc(method: "state.begin", data: [])) }
    #expect(bench.wantsInput)
  }

  @Test("Bytes are charged with the command that they hold")
  func bytes() {
    var bench = bench([.bytes: RateLimit(perSecond: 1000, burst: 10_000)])
    bench.session.read(bytes: 10_000)
    bench.feed(.ping)
    #expect(bench.wantsInput)
    bench.session.read(bytes: 500)
    #expect(bench.feed(.ping).causes == [RateCause.connection(.bytes)])
    bench.pass(milliseconds: 500)
    #expect(bench.wantsInput)
  }

  @Test("Without limits nothing is counted")
  func unlimited() {
    var bench = bench([:])
    for _ in 0..<10_000 { bench.feed(.ping) }
    #expect(bench.wantsInput)
    #expect(bench.session.rates == nil)
  }

  @Test("The connections of one user share the user's rate; somebody else's are not concerned")
  func users() throws {
    let limit = RateLimit(perSecond: 100, burst: 100)
    let accounts = UserAccounts(Self.rates([.publications: limit]), mostConnections: 0)
    var own = [bench([:], user: [.publications: limit]), bench([:], user: [.publications: limit])]
    for index in own.indices { own[index].session.enter(try #require(accounts.open("mallory"))) }
    var other = bench([:], user: [.publications: limit])
    other.session.enter(try #require(accounts.open("ada")))

    for _ in 0..<50 { for index in own.indices { own[index].feed(Self.publish()) } }
    #expect(own[0].wantsInput)
    var begun = 0
    for _ in 0..<100 { for index in own.indices { begun += own[index].feed(Self.publish()).requests.count } }
    #expect(own.allSatisfy { !$0.wantsInput })
    for _ in 0..<100 { for index in own.indices { begun += own[index].pass(milliseconds: 10).requests.count } }
    // A second's worth, and what a rest that is not worth its while is let go.
    #expect(begun >= 95 && begun <= 105, "\(begun) were begun")
    for _ in 0..<100 { #expect(other.feed(Self.publish()).requests.count == 1) }
    #expect(other.wantsInput)
  }

  @Test("Beyond a burst that is owed already, commands are refused for now; who goes on is disconnected with 3013")
  func abuse() throws {
    let limit = RateLimit(perSecond: 1, burst: 1)
    let accounts = UserAccounts(Self.rates([.commands: limit]), mostConnections: 0)
    var bench = bench([:], user: [.commands: limit])
    let account = try #require(accounts.open("mallory"))
    bench.session.enter(account)
    var refused = 0
    for _ in 0..<1000 {
      // Many other connections of the user keep the account in debt.
      while account.charge(1, .commands, at: bench.now) != .refused {}
      var actions = bench.feed(.ping)
      actions += bench.pass(milliseconds: 100)
      if let code = actions.closeCode {
        #expect(code == 3013)
        #expect(actions.causes.contains(.tooManyRefusals))
        break
      }
      if let code = actions.errorCode {
        #expect(code == 111)
        refused += 1
      }
    }
    #expect(bench.session.phase == .closed)
    #expect(refused >= 100 && refused < 200, "\(refused) were refused")
  }

  @Test("A user who comes back at once owes what they owed, and the books of those who left are bounded")
  func accounts() throws {
    let accounts = UserAccounts(Self.rates([.commands: RateLimit(perSecond: 1, burst: 10)]), mostConnections: 2)
    let first = try #require(accounts.open("mallory"))
    let second = try #require(accounts.open("mallory"))
    #expect(first === second)
    #expect(accounts.open("mallory") == nil)
    #expect(accounts.open("ada") != nil)
    #expect(first.charge(10, .commands, at: 0) == .taken(rest: 0))
    accounts.close(first)
    accounts.close(second)
    let again = try #require(accounts.open("mallory"))
    #expect(again.charge(1, .commands, at: 0) == .taken(rest: 1000))
    accounts.close(again)
    for number in 0..<30_000 { accounts.close(try #require(accounts.open("user \(number)"))) }
    #expect(accounts.count <= 10_001)
  }

  @Test("One connection too many of a user is closed with 3504, and gives back nothing that it did not have")
  func connectionsOfUser() {
    let accounts = UserAccounts(ClientRates(), mostConnections: 1)
    #expect(accounts.open("ada") != nil)
    #expect(accounts.open("ada") == nil)
    #expect(accounts.count == 1)
  }
}

@Suite("What a user owes")
struct UserDebtTests {
  @Test("However many connections try each moment, no more is done for a user than the rate and two bursts")
  func manyConnections() throws {
    var rates = ClientRates()
    rates[.commands] = RateLimit(perSecond: 8, burst: 8)
    let account = try #require(UserAccounts(rates, mostConnections: 0).open("mallory"))
    var taken = 0
    for milliseconds in Int64(0)..<10_000 where account.charge(1, .commands, at: milliseconds) != .refused {
      taken += 1
    }
    #expect(taken >= 80 && taken <= 8 + 8 + 80, "\(taken)")
  }

  @Test("What is larger than a burst passes once nothing is owed, and is paid for in full")
  func largerThanABurst() throws {
    var rates = ClientRates()
    rates[.bytes] = RateLimit(perSecond: 1000, burst: 1000)
    let account = try #require(UserAccounts(rates, mostConnections: 0).open("ada"))
    #expect(account.charge(5000, .bytes, at: 0) == .taken(rest: 4000))
    #expect(account.charge(1, .bytes, at: 2000) == .refused)
    #expect(account.charge(1, .bytes, at: 3999) == .taken(rest: 2))
    #expect(account.charge(5000, .bytes, at: 5000) == .taken(rest: 4001))
  }
}

extension [SessionAction] {
  /// What was noted, in order.
  var causes: [RefusalCause] {
    compactMap { if case .note(let cause) = $0 { cause } else { nil } }
  }
}
