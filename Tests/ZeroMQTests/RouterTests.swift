import TestSupport
import Testing
import ZeroMQ

@Suite(.ownThread) struct RouterTests {
  private let context: Context

  init() throws { context = try Context() }

  @Test("A mandatory ROUTER refuses an unknown peer at the identity frame and sends nothing")
  func unknownPeer() throws {
    let router = try socket(context, .router) { $0.routerMandatory = true }
    let dealer = try socket(context, .dealer) { $0.routingID = [UInt8]("known") }
    try router.bind("inproc://unknown-peer")
    try dealer.connect("inproc://unknown-peer")
    let error = #expect(throws: ZeroMQError.self) { try router.send([UInt8]("nobody"), more: true) }
    #expect(error?.reason == .unreachable)
    // The refused frame began nothing: this identity frame is taken as one.
    try router.send(multipart: [[UInt8]("known"), [UInt8]("body")])
    #expect(try receive(dealer) == [[UInt8]("body")])
    #expect(try isEmpty(dealer))
  }

  @Test("A full pipe refuses the identity frame, and a send works again once the peer has read")
  func fullPipe() throws {
    let router = try socket(context, .router) {
      $0.routerMandatory = true
      $0.sendHighWaterMark = 2
    }
    let dealer = try socket(context, .dealer) {
      $0.routingID = [UInt8]("slow")
      $0.receiveHighWaterMark = 2
    }
    try router.bind("inproc://full-pipe")
    try dealer.connect("inproc://full-pipe")

    var sent = 0
    var refusal: ZeroMQError?
    while refusal == nil, sent < 1000 {
      do throws(ZeroMQError) {
        try router.send([UInt8]("slow"), more: true)
      } catch {
        refusal = error
        continue
      }
      // Once the identity is taken, the body always is.
      try router.send([UInt8](repeating: UInt8(sent % 256), count: 1), more: true)
      try router.send([])
      sent += 1
    }
    #expect(refusal?.reason == .wouldBlock)
    #expect(sent == 4)

    for index in 0..<sent { #expect(try receive(dealer) == [[UInt8(index)], []]) }
    #expect(try isEmpty(dealer))
    let isSent = try eventually {
      do throws(ZeroMQError) {
        try router.send(multipart: [[UInt8]("slow"), [UInt8]("again")])
        return true
      } catch {
        if error.reason != .wouldBlock { throw error }
        return false
      }
    }
    #expect(isSent)
    #expect(try receive(dealer) == [[UInt8]("again")])
  }

  @Test("A body that is shared arrives whole at every peer, and its owner keeps it")
  func sharedBody() throws {
    let router = try socket(context, .router) { $0.routerMandatory = true }
    try router.bind("tcp://127.0.0.1:*")
    let endpoint = try router.lastEndpoint
    let peers = try (0..<5).map { _ in Peer(try socket(context, .dealer)) }
    var identities: [[UInt8]] = []
    for peer in peers {
      try peer.socket.connect(endpoint)
      try peer.socket.send([UInt8]("here"))
      identities.append(try receive(router)[0])
    }
    let bytes = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
    var body = try Message(bytes)
    for identity in identities {
      try router.send(identity, more: true)
      try router.send(sharing: &body)
    }
    for peer in peers { #expect(try receive(peer.socket) == [bytes]) }
    #expect(body.copyBytes() == bytes)
  }

  @Test("With handover a peer that returns under its identity takes the place of its old connection")
  func handover() throws {
    let router = try socket(context, .router) {
      $0.routerMandatory = true
      $0.routerHandover = true
    }
    try router.bind("tcp://127.0.0.1:*")
    let endpoint = try router.lastEndpoint
    let old = try socket(context, .dealer) { $0.routingID = [UInt8]("gateway") }
    try old.connect(endpoint)
    try old.send([UInt8]("old"))
    #expect(try receive(router) == [[UInt8]("gateway"), [UInt8]("old")])
    let new = try socket(context, .dealer) { $0.routingID = [UInt8]("gateway") }
    try new.connect(endpoint)
    try new.send([UInt8]("new"))
    #expect(try receive(router) == [[UInt8]("gateway"), [UInt8]("new")])
    try router.send(multipart: [[UInt8]("gateway"), [UInt8]("for the new one")])
    #expect(try receive(new) == [[UInt8]("for the new one")])
    #expect(try isEmpty(old))
  }

  /// Arrays hold no noncopyable values.
  private final class Peer {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
  }
}
