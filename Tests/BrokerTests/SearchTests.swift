import Apps
import Foundation
import Log
import Logging
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Broker

@Suite("Answers to searches")
struct SearchAnswerTests {
  private func answer(_ found: Result<[FoundMessage], LogError>?) -> BrokerResponse? {
    let scene = BrokerScene()
    scene.perform { scene.core.searched(found, for: .service(ServiceTag(number: 1)), in: &$0) }
    return scene.answers[1]
  }

  @Test("what was found is told with its place, time, publisher and data, and without its tags")
  func found() {
    let response = answer(
      .success([
        .init(
          channel: "clique.chat:p1",
          publication: Publication(
            offset: 12, time: 99, data: Array("{\"text\":\"a \\\"park\\\"\",\n\"key\":\"k\"}".utf8),
            info: ClientInfo(user: "b\"ob", client: "c"), tags: ["only": "bob", "edited": "1"])),
        .init(
          channel: "clique.chat:g1", publication: Publication(offset: 3, time: 98, data: Array(#"{"text":"b"}"#.utf8))),
      ]))
    guard case .result(let json) = response else {
      Issue.record("no result")
      return
    }
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"messages":[{"channel":"clique.chat:p1","offset":12,"time":99,"user":"b\"ob","data":"#
        + #"{"text":"a \"park\"", "key":"k"}},{"channel":"clique.chat:g1","offset":3,"time":98,"data":{"text":"b"}}]}"#)
  }

  @Test("nothing found is an empty list")
  func nothing() {
    #expect(answer(.success([])) == .result(Array(#"{"messages":[]}"#.utf8)))
  }

  @Test("a reply ends after the messages that fill it")
  func large() throws {
    let data = Array(#"{"text":""#.utf8) + Array(repeating: UInt8(ascii: "a"), count: 100 << 10) + Array(#""}"#.utf8)
    let found = (1...20).map {
      FoundMessage(channel: "c", publication: Publication(offset: UInt64($0), time: 0, data: data))
    }
    guard case .result(let json) = answer(.success(found)) else {
      Issue.record("no result")
      return
    }
    #expect(JSONSyntax.isValid(json))
    #expect(json.count < 500 << 10)
    #expect(String(decoding: json, as: UTF8.self).contains(#""offset":3,"#))
  }

  @Test("a failure is a sentence without paths; too many searches can be asked again")
  func failures() {
    guard case .failed(let busy) = answer(.failure(.backlog(bytes: 9))),
      case .failed(let broken) = answer(.failure(.failed("/secret/path"))),
      case .failed(let closed) = answer(.failure(.closed)), case .failed(let missing) = answer(nil)
    else {
      Issue.record("not refused")
      return
    }
    #expect(busy.code == ClientError.tooManyRequests.code && busy.temporary)
    #expect(broken.temporary && !broken.message.contains("secret"))
    #expect(closed.temporary)
    #expect(missing.code == ClientError.notAvailable.code && !missing.temporary)
  }

  @Test("the operator is told who has too many searches waiting, and of no other failure")
  func tooMany() {
    let scene = BrokerScene()
    for (number, failure) in [LogError.closed, .backlog(bytes: 9), .backlog(bytes: 9)].enumerated() {
      scene.perform {
        scene.core.searched(
          .failure(failure), of: "mallory", for: .service(ServiceTag(number: UInt64(number))), in: &$0)
      }
    }
    let lines = scene.core.tally.takeRefusals(isMinuteOver: true)
    #expect(lines.map { "\($0.cause.name) \($0.count) \($0.source)" } == ["searches 1 mallory", "searches 1 mallory"])
    #expect(scene.core.counters.limited == 2)
  }

  @Test("a gateway that asks again for the answer to its search gets it, without another search")
  func retry() {
    let scene = BrokerScene()
    scene.hello(1)
    _ = scene.hears()
    scene.perform {
      scene.core.searched(.success([]), for: .gateway(1, request: 5), in: &$0)
    }
    let reply = Heard.reply(5, .result(Array(#"{"messages":[]}"#.utf8)))
    #expect(scene.hears() == [reply])
    let call = BrokerRequest.CallRequest(
      .other(.init(method: "seek.it", data: [])), caller: ClientInfo(user: "u", client: "c"))
    scene.request(5, .call(call), isRetry: true)
    #expect(scene.hears() == [reply])
    #expect(scene.searches.isEmpty)
  }
}

/// Searches for its argument in one channel.
private struct Seeker: App {
  let name = "seek"
  let namespaces: [String: ChannelOptions] = [:]

  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .other(let command) = call.command else { throw .methodNotFound }
    return AppDecision(
      search: MessageSearch(
        channels: ["d:1"], text: String(decoding: command.data, as: UTF8.self), audience: nil, limit: 10))
  }

  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision { AppDecision() }
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission {
    AppAdmission()
  }
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry? { nil }
}

/// Finds the first message of the first channel, on a thread of its own.
private struct OneMessage: MessageFinder {
  func search(_ search: MessageSearch, _ done: @escaping @Sendable (Result<[FoundMessage], LogError>) -> Void) {
    let publication = Publication(offset: 1, time: 1, data: Array("{\"text\":\"\(search.text)\"}".utf8))
    Thread.detachNewThread { done(.success([FoundMessage(channel: search.channels[0], publication: publication)])) }
  }

  func close() {}
}

/// The whole way: a gateway's call, the finder's thread, and the reply.
@Suite("Searches through BrokerBackbone", .timeLimit(.minutes(15)), .ownThread)
struct SearchLoopTests {
  private func start(in path: String, context: Context, hasIndex: Bool) throws -> (BackboneThread, address: String) {
    let address = Mutex("")
    let completions = Mailbox<[LogCompletion]>(capacity: .max)
    let configuration = Self.configuration()
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      let news = Mailbox<StoreHasNews>(capacity: .max)
      let disk = try SQLiteStore(
        folder: path, options: .init(), logger: quiet, onNews: { _ = news.post(StoreHasNews()) }
      ) {
        _ = completions.post($0)
      }
      let core = BrokerCore(configuration: configuration, memory: MemoryStore(), disk: disk)
      var turn = Turn(at: .ofMachine())
      core.install(Seeker(), in: &turn)
      let broker = try BrokerBackbone(
        core: core, endpoints: BrokerEndpoints(backbone: "tcp://127.0.0.1:*"), context: context, loop: loop,
        completions: completions, news: news, finder: hasIndex ? OneMessage() : nil, logger: quiet)
      address.withLock { $0 = broker.backboneEndpoint ?? "" }
      return [broker]
    }
    return (thread, address.withLock { $0 })
  }

  @Test("a search is answered by the index, and refused where there is none", arguments: [true, false])
  func answered(hasIndex: Bool) throws {
    let folder = try TemporaryFolder()
    let context = try Context()
    let (thread, address) = try start(in: folder.path, context: context, hasIndex: hasIndex)
    defer { thread.stop() }
    let gateway = try Socket(
      context, .dealer,
      Socket.Options {
        $0.receiveTimeoutMilliseconds = 120_000
        $0.sendTimeoutMilliseconds = 120_000
        $0.lingerMilliseconds = 0
        $0.routingID = LinkIdentity.bytes(of: 5)
      })
    try gateway.connect(address)
    var sequence: UInt64 = 0
    func say(_ kind: LinkHeader.Kind, _ body: [UInt8]) throws {
      let header = LinkHeader(kind: kind, session: 1, sequence: sequence)
      sequence += 1
      try gateway.send(multipart: [header.bytes, body], blocking: true)
    }
    func reply() throws -> BrokerResponse {
      while true {
        var frames: [[UInt8]] = []
        try #require(
          try gateway.receiveMultipart(into: &frames, blocking: true) != nil, "nothing arrived within two minutes")
        if try LinkHeader(bytes: frames[0]).kind == .reply { return try LinkReply(bytes: frames[1]).response }
      }
    }
    try say(.hello, LinkHello(gateway: 5).bytes)
    let caller = ClientInfo(user: "u", client: "c")
    let call = BrokerRequest.CallRequest(.other(.init(method: "seek.it", data: Array("par".utf8))), caller: caller)
    try say(.request, LinkRequest(id: 1, oldestPending: 1, request: .call(call)).bytes)
    switch try reply() {
    case .result(let json):
      #expect(hasIndex)
      #expect(String(decoding: json, as: UTF8.self).hasPrefix(#"{"messages":[{"channel":"d:1","offset":1,"#))
      #expect(String(decoding: json, as: UTF8.self).contains(#"{"text":"par"}"#))
    case .failed(let error): #expect(!hasIndex && error.code == ClientError.notAvailable.code)
    default: Issue.record("neither found nor refused")
    }
  }

  private static func configuration() -> BrokerConfiguration {
    var options = ChannelOptions()
    options.historySize = 5
    options.historyTTLMilliseconds = 3_600_000
    options.durability = .durable
    var table = NamespaceTable(withoutNamespace: options)
    table.namespaces["d"] = options
    var configuration = BrokerConfiguration(namespaces: table, instance: 7)
    // The gateway here is a socket that sends no heartbeats.
    configuration.gatewayTimeout = 600_000
    return configuration
  }
}
