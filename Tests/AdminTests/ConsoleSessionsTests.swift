import Testing
import Wire

@testable import Admin

@Suite("Sessions of the web console")
struct ConsoleSessionsTests {
  /// Sessions by their tokens; a class, so that an expectation can use one.
  private final class Sessions {
    private var sessions: ConsoleSessions
    var count: Int { sessions.count }

    init(idle: Int64, lifetime: Int64) { sessions = ConsoleSessions(idle: idle, lifetime: lifetime) }

    func begin(_ token: String, at now: Int64) { sessions.begin(token, at: now) }
    func use(_ token: String, at now: Int64) -> Int64? { sessions.use(ConsoleSessions.ID(token: token), at: now) }
    func left(_ token: String, at now: Int64) -> Int64? { sessions.left(to: ConsoleSessions.ID(token: token), at: now) }
    func end(_ token: String) { sessions.end(ConsoleSessions.ID(token: token)) }
    func endAll() { sessions.endAll() }
  }

  @Test("A token is 256 random bits")
  func token() {
    let tokens = Set((0..<100).map { _ in ConsoleSessions.makeToken() })
    #expect(tokens.count == 100)
    for token in tokens { #expect(Base64.url.bytes(token)?.count == 32) }
  }

  @Test("A session ends when it was not used for a while, and after its lifetime however much it was used")
  func ends() {
    let sessions = Sessions(idle: 100, lifetime: 250)
    sessions.begin("a", at: 1000)
    #expect(sessions.use("a", at: 1000) == 100)
    #expect(sessions.left("a", at: 1099) == 1)
    #expect(sessions.use("a", at: 1099) == 100)
    #expect(sessions.use("a", at: 1198) == 52)
    #expect(sessions.use("a", at: 1249) == 1)
    #expect(sessions.left("a", at: 1250) == nil)
    #expect(sessions.use("a", at: 1250) == nil)
    // What has ended does not come back.
    #expect(sessions.use("a", at: 1249) == nil)
    sessions.begin("b", at: 2000)
    #expect(sessions.use("b", at: 2100) == nil)
  }

  @Test("Looking at what is left is no use")
  func looking() {
    let sessions = Sessions(idle: 100, lifetime: 1000)
    sessions.begin("a", at: 0)
    for time in 1..<100 { #expect(sessions.left("a", at: Int64(time)) == Int64(100 - time)) }
    #expect(sessions.use("a", at: 100) == nil)
  }

  @Test("Nobody's token opens anything, and a session that was ended is gone")
  func strangers() {
    let sessions = Sessions(idle: 100, lifetime: 1000)
    #expect(sessions.use("", at: 0) == nil)
    sessions.begin("a", at: 0)
    #expect(sessions.use("b", at: 0) == nil && sessions.use("", at: 0) == nil)
    sessions.end("a")
    #expect(sessions.use("a", at: 0) == nil)
    for token in ["c", "d"] { sessions.begin(token, at: 0) }
    sessions.endAll()
    #expect(sessions.count == 0)
  }

  @Test("One more than the most takes the place of the one that was used longest ago; those that ended take none")
  func most() {
    let sessions = Sessions(idle: 1000, lifetime: 10_000)
    for number in 0..<ConsoleSessions.most { sessions.begin("\(number)", at: Int64(number)) }
    _ = sessions.use("0", at: 100)
    sessions.begin("more", at: 101)
    #expect(sessions.count == ConsoleSessions.most)
    #expect(sessions.left("1", at: 101) == nil)
    #expect(sessions.left("0", at: 101) != nil && sessions.left("2", at: 101) != nil)
    sessions.begin("later", at: 5000)
    #expect(sessions.count == 1)
  }
}

@Suite("How often the web console's password is tried")
struct ConsoleSignInsTests {
  private static let one = IPAddress("192.0.2.1")

  /// A class, so that an expectation can try.
  private final class SignIns {
    private var signIns = ConsoleSignIns()

    func take(from address: IPAddress?, at now: Int64) -> Bool { signIns.take(from: address, at: now) }
  }

  @Test("An address has five attempts, and another one every ten seconds")
  func address() {
    let signIns = SignIns()
    for _ in 0..<ConsoleSignIns.ofAddress { #expect(signIns.take(from: Self.one, at: 0)) }
    #expect(!signIns.take(from: Self.one, at: 0))
    #expect(!signIns.take(from: Self.one, at: 9_000))
    #expect(signIns.take(from: Self.one, at: 10_000))
    #expect(!signIns.take(from: Self.one, at: 10_001))
    // Others are not kept out by it.
    #expect(signIns.take(from: IPAddress("192.0.2.2"), at: 10_001))
  }

  @Test("All addresses together have twenty, however many a stranger has; a network of IPv6 is one address")
  func all() {
    let signIns = SignIns()
    var taken = 0
    for number in 0..<100 where signIns.take(from: IPAddress(v4: UInt32(number)), at: 0) { taken += 1 }
    #expect(taken == ConsoleSignIns.inAll)
    #expect(signIns.take(from: IPAddress("198.51.100.1"), at: 1000))
    #expect(!signIns.take(from: IPAddress("198.51.100.2"), at: 1000))

    let others = SignIns()
    taken = 0
    for number in 0..<50 where others.take(from: IPAddress("2001:db8::\(number)"), at: 0) { taken += 1 }
    #expect(taken == ConsoleSignIns.ofAddress)
  }
}
