import Gateway
import Telemetry
import Wire

extension MicroBenchmark {
  static let link = [
    MicroBenchmark(name: "link-encode-publish", about: "a gateway's publish request becomes bytes") {
      let request = try publishRequest()
      return { iterations in for _ in 0..<iterations { keep(request.bytes) } }
    },
    MicroBenchmark(name: "link-decode-publish", about: "the broker reads a gateway's publish request") {
      let request = try publishRequest()
      let bytes = request.bytes
      guard try LinkRequest(bytes: bytes) == request else { throw BrokenBenchmark("a request changes on the link") }
      return { iterations in for _ in 0..<iterations { keep(try? LinkRequest(bytes: bytes)) } }
    },
    MicroBenchmark(name: "link-encode-publication", about: "the broker's publication becomes bytes") {
      let publication = LinkPublication(channel: try Samples.channel(), publication: Samples.publication)
      return { iterations in for _ in 0..<iterations { keep(publication.bytes) } }
    },
    MicroBenchmark(name: "link-decode-publication", about: "a gateway reads a publication") {
      let publication = LinkPublication(channel: try Samples.channel(), publication: Samples.publication)
      let bytes = publication.bytes
      guard try LinkPublication(bytes: bytes) == publication else {
        throw BrokenBenchmark("a publication changes on the link")
      }
      return { iterations in for _ in 0..<iterations { keep(try? LinkPublication(bytes: bytes)) } }
    },
    MicroBenchmark(
      name: "link-settle-publish",
      about: "a gateway sends a publish request and keeps it; the broker's answer is read and the request answered"
    ) {
      let scene = try LinkScene()
      scene.exchange(2_000)
      return { iterations in scene.exchange(iterations) }
    },
  ]

  static func publishRequest() throws -> LinkRequest {
    let publish = BrokerRequest.PublishRequest(
      channel: try Samples.channel(), data: Samples.payload, info: Samples.publisher)
    return LinkRequest(id: 1, oldestPending: 1, request: .publish(publish))
  }
}

/// A gateway's end of the link, open.
private final class LinkScene {
  private let link = GatewayLink(configuration: .measured)
  private let request: GatewayRequest
  private let position = StreamPosition(epoch: "abcd1234", offset: 123_456)
  private var effects: [GatewayLinkEffect] = []
  private var sequence: UInt64 = 0
  private var id: UInt64 = 0

  init() throws {
    request = GatewayRequest(
      source: RequestSource(loop: 0, connection: 1, tag: 1), format: .json,
      request: try MicroBenchmark.publishRequest().request)
    // As a server runs: some publications are measured, and what that costs all others is counted here.
    link.measure(with: HopRecorder(clock: { 0 }))
    link.start(at: 0, into: &effects)
    receive(.welcome(LinkWelcome(broker: 7)))
    exchange(1)
    guard link.isOpen, effects.count == 2 else { throw BrokenBenchmark("the link settles nothing") }
  }

  func exchange(_ iterations: Int) {
    for _ in 0..<iterations {
      effects.removeAll(keepingCapacity: true)
      link.submit(request, at: 1_000, into: &effects)
      id += 1
      receive(.reply(LinkReply(id: id, response: .published(position))))
      keep(effects)
    }
  }

  private func receive(_ body: LinkBody) {
    let message = LinkMessage(session: 1, sequence: sequence, body: body)
    sequence += 1
    link.receive(message, at: 1_000, into: &effects)
  }
}
