import Auth
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Hub")
struct HubTests {
  let fanOut = FanOut(limits: .init(queueBytes: 100), ring: nil, clock: { 0 })
  let hub: Hub
  let loop = EmbeddedEventLoop()
  let a = Fixed.channel

  init() { hub = Hub(fanOut: fanOut, namespaces: NamespaceTable()) }

  private func deliver(_ frames: EncodedFrames, on channel: ChannelName) {
    hub.deliver(frames, on: channel)
    fanOut.runSlice()
  }

  private func member(_ id: UInt64, format: WireFormat = .json) -> HubMember { HubMember(id, format, loop) }

  private func frames(_ text: String) -> EncodedFrames { EncodedFrames(json: Array(text.utf8), protobuf: nil) }

  @Test("a frame goes to each subscriber once, in its encoding, and to nobody who left")
  func deliver() {
    let json = member(1)
    let protobuf = member(2, format: .protobuf)
    let gone = member(3)
    for member in [json, protobuf, gone] { hub.attach(member.driver, to: a, []) }
    #expect(hub.subscriptions == 3)
    hub.detach(gone.driver, from: a)
    hub.detach(gone.driver, from: a)
    #expect(hub.subscriptions == 2)
    deliver(EncodedFrames(json: [1], protobuf: [2]), on: a)
    deliver(EncodedFrames(json: nil, protobuf: [3]), on: a)
    #expect(json.transport.frames == [[1]])
    #expect(protobuf.transport.frames == [[2], [3]])
    #expect(gone.transport.frames.isEmpty)
  }

  @Test("whoever leaves takes nobody else's place", arguments: 0..<4)
  func swapRemove(leaver: Int) {
    let members = (0..<4).map { member(UInt64($0)) }
    for member in members { hub.attach(member.driver, to: a, []) }
    hub.detach(members[leaver].driver, from: a)
    deliver(frames("1"), on: a)
    hub.detach(members[(leaver + 1) % 4].driver, from: a)
    deliver(frames("2"), on: a)
    let counts = members.indices.map { members[$0].transport.frames.count }
    var expected = [2, 2, 2, 2]
    expected[leaver] = 0
    expected[(leaver + 1) % 4] = 1
    #expect(counts == expected)
  }

  @Test("each round starts with another subscriber")
  func rotation() {
    let members = (0..<3).map { member(UInt64($0)) }
    var order: [UInt64] = []
    for member in members {
      hub.attach(member.driver, to: a, [])
      member.transport.onFrame = { order.append(member.transport.id) }
    }
    for _ in 0..<3 { deliver(frames("1"), on: a) }
    #expect(order.count == 9)
    #expect(Set([order[0], order[3], order[6]]) == [0, 1, 2])
    for round in 0..<3 { #expect(Set(order[(round * 3)..<(round * 3 + 3)]) == [0, 1, 2]) }
  }

  @Test("a subscriber that leaves while a frame is handed out disturbs nobody")
  func leavingDuringDelivery() {
    let members = (0..<5).map { member(UInt64($0)) }
    for member in members {
      hub.attach(member.driver, to: a, [])
      member.transport.onFrame = { [hub, a] in hub.detach(member.driver, from: a) }
    }
    deliver(frames("1"), on: a)
    deliver(frames("2"), on: a)
    #expect(members.allSatisfy { $0.transport.frames.count == 1 })
  }

  @Test("joins go to those who want them, a loss to those who count")
  func flags() {
    let plain = member(1)
    let joins = member(2)
    hub.attach(plain.driver, to: a, [])
    hub.attach(joins.driver, to: a, .joinLeave)
    hub.deliverPresence(frames("j"), of: ClientInfo(user: "u", client: "c"), on: a)
    fanOut.runSlice()
    #expect(plain.transport.frames.isEmpty)
    #expect(joins.transport.frames == [[0x6A]])
  }

  @Test("held frames wait for their session, keep their order, and are written before what comes after")
  func held() {
    let held = member(1)
    let other = member(2)
    hub.attach(held.driver, to: a, .held)
    hub.attach(other.driver, to: a, [])
    deliver(frames("1"), on: a)
    deliver(frames("2"), on: a)
    #expect(held.transport.frames.isEmpty)
    #expect(other.transport.frames.count == 2)
    hub.releaseHeld(for: held.driver)
    deliver(frames("3"), on: a)
    hub.releaseHeld(for: held.driver)
    #expect(held.transport.frames == [[0x31, 0x32], [0x33]])
  }

  @Test("held frames of a channel that was left are dropped, and no longer count")
  func heldAndLeft() throws {
    let held = member(1)
    let b = try ChannelName("b")
    hub.attach(held.driver, to: a, .held)
    hub.attach(held.driver, to: b, .held)
    deliver(frames(String(repeating: "a", count: 80)), on: a)
    deliver(frames("b"), on: b)
    hub.detach(held.driver, from: a)
    deliver(frames(String(repeating: "b", count: 80)), on: b)
    #expect(held.transport.closedWith == nil)
    hub.releaseHeld(for: held.driver)
    #expect(held.transport.frames.map(\.count) == [81])
  }

  @Test("what is held is bounded: beyond it the client is too slow")
  func heldLimit() {
    let held = member(1)
    held.driver.opened()
    hub.attach(held.driver, to: a, .held)
    deliver(frames(String(repeating: "a", count: 100)), on: a)
    #expect(held.transport.closedWith == nil)
    deliver(frames("a"), on: a)
    #expect(held.transport.closedWith == .slow)
  }

  @Test("a hub keeps nobody who left")
  func release() {
    weak var driver: SessionDriver?
    do {
      let held = member(1)
      driver = held.driver
      hub.attach(held.driver, to: a, .held)
      deliver(frames("1"), on: a)
      hub.detach(held.driver, from: a)
      hub.discardHeld(for: held.driver)
      held.driver.closed()
    }
    #expect(driver == nil)
  }
}

/// A session that the hub writes to.
final class HubMember {
  let transport: HubTransport
  let host = RecordingHost()
  let driver: SessionDriver

  init(_ id: UInt64, _ format: WireFormat, _ loop: any EventLoop, packing: Packing = .frames) {
    transport = HubTransport(id: id, format: format, eventLoop: loop, packing: packing)
    driver = SessionDriver(
      transport: transport, host: host,
      rules: SessionRules(SessionConfiguration(), namespaces: NamespaceTable()),
      identity: .init(client: "c\(id)", session: "s"), firstPingDelayMilliseconds: 10_000)
  }
}

final class HubTransport: Outlet, SessionTransport {
  let format: WireFormat
  let eventLoop: any EventLoop
  let packing: Packing
  var frames: [[UInt8]] = []
  var closedWith: DisconnectCode?
  var onFrame: () -> Void = {}

  init(id: UInt64, format: WireFormat, eventLoop: any EventLoop, packing: Packing = .frames) {
    self.format = format
    self.eventLoop = eventLoop
    self.packing = packing
    super.init(id: id, descriptor: -1)
  }

  override func transmit(_ bytes: UnsafeRawBufferPointer) {
    frames.append(Array(bytes))
    onFrame()
  }
  override func closeSlow() {
    closedWith = .slow
    end()
  }
  override func abandon() { end() }

  func send(_ frame: [UInt8]) {
    frames.append(frame)
    onFrame()
  }
  func close(_ code: DisconnectCode) { closedWith = code }
  func pauseReading() {}
  func resumeReading() {}
  var progress: PeerProgress? { nil }
}
