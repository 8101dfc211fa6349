import Foundation
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway
@testable import ZeroMQ

/// An event loop's shard whose sends go to real sockets; each look at the clock takes 100 µs.
final class ShardScene {
  let egress: EgressScene
  let shard: Shard
  let members: [EgressMember]
  let load: ShardLoad
  let refusals = Refusals(logger: Logger(label: "test"))
  let census = ClientCensus()
  private let turn: TurnEnds
  private let uplink: Mailbox<UplinkMessage>

  init(members count: Int, windowBytes: Int = 1 << 20, mailboxBytes: Int = 1 << 20, filters: Int = 1000) throws {
    var now: UInt64 = 0
    egress = try EgressScene(ring: false, slice: 250_000) {
      now += 100_000
      return now
    }
    let uplink = Mailbox<UplinkMessage>(capacity: mailboxBytes)
    self.uplink = uplink
    load = ShardLoad(uplink: uplink)
    let turn = TurnEnds()
    self.turn = turn
    var configuration = SessionConfiguration()
    configuration.allowAnonymous = true
    configuration.maximumFiltersPerChannel = filters
    let namespaces = NamespaceTable(withoutNamespace: .open)
    shard = Shard(
      loopIndex: 0, verifier: FixedVerifier(user: ""), census: census, refusals: refusals,
      rules: SessionRules(configuration, namespaces: namespaces), uplink: uplink,
      windowBytes: windowBytes, reads: .init(), requestTimeout: 10_000, load: load, fanOut: egress.fanOut,
      clock: { SessionTime(monotonic: 0, wall: 1_700_000_000) }, atTurnsEnd: { turn.works.append($0) })
    members = (0..<count).map { [egress] _ in egress.member() }
    for member in members { shard.attach(member.driver, to: Fixed.channel, [], HubFilters()) }
  }

  /// Somebody who is nobody in particular, and is in.
  func signIn(_ id: UInt64) -> SessionDriver {
    let driver = shard.open(RecordingTransport(eventLoop: egress.loop, id: id))
    driver.received(ByteBuffer(string: #"{"id":1,"connect":{}}"#))
    driver.readCompleted()
    return driver
  }

  var endsOfTurn: [() -> Void] { turn.works }

  func endTurn() {
    let works = turn.works
    turn.works = []
    for work in works { work() }
  }

  func take(_ frame: [UInt8]) {
    shard.carryOut([.frames(Fixed.channel, EncodedFrames(json: frame, protobuf: nil))])
  }

  func publish() {
    shard.request(.presenceStats(Fixed.channel), tag: 1, terms: nil, from: members[0].driver)
  }

  /// The tags of what the backbone thread was asked since this was asked last.
  func posted() -> [UInt64] {
    var batch: [UplinkMessage] = []
    uplink.take(&batch)
    return batch.compactMap { if case .request(let request) = $0 { request.source.tag } else { nil } }
  }

  /// What the backbone thread was told since this was asked last, but for marks.
  func postedInOrder() -> [String] {
    var batch: [UplinkMessage] = []
    uplink.take(&batch)
    return batch.compactMap { message -> String? in
      switch message {
      case .request(let request):
        guard case .subscribe(let subscribe) = request.request else { return "request" }
        return "subscribe \(subscribe.channel.string)"
      case .obeyed(let order): return "obeyed \(order.id) of \(order.partition)"
      case .workedOff, .mark, .found, .forgot, .hasForgotten, .measured: return nil
      }
    }
  }

  func reached() -> Int {
    for member in members { member.read(egress) }
    return members.filter { !$0.received.isEmpty }.count
  }
}

final class TurnEnds {
  var works: [() -> Void] = []
}

extension ReadAdmission.Limits {
  init() { self.init(connection: 2 << 20, loop: 16 << 20) }
}
