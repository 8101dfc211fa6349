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
    }
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
