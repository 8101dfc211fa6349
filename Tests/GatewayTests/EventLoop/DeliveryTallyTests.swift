import NIOEmbedded
import Testing
import Wire

@testable import Gateway

@Suite("What is counted by namespace")
struct DeliveryTallyTests {
  private let tallies = DeliveryTallies()
  private let fanOut = FanOut(limits: .init(queueBytes: 10_000), ring: nil, clock: { 0 })
  private let loop = EmbeddedEventLoop()
  private let hub: Hub
  private let (chat, plain, nobody): (ChannelName, ChannelName, ChannelName)

  init() throws {
    hub = Hub(fanOut: fanOut, namespaces: NamespaceTable(), tallies: tallies)
    (chat, plain, nobody) = (try ChannelName("chat:1"), try ChannelName("plain"), try ChannelName("chat:nobody"))
  }

  private func numbers(_ namespace: String) -> DeliveryNumbers? {
    tallies.all.first { $0.namespace == namespace }?.numbers
  }

  @Test("Each frame counts once for each subscriber of its format, and subscriptions go with whoever leaves")
  func counts() {
    let json = (1...3).map { HubMember($0, .json, loop) }
    let protobuf = HubMember(4, .protobuf, loop)
    for member in json + [protobuf] { hub.attach(member.driver, to: chat, []) }
    hub.attach(json[0].driver, to: plain, [])
    hub.deliver(EncodedFrames(json: [1, 2, 3], protobuf: [1, 2]), on: chat)
    hub.deliver(EncodedFrames(json: [1], protobuf: nil), on: plain)
    hub.deliver(EncodedFrames(json: [1], protobuf: nil), on: nobody)
    #expect(numbers("chat") == DeliveryNumbers(deliveries: 4, bytes: 11, subscriptions: 4))
    #expect(numbers("") == DeliveryNumbers(deliveries: 1, bytes: 1, subscriptions: 1))
    #expect(tallies.all.count == 2 && hub.subscriptions == 5)
    hub.detach(json[1].driver, from: chat)
    hub.detach(json[1].driver, from: chat)
    hub.deliver(EncodedFrames(json: [1], protobuf: nil), on: chat)
    #expect(numbers("chat") == DeliveryNumbers(deliveries: 6, bytes: 13, subscriptions: 3))
    fanOut.runSlice()
  }

  @Test("Joins and leaves are no publications, and a filter that lets nothing through counts nothing")
  func others() {
    let (ann, ben) = (HubMember(1, .json, loop), HubMember(2, .json, loop))
    hub.attach(ann.driver, to: chat, [.joinLeave])
    hub.attach(ben.driver, to: chat, [], filter: .exists(key: "loud"))
    hub.deliverPresence(
      EncodedFrames(json: [1], protobuf: nil), of: ClientInfo(user: "u", client: "c"), on: chat)
    #expect(numbers("chat")?.deliveries == 0)
    let frames = EncodedFrames(json: [1, 2], protobuf: nil)
    hub.deliver(frames, of: Publication(data: []), on: chat)
    #expect(numbers("chat") == DeliveryNumbers(deliveries: 1, bytes: 2, subscriptions: 2))
    hub.deliver(frames, of: Publication(data: [], tags: ["loud": "1"]), on: chat)
    #expect(numbers("chat") == DeliveryNumbers(deliveries: 3, bytes: 6, subscriptions: 2))
    fanOut.runSlice()
  }
}
