import Testing
import Wire

@testable import Gateway

@Suite("Link: subscribers who take patches")
struct LinkDeltaTests {
  let channel = Fixed.channel

  private func subscribe() -> BrokerRequest { .subscribe(.init(channel: channel)) }

  /// Subscribes somebody on loop 0, under the connection's number as tag.
  private func join(
    _ scene: LinkScene, _ tag: UInt64, format: WireFormat = .json, hasDelta: Bool, at offset: UInt64 = 0,
    audience: TagFilter? = nil
  ) throws {
    scene.submit(subscribe(), tag: tag, format: format, hasDelta: hasDelta)
    let request = try #require(scene.asks().last)
    scene.answer(request.id, .subscribed(.init(position: .init(epoch: "e", offset: offset), audience: audience)))
    _ = scene.tells()
  }

  private func leave(_ scene: LinkScene, _ tag: UInt64, format: WireFormat = .json) {
    scene.submit(.unsubscribe(.init(channel: channel, member: nil, keepsInterest: false)), tag: tag, format: format)
  }

  private func publish(_ scene: LinkScene, _ offset: UInt64, _ text: String) -> [GatewayLinkEffect] {
    let publication = Publication(offset: offset, data: Array(text.utf8))
    scene.receive(.publication(LinkPublication(channel: channel, publication: publication)))
    return scene.tells()
  }

  /// The payload that goes before a publication as a base, and whom the publication is for.
  private func handed(_ effects: [GatewayLinkEffect]) throws -> (base: String?, Audience) {
    var base: String?
    for effect in effects {
      switch effect {
      case .deltaBase(let bytes): base = String(decoding: bytes, as: UTF8.self)
      case .publication(_, _, let audience), .filteredPublication(_, _, let audience): return (base, audience)
      default: break
      }
    }
    throw NotHanded()
  }

  private struct NotHanded: Error {}

  @Test("each publication goes with the payload before it, from the second on that somebody takes patches of")
  func bases() throws {
    let scene = LinkScene()
    scene.welcome()
    try join(scene, 1, hasDelta: false)
    #expect(try handed(publish(scene, 1, "one")).base == nil)
    try join(scene, 2, hasDelta: true, at: 1)
    #expect(try handed(publish(scene, 2, "two")).base == nil)
    #expect(try handed(publish(scene, 3, "three")).base == "two")
    #expect(try handed(publish(scene, 4, "four")).base == "three")
    #expect(scene.link.bases.bytes == 4)
    leave(scene, 2)
    #expect(scene.link.bases.bytes == 0)
    #expect(try handed(publish(scene, 5, "five")).base == nil)
    try join(scene, 3, hasDelta: true, at: 5)
    #expect(try handed(publish(scene, 6, "six")).base == nil, "what is known is from before it was away")
  }

  @Test("only the encodings that somebody wants are made")
  func audiences() throws {
    let scene = LinkScene()
    scene.welcome()
    try join(scene, 1, hasDelta: true)
    var (_, audience) = try handed(publish(scene, 1, "one"))
    #expect(
      [audience.json, audience.protobuf, audience.jsonDelta, audience.protobufDelta] == [false, false, true, false])
    try join(scene, 2, format: .protobuf, hasDelta: true, at: 1)
    try join(scene, 3, hasDelta: false, at: 1)
    (_, audience) = try handed(publish(scene, 2, "two"))
    #expect(
      [audience.json, audience.protobuf, audience.jsonDelta, audience.protobufDelta] == [true, false, true, true])
    leave(scene, 1)
    leave(scene, 2, format: .protobuf)
    (_, audience) = try handed(publish(scene, 3, "three"))
    #expect(
      [audience.json, audience.protobuf, audience.jsonDelta, audience.protobufDelta] == [true, false, false, false])
  }

  @Test("who may see only a part of the channel gets no patches, though it asked for them")
  func audienceOfApp() throws {
    let scene = LinkScene()
    scene.welcome()
    try join(scene, 1, hasDelta: true, audience: .equal(key: "a", "1"))
    let (_, audience) = try handed(publish(scene, 1, "one"))
    #expect(audience.json && !audience.hasDelta)
    leave(scene, 1)
    #expect(scene.link.channels[channel] == nil)
  }

  @Test("the bases of all channels together have a limit; what finds no room is followed by a whole publication")
  func limit() throws {
    let scene = LinkScene { $0.deltaBytes = 5 }
    scene.welcome()
    try join(scene, 1, hasDelta: true)
    _ = publish(scene, 1, "12345")
    #expect(scene.link.bases.bytes == 5)
    #expect(try handed(publish(scene, 2, "123456")).base == "12345")
    #expect(scene.link.bases.bytes == 0)
    #expect(try handed(publish(scene, 3, "123")).base == nil)
    #expect(try handed(publish(scene, 4, "1234")).base == "123")
  }

  @Test("a subscribe that fails, or is given up, leaves nothing behind")
  func failures() throws {
    let scene = LinkScene { $0.requestTimeout = 100 }
    scene.welcome()
    scene.submit(subscribe(), tag: 1, hasDelta: true)
    let request = try #require(scene.asks().last)
    scene.answer(request.id, .failed(.internalError))
    scene.submit(subscribe(), tag: 2, hasDelta: true)
    #expect(scene.link.deltaUnderWay.count == 1)
    scene.pass(200)
    #expect(scene.link.deltaUnderWay.isEmpty)
  }

  @Test("what was missed while the link was down goes on from the payload before it")
  func resync() throws {
    let scene = LinkScene()
    scene.welcome()
    try join(scene, 1, hasDelta: true)
    _ = publish(scene, 1, "one")
    scene.reopen()
    let request = try #require(scene.asks().first)
    scene.answer(
      request.id,
      .subscribed(
        .init(
          position: .init(epoch: "e", offset: 3), recovered: true,
          publications: [Publication(offset: 2, data: [0x32]), Publication(offset: 3, data: [0x33])])))
    let bases = scene.tells().compactMap { effect -> String? in
      if case .deltaBase(let base) = effect { String(decoding: base, as: UTF8.self) } else { nil }
    }
    #expect(bases == ["one", "2"])
  }
}
