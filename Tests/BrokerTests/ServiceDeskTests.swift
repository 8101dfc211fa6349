import Log
import Logging
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Broker

/// The door for services within the process, on a broker's own thread.
@Suite("The service desk", .timeLimit(.minutes(15)), .ownThread)
struct ServiceDeskTests {
  private struct Scene {
    let context: Context
    let thread: BackboneThread
    let desk: ServiceDesk

    func ask(_ method: String, _ json: String, payload: String? = nil) async throws -> BrokerResponse {
      try #require(await desk.ask([try request(method, json, payload: payload)]).first)
    }

    func request(_ method: String, _ json: String, payload: String? = nil) throws -> BrokerRequest {
      let arguments = try JSONArguments(Array(json.utf8))
      return try desk.admitted(try desk.request(method, arguments, payload: payload.map { Array($0.utf8) }))
    }
  }

  /// The offset of a publication that was taken; 0 for any other answer.
  private static func offset(_ response: BrokerResponse) -> UInt64 {
    guard case .published(let position) = response else { return 0 }
    return position.offset
  }

  private func start(bytes: Int = 1 << 20) throws -> Scene {
    var options = ChannelOptions()
    options.historySize = 100_000
    options.historyTTLMilliseconds = 3_600_000
    var table = NamespaceTable(withoutNamespace: options)
    options.dataFormat = .binary
    table.namespaces["bin"] = options
    let configuration = BrokerConfiguration(namespaces: table, instance: 7)
    let desk = ServiceDesk(namespaces: table, bytes: bytes)
    let context = try Context()
    let thread = try BackboneThread.start(onFailure: { Issue.record($0) }) { loop in
      let core = BrokerCore(
        configuration: configuration, memory: MemoryStore(randomness: FixedEpochs()), disk: ScriptedStore())
      return [
        try BrokerBackbone(
          core: core, endpoints: BrokerEndpoints(backbone: nil), context: context, loop: loop,
          completions: Mailbox(capacity: .max), news: Mailbox(capacity: .max), desk: desk,
          logger: Logger(label: "test"))
      ]
    }
    return Scene(context: context, thread: thread, desk: desk)
  }

  @Test("requests that were asked together are answered in their order, and done in it")
  func order() async throws {
    let scene = try start()
    defer { scene.thread.stop() }
    let publish = try scene.request("publish", #"{"channel":"m"}"#, payload: "1")
    let history = try scene.request("history", #"{"channel":"m","limit":-1}"#)
    let answers = await scene.desk.ask([publish, publish, history])
    try #require(answers.count == 3)
    #expect(answers.prefix(2).map(Self.offset) == [1, 2])
    guard case .history(let page) = answers[2] else {
      Issue.record("\(answers[2])")
      return
    }
    #expect(page.publications.map(\.offset) == [1, 2])
  }

  @Test("many who ask at once each get the answers to their own")
  func many() async throws {
    let scene = try start(bytes: 64 << 20)
    defer { scene.thread.stop() }
    let publish = try scene.request("publish", #"{"channel":"m"}"#, payload: "1")
    let offsets = await withTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<50 {
        group.addTask {
          await scene.desk.ask(Array(repeating: publish, count: 20)).map(Self.offset)
        }
      }
      var all: [UInt64] = []
      for await some in group {
        #expect(some == some.sorted())
        all += some
      }
      return all
    }
    #expect(offsets.sorted() == Array(1...1000))
  }

  @Test("what is no JSON is refused where clients read JSON, and taken where they read bytes")
  func payloads() async throws {
    let scene = try start()
    defer { scene.thread.stop() }
    #expect(throws: ClientError.self) { try scene.request("publish", #"{"channel":"m"}"#, payload: "{") }
    guard case .published = try await scene.ask("publish", #"{"channel":"bin:m"}"#, payload: "{") else {
      Issue.record("bytes were not taken")
      return
    }
    #expect(scene.desk.isBinary(ChannelName("bin:m")))
    #expect(throws: ClientError.self) { try scene.request("publish", #"{"channel":"m"}"#) }
    #expect(throws: ClientError.self) { try scene.request("nothing", "{}") }
  }

  @Test("a map's keys are set, read and removed by methods of their own names")
  func maps() async throws {
    let scene = try start()
    defer { scene.thread.stop() }
    for (method, json) in [("map_set", #"{"channel":"m"}"#), ("map_get", #"{"channel":"m"}"#)] {
      #expect(throws: ClientError.self, "\(method) needs a key") {
        try scene.request(method, json, payload: "1")
      }
    }
    guard case .publish(let removal) = try scene.request("map_remove", #"{"channel":"m","key":"a"}"#) else {
      Issue.record("map_remove is a publication")
      return
    }
    #expect(removal.write == MapWrite(key: "a", removed: true, score: nil))
  }

  @Test("more than may wait is refused with error 111, and what waited is answered all the same")
  func bounded() async throws {
    let scene = try start(bytes: 1000)
    defer { scene.thread.stop() }
    let payload = "\"\(String(repeating: "x", count: 2000))\""
    let publish = try scene.request("publish", #"{"channel":"m"}"#, payload: payload)
    // A request that is larger than all that may wait is taken where nothing waits.
    guard case .published = try #require(await scene.desk.ask([publish]).first) else {
      Issue.record("a large request was refused though nothing waited")
      return
    }
    let answers = await withTaskGroup(of: BrokerResponse?.self) { group in
      for _ in 0..<200 { group.addTask { await scene.desk.ask([publish]).first } }
      return await group.reduce(into: [BrokerResponse?]()) { $0.append($1) }
    }
    #expect(answers.count == 200)
    for case .failed(let error)? in answers { #expect(error.code == 111 && error.temporary) }
  }

  @Test("who waits when the broker ends is told so, and who asks afterwards too")
  func closed() async throws {
    let scene = try start()
    scene.thread.stop()
    let publish = try scene.request("publish", #"{"channel":"m"}"#, payload: "1")
    for answer in await scene.desk.ask([publish, publish]) {
      guard case .failed(let error) = answer else {
        Issue.record("\(answer)")
        continue
      }
      #expect(error.code == 100)
    }
  }
}
