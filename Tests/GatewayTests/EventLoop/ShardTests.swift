import Foundation
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway
@testable import ZeroMQ

@Suite("Shard")
struct ShardTests {
  @Test(
    "what is handed over while a slice's rest waits for its turn goes out with that rest, not in a slice of its own")
  func oneSliceForManyHandovers() throws {
    let scene = try ShardScene(members: 100)
    scene.take([1])
    #expect(scene.egress.turns == 1)
    let first = scene.reached()
    #expect(first > 0 && first < 100)
    for number in 2...20 { scene.take([UInt8(number)]) }
    #expect(scene.reached() == first)
    #expect(scene.egress.turns == 1)
    scene.egress.runToEnd()
    #expect(scene.reached() == 100)
    #expect(scene.members.allSatisfy { $0.received == Array(1...20) })
  }

  @Test("what is handed over at rest goes out at once")
  func atOnce() throws {
    let scene = try ShardScene(members: 1)
    scene.take([7])
    scene.members[0].read(scene.egress)
    #expect(scene.members[0].received == [7])
    #expect(scene.egress.turns == 0)
  }

  @Test("what a user may see changes where it stands among the publications, or the subscription ends there")
  func audience() throws {
    let scene = try ShardScene(members: 1)
    let red = TagFilter.equal(key: "color", "red")
    let member = scene.members[0]
    let driver = scene.shard.open(member)
    driver.received(ByteBuffer(string: #"{"id":1,"connect":{}}"#))
    driver.received(ByteBuffer(string: #"{"id":2,"subscribe":{"channel":"b"}}"#))
    driver.readCompleted()
    let b = channel("b")
    // Nobody has signed in, so that the user is the empty one.
    func change(_ user: String, _ audience: TagFilter?, _ admission: LinkAudience.Admission = .admitted) -> Handover {
      .audience(LinkAudience(channel: b, user: user, admission, audience: audience))
    }
    func frames(_ number: UInt8, color: String? = nil) -> Handover {
      let frames = EncodedFrames(json: [number], protobuf: nil)
      let publication = Publication(data: [number], tags: color.map { ["color": $0] } ?? [:])
      return color == nil ? .frames(b, frames) : .filteredFrames(b, frames, of: publication)
    }
    scene.shard.carryOut([.answer(connection: driver.id, tag: 1, .at(0))])
    scene.egress.runToEnd()
    member.read(scene.egress)
    let before = member.received.count
    try #require(before > 0)
    scene.shard.carryOut([
      frames(1), change("ann", red), frames(2), change("", red), frames(3, color: "blue"), frames(4, color: "red"),
      change("", nil), frames(5),
    ])
    scene.egress.runToEnd()
    member.read(scene.egress)
    try #require(Array(member.received[before...]) == [1, 2, 4, 5])
    scene.shard.carryOut([change("", nil, .refused), frames(6)])
    scene.egress.runToEnd()
    member.read(scene.egress)
    let end = ClientCodec.frame(for: [.push(.unsubscribe(channel: "b", .server))], format: .json)
    #expect(Array(member.received[(before + 4)...]) == end)
  }

  @Test("the backbone is woken once for all requests of a turn, and in between when they are many")
  func wakesOnce() throws {
    let scene = try ShardScene(members: 1)
    for _ in 0..<3 {
      scene.publish()
      scene.shard.requestsComplete()
    }
    #expect(scene.endsOfTurn.count == 1)
    scene.endTurn()
    #expect(scene.endsOfTurn.isEmpty)
    scene.shard.requestsComplete()
    #expect(scene.endsOfTurn.isEmpty)
    scene.publish()
    scene.shard.requestsComplete()
    #expect(scene.endsOfTurn.count == 1)
  }

  @Test("while the broker is behind, whoever asks it for anything is read later; a subscription may always end")
  func held() throws {
    let requests: [BrokerRequest] = [
      .publish(.init(channel: Fixed.channel, data: [1])),
      .edit(.init(channel: Fixed.channel, offset: 1, data: nil, editor: nil)),
      .call(.init(.clique(.invisible(true)), caller: ClientInfo(user: "u", client: "c"))),
      .presence(Fixed.channel),
    ]
    let ending = BrokerRequest.unsubscribe(.init(channel: Fixed.channel, member: nil, keepsInterest: false))
    let scene = try ShardScene(members: 0)
    let transports = requests.map { _ in RecordingTransport(eventLoop: scene.egress.loop) }
    for (request, transport) in zip(requests, transports) {
      let driver = scene.shard.open(transport)
      scene.shard.request(request, tag: 1, terms: nil, from: driver)
      #expect(!transport.isPaused)
      scene.shard.carryOut([.holdClients(true)])
      scene.shard.request(ending, tag: 2, terms: nil, from: driver)
      #expect(!transport.isPaused)
      scene.shard.request(request, tag: 3, terms: nil, from: driver)
      #expect(transport.isPaused, "\(request)")
      scene.shard.carryOut([.holdClients(false)])
      #expect(!transport.isPaused)
    }
  }

  @Test("reads beyond what one connection may have under way wait, and its socket is read later until they go")
  func reads() throws {
    let scene = try ShardScene(members: 0)
    let transport = RecordingTransport(eventLoop: scene.egress.loop)
    let driver = scene.shard.open(transport)
    let most = UInt64((2 << 20) / ReadAdmission.Limits().small)
    for tag in 1...(most + 3) {
      scene.shard.request(.history(.init(channel: Fixed.channel, limit: 1)), tag: tag, terms: nil, from: driver)
      #expect(transport.isPaused == (tag > most))
    }
    let ending = BrokerRequest.unsubscribe(.init(channel: Fixed.channel, member: nil, keepsInterest: false))
    scene.shard.request(ending, tag: 90, terms: nil, from: driver)
    scene.shard.request(.publish(.init(channel: Fixed.channel, data: [1])), tag: 91, terms: nil, from: driver)
    func answer(_ tag: UInt64, _ response: BrokerResponse) {
      scene.shard.carryOut([.answer(connection: driver.id, tag: tag, response)])
    }
    let page = BrokerResponse.history(.init(position: .init(epoch: "e", offset: 0)))
    answer(1, page)
    answer(2, .tooLarge)
    // The second is asked again, as a large one, and the others wait behind it.
    #expect(transport.isPaused)
    for tag in 3...most { answer(tag, page) }
    #expect(!transport.isPaused)
    #expect(scene.posted() == Array(1...most) + [90, most + 1, 2, most + 2, most + 3, 91])
  }

  @Test("what a connection asked for before it was cut goes nowhere")
  func cut() throws {
    let scene = try ShardScene(members: 0)
    let transport = RecordingTransport(eventLoop: scene.egress.loop)
    let driver = scene.shard.open(transport)
    for tag in 1...99 as ClosedRange<UInt64> {
      scene.shard.request(.presence(Fixed.channel), tag: tag, terms: nil, from: driver)
    }
    let under = scene.posted()
    #expect(under.count == (2 << 20) / ReadAdmission.Limits().small)
    driver.closed()
    for tag in under {
      scene.shard.carryOut([.answer(connection: driver.id, tag: tag, tag % 2 == 0 ? .presence([]) : .tooLarge)])
    }
    #expect(scene.posted() == [])
  }

  @Test("whoever asks faster than the backbone thread takes is read later, until it has taken half of it")
  func ahead() throws {
    let scene = try ShardScene(members: 0, windowBytes: 4 * (256 + 1000))
    let transport = RecordingTransport(eventLoop: scene.egress.loop)
    let driver = scene.shard.open(transport)
    func publish() {
      let request = BrokerRequest.publish(.init(channel: Fixed.channel, data: Array(repeating: 1, count: 1000)))
      scene.shard.request(request, tag: 1, terms: nil, from: driver)
    }
    for _ in 0..<5 { publish() }
    #expect(!transport.isPaused)
    publish()
    #expect(transport.isPaused)
    // The mark that comes back stood behind the third request, so that three others are still to be taken.
    scene.shard.carryOut([.requestsTaken])
    #expect(transport.isPaused)
    publish()
    scene.shard.carryOut([.holdClients(true), .requestsTaken])
    #expect(transport.isPaused, "the link holds too")
    scene.shard.carryOut([.holdClients(false)])
    #expect(!transport.isPaused)
  }

  @Test("a full mailbox refuses nobody: what was read is taken, and whoever asks is read later")
  func fullMailbox() throws {
    let scene = try ShardScene(members: 0, mailboxBytes: 3 * (256 + 1000))
    let transports = (0..<4).map { _ in RecordingTransport(eventLoop: scene.egress.loop) }
    let request = BrokerRequest.publish(.init(channel: Fixed.channel, data: Array(repeating: 1, count: 1000)))
    for transport in transports {
      let driver = scene.shard.open(transport)
      scene.shard.request(request, tag: 1, terms: nil, from: driver)
      #expect(transport.frames.isEmpty, "no error")
    }
    #expect(transports.map(\.isPaused) == [false, false, false, true])
    scene.shard.carryOut([.requestsTaken])
    #expect(transports.map(\.isPaused) == [false, false, false, false])
  }

  @Test("one different filter too many is refused with 106; one that others have is not, and room comes back")
  func filterLimit() throws {
    let scene = try ShardScene(members: 0, filters: 2)
    let members = (0..<5).map { _ in scene.egress.member() }
    let drivers = members.map { scene.shard.open($0) }
    func ask(_ index: Int, _ color: String) -> String {
      let filter = #"{"key":"color","cmp":"eq","val":"\#(color)"}"#
      drivers[index].received(ByteBuffer(string: #"{"id":2,"subscribe":{"channel":"b","tf":\#(filter)}}"#))
      drivers[index].readCompleted()
      return said(index)
    }
    func said(_ index: Int) -> String {
      members[index].read(scene.egress)
      return String(decoding: members[index].received, as: UTF8.self)
    }
    func errors(_ text: String) -> Int { text.components(separatedBy: #""code":106"#).count - 1 }
    for driver in drivers {
      driver.received(ByteBuffer(string: #"{"id":1,"connect":{}}"#))
      driver.readCompleted()
    }
    // The answers to the first two are still to come: their filters count already.
    #expect(!ask(0, "red").contains("error"))
    #expect(!ask(1, "blue").contains("error"))
    #expect(ask(2, "green").contains(#""code":106"#))
    #expect(!ask(3, "red").contains("error"))
    for index in [0, 3] { scene.shard.carryOut([.answer(connection: drivers[index].id, tag: 1, .at(0))]) }
    #expect(ask(4, "black").contains(#""code":106"#))
    #expect(scene.refusals.count(.channelFilters) == 2)
    // A subscribe that fails leaves its filter's place, and so does a connection that ends.
    scene.shard.carryOut([.answer(connection: drivers[1].id, tag: 1, .failed(.internalError))])
    #expect(errors(ask(2, "green")) == 1, "the one of before")
    #expect(errors(ask(4, "black")) == 2)
    for index in [0, 3] { drivers[index].closed() }
    #expect(errors(ask(4, "black")) == 2)
  }

  @Test("an order reaches the connections that it means, and is confirmed behind what it has them ask")
  func orders() throws {
    let scene = try ShardScene(members: 0)
    let members = (0..<2).map { _ in scene.egress.member() }
    let drivers = members.map { scene.shard.open($0) }
    for driver in drivers {
      driver.received(ByteBuffer(string: #"{"id":1,"connect":{}}"#))
      driver.readCompleted()
    }
    func said(_ index: Int) -> String {
      members[index].read(scene.egress)
      return String(decoding: members[index].received, as: UTF8.self)
    }
    let before = said(1)
    let target = SessionTarget(client: drivers[0].client)
    let b = channel("b")
    let orders: [SessionOrder] = [
      .subscribe(target, OrderedSubscription(channel: b, data: Array("7".utf8))), .refresh(target, .at(1_700_000_060)),
    ]
    scene.shard.carryOut([
      .sessionOrder(OrderNumber(partition: 0, id: 8), orders[0]),
      .sessionOrder(OrderNumber(partition: 2, id: 8), orders[1]),
    ])
    #expect(scene.postedInOrder() == ["subscribe b", "obeyed 8 of 0", "obeyed 8 of 2"])
    scene.shard.carryOut([
      .answer(connection: drivers[0].id, tag: 1, .at(0)), .frames(b, EncodedFrames(json: [0x21], protobuf: nil)),
    ])
    scene.egress.runToEnd()
    let heard = [
      #"{"push":{"refresh":{"expires":true,"ttl":60}}}"#, #"{"push":{"channel":"b","subscribe":{"data":7}}}"#, "!",
    ]
    var rest = said(0)[...]
    for text in heard {
      let found = try #require(rest.range(of: text), "\(text) in \(rest)")
      rest = rest[found.upperBound...]
    }
    #expect(said(1) == before)
  }

  @Test("a survey finds what is on the loop, and goes on pass by pass; who has signed in counts until it is gone")
  func survey() throws {
    let scene = try ShardScene(members: 3)
    let driver = scene.shard.open(RecordingTransport(eventLoop: scene.egress.loop))
    #expect(scene.census.numbers == (0, 0))
    driver.received(ByteBuffer(string: #"{"id":1,"connect":{}}"#))
    driver.readCompleted()
    #expect(scene.census.numbers == (1, 1))
    let limit = ChannelLimit(channels: 10, bytes: .max)
    let found = FoundBox()
    scene.shard.carryOut([.survey(found.survey(.channels(.everything, limit)))])
    #expect(found.all == [.channels(ChannelCounts([.init(Fixed.channel, clients: 3)]))])
    let rooms = (0..<SurveyWalks.step).map { channel("room:\($0)") }
    for room in rooms { scene.shard.attach(driver, to: room, [], HubFilters()) }
    let turns = scene.egress.turns
    scene.shard.carryOut([.survey(found.survey(.channels(.everything, limit)))])
    #expect(found.all.count == 1 && scene.egress.turns == turns + 1)
    scene.shard.runSlice()
    #expect(found.all.count == 2 && scene.egress.turns == turns + 1)
    for room in rooms { scene.shard.detach(driver, from: room) }
    driver.closed()
    #expect(scene.census.numbers == (0, 0))
  }

  @Test("hand-overs that wait for the event loop are taken together, and none after the mailbox has closed")
  func mailbox() throws {
    let scene = try ShardScene(members: 1)
    let mailbox = ShardMailbox(
      eventLoop: scene.egress.loop, shard: NIOLoopBound(scene.shard, eventLoop: scene.egress.loop), load: scene.load)
    func hand(_ number: UInt8) {
      mailbox.hand(over: [.frames(Fixed.channel, EncodedFrames(json: [number], protobuf: nil))], bytes: 1)
    }
    for number in UInt8(1)...3 { hand(number) }
    #expect(mailbox.queuedBytes == 3)
    #expect(scene.load.isHandoverWaiting)
    scene.egress.loop.run()
    #expect(mailbox.queuedBytes == 0)
    #expect(!scene.load.isHandoverWaiting)
    hand(4)
    mailbox.close()
    hand(5)
    #expect(mailbox.queuedBytes == 1)
    scene.egress.loop.run()
    #expect(mailbox.queuedBytes == 0)
    scene.egress.runToEnd()
    scene.members[0].read(scene.egress)
    #expect(scene.members[0].received == [1, 2, 3, 4])
  }
}
