import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

/// What somebody waits for must not tell them whether they have reached the other: where nothing is in memory, the disk is
/// asked the same questions, in the same rounds.
@Suite("What is read from the disk before an answer, whether or not it reaches the other")
struct AnswerReadTests {
  /// What is true of bob.
  enum Bob: CaseIterable {
    case silent, hasBlocked, hasDeclined
  }

  /// A broker on which ann and bob have done something with each other, and nobody has a channel open.
  private final class World {
    let scene: BrokerScene
    private var id: UInt64 = 0

    init() {
      let clique = Clique(CliqueRules(), vault: InvertingVault())
      let state = StateApp(rules: StateRules(), vault: PlainVault())
      scene = BrokerScene {
        $0.idleChannelTimeout = 1000
        $0.namespaces.add(clique.namespaces, of: clique.name)
        $0.namespaces.add(state.namespaces, of: state.name)
      }
      scene.install(clique)
      scene.install(state)
      scene.hello(1)
    }

    func ask(_ user: String, _ method: String, _ json: String) throws {
      id += 1
      let command = try AppCommand(method, Array(json.utf8), by: user)
      scene.request(id, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))))
    }

    func call(_ user: String, _ method: String, _ json: String) throws {
      try ask(user, method, json)
      settle()
    }

    func upload(_ user: String, _ picture: String) {
      id += 1
      let added = StateCommand.Picture(
        id: picture, type: "image/png", bytes: 9, key: [UInt8](repeating: 1, count: 32), upload: nil)
      scene.request(
        id,
        .call(.init(.state(.addPicture(added)), caller: ClientInfo(user: user, client: "c-" + user), isGateways: true)))
      settle()
    }

    /// Lets everything be written and worked out that one thing leads to.
    func settle() {
      for _ in 0..<4 {
        scene.finish(.max)
        scene.passHeard(1000)
      }
      scene.finish(.max)
    }

    /// What the disk is asked, round by round, until a command is answered. All channels that people see are closed before,
    /// and no record is in memory.
    func questions(_ user: String, _ method: String, _ json: String) throws -> [Set<LogQuestion>] {
      for _ in 0..<4 { settle() }
      for name in ["clique.list:", "state.threads:", "state.events:"].flatMap({ [$0 + "ann", $0 + "bob"] }) {
        try #require(scene.core.channels[try ChannelName(name)] == nil, "\(name) is open")
      }
      for app in ["clique", "state"] { scene.core.hosts[app]?.records.forgetAll() }
      _ = scene.hears()
      scene.disk.delays = true
      try ask(user, method, json)
      var rounds: [Set<LogQuestion>] = []
      while !scene.disk.questions.isEmpty, rounds.count < 50 {
        rounds.append(Set(scene.disk.questions))
        scene.answer()
      }
      scene.finish(.max)
      let answers = scene.hears()
      guard case .reply(id, .result)? = answers.first(where: { if case .reply(id, _) = $0 { true } else { false } })
      else {
        Issue.record("\(method): \(answers)")
        return []
      }
      return rounds
    }
  }

  /// - Parameter isOpen: bob has accepted what ann asked.
  private func clique(_ bob: Bob, isOpen: Bool) throws -> World {
    let world = World()
    try world.call("bob", "clique.profile.set", #"{"name":"Bob"}"#)
    try world.call("ann", "clique.send", #"{"to":"bob","text":"hello"}"#)
    if isOpen { try world.call("bob", "clique.accept", #"{"person":"ann"}"#) } else { world.settle() }
    switch bob {
    case .silent: world.settle()
    case .hasBlocked: try world.call("bob", "clique.block", #"{"person":"ann"}"#)
    case .hasDeclined: try world.call("bob", "clique.decline", #"{"person":"ann"}"#)
    }
    return world
  }

  @Test("somebody writes, and takes back what they asked, as where the other is silent", arguments: Bob.allCases)
  func request(_ bob: Bob) throws {
    for (method, json) in [
      ("clique.send", #"{"to":"bob","text":"are you there?"}"#), ("clique.disconnect", #"{"person":"bob"}"#),
    ] {
      let asked = try clique(bob, isOpen: false).questions("ann", method, json)
      let silent = try clique(.silent, isOpen: false).questions("ann", method, json)
      #expect(asked == silent, "\(method)")
      #expect(asked.contains { $0.contains(Self.opens("clique.list:bob")) }, "\(method)")
    }
  }

  @Test("somebody asks a stranger as one who has blocked them", arguments: [Bob.silent, .hasBlocked])
  func stranger(_ bob: Bob) throws {
    let message = #"{"to":"bob","text":"hello"}"#
    let worlds = try [bob, .silent].map { bob in
      let world = World()
      try world.call("bob", "clique.profile.set", #"{"name":"Bob"}"#)
      if bob == .hasBlocked { try world.call("bob", "clique.block", #"{"person":"ann"}"#) } else { world.settle() }
      return world
    }
    let asked = try worlds.map { try $0.questions("ann", "clique.send", message) }
    #expect(asked[0] == asked[1])
  }

  @Test("somebody leaves, and asks for messages that disappear", arguments: [Bob.silent, .hasBlocked])
  func conversation(_ bob: Bob) throws {
    for (method, json) in [
      ("clique.disconnect", #"{"person":"bob"}"#), ("clique.disappear", #"{"person":"bob","after":60000}"#),
    ] {
      let asked = try clique(bob, isOpen: true).questions("ann", method, json)
      let silent = try clique(.silent, isOpen: true).questions("ann", method, json)
      #expect(asked == silent, "\(method)")
      #expect(asked.contains { $0.contains(Self.opens("clique.list:bob")) }, "\(method)")
    }
  }

  @Test("somebody sends a State", arguments: [Bob.silent, .hasBlocked])
  func state(_ bob: Bob) throws {
    let pictures = ["front", "rear"].map { "\($0)-of-a-picture-0000000000" }
    let send = #"{"to":"bob","front":"\#(pictures[0])","rear":"\#(pictures[1])","key":"k"}"#
    let asked = try [bob, .silent].map { bob in
      let world = World()
      if bob == .hasBlocked { try world.call("bob", "state.block", #"{"user":"ann"}"#) } else { world.settle() }
      try world.call("ann", "state.begin", #"{"to":"bob"}"#)
      for picture in pictures { world.upload("ann", picture) }
      return try world.questions("ann", "state.send", send)
    }
    #expect(asked[0] == asked[1])
    for channel in ["state.threads:bob", "state.events:bob"] {
      #expect(asked[0].contains { round in round.contains { Self.isOpening($0, channel) } }, "\(channel)")
    }
  }

  private static func opens(_ channel: ChannelName) -> LogQuestion {
    .open(channel, .durable, withEntries: true, ifExists: false)
  }

  private static func isOpening(_ question: LogQuestion, _ channel: String) -> Bool {
    if case .open(let name, _, _, false) = question { name.string == channel } else { false }
  }
}
