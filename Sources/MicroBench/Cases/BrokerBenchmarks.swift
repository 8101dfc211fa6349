import Apps
import Broker
import Log
import Telemetry
import Wire

extension MicroBenchmark {
  static let broker = [
    MicroBenchmark(
      name: "broker-publish",
      about: "a publish request in, decided, kept in memory, its publication and its answer out to one gateway"
    ) {
      let scene = try BrokerScene.publishing()
      // Requests before the count let rings and tables grow to the size at which they stay.
      scene.ask(5_000)
      return { iterations in scene.ask(iterations) }
    },
    MicroBenchmark(
      name: "broker-app-send",
      about: "a message of an open conversation in, decided by Clique, kept in memory, publication and answer out"
    ) {
      let scene = try BrokerScene.chatting()
      scene.ask(5_000)
      return { iterations in scene.ask(iterations) }
    },
  ]
}

/// A broker with one gateway, which is subscribed to a channel and makes one request again and again.
private final class BrokerScene {
  private static let time = BrokerTime(monotonic: 1_000, wall: 1_700_000_000_000)

  private let core: BrokerCore
  private let request: LinkRequest
  private var turn = Turn(at: BrokerScene.time)
  private var sequence: UInt64 = 0

  /// Makes the request once.
  private init(_ core: BrokerCore, subscribedTo channel: ChannelName, _ request: LinkRequest) {
    self.core = core
    self.request = request
    send(.hello(LinkHello(gateway: 1)))
    let subscribe = BrokerRequest.SubscribeRequest(channel: channel)
    send(.request(LinkRequest(id: 2, oldestPending: 1, request: .subscribe(subscribe))))
    send(.request(request))
  }

  private static func core(_ namespaces: NamespaceTable) -> BrokerCore {
    let memory = MemoryStore.measured()
    let core = BrokerCore(configuration: .measured(namespaces), memory: memory, disk: memory)
    // As a server runs: some publications are measured, and what that costs all others is counted here.
    core.hops = BrokerHops(HopRecorder(clock: { 0 }), services: .off)
    return core
  }

  /// A scene whose request publishes on a memory channel.
  static func publishing() throws -> BrokerScene {
    let core = core(Samples.namespaces)
    let scene = BrokerScene(
      core, subscribedTo: try Samples.channel(), try MicroBenchmark.publishRequest())
    guard core.counters.published == 1, core.counters.delivered == 1, scene.turn.effects.count == 3 else {
      throw BrokenBenchmark("the broker does not publish")
    }
    return scene
  }

  /// A scene whose request sends a message into the chat of two people.
  static func chatting() throws -> BrokerScene {
    let app = Clique(.measured)
    var namespaces = NamespaceTable()
    namespaces.add(app.namespaces, of: app.name)
    let core = core(namespaces)
    var turn = Turn(at: time)
    core.install(app, in: &turn)
    let ask = try call("clique.send", "user-42", "{\"to\":\"user-43\",\"text\":\"hello\"}")
    let accept = try call("clique.accept", "user-43", "{\"person\":\"user-42\"}")
    core.serve(ask, for: ServiceTag(number: 1), in: &turn)
    guard case .answer(_, .result(let answer)) = turn.effects.last else {
      throw BrokenBenchmark("Clique does not answer")
    }
    core.serve(accept, for: ServiceTag(number: 1), in: &turn)
    // The conversation's id follows {"conversation":" in the answer: a p and 32 digits.
    let conversation = String(decoding: answer.dropFirst(17).prefix(33), as: UTF8.self)
    let text = String(decoding: Samples.payload.dropFirst(9).dropLast(2), as: UTF8.self)
    let send = try call("clique.send", "user-42", "{\"conversation\":\"\(conversation)\",\"text\":\"\(text)\"}")
    let scene = BrokerScene(
      core, subscribedTo: try ChannelName("clique.chat:\(conversation)"),
      LinkRequest(id: 1, oldestPending: 1, request: send))
    guard core.counters.refused == 0, core.counters.delivered == 1 else {
      throw BrokenBenchmark("Clique does not deliver")
    }
    return scene
  }

  private static func call(_ method: String, _ user: String, _ data: String) throws -> BrokerRequest {
    let caller = ClientInfo(user: user, client: Samples.publisher.client)
    return .call(.init(try AppCommand(method, Array(data.utf8), by: user), caller: caller))
  }

  func ask(_ iterations: Int) {
    for _ in 0..<iterations { send(.request(request)) }
  }

  private func send(_ body: LinkBody) {
    turn.effects.removeAll(keepingCapacity: true)
    let message = LinkMessage(session: 1, sequence: sequence, body: body)
    sequence += 1
    core.receive(message, from: 1, in: &turn)
    keep(turn.effects)
  }
}
