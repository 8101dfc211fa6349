import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Patches, from the link to the subscribers")
struct DeltaPathTests {
  @Test(
    "random subscribers read exactly what was published, with patches, without, and with filters",
    arguments: 1...30 as ClosedRange<UInt64>)
  func random(seed: UInt64) throws {
    var world = DeltaWorld(seed: seed)
    for _ in 0..<400 { try world.step() }
    try world.check()
    #expect(world.published > 50 && world.patches > 50)
    world.leaveAll()
    #expect(world.bases == 0 && world.tapes == [0, 0])
  }

  @Test(
    "the first publication is whole, then come patches; who joins later begins with a whole one",
    arguments: WireFormat.allCases)
  func joiners(format: WireFormat) throws {
    var world = DeltaWorld(seed: 0)
    let first = try world.join(format, .patches)
    try world.publish(size: 500)
    #expect(try world.read(first) == [.whole])
    let second = try world.join(format, .patches)
    try world.publish(size: 500)
    #expect(try world.read(first) == [.whole, .patch])
    #expect(try world.read(second) == [.whole])
    try world.publish(size: 500)
    try world.publish(size: 500)
    #expect(try world.read(first) == [.whole, .patch, .patch, .patch])
    #expect(try world.read(second) == [.whole, .patch, .patch])
    try world.check()
  }

  @Test("where all who take patches have left, no payload is kept; the next one begins with a whole publication")
  func leavers() throws {
    var world = DeltaWorld(seed: 0)
    _ = try world.join(.json, .everything)
    let first = try world.join(.json, .patches)
    try world.publish(size: 500)
    try world.publish(size: 500)
    #expect(world.bases == 1)
    world.leave(first)
    #expect(world.bases == 0)
    try world.publish(size: 500)
    #expect(world.bases == 0)
    let second = try world.join(.json, .patches)
    try world.publish(size: 500)
    try world.publish(size: 500)
    #expect(try world.read(second) == [.whole, .patch])
    try world.check()
  }

  @Test("a publication that has nothing of the one before comes whole, and patches go on from it")
  func wholeBetween() throws {
    var world = DeltaWorld(seed: 0)
    let subscriber = try world.join(.json, .patches)
    try world.publish(size: 500)
    try world.publish(size: 500)
    try world.publish(payload: "\"short\"")
    try world.publish(payload: "\"short too\"")
    try world.publish(size: 500)
    try world.publish(size: 500)
    #expect(try world.read(subscriber) == [.whole, .patch, .whole, .whole, .whole, .patch])
    try world.check()
  }

  @Test("what waits for a subscriber when it gets its first patch goes before it")
  func behind() throws {
    var world = DeltaWorld(seed: 0)
    let subscriber = try world.join(.json, .patches)
    for _ in 0..<5 { try world.publish(size: 300, isSent: false) }
    #expect(try world.read(subscriber) == [.whole, .patch, .patch, .patch, .patch])
    try world.check()
  }

  @Test("a patch is made once, however many there are, and they share a tape")
  func shared() throws {
    var world = DeltaWorld(seed: 0)
    for _ in 0..<20 { _ = try world.join(.json, .patches) }
    try world.publish(size: 500)
    try world.publish(size: 500)
    try world.publish(size: 500)
    #expect(world.tapes == [1, 1])
    #expect(world.encodes(.json) == 0, "nobody wants the publication as it is")
    try world.check()
  }

  @Test("joins and leaves reach those who take patches")
  func joinsAndLeaves() throws {
    var world = DeltaWorld(seed: 0)
    let subscriber = try world.join(.json, .patches, joinLeave: true)
    try world.publish(size: 500)
    world.tellJoin(of: "eve")
    try world.publish(size: 500)
    #expect(try world.read(subscriber) == [.whole, .patch])
    #expect(try world.others(subscriber) == 1)
    try world.check()
  }

  @Test("who takes patches is not given a part of the channel, whatever the broker says")
  func audience() throws {
    var world = DeltaWorld(seed: 0)
    let subscriber = try world.join(.json, .patches)
    try world.publish(size: 500)
    world.refilter(subscriber)
    #expect(world.tapes == [0, 1])
    try world.publish(size: 500)
    try world.check()
  }
}

/// The link, two event loops' hubs and their subscribers, with a test as the broker.
private struct DeltaWorld {
  enum Kind { case everything, patches, part }
  enum Frame { case whole, patch }

  private struct Subscriber {
    let id: UInt64
    let member: HubMember
    let loop: Int
    let kind: Kind
    var expected: [String] = []
    /// The same as plain frames.
    var expectedBytes: [UInt8] = []
  }

  private static let filter = TagFilter.equal(key: "a", "1")
  private let channel = Fixed.channel
  private let scene = LinkScene()
  private let fanOuts: [FanOut]
  private let hubs: [Hub]
  private let eventLoop = EmbeddedEventLoop()
  private var encoder = FrameEncoder(namespaces: NamespaceTable())
  private var random: SplitMix
  private var subscribers: [Subscriber] = []
  private var gone: [Subscriber] = []
  private var wantsJoinLeave = false
  private var nextID: UInt64 = 0
  private var offset: UInt64 = 0
  private var words: [Int] = []
  private(set) var published = 0
  private(set) var patches = 0

  init(seed: UInt64) {
    random = SplitMix(state: seed)
    fanOuts = (0..<2).map { _ in FanOut(limits: .init(queueBytes: 1 << 24), ring: nil, clock: { 0 }) }
    hubs = fanOuts.map { Hub(fanOut: $0, namespaces: NamespaceTable()) }
    scene.welcome()
  }

  var tapes: [Int] { hubs.map { $0.tapeCount(on: channel) } }
  /// How many payloads the link keeps.
  var bases: Int { scene.link.bases.bytes > 0 ? 1 : 0 }

  func encodes(_ format: WireFormat) -> Int {
    Int(format == .json ? encoder.encodedAsJSON : encoder.encodedAsProtobuf)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1:
      let kinds: [Kind] = [.everything, .patches, .patches, .part]
      _ = try join(
        Bool.random(using: &random) ? .json : .protobuf, kinds[Int.random(in: 0..<4, using: &random)],
        joinLeave: Bool.random(using: &random))
    case 2:
      if let subscriber = subscribers.randomElement(using: &random) { leave(subscriber.id) }
    case 3: try publish(payload: "\(Int.random(in: 0..<1000, using: &random))", isSent: false)
    case 4: tellJoin(of: "eve")
    default: try publish(size: Int.random(in: 100..<1000, using: &random), isSent: false)
    }
    // What stands on the tapes goes out now and then.
    if Int.random(in: 0..<4, using: &random) == 0 { for fanOut in fanOuts { fanOut.runSlice() } }
  }

  mutating func join(_ format: WireFormat, _ kind: Kind, joinLeave: Bool = false) throws -> UInt64 {
    nextID += 1
    let id = nextID
    let subscriber = Subscriber(id: id, member: HubMember(id, format, eventLoop), loop: Int(id % 2), kind: kind)
    scene.submit(
      .subscribe(.init(channel: channel, member: ClientInfo(user: "u", client: "c\(id)"))), tag: id,
      loop: subscriber.loop, format: format, isFiltered: kind == .part, hasDelta: kind == .patches)
    let request = try #require(scene.asks().last)
    scene.answer(request.id, .subscribed(.init(position: .init(epoch: "e", offset: offset))))
    subscribers.append(subscriber)
    wantsJoinLeave = joinLeave
    try perform()
    return id
  }

  mutating func leave(_ id: UInt64) {
    guard let index = subscribers.firstIndex(where: { $0.id == id }) else { return }
    let subscriber = subscribers.remove(at: index)
    // What waits is for a subscriber who stays.
    for fanOut in fanOuts { fanOut.runSlice() }
    hubs[subscriber.loop].detach(subscriber.member.driver, from: channel)
    scene.submit(
      .unsubscribe(.init(channel: channel, member: ClientInfo(user: "u", client: "c\(id)"), keepsInterest: false)),
      tag: id, loop: subscriber.loop, format: subscriber.member.transport.format)
    gone.append(subscriber)
  }

  mutating func leaveAll() {
    for subscriber in subscribers { leave(subscriber.id) }
  }

  /// A payload of which a part differs from the one before.
  mutating func publish(size: Int, isSent: Bool = true) throws {
    while words.count < size / 8 { words.append(Int.random(in: 0..<1000, using: &random)) }
    words.removeLast(words.count - size / 8)
    if let place = words.indices.randomElement(using: &random) {
      words[place] = Int.random(in: 0..<1000, using: &random)
    }
    try publish(payload: "[\"é漢\",\(words.map { "\"\($0)é\"" }.joined(separator: ","))]", isSent: isSent)
  }

  mutating func publish(payload: String, isSent: Bool = true) throws {
    // Without a subscriber the broker sends nothing.
    guard !subscribers.isEmpty else { return offset = 0 }
    offset += 1
    published += 1
    let tags = published % 3 == 0 ? [:] : ["a": "1"]
    var publication = Publication(offset: offset, data: Array(payload.utf8), tags: tags)
    scene.receive(.publication(LinkPublication(channel: channel, publication: publication)))
    publication.offset = 0
    for index in subscribers.indices where subscribers[index].kind != .part || Self.filter.matches(publication) {
      subscribers[index].expected.append(payload)
      subscribers[index].expectedBytes += ClientCodec.frame(
        for: [.push(.publication(channel: channel.string, publication))],
        format: subscribers[index].member.transport.format)
    }
    try perform()
    if isSent { for fanOut in fanOuts { fanOut.runSlice() } }
  }

  func tellJoin(of user: String) {
    let member = ClientInfo(user: user, client: "x")
    for loop in 0..<2 {
      var audience = Audience()
      audience.jsonDelta = true
      audience.protobufDelta = true
      let frames = EncodedFrames(.push(.join(channel: channel.string, member)), for: audience.withoutDelta)
      hubs[loop].deliverPresence(frames, of: member, on: channel)
    }
  }

  /// The session is made to subscribe anew; here it knows of no subscription, and so does nothing.
  func refilter(_ id: UInt64) {
    guard let subscriber = subscribers.first(where: { $0.id == id }) else { return }
    hubs[subscriber.loop].refilter(on: channel, audience: Self.filter) { $0 === subscriber.member.driver }
  }

  // MARK: What subscribers read

  private func reader(_ subscriber: Subscriber) throws -> DeltaReader {
    for fanOut in fanOuts { fanOut.runSlice() }
    var reader = DeltaReader(subscriber.member.transport.format)
    try reader.read(Array(subscriber.member.transport.frames.joined()))
    return reader
  }

  func read(_ id: UInt64) throws -> [Frame] {
    let subscriber = try #require(subscribers.first { $0.id == id })
    return try reader(subscriber).frames.map { $0 ? .patch : .whole }
  }

  func others(_ id: UInt64) throws -> Int {
    try reader(try #require(subscribers.first { $0.id == id })).others
  }

  mutating func check() throws {
    for subscriber in subscribers + gone {
      guard subscriber.kind == .patches else { continue }
      let reader = try reader(subscriber)
      #expect(reader.payloads == subscriber.expected)
      #expect(reader.frames.first != true, "a client has no base for its first publication")
      patches += reader.frames.count { $0 }
    }
    for subscriber in subscribers + gone where subscriber.kind != .patches {
      let frames = Array(subscriber.member.transport.frames.joined())
      #expect(Self.publications(in: frames) == Self.publications(in: subscriber.expectedBytes))
    }
  }

  /// The frames but for those of joins.
  private static func publications(in bytes: [UInt8]) -> [[UInt8]] {
    var (frames, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
    while !rest.isEmpty {
      let length = Array(rest).withUnsafeBytes { ServerFrame.length(of: $0) }
      frames.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return frames.filter { !String(decoding: $0, as: UTF8.self).contains("eve") }
  }

  // MARK: The backbone

  /// What the backbone thread and the event loops do with it.
  private mutating func perform() throws {
    for effect in scene.tells() {
      switch effect {
      case .answer(let source, .subscribed):
        let subscriber = try #require(subscribers.last { $0.id == source.connection })
        var flags: HubFlags = subscriber.kind == .patches ? [.delta, .toldOfLoss] : .toldOfLoss
        if wantsJoinLeave { flags.insert(.joinLeave) }
        hubs[source.loop].attach(
          subscriber.member.driver, to: channel, flags, filter: subscriber.kind == .part ? Self.filter : nil)
      case .deltaBase(let base): encoder.base = base
      case .publication(_, let publication, let audience):
        guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { continue }
        for loop in 0..<2 where audience.includes(loop: loop) { hubs[loop].deliver(frames, on: channel) }
      case .filteredPublication(_, let publication, let audience):
        guard let frames = encoder.frames(of: publication, on: channel, for: audience) else { continue }
        for loop in 0..<2 where audience.includes(loop: loop) {
          hubs[loop].deliver(frames, of: publication, on: channel)
        }
      default: break
      }
    }
  }
}
