import Testing
import Wire

@testable import Gateway

/// Many channels are brought up to date after a new session: some at a time, and what is asked for first.
@Suite("The link's resync of many channels")
struct LinkResyncTests {
  private static let count = 2 * GatewayLink.resyncsAtOnce + 100

  private static func name(_ number: Int) throws -> ChannelName { try ChannelName("c:\(10_000 + number)") }

  /// A link with a subscriber on each of many channels, which begins a new session.
  private static func reopened() throws -> LinkScene {
    let scene = LinkScene()
    scene.welcome()
    for number in 0..<count {
      scene.submit(.subscribe(.init(channel: try name(number))), tag: UInt64(number) + 1)
      scene.answer(UInt64(number) + 1, .subscribed(.init(position: .init(epoch: "e", offset: 0))))
    }
    _ = scene.tells()
    scene.reopen()
    return scene
  }

  private func isUpToDate(_ scene: LinkScene, _ ask: LinkRequest) {
    scene.answer(ask.id, .subscribed(.init(position: .init(epoch: "e", offset: 0), recovered: true)))
  }

  @Test("So many are asked for at a time; each answer lets the next one go; the last one ends it")
  func paced() throws {
    let scene = try Self.reopened()
    var asked = scene.asks()
    #expect(asked.count == GatewayLink.resyncsAtOnce)
    var names: [ChannelName?] = []
    while !asked.isEmpty {
      let ask = asked.removeFirst()
      names.append(ask.request.channel)
      #expect(ask.isResync)
      isUpToDate(scene, ask)
      let isLast = scene.lastSent()?.body == .resynced
      #expect(isLast == (names.count == Self.count - GatewayLink.resyncsAtOnce), "after \(names.count)")
      asked += scene.asks()
    }
    #expect(try names == (0..<Self.count).map { try Self.name($0) })
    #expect(scene.tells().isEmpty)
  }

  @Test("A channel of which something is asked comes to the broker before that, and only once")
  func asked() throws {
    let scene = try Self.reopened()
    var asked = scene.asks()
    let last = try Self.name(Self.count - 1)
    scene.submit(.publish(.init(channel: last, data: [0x31])), tag: 90_000)
    let now = scene.asks()
    #expect(now.map(\.request.channel) == [last, last] && now.map(\.isResync) == [true, false])
    scene.submit(.publish(.init(channel: last, data: [0x32])), tag: 90_001)
    #expect(scene.asks().map(\.isResync) == [false])
    asked.append(now[0])
    var names: Set<ChannelName> = []
    while !asked.isEmpty {
      let ask = asked.removeFirst()
      #expect(try names.insert(#require(ask.request.channel)).inserted)
      isUpToDate(scene, ask)
      asked += scene.asks().filter(\.isResync)
    }
    #expect(names.count == Self.count)
  }

  @Test("What was not answered is asked again at once, after its own channel and before all others")
  func unanswered() throws {
    let scene = LinkScene()
    scene.welcome()
    for number in 0..<3 {
      scene.submit(.subscribe(.init(channel: try Self.name(number))), tag: UInt64(number) + 1)
      scene.answer(UInt64(number) + 1, .subscribed(.init(position: .init(epoch: "e", offset: 0))))
    }
    scene.submit(.publish(.init(channel: try Self.name(2), data: [0x31])), tag: 4)
    scene.reopen()
    let asks = scene.asks()
    #expect(try asks.map(\.request.channel) == [2, 2, 0, 1].map { try Self.name($0) })
    #expect(asks.map(\.isRetry) == [false, true, false, false])
  }

  @Test("A session that ends on the way begins anew with all of them; channels that were left are passed over")
  func interrupted() throws {
    let scene = try Self.reopened()
    let first = scene.asks()
    isUpToDate(scene, first[0])
    // The only subscriber of the last channel leaves while that still waits: the broker has to be told of both.
    let last = try Self.name(Self.count - 1)
    scene.submit(.unsubscribe(.init(channel: last, member: nil, keepsInterest: false)), tag: UInt64(Self.count))
    #expect(scene.asks().suffix(2).map(\.isResync) == [true, false])
    scene.reopen()
    var asked = scene.asks()
    // The unsubscribe was not answered, and is asked again first.
    #expect(asked.first?.request.channel == last && asked.first?.isRetry == true)
    asked.removeFirst()
    var names: [ChannelName?] = []
    while !asked.isEmpty {
      let ask = asked.removeFirst()
      names.append(ask.request.channel)
      isUpToDate(scene, ask)
      asked += scene.asks()
    }
    #expect(try names == (0..<Self.count - 1).map { try Self.name($0) })
  }
}
