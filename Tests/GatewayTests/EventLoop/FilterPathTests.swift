import NIOEmbedded
import Testing
import Wire

@testable import Gateway

@Suite("Filters, from the link to the subscribers")
struct FilterPathTests {
  @Test("random subscribers get exactly what they want and may see, whatever changes meanwhile", arguments: 1...20)
  func random(seed: UInt64) throws {
    var world = FilterWorld(seed: seed)
    for _ in 0..<400 { try world.step() }
    try world.check()
    #expect(world.published > 50 && world.delivered > 50)
    // Once for an encoding, whatever the number of subscribers and filters.
    for format in WireFormat.allCases { #expect(world.encodes(format) <= world.published) }
  }

  @Test("for many with one filter a publication is encoded once, and their loop keeps one tape")
  func encodes() throws {
    var world = FilterWorld(seed: 0)
    let red = TagFilter.equal(key: "a", "1")
    for _ in 0..<50 { try world.join(.json, own: red) }
    try world.publish(["a": "2"])
    try world.publish(["a": "1"])
    #expect(world.encodes(.json) == 2 && world.encodes(.protobuf) == 0)
    #expect(world.tapes == [1, 1])
    try world.join(.protobuf, own: nil)
    try world.publish(["a": "2"])
    #expect(world.encodes(.json) == 3 && world.encodes(.protobuf) == 1)
    try world.check()
  }
}

/// The link, two event loops' hubs and their subscribers, with a test as the broker.
private struct FilterWorld {
  private struct Subscriber {
    let member: HubMember
    let loop: Int
    let format: WireFormat
    let user: String
    let own: TagFilter?
    var allowed: TagFilter?
    var expected: [UInt8] = []
  }

  private let channel = Fixed.channel
  private let scene = LinkScene()
  private let fanOuts: [FanOut]
  private let hubs: [Hub]
  private let eventLoop = EmbeddedEventLoop()
  private var encoder = FrameEncoder(namespaces: NamespaceTable())
  private var random: SplitMix
  private var subscribers: [Subscriber] = []
  private var gone: [Subscriber] = []
  private var nextID: UInt64 = 0
  private var offset: UInt64 = 0
  private(set) var published = 0
  private(set) var delivered = 0

  init(seed: UInt64) {
    random = SplitMix(state: seed)
    fanOuts = (0..<2).map { _ in FanOut(limits: .init(queueBytes: 1 << 20), ring: nil, clock: { 0 }) }
    hubs = fanOuts.map { Hub(fanOut: $0, namespaces: NamespaceTable()) }
    scene.welcome()
  }

  var tapes: [Int] { hubs.map { $0.tapeCount(on: channel) } }

  func encodes(_ format: WireFormat) -> Int {
    Int(format == .json ? encoder.encodedAsJSON : encoder.encodedAsProtobuf)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: try join(Bool.random(using: &random) ? .json : .protobuf, own: filter())
    case 2: leave()
    case 3: try changeAudience()
    default:
      var tags: [String: String] = [:]
      for tag in ["a", "b"] where Bool.random(using: &random) { tags[tag] = "\(Int.random(in: 0..<3, using: &random))" }
      try publish(tags)
    }
    // What stands on the tapes goes out now and then.
    if Int.random(in: 0..<4, using: &random) == 0 { for fanOut in fanOuts { fanOut.runSlice() } }
  }

  /// Few, so that subscribers share them.
  private mutating func filter() -> TagFilter? {
    let filters: [TagFilter?] = [
      nil, .equal(key: "a", "1"), .not(.equal(key: "a", "1")), .exists(key: "b"), .number(key: "b", .greater, "0"),
      .equal(key: "user", "u1"), .not(.oneOf(key: "user", ["u1", "u2"])),
    ]
    return filters[Int.random(in: 0..<filters.count, using: &random)]
  }

  mutating func join(_ format: WireFormat, own: TagFilter?) throws {
    nextID += 1
    let (id, user) = (nextID, "u\(Int.random(in: 0..<3, using: &random))")
    let subscriber = Subscriber(
      member: HubMember(id, format, eventLoop), loop: Int(id % 2), format: format, user: user, own: own,
      allowed: subscribers.first { $0.user == user }?.allowed)
    let member = ClientInfo(user: user, client: "c\(id)")
    let ask = BrokerRequest.subscribe(.init(channel: channel, member: member))
    scene.submit(ask, tag: id, loop: subscriber.loop, format: format, isFiltered: own != nil)
    let request = try #require(scene.asks().last)
    scene.answer(
      request.id,
      .subscribed(.init(position: .init(epoch: "e", offset: offset), audience: subscriber.allowed)))
    subscribers.append(subscriber)
    try perform()
  }

  private mutating func leave() {
    guard !subscribers.isEmpty else { return }
    let subscriber = subscribers.remove(at: Int.random(in: 0..<subscribers.count, using: &random))
    // What waits is for a subscriber who stays.
    for fanOut in fanOuts { fanOut.runSlice() }
    hubs[subscriber.loop].detach(subscriber.member.driver, from: channel)
    let id = subscriber.member.driver.id
    let member = ClientInfo(user: subscriber.user, client: "c\(id)")
    scene.submit(
      .unsubscribe(.init(channel: channel, member: member, keepsInterest: false)), tag: id, loop: subscriber.loop,
      format: subscriber.format)
    gone.append(subscriber)
  }

  private mutating func changeAudience() throws {
    let (user, audience) = ("u\(Int.random(in: 0..<3, using: &random))", filter())
    let change = LinkAudience(channel: channel, user: user, .admitted, audience: audience)
    scene.receive(.audience(change))
    for index in subscribers.indices where subscribers[index].user == user { subscribers[index].allowed = audience }
    try perform()
  }

  mutating func publish(_ tags: [String: String]) throws {
    // Without a subscriber the broker sends nothing.
    guard !subscribers.isEmpty else { return offset = 0 }
    offset += 1
    published += 1
    let user = "u\(Int.random(in: 0..<4, using: &random))"
    var publication = Publication(
      offset: offset, data: Array("\(published)".utf8), info: ClientInfo(user: user, client: "x"), tags: tags)
    scene.receive(.publication(LinkPublication(channel: channel, publication: publication)))
    publication.offset = 0
    for index in subscribers.indices {
      let subscriber = subscribers[index]
      guard TagFilter.both(subscriber.own, subscriber.allowed)?.matches(publication) ?? true else { continue }
      delivered += 1
      subscribers[index].expected += ClientCodec.frame(
        for: [.push(.publication(channel: channel.string, publication))], format: subscriber.format)
    }
    try perform()
  }

  func check() throws {
    for fanOut in fanOuts { fanOut.runSlice() }
    for subscriber in subscribers + gone {
      #expect(Array(subscriber.member.transport.frames.joined()) == subscriber.expected)
    }
  }

  /// What the backbone thread and the event loops do with it.
  private mutating func perform() throws {
    for effect in scene.tells() {
      switch effect {
      case .answer(let source, .subscribed(let answer)):
        let subscriber = try #require(subscribers.last { $0.member.driver.id == source.connection })
        hubs[source.loop].attach(
          subscriber.member.driver, to: channel, [], filter: subscriber.own, audience: answer.audience)
      case .publication(_, let publication, let audience):
        guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { continue }
        for loop in 0..<2 where audience.includes(loop: loop) { take(.frames(channel, frames), on: loop) }
      case .filteredPublication(_, let publication, let audience):
        guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { continue }
        for loop in 0..<2 where audience.includes(loop: loop) {
          take(.filteredFrames(channel, frames, of: publication), on: loop)
        }
      case .audienceChanged(let change, let audience):
        for loop in 0..<2 where audience.includes(loop: loop) {
          hubs[loop].refilter(on: channel, audience: change.audience) { driver in
            subscribers.contains { $0.member.driver === driver && $0.user == change.user }
          }
        }
      default: break
      }
    }
  }

  private func take(_ handover: Handover, on loop: Int) {
    switch handover {
    case .frames(let channel, let frames): hubs[loop].deliver(frames, on: channel)
    case .filteredFrames(let channel, let frames, let publication):
      hubs[loop].deliver(frames, of: publication, on: channel)
    default: Issue.record("no frames")
    }
  }
}
