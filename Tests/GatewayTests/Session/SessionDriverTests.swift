import Auth
import NIOCore
import NIOEmbedded
import NIOPosix
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SessionDriver")
struct SessionDriverTests {
  @Test("the replies of one read burst leave as one frame")
  func oneFrameForABurst() {
    let scene = DriverScene()
    scene.connect()
    scene.driver.received(ByteBuffer(string: #"{"id":2,"ping":{}}"# + "\n" + #"{"id":3,"ping":{}}"#))
    scene.driver.received(ByteBuffer(string: #"{"id":4,"ping":{}}"#))
    #expect(scene.transport.frames.isEmpty)
    scene.driver.readCompleted()
    let replies: [ClientReply] = [.ping(id: 2), .ping(id: 3), .ping(id: 4)]
    #expect(scene.transport.frames == [ClientCodec.frame(for: replies, format: .json)])
  }

  @Test("a reply is on its way before the hub may write what comes after it")
  func replyBeforeAttach() {
    let scene = DriverScene()
    scene.connect()
    scene.host.answersAtOnce = true
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    #expect(scene.host.log == ["subscribe a", "attach a after 1 frames"])
  }

  @Test("answers to publishes that come together leave as one frame, when the host has handed out what it has")
  func publishAnswers() {
    let scene = DriverScene()
    scene.connect()
    scene.say((2...4).map { #"{"id":\#($0),"publish":{"channel":"a","data":1}}"# }.joined(separator: "\n"))
    let published = BrokerResponse.published(StreamPosition(epoch: "e", offset: 1))
    let waits = scene.host.publishTags.map { scene.driver.takeAnswer(tag: $0, published) }
    #expect(waits == [true, false, false])
    #expect(scene.transport.frames.isEmpty)
    scene.driver.flushReplies()
    let replies: [ClientReply] = [.publish(id: 2), .publish(id: 3), .publish(id: 4)]
    #expect(scene.transport.frames == [ClientCodec.frame(for: replies, format: .json)])
    scene.driver.flushReplies()
    #expect(scene.transport.frames.count == 1)
  }

  @Test("answers of apps wait for each other as those to publishes do, and all leave in their order")
  func appAnswers() {
    let scene = DriverScene()
    scene.connect()
    scene.driver.session.user = "u"
    for (id, command) in [(2, #""rpc":{"method":"clique.crossings"}"#), (3, #""publish":{"channel":"a","data":1}"#)] {
      scene.say("{\"id\":\(id),\(command)}")
    }
    let result = Array(#"{"offset":1}"#.utf8)
    #expect(scene.driver.takeAnswer(tag: scene.host.callTags[0], .result(result)))
    let published = BrokerResponse.published(StreamPosition(epoch: "e", offset: 1))
    #expect(!scene.driver.takeAnswer(tag: scene.host.publishTags[0], published))
    #expect(scene.transport.frames.isEmpty)
    scene.driver.flushReplies()
    let replies: [ClientReply] = [.rpc(id: 2, data: result), .publish(id: 3)]
    #expect(scene.transport.frames == [ClientCodec.frame(for: replies, format: .json)])
  }

  @Test("the host hears once that a burst's requests are all there")
  func burst() {
    let scene = DriverScene()
    scene.connect()
    scene.host.completedAfter = []
    for id in 2...4 { scene.driver.received(ByteBuffer(string: #"{"id":\#(id),"publish":{"channel":"a","data":1}}"#)) }
    #expect(scene.host.publishTags.count == 3)
    #expect(scene.host.completedAfter.isEmpty)
    scene.driver.readCompleted()
    #expect(scene.host.completedAfter == [3])
  }

  @Test("an answer of another kind does not wait, and takes along what stands before it")
  func otherAnswers() {
    let scene = DriverScene()
    scene.connect()
    scene.say(#"{"id":2,"publish":{"channel":"a","data":1}}"#)
    scene.say(#"{"id":3,"publish":{"channel":"a","data":1}}"#)
    let tags = scene.host.publishTags
    let published = BrokerResponse.published(StreamPosition(epoch: "e", offset: 1))
    #expect(scene.driver.takeAnswer(tag: tags[0], published))
    #expect(!scene.driver.takeAnswer(tag: tags[1], .failed(.notAvailable)))
    let replies: [ClientReply] = [.publish(id: 2), .error(id: 3, .notAvailable)]
    #expect(scene.transport.frames == [ClientCodec.frame(for: replies, format: .json)])
  }

  @Test("a host that answers within the request does not disturb the order")
  func reentrantAnswers() {
    let scene = DriverScene(personal: "")
    scene.host.answersAtOnce = true
    scene.host.verifier = FixedVerifier(user: "u")
    scene.driver.opened()
    scene.say(#"{"id":1,"connect":{}}"#)
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    scene.say(#"{"id":3,"unsubscribe":{"channel":"a"}}"#)
    #expect(
      scene.host.log == ["subscribe a", "attach a after 2 frames", "detach a", "unsubscribe a"])
  }

  @Test("a malformed message closes with 3501 and nothing after it is performed")
  func malformed() {
    let scene = DriverScene()
    scene.connect()
    scene.say("{")
    #expect(scene.transport.closedWith?.code == 3501)
    scene.say(#"{"id":2,"ping":{}}"#)
    #expect(scene.transport.frames.isEmpty)
  }

  @Test("a message with more commands than allowed closes with 3501, and none of them is performed")
  func tooManyCommands() {
    let scene = DriverScene()
    scene.connect()
    scene.say((0..<1001).map { #"{"id":\#($0 + 2),"ping":{}}"# }.joined(separator: "\n"))
    #expect(scene.transport.closedWith?.code == 3501)
    #expect(scene.transport.frames.isEmpty)
  }

  @Test("pings are sent and a missing pong closes, on one timer")
  func timer() {
    let scene = DriverScene()
    scene.connect()
    scene.advance(seconds: 10)
    #expect(scene.transport.frames == [ClientCodec.frame(for: [.serverPing], format: .json)])
    scene.say("{}")
    scene.advance(seconds: 25)
    #expect(scene.transport.frames.count == 2)
    #expect(scene.transport.closedWith == nil)
    scene.advance(seconds: 8)
    #expect(scene.transport.closedWith?.code == 3012)
  }

  @Test("a transport that nobody connects on is closed")
  func connectTimeout() {
    let scene = DriverScene()
    scene.driver.opened()
    scene.advance(seconds: 10)
    #expect(scene.transport.closedWith?.code == 3502)
  }

  @Test("reading stops while the broker is behind, and goes on after it")
  func heldInput() {
    let scene = DriverScene()
    scene.connect()
    scene.driver.holdInput(true)
    #expect(scene.transport.isPaused)
    scene.driver.holdInput(false)
    #expect(!scene.transport.isPaused)
  }

  @Test("a client that is sent away is not read again when the broker has caught up")
  func drainingStaysUnread() {
    let scene = DriverScene()
    scene.connect()
    scene.driver.holdInput(true)
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    scene.driver.shutDown()
    scene.driver.holdInput(false)
    #expect(scene.transport.isPaused)
    #expect(scene.host.log == ["subscribe a"], "what it had asked for is done")
    scene.host.answerAll()
    #expect(scene.transport.closedWith == .shutdown)
  }

  @Test("a client for which answers wait is read later, and what it had said by then is begun when it took them")
  func outputFull() {
    let scene = DriverScene()
    scene.connect()
    scene.transport.onFrame = { [transport = scene.transport] in transport.isFull = true }
    scene.say(#"{"id":2,"ping":{}}"#)
    #expect(scene.transport.isPaused)
    scene.say(#"{"id":3,"publish":{"channel":"a","data":1}}"#)
    #expect(scene.host.publishTags.isEmpty)
    scene.transport.onFrame = {}
    scene.transport.isFull = false
    scene.driver.outputChanged()
    #expect(!scene.transport.isPaused)
    #expect(scene.host.publishTags.count == 1)
  }

  @Test("a peer that takes bytes is not taken for dead; one that takes none is closed in time")
  func takesBytes() {
    let scene = DriverScene()
    scene.connect()
    scene.transport.progress = PeerProgress(takenBytes: 1, isWaiting: true)
    scene.advance(seconds: 10)
    for _ in 0..<5 {
      scene.transport.progress?.takenBytes += 1
      scene.advance(seconds: 8)
    }
    #expect(scene.transport.closedWith == nil)
    scene.advance(seconds: 8)
    #expect(scene.transport.closedWith?.code == 3012)
  }

  @Test("the host hears of the end once, after the last answer that matters")
  func end() {
    let scene = DriverScene()
    scene.connect()
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    scene.driver.closed()
    #expect(scene.host.log == ["subscribe a"])
    scene.host.answerAll()
    scene.driver.closed()
    #expect(scene.host.log == ["subscribe a", "unsubscribe a", "ended"])
  }

  @Test("a shutdown reaches the transport, and a driver that ended keeps nothing alive")
  func shutdown() {
    weak var driver: SessionDriver?
    weak var transport: RecordingTransport?
    do {
      let scene = DriverScene()
      scene.connect()
      driver = scene.driver
      transport = scene.transport
      scene.driver.shutDown()
      #expect(scene.transport.closedWith == .shutdown)
      scene.driver.closed()
      #expect(scene.host.log == ["ended"])
    }
    #expect(driver == nil)
    #expect(transport == nil)
  }

  @Test("a shutdown waits for the answer to what was asked before it, and takes nothing new")
  func shutdownAnswersFirst() {
    let scene = DriverScene()
    scene.connect()
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    scene.driver.shutDown()
    #expect(scene.transport.isPaused)
    #expect(scene.transport.closedWith == nil)
    scene.host.answerAll()
    #expect(!scene.transport.frames.isEmpty)
    #expect(scene.transport.closedWith == .shutdown)
  }

  @Test("a shutdown whose time is over waits for no answer")
  func shutdownAtOnce() {
    let scene = DriverScene()
    scene.connect()
    scene.say(#"{"id":2,"subscribe":{"channel":"a"}}"#)
    scene.driver.shutDown()
    scene.driver.shutDownNow()
    #expect(scene.transport.closedWith == .shutdown)
  }

  @Test("a token is checked off the event loop, and reading waits for it")
  func tokenCheck() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let connected = loop.makePromise(of: Void.self)
    let paused = try await loop.submit { () -> Bool in
      let transport = RecordingTransport(eventLoop: loop)
      let host = RecordingHost()
      host.verifier = FixedVerifier(user: "u")
      let rules = SessionRules(SessionConfiguration(), namespaces: NamespaceTable())
      let driver = SessionDriver(
        transport: transport, host: host, rules: rules, identity: .init(client: "c", session: "s"),
        firstPingDelayMilliseconds: 10_000)
      // The test's objects live as long as the driver, which the host keeps as a real one does.
      host.kept = driver
      transport.onFrame = { [unowned driver, unowned transport] in
        loop.assumeIsolated().execute {
          let transport = transport
          #expect(driver.user == "u")
          #expect(!transport.isPaused)
          driver.closed()
          connected.succeed()
        }
      }
      driver.opened()
      driver.received(ByteBuffer(string: #"{"id":1,"connect":{"token":"t"}}"#))
      driver.readCompleted()
      return transport.isPaused
    }.get()
    #expect(paused)
    try await connected.futureResult.get()
    try await group.shutdownGracefully()
  }
}

/// A driver between a connection and a host that write down what they are told.
final class DriverScene {
  let loop = EmbeddedEventLoop()
  let transport: RecordingTransport
  let host = RecordingHost()
  let driver: SessionDriver

  init(personal: String? = nil) {
    transport = RecordingTransport(eventLoop: loop)
    host.transport = transport
    var configuration = SessionConfiguration()
    configuration.allowAnonymous = true
    configuration.personalChannelNamespace = personal
    var channels = ChannelOptions.open
    channels.allowPublishForAnonymous = true
    var namespaces = NamespaceTable(withoutNamespace: channels)
    namespaces.add([:], of: "clique")
    driver = SessionDriver(
      transport: transport, host: host,
      rules: SessionRules(configuration, namespaces: namespaces),
      identity: .init(client: "c", session: "s"), firstPingDelayMilliseconds: 10_000)
  }

  func connect() {
    driver.opened()
    say(#"{"id":1,"connect":{}}"#)
    transport.frames = []
  }

  func say(_ text: String) {
    driver.received(ByteBuffer(string: text))
    driver.readCompleted()
  }

  func advance(seconds: Int64) {
    for _ in 0..<seconds {
      host.time.monotonic += 1000
      host.time.wall += 1
      loop.advanceTime(by: .seconds(1))
    }
  }
}

final class RecordingTransport: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format = WireFormat.json
  var frames: [[UInt8]] = []
  var closedWith: DisconnectCode?
  var isPaused = false
  var onFrame: () -> Void = {}
  var progress: PeerProgress?
  var forwardedHeaders: [BackendHeader] = []
  /// Milliseconds for which a sign-in waits; nil: too many wait.
  var signInWait: Int64? = 0

  init(eventLoop: any EventLoop, id: UInt64 = 1) {
    self.eventLoop = eventLoop
    super.init(id: id, descriptor: -1)
  }

  func send(_ frame: [UInt8]) {
    frames.append(frame)
    onFrame()
  }
  func close(_ code: DisconnectCode) { closedWith = code }
  func signInDelay() -> Int64? { signInWait }
  func pauseReading() { isPaused = true }
  func resumeReading() { isPaused = false }
}

final class RecordingHost: SessionHost {
  var verifier: any TokenVerifier = FixedVerifier(user: "") { didSet { otherVerifier = verifier } }
  var otherVerifier: any TokenVerifier = FixedVerifier(user: "")
  var proxies: ProxyCalls?
  /// Whom it lets in; nil: nobody counts.
  var accounts: UserAccounts?
  var notes: [RefusalCause] = []
  let revocations = Revocations()
  var time = SessionTime(monotonic: 0, wall: 1_700_000_000)
  var log: [String] = []
  var answersAtOnce = false
  /// Publishes that wait for an answer from the test.
  var publishTags: [UInt64] = []
  /// Calls of apps that do.
  var callTags: [UInt64] = []
  /// How many of them there were whenever nothing more was coming.
  var completedAfter: [Int] = []
  weak var transport: RecordingTransport?
  var kept: SessionDriver?
  private var waiting: [(SessionDriver, UInt64)] = []

  func request(_ request: BrokerRequest, tag: UInt64, terms: SubscribeTerms?, from driver: SessionDriver) {
    switch request {
    case .subscribe(let subscribe):
      log.append("subscribe \(subscribe.channel)")
      if answersAtOnce { driver.brokerAnswered(tag: tag, .at(0)) } else { waiting.append((driver, tag)) }
    case .unsubscribe(let unsubscribe):
      log.append("unsubscribe \(unsubscribe.channel)")
      driver.brokerAnswered(tag: tag, .done)
    case .publish: publishTags.append(tag)
    case .call: callTags.append(tag)
    default: driver.brokerAnswered(tag: tag, .failed(.notAvailable))
    }
  }

  /// Nil: there are no shared polls.
  var pollEpoch: String?
  func openPoll(_ channel: ChannelName) -> String? { pollEpoch }
  func track(_ ask: PollTrack, for driver: SessionDriver) -> PollTracked {
    log.append("track \(ask.items.map(\.key)) of \(ask.number) after \(transport?.frames.count ?? 0) frames")
    return .tracked([])
  }
  func untrack(_ keys: [String], _ number: UInt64, of channel: ChannelName, for driver: SessionDriver) {
    log.append("untrack \(keys) of \(number)")
  }
  func leavePoll(_ channel: ChannelName, _ number: UInt64, for driver: SessionDriver) {
    log.append("leave \(channel) of \(number)")
  }

  func openAccount(of user: String) -> AccountOpening {
    guard let accounts else { return .none }
    return accounts.open(user).map { .opened($0) } ?? .full
  }
  func closeAccount(_ account: UserAccount) { accounts?.close(account) }
  func note(_ cause: RefusalCause, from driver: SessionDriver) { notes.append(cause) }

  func answerAll() {
    let all = waiting
    waiting = []
    for (driver, tag) in all { driver.brokerAnswered(tag: tag, .at(0)) }
  }

  func attach(_ driver: SessionDriver, to channel: ChannelName, _ flags: HubFlags, _ filters: HubFilters) {
    log.append("attach \(channel) after \(transport?.frames.count ?? 0) frames")
  }
  func detach(_ driver: SessionDriver, from channel: ChannelName) { log.append("detach \(channel)") }
  func releaseHeld(for driver: SessionDriver) { log.append("release") }
  func discardHeld(for driver: SessionDriver) { log.append("discard") }
  func requestsComplete() { completedAfter.append(publishTags.count) }
  func sessionEnded(_ driver: SessionDriver) {
    log.append("ended")
    kept = nil
  }
}

/// Takes every token for the user's.
struct FixedVerifier: TokenVerifier {
  var user: String

  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims { ConnectionClaims(user: user) }
  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    SubscriptionClaims(user: user, channel: token)
  }
}
