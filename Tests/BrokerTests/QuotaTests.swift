import Log
import TestSupport
import Testing
import Wire

@testable import Broker

/// What one user may keep in a namespace, with an honest neighbour who must notice nothing.
@Suite("Quotas of users")
struct QuotaTests {
  /// `s` is a stream in memory with edits, `m` a map with changes, `e` one without; each has room for four entries.
  private static func scene(_ change: (inout ChannelOptions) -> Void = { _ in }) -> BrokerScene {
    let quotas = MemoryStore(randomness: FixedEpochs(), quotaNamespaces: ["s", "m", "e"])
    let scene = BrokerScene(memory: quotas) { configuration in
      for name in ["s", "m", "e"] {
        var options = ChannelOptions()
        options.userQuotaEntries = 4
        options.userQuotaBytes = 100_000
        options.allowEditForAuthor = true
        if name != "e" { (options.historySize, options.historyTTLMilliseconds) = (100, 60_000) }
        if name != "s" { options.kind = .map }
        if name == "m" { options.mapMode = .recoverable }
        change(&options)
        configuration.namespaces.namespaces[name] = options
      }
    }
    scene.hello(1)
    return scene
  }

  private func error(_ scene: BrokerScene, _ request: BrokerRequest) -> ClientError? {
    scene.lastID += 1
    scene.request(scene.lastID, request, oldest: scene.lastID)
    guard case .reply(_, .failed(let error))? = scene.hears().last else { return nil }
    return error
  }

  private func write(
    _ scene: BrokerScene, _ channel: ChannelName, by user: String, _ key: String? = nil, _ data: String? = "1"
  ) -> ClientError? {
    let write = key.map { MapWrite(key: $0, removed: data == nil) }
    return error(
      scene,
      .publish(
        .init(
          channel: channel, data: Array((data ?? "null").utf8), info: ClientInfo(user: user, client: "c" + user),
          write: write)))
  }

  private func kept(_ scene: BrokerScene, _ namespace: String, _ user: String) throws -> KeptAmount {
    try scene.core.stores.memory.kept(by: QuotaAccount(namespace: namespace, user: user))
  }

  @Test("a stream: as many publications over all channels as are allowed, until older ones end; others go on")
  func stream() throws {
    let scene = Self.scene()
    for index in 0..<4 { #expect(write(scene, ["s:1", "s:2"][index % 2], by: "eve") == nil) }
    let refusal = try #require(write(scene, "s:3", by: "eve"))
    #expect(refusal.code == 106 && !refusal.temporary && refusal.message.contains("remove something"))
    #expect(write(scene, "s:1", by: "ann") == nil, "a neighbour on the same channel")
    #expect(scene.ask(.publish(.init(channel: "s:#eve", data: [0x31])))?.errorCode == nil, "a service")
    #expect(write(scene, "m:1", by: "eve", "k") == nil, "another namespace")
    #expect(write(scene, "d:1", by: "eve") == nil, "one without a quota")
    #expect(write(scene, "s:#eve", by: "eve")?.code == 106)
    #expect(scene.core.counters.overQuota == 2 && scene.core.counters.limited == 2)
    let lines = scene.core.tally.takeRefusals(isMinuteOver: true).map { "\($0.cause.name) \($0.count) \($0.source)" }
    #expect(lines == ["user_quota 1 eve", "user_quota 1 eve"])
    scene.pass(61_000)
    #expect(try kept(scene, "s", "eve") == KeptAmount())
    scene.hello(1, session: 2)
    #expect(write(scene, "s:3", by: "eve") == nil)
  }

  @Test("bytes: what would go beyond is refused, and what is smaller than what it replaces is not")
  func bytes() throws {
    let scene = Self.scene()
    let large = String(repeating: "1", count: 40_000)
    #expect(write(scene, "e:1", by: "eve", "a", large) == nil)
    #expect(write(scene, "e:2", by: "eve", "a", large) == nil)
    #expect(write(scene, "e:3", by: "eve", "a", large)?.code == 106)
    #expect(write(scene, "e:2", by: "eve", "a", large + large)?.code == 106)
    #expect(write(scene, "e:2", by: "eve", "a", "1") == nil)
    #expect(write(scene, "e:3", by: "eve", "a", large) == nil)
    #expect(try kept(scene, "e", "eve").bytes < 100_000)
  }

  @Test("a map: removing makes room at once, in a map that keeps changes too", arguments: ["m", "e"])
  func removal(_ namespace: String) throws {
    let scene = Self.scene()
    let own = ChannelName(stringLiteral: namespace + ":#eve")
    for key in ["a", "b", "c", "d"] { #expect(write(scene, own, by: "eve", key) == nil) }
    #expect(write(scene, own, by: "eve", "e")?.code == 106)
    #expect(write(scene, own, by: "eve", "a", "2") == nil, "a key that is there takes no more entries")
    #expect(write(scene, ChannelName(stringLiteral: namespace + ":#ann"), by: "ann", "e") == nil)
    #expect(write(scene, own, by: "eve", "a", nil) == nil)
    #expect(write(scene, own, by: "eve", "e") == nil)
    #expect(write(scene, own, by: "eve", "a")?.code == 106)
    for key in ["b", "c", "d", "e"] { #expect(write(scene, own, by: "eve", key, nil) == nil) }
    #expect(try kept(scene, namespace, "eve").entries == 0)
    for _ in 0..<3 { scene.pass(4_000_000) }
    #expect(try kept(scene, namespace, "eve") == KeptAmount() && kept(scene, namespace, "ann").entries == 1)
  }

  @Test("removing is never refused, however full the account; and it frees more than it takes")
  func removalAtTheLimit() throws {
    let scene = Self.scene { $0.userQuotaEntries = 0 }
    var keys = 0
    while write(scene, "m:#eve", by: "eve", "\(keys)", String(repeating: "1", count: 500)) == nil { keys += 1 }
    #expect(keys > 50)
    var before = try kept(scene, "m", "eve").bytes
    for key in 0..<keys {
      #expect(write(scene, "m:#eve", by: "eve", "\(key)", nil) == nil)
      let now = try kept(scene, "m", "eve").bytes
      #expect(now < before)
      before = now
    }
    #expect(write(scene, "m:#eve", by: "eve", "again") == nil)
  }

  @Test("an edit that makes a publication larger counts, a deletion is never refused")
  func edits() throws {
    let scene = Self.scene { $0.userQuotaEntries = 0 }
    let eve = ClientInfo(user: "eve", client: "ceve")
    #expect(write(scene, "s:1", by: "eve") == nil)
    let large = [UInt8](repeating: 0x31, count: 45_000)
    #expect(error(scene, .edit(.init(channel: "s:1", offset: 1, data: large, editor: eve))) == nil, "twice 45,000")
    #expect(error(scene, .edit(.init(channel: "s:1", offset: 1, data: large, editor: eve)))?.code == 106)
    #expect(error(scene, .edit(.init(channel: "s:1", offset: 1, data: nil, editor: eve))) == nil)
    #expect(try kept(scene, "s", "eve").bytes < 60_000)
    #expect(write(scene, "s:1", by: "ann") == nil)
  }

  @Test("maps in memory that nobody uses any more give back what they held")
  func forgotten() throws {
    let scene = Self.scene()
    #expect(write(scene, "e:1", by: "eve", "k") == nil)
    #expect(try kept(scene, "e", "eve").entries == 1)
    for _ in 0..<30 { scene.pass(4_000_000) }
    #expect(scene.core.channels["e:1"] == nil)
    #expect(try kept(scene, "e", "eve") == KeptAmount())
  }

  @Test("those without a user share one account: else each would come back with an empty one")
  func anonymous() {
    let scene = Self.scene()
    for _ in 0..<4 { #expect(write(scene, "s:1", by: "") == nil) }
    #expect(write(scene, "s:1", by: "")?.code == 106)
    #expect(write(scene, "s:1", by: "ann") == nil)
  }
}
