import Apps
import Broker
import Log
import Wire

extension MicroBenchmark {
  static let broker = [
    MicroBenchmark(
      name: "broker-publish",
      about: "a publish request in, decided, kept in memory, its publication and its answer out to one gateway"
    ) {
      let scene = try BrokerScene()
      // Until rings and tables have grown to what they stay at.
      scene.publish(5_000)
      return { iterations in scene.publish(iterations) }
    },
    MicroBenchmark(
      name: "broker-app-send",
      about: "a message of an open conversation in, decided by Clique, kept in memory, publication and answer out"
    ) {
      let scene = try AppScene()
      scene.send(5_000)
      return { iterations in scene.send(iterations) }
    },
  ]
}

/// A broker with one gateway that is subscribed to one memory channel.
private final class BrokerScene {
  private let core: BrokerCore
  private let request: [UInt8]
  private let time = BrokerTime(monotonic: 1_000, wall: 1_700_000_000_000)
  private var effects: [BrokerEffect] = []
  private var sequence: UInt64 = 0

  init() throws {
    var configuration = BrokerConfiguration(namespaces: Samples.namespaces, instance: 7)
    configuration.linkWindowBytes = 1 << 40
    let memory = MemoryStore()
    core = BrokerCore(configuration: configuration, memory: memory, disk: memory)
    request = try MicroBenchmark.publishRequest().bytes
    let subscribe = BrokerRequest.SubscribeRequest(channel: try Samples.channel())
    send(.hello, LinkHello(gateway: 1).bytes)
    send(.request, LinkRequest(id: 2, oldestPending: 1, request: .subscribe(subscribe)).bytes)
    send(.request, request)
    guard core.counters.published == 1, core.counters.delivered == 1, effects.count == 3 else {
      throw BrokenBenchmark("the broker does not publish")
    }
  }

  func publish(_ iterations: Int) {
    for _ in 0..<iterations { send(.request, request) }
  }

  private func send(_ kind: LinkHeader.Kind, _ body: [UInt8]) {
    effects.removeAll(keepingCapacity: true)
    let header = LinkHeader(kind: kind, session: 1, sequence: sequence)
    sequence += 1
    core.receive(LinkMessage(header: header, body: body), from: 1, at: time, into: &effects)
    keep(effects)
  }
}

/// A broker with Clique, and one gateway that is subscribed to the chat of two people.
private final class AppScene {
  private let core: BrokerCore
  private let request: [UInt8]
  private let time = BrokerTime(monotonic: 1_000, wall: 1_700_000_000_000)
  private var effects: [BrokerEffect] = []
  private var sequence: UInt64 = 0

  init() throws {
    let app = Clique()
    var namespaces = NamespaceTable()
    namespaces.add(app.namespaces, of: app.name)
    var configuration = BrokerConfiguration(namespaces: namespaces, instance: 7)
    configuration.linkWindowBytes = 1 << 40
    let memory = MemoryStore()
    core = BrokerCore(configuration: configuration, memory: memory, disk: memory)
    try core.install(app)
    let ask = Self.request("clique.send", "user-42", "{\"to\":\"user-43\",\"text\":\"hello\"}")
    let accept = Self.request("clique.accept", "user-43", "{\"person\":\"user-42\"}")
    core.serve(ask, for: ServiceTag(number: 1), at: time, into: &effects)
    guard case .answer(_, .result(let answer)) = effects.last else { throw BrokenBenchmark("Clique does not answer") }
    core.serve(accept, for: ServiceTag(number: 1), at: time, into: &effects)
    // The answer begins with {"conversation":"p and 32 digits.
    let conversation = String(decoding: answer.dropFirst(17).prefix(33), as: UTF8.self)
    let text = String(decoding: Samples.payload.dropFirst(9).dropLast(2), as: UTF8.self)
    let send = Self.request(
      "clique.send", "user-42", "{\"conversation\":\"\(conversation)\",\"text\":\"\(text)\"}")
    request = LinkRequest(id: 1, oldestPending: 1, request: send).bytes
    receive(.hello, LinkHello(gateway: 1).bytes)
    let subscribe = BrokerRequest.SubscribeRequest(channel: try ChannelName("clique.chat:\(conversation)"))
    receive(.request, LinkRequest(id: 2, oldestPending: 1, request: .subscribe(subscribe)).bytes)
    receive(.request, request)
    guard core.counters.refused == 0, core.counters.delivered == 1 else {
      throw BrokenBenchmark("Clique does not deliver")
    }
  }

  func send(_ iterations: Int) {
    for _ in 0..<iterations { receive(.request, request) }
  }

  private static func request(_ method: String, _ user: String, _ data: String) -> BrokerRequest {
    let caller = ClientInfo(user: user, client: Samples.publisher.client)
    let call = BrokerRequest.CallRequest(method: method, data: Array(data.utf8), caller: caller)
    return .call(call)
  }

  private func receive(_ kind: LinkHeader.Kind, _ body: [UInt8]) {
    effects.removeAll(keepingCapacity: true)
    let header = LinkHeader(kind: kind, session: 1, sequence: sequence)
    sequence += 1
    core.receive(LinkMessage(header: header, body: body), from: 1, at: time, into: &effects)
    keep(effects)
  }
}
