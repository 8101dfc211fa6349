import NIOEmbedded
import Testing
import Wire

@testable import Gateway

@Suite("Hub, filters")
struct HubFilterTests {
  let fanOut = FanOut(limits: .init(queueBytes: 1 << 20), ring: nil, clock: { 0 })
  let hub: Hub
  let loop = EmbeddedEventLoop()
  let a = Fixed.channel
  let red = TagFilter.equal(key: "color", "red")
  let dear = TagFilter.number(key: "price", .greater, "10")

  init() { hub = Hub(fanOut: fanOut, namespaces: NamespaceTable()) }

  private func member(_ id: UInt64, format: WireFormat = .json) -> HubMember { HubMember(id, format, loop) }

  private func refilter(_ members: HubMember..., audience: TagFilter?) {
    hub.refilter(on: a, audience: audience) { session in members.contains { $0.driver === session } }
  }

  /// A publication that passes these filters alone.
  private func deliver(_ text: String, to filters: [TagFilter]) {
    hub.deliver(EncodedFrames(json: Array(text.utf8), protobuf: [9]), of: publication(passing: filters), on: a)
    fanOut.runSlice()
  }

  private func publication(passing filters: [TagFilter]) -> Publication {
    var tags: [String: String] = [:]
    if filters.contains(red) { tags["color"] = "red" }
    if filters.contains(dear) { tags["price"] = "11" }
    return Publication(data: [0x31], tags: tags)
  }

  @Test("a frame goes to those without a filter and to those whose filter it passed, once each")
  func deliver() {
    let members = (1...4).map { member($0) }
    let protobuf = member(5, format: .protobuf)
    hub.attach(members[0].driver, to: a, [])
    hub.attach(members[1].driver, to: a, [], filter: red)
    hub.attach(members[2].driver, to: a, [], filter: dear)
    hub.attach(members[3].driver, to: a, [], filter: red, audience: dear)
    hub.attach(protobuf.driver, to: a, [], audience: red)
    deliver("1", to: [red])
    deliver("2", to: [red, dear])
    deliver("3", to: [dear])
    deliver("4", to: [])
    hub.deliver(EncodedFrames(json: [0x35], protobuf: nil), on: a)
    fanOut.runSlice()
    #expect(members.map(\.text) == ["12345", "12", "23", "2"])
    #expect(protobuf.transport.frames == [[9], [9]])
  }

  @Test("equal filters share a tape, whoever asked for them")
  func shared() {
    let members = (1...3).map { member($0) }
    hub.attach(members[0].driver, to: a, [], filter: red)
    hub.attach(members[1].driver, to: a, [], audience: .equal(key: "color", "red"))
    hub.attach(members[2].driver, to: a, [], filter: red, audience: red)
    #expect(hub.tapeCount(on: a) == 1)
    deliver("1", to: [red])
    deliver("2", to: [red])
    #expect(members.map(\.text) == ["12", "12", "12"])
    for member in members { hub.detach(member.driver, from: a) }
    #expect(hub.tapeCount(on: a) == 0)
  }

  @Test("whoever leaves gets no more, and a filter that comes back is found again")
  func leaving() {
    let (first, second) = (member(1), member(2))
    hub.attach(first.driver, to: a, [], filter: red)
    deliver("1", to: [red])
    hub.detach(first.driver, from: a)
    deliver("2", to: [red])
    hub.attach(second.driver, to: a, [], filter: red)
    deliver("3", to: [red])
    hub.attach(first.driver, to: a, [])
    deliver("4", to: [red])
    hub.detach(second.driver, from: a)
    deliver("5", to: [red])
    #expect([first.text, second.text] == ["145", "34"])
  }

  @Test("joins and leaves are held against what the server lets see, not against what the client wants")
  func presence() {
    let ofAnn = TagFilter.equal(key: "user", "ann")
    let (wants, sees, plain) = (member(1), member(2), member(3))
    hub.attach(wants.driver, to: a, .joinLeave, filter: red)
    hub.attach(sees.driver, to: a, .joinLeave, filter: red, audience: ofAnn)
    hub.attach(plain.driver, to: a, .joinLeave)
    for (user, text) in [("ann", "a"), ("bob", "b")] {
      hub.deliverPresence(
        EncodedFrames(json: Array(text.utf8), protobuf: nil), of: ClientInfo(user: user, client: "c"), on: a)
      fanOut.runSlice()
    }
    #expect([wants.text, sees.text, plain.text] == ["ab", "a", "ab"])
    for member in [wants, sees, plain] { hub.detach(member.driver, from: a) }
    #expect(hub.tapeCount(on: a) == 0)
  }

  @Test("held frames of a filtered subscriber wait for their session")
  func held() {
    let held = member(1)
    hub.attach(held.driver, to: a, .held, filter: red)
    deliver("1", to: [red])
    deliver("2", to: [])
    deliver("3", to: [red])
    #expect(held.transport.frames.isEmpty)
    hub.releaseHeld(for: held.driver)
    deliver("4", to: [red])
    #expect(held.text == "134")
  }

  // MARK: Another filter

  @Test("a user's sessions change over to another filter with nothing missed and nothing twice")
  func refilter() {
    let (phone, tablet, other) = (member(1), member(2), member(3))
    hub.attach(phone.driver, to: a, .joinLeave)
    hub.attach(tablet.driver, to: a, [], filter: dear)
    hub.attach(other.driver, to: a, [])
    deliver("1", to: [dear])
    // Publication 2 is on the tape, and on its way, when the filter changes.
    hub.deliver(EncodedFrames(json: [0x32], protobuf: nil), of: publication(passing: [dear]), on: a)
    refilter(phone, tablet, audience: red)
    deliver("3", to: [red])
    deliver("4", to: [dear])
    deliver("5", to: [dear, red])
    refilter(phone, tablet, audience: nil)
    refilter(phone, tablet, audience: nil)
    deliver("6", to: [dear])
    deliver("7", to: [])
    #expect([phone.text, tablet.text, other.text] == ["123567", "1256", "1234567"])
    hub.deliverPresence(EncodedFrames(json: [0x6A], protobuf: nil), of: ClientInfo(user: "x", client: "x"), on: a)
    fanOut.runSlice()
    #expect([phone.text, tablet.text] == ["123567j", "1256"])
    for member in [phone, tablet, other] { hub.detach(member.driver, from: a) }
    #expect(hub.tapeCount(on: a) == 0)
  }

  @Test("a held session changes over too, and gets what came before in front of what came after")
  func refilterHeld() {
    let held = member(1)
    hub.attach(held.driver, to: a, [.held, .joinLeave])
    deliver("1", to: [])
    refilter(held, audience: red)
    deliver("2", to: [red])
    deliver("x", to: [])
    refilter(held, audience: dear)
    deliver("3", to: [dear])
    #expect(held.text.isEmpty)
    hub.releaseHeld(for: held.driver)
    deliver("4", to: [dear])
    #expect(held.text == "1234")
    #expect(held.transport.laggingBytes == 0)
  }

  @Test("a held session that changed over and then left gets nothing of it")
  func refilterHeldAndLeft() {
    let held = member(1)
    for leaves in [true, false] {
      hub.attach(held.driver, to: a, .held)
      deliver("1", to: [])
      refilter(held, audience: red)
      deliver("2", to: [red])
      if leaves { hub.detach(held.driver, from: a) } else { hub.discardHeld(for: held.driver) }
      #expect(held.transport.laggingBytes == (leaves ? 0 : 1))
      hub.detach(held.driver, from: a)
      hub.releaseHeld(for: held.driver)
      #expect(held.text.isEmpty && held.transport.laggingBytes == 0)
    }
  }

  @Test("a subscriber that leaves while it is handed what waited disturbs nobody")
  func leavingDuringRefilter() {
    let members = (1...3).map { member($0) }
    for member in members {
      hub.attach(member.driver, to: a, [])
      member.transport.onFrame = { [hub, a] in hub.detach(member.driver, from: a) }
    }
    hub.deliver(EncodedFrames(json: [0x31], protobuf: nil), on: a)
    hub.refilter(on: a, audience: red) { _ in true }
    deliver("2", to: [red])
    #expect(members.map(\.text) == ["1", "1", "1"])
    #expect(hub.tapeCount(on: a) == 0)
  }
}

extension HubMember {
  var text: String { String(decoding: transport.frames.joined(), as: UTF8.self) }
}
