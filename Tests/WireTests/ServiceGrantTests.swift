import Testing
import Wire

@Suite("What a service may do")
struct ServiceGrantTests {
  private static func channel(_ name: String) -> ChannelName {
    guard let channel = try? ChannelName(name) else { preconditionFailure("\(name) is no channel name") }
    return channel
  }

  private static func grant(_ change: (inout ServiceGrant) -> Void) -> ServiceGrant {
    var grant = ServiceGrant()
    change(&grant)
    return grant
  }

  private static func patterns(_ texts: String...) -> [NamePattern] { texts.map { NamePattern($0) } }

  /// One request of each kind, about one channel.
  private static func requests(_ name: String) -> [BrokerRequest] {
    let channel = channel(name)
    let target = SessionTarget(user: "u")
    return [
      .publish(.init(channel: channel, data: [])), .edit(.init(channel: channel, offset: 1, data: nil, editor: nil)),
      .historyRemove(channel), .history(.init(channel: channel, limit: 1)), .presence(channel),
      .presenceStats(channel), .readMap(.init(channel: channel, read: MapRead(phase: .state, cursor: "", limit: 1))),
      .call(.init(.clique(.invisible(true)), caller: ClientInfo(user: "u", client: ""))), .channels(prefix: ""),
      .disconnect(target, .forceDisconnect), .endSubscriptions(target, channel, .server), .revoke(.init(.id("x"))),
      .subscribe(.init(channel: channel)), .beginSubscriptions(target, .init(channel: channel)),
      .refresh(target, .never), .channelCounts(.everything), .info, .webhooks(.list),
      .push(.init(arguments: [])),
    ]
  }

  @Test("each word allows its requests and no others; without a word nothing is allowed")
  func words() {
    let all = Self.requests("news")
    func allowed(_ change: (inout ServiceGrant) -> Void) -> [Int] {
      let grant = Self.grant(change)
      return all.indices.filter { grant.refusal(of: all[$0]) == nil }
    }
    #expect(allowed { _ in } == [])
    #expect(allowed { $0.publish = Self.patterns("news") } == [0, 1, 2])
    #expect(allowed { $0.read = Self.patterns("n*") } == [3, 4, 5, 6, 8, 15, 16])
    #expect(allowed { $0.call = Self.patterns("clique.*") } == [7])
    #expect(allowed { $0.mayDisconnect = true } == [9, 10, 14])
    #expect(allowed { $0.subscribe = Self.patterns("new*") } == [13])
    #expect(allowed { $0.mayRevoke = true } == [11])
    #expect(allowed { $0.mayUseWebhooks = true } == [17])
    #expect(allowed { $0.mayPush = true } == [18])
    #expect(allowed { $0.tap = Self.patterns("*") } == [])
    #expect(all.indices.allSatisfy { ServiceGrant.everything.refusal(of: all[$0]) == nil })
  }

  @Test("a pattern means that name or what begins so, byte by byte; * never means an app's channels")
  func patterns() {
    let grant = Self.grant { $0.publish = Self.patterns("news", "chat:*", "*") }
    let narrow = Self.grant { $0.publish = Self.patterns("news", "chat:*", "clique.pairs:*", "cli*") }
    func refused(_ grant: ServiceGrant, _ name: String) -> Bool {
      grant.refusal(of: .publish(.init(channel: Self.channel(name), data: []))) != nil
    }
    for name in ["news", "chat:", "chat:7"] { #expect(!refused(grant, name) && !refused(narrow, name)) }
    for name in ["newsroom", "New", "chat", "sport"] { #expect(!refused(grant, name) && refused(narrow, name)) }
    for name in ["clique.pairs:a", "state.pair:b", "$clique.x:1", "$state.y"] { #expect(refused(grant, name)) }
    #expect(!refused(narrow, "clique.pairs:a") && refused(narrow, "clique.inbox:a") && !refused(narrow, "cliff"))
    #expect(refused(.everyoneOnThisMachine, "clique.pairs:a") && !refused(.everyoneOnThisMachine, "news"))
  }

  /// Whether a service that is given these topics hears the channel.
  private func hears(_ topics: [[UInt8]]?, _ name: String) -> Bool {
    let topic = Array(name.utf8) + [ChannelName.topicTerminator]
    return topics?.contains { topic.starts(with: $0) } ?? false
  }

  @Test("a tap of everything is made into everything but the apps' channels, to the byte")
  func everythingElse() {
    let grant = Self.grant { $0.tap = Self.patterns("*") }
    let topics = grant.topics(beginningWith: [])
    for name in ["news", "c", "clique", "cliqueX", "clique-1", "state", "states", "zebra", "é", "$private", "$clique"] {
      #expect(hears(topics, name), "\(name)")
    }
    for name in ["clique.", "clique.pairs:a", "state.pair:b", "$clique.x", "$state.x"] {
      #expect(!hears(topics, name), "\(name)")
    }
    let some = grant.topics(beginningWith: Array("cl".utf8))
    #expect(hears(some, "clap") && !hears(some, "clique.x") && !hears(some, "news"))
    #expect(grant.topics(beginningWith: Array("clique.".utf8)) == nil)
    #expect(grant.topics(beginningWith: Array("chat:".utf8)) == [Array("chat:".utf8)])
    #expect(ServiceGrant.everything.topics(beginningWith: []) == [[]])
  }

  @Test("who may tap an app hears it, also among everything")
  func apps() {
    let grant = Self.grant { $0.tap = Self.patterns("*", "clique.pairs:*") }
    let topics = grant.topics(beginningWith: [])
    #expect(hears(topics, "news") && hears(topics, "clique.pairs:a"))
    #expect(!hears(topics, "clique.inbox:a") && !hears(topics, "state.pair:b"))
    #expect(hears(grant.topics(beginningWith: Array("clique.pairs:a\0".utf8)), "clique.pairs:a"))
    #expect(grant.topics(beginningWith: Array("clique.".utf8)) == nil)
  }

  @Test("a subscription to more than is allowed is refused, not cut")
  func narrow() {
    let grant = Self.grant { $0.tap = Self.patterns("news", "chat:*") }
    for refused in ["", "n", "news", "newsroom\0", "chat", "sport\0"] {
      #expect(grant.topics(beginningWith: Array(refused.utf8)) == nil, "\(refused)")
    }
    for allowed in ["news\0", "chat:", "chat:7\0"] {
      #expect(grant.topics(beginningWith: Array(allowed.utf8)) == [Array(allowed.utf8)], "\(allowed)")
    }
  }

  @Test("what another subscription may rest on is not taken away with one that ends")
  func release() {
    let grant = Self.grant { $0.tap = Self.patterns("*", "clique.pairs:*") }
    for kept in ["", "n", "cl", "cz", "clique.", "clique.pairs:"] {
      #expect(!grant.mayRelease(Array(kept.utf8)), "\(kept)")
    }
    // The parts into which a tap of everything is made must not be released either.
    let parts = grant.topics(beginningWith: []) ?? []
    #expect(parts.count > 1000 && parts.allSatisfy { !grant.mayRelease($0) })
    for released in ["news\0", "chat:", "clique.pairs:a\0"] {
      #expect(grant.mayRelease(Array(released.utf8)), "\(released)")
    }
    #expect(ServiceGrant.everything.mayRelease([]))
  }
}
