import Testing

@testable import Settings

@Suite("Settings of partitions")
struct PartitionTests {
  private static let postgres = #""log": {"engine": "postgres", "postgres": {"connection": "host=x"}}"#
  /// A log whose brokers take nothing out of outboxes.
  private static let silent =
    #""log": {"engine": "postgres", "postgres": {"connection": "host=x", "outbox_interval": "0s"}}"#

  private func settings(_ partitions: Int, _ more: String = "", engine: String = postgres) throws -> Settings {
    try load(#"{"cluster": {"partitions": \#(partitions)}, \#(engine)\#(more)}"#)
  }

  // MARK: Where a partition is

  @Test(
    "A partition's endpoint follows the configured one, by its port or its path",
    arguments: [
      ("tcp://10.0.0.5:7500", 0, "tcp://10.0.0.5:7500"), ("tcp://10.0.0.5:7500", 3, "tcp://10.0.0.5:7503"),
      ("tcp://*:7500", 1, "tcp://*:7501"), ("tcp://[::1]:7500", 2, "tcp://[::1]:7502"),
      ("tcp://[2001:db8::7]:65472", 63, "tcp://[2001:db8::7]:65535"), ("tcp://127.0.0.1:*", 4, "tcp://127.0.0.1:*"),
      ("tcp://127.0.0.1:0", 4, "tcp://127.0.0.1:0"), ("ipc://data/b.ipc", 0, "ipc://data/b.ipc"),
      ("ipc://data/b.ipc", 12, "ipc://data/b.ipc.p12"), ("ipc://*", 2, "ipc://*"),
    ])
  func endpoint(_ base: String, _ partition: Int, _ expected: String) {
    #expect(PartitionEndpoint.of(partition, at: base) == expected)
  }

  @Test(
    "Where no port is left, and where no path is, there is no endpoint",
    arguments: [
      ("tcp://10.0.0.5:65535", 1), ("tcp://10.0.0.5:65473", 63), ("ipc://" + String(repeating: "a", count: 105), 1),
      ("ipc://" + String(repeating: "a", count: 104), 10), ("tcp://host", 1),
    ])
  func noEndpoint(_ base: String, _ partition: Int) {
    #expect(PartitionEndpoint.of(partition, at: base) == nil)
  }

  /// Why no broker can have a partition of these; empty: it can.
  private func refusal(_ settings: Settings) -> String {
    do throws(SettingsError) { _ = try settings.brokerOfPartition(1) } catch { return "\(error)" }
    return ""
  }

  // MARK: What is refused

  @Test("There are 1 to 64 partitions, and a broker's name has at most 64 bytes that can be shown")
  func ranges() throws {
    for partitions in [1, 64] { #expect(try settings(partitions).cluster.partitions == partitions) }
    for partitions in ["0", "65", "-1"] {
      #expect(problems("{}", overrides: ["cluster.partitions": partitions]) != ["accepted"])
    }
    let longest = String(repeating: "n", count: 64)
    #expect(try load("{}", overrides: ["cluster.name": longest]).cluster.name == longest)
    #expect(try load("{}").cluster.name.isEmpty)
    let found = problems("{}", overrides: ["cluster.name": longest + "n"])
    #expect(found.count == 1 && found[0].contains("cluster.name: has 65 bytes; write at most 64"), "\(found)")
    #expect(problems("{}", overrides: ["cluster.name": "a\nb"]).first?.contains("control character") == true)
  }

  @Test("An endpoint beside which there is no room is told, with what would do")
  func room() {
    let partitions = #"{"cluster": {"partitions": 4}, "#
    func refused(_ json: String, _ words: String) -> Bool {
      let found = problems(partitions + json + "}")
      return found.count == 1 && found[0].contains(words)
    }
    #expect(refused(#""backbone": {"endpoint": "tcp://127.0.0.1:65533"}"#, "a port of at most 65532"))
    #expect(problems(partitions + #""backbone": {"endpoint": "tcp://127.0.0.1:65532"}}"#) == ["accepted"])
    let path = "ipc://" + String(repeating: "a", count: 105)
    #expect(refused(#""backbone": {"endpoint": "\#(path)"}"#, "backbone.endpoint: is"))
    #expect(refused(#""backbone": {"brokers": [{"endpoint": "\#(path)"}]}"#, "a path of at most 104 bytes"))
    let tap = #""broker": {"services": {"allow_anyone_on_this_machine": true, "tap": "tcp://127.0.0.1:65534""#
    #expect(refused(tap + "}}", "broker.services.tap: is"))
    #expect(problems(partitions + tap + #", "enabled": false}}}"#) == ["accepted"])
    // One partition needs no more than the endpoint itself.
    #expect(problems(#"{"backbone": {"endpoint": "tcp://127.0.0.1:65535"}}"#) == ["accepted"])
  }

  @Test("An endpoint of one partition that is another one's is told")
  func overlap() {
    func found(_ json: String) -> [String] { problems(#"{"cluster": {"partitions": 4}, \#(json)}"#) }
    func brokers(_ second: Int) -> String {
      #""backbone": {"brokers": [{"endpoint": "tcp://127.0.0.1:7500"}, {"endpoint": "tcp://127.0.0.1:\#(second)"}]}"#
    }
    func services(_ key: String, _ port: Int) -> String {
      #""backbone": {"endpoint": "tcp://127.0.0.1:7500"}, "broker": {"services": {"allow_anyone_on_this_machine": true, "#
        + #""\#(key)": "tcp://127.0.0.1:\#(port)"}}"#
    }
    let tooNear = found(brokers(7503))
    #expect(tooNear.count == 1 && tooNear[0].contains("leave 4 ports between them"), "\(tooNear)")
    #expect(found(brokers(7504)) == ["accepted"])
    #expect(found(services("tap", 7502)).first?.contains("belongs to backbone.endpoint already") == true)
    #expect(found(services("commands", 7501)).first?.contains("belongs to broker.services.commands already") == true)
    for key in ["tap", "commands"] { #expect(found(services(key, 7504)) == ["accepted"]) }
  }

  @Test("Partitions need a log that several brokers have, and ports for all of them; gateways need neither")
  func needs() throws {
    let file = refusal(try settings(2, engine: #""log": {"engine": "sqlite"}"#))
    #expect(file.contains("f.json:1: cluster.partitions: is 2, but log.engine is sqlite"), "\(file)")
    let admin = refusal(try settings(4, #", "admin": {"port": 65532}"#))
    #expect(admin.contains("admin.port: is 65532") && admin.contains("at most 65531"), "\(admin)")
    #expect(try settings(4, #", "admin": {"port": 65531}"#).brokerOfPartition(3).admin.port == 65535)
    #expect(try settings(4, #", "admin": {"port": 65532, "enabled": false}"#).brokerOfPartition(3).admin.port == 65532)
  }

  @Test("Partitions tell each other by the outbox, so their brokers look into it")
  func outbox() throws {
    let unheard = refusal(try settings(2, engine: Self.silent))
    #expect(unheard.contains("log.postgres.outbox_interval: is 0s, but cluster.partitions is 2"), "\(unheard)")
    #expect(refusal(try settings(2)).isEmpty)
    #expect(try load("{\(Self.silent)}").log.postgres.outboxInterval == .zero, "one broker need not")
  }

  @Test(
    "An app is shared among two partitions or more, whose brokers have one master key; gateways need none",
    arguments: ["state", "clique"])
  func sharedApp(_ app: String) throws {
    let shared = #", "\#(app)": {"partitioned": true}"#
    let keys = #", "keys": {"master_file": "/k"}"#
    func isShared(_ settings: Settings) -> Bool {
      #expect(settings.sharesApps == (settings.sharesState || settings.sharesClique))
      return app == "state" ? settings.sharesState : settings.sharesClique
    }
    let all = try settings(2, shared + keys)
    #expect(isShared(all) && !(all.sharesState && all.sharesClique), "and the other app is not")
    #expect(isShared(try all.brokerOfPartition(1)))
    #expect(!isShared(try settings(2, keys)))
    let alone = problems(#"{"\#(app)": {"partitioned": true}}"#)
    #expect(
      alone.count == 1 && alone[0].hasPrefix("f.json:1: \(app).partitioned: is true, but cluster.partitions is 1"),
      "\(alone)")
    let keyless = refusal(try settings(2, shared))
    #expect(keyless.contains("f.json:1: \(app).partitioned: is true, but keys.master_file is not set"), "\(keyless)")
    let file = refusal(try settings(2, shared, engine: #""log": {"engine": "sqlite"}"#))
    #expect(file.contains("cluster.partitions: is 2, but log.engine is sqlite"), "\(file)")
    // Without the app there is nothing to share.
    let off = #""\#(app)": {"partitioned": true, "enabled": false}"#
    #expect(problems("{\(off)}") == ["accepted"])
    let without = try settings(2, ", " + off)
    #expect(!without.sharesApps && refusal(without).isEmpty)
  }

  @Test("Where both apps are shared, each is told what it lacks")
  func sharedApps() throws {
    let both = #", "state": {"partitioned": true}, "clique": {"partitioned": true}"#
    let settings = try settings(2, both)
    #expect(settings.sharesState && settings.sharesClique && settings.sharesApps)
    let keyless = refusal(settings)
    for app in ["state", "clique"] { #expect(keyless.contains("\(app).partitioned: is true"), "\(keyless)") }
    let alone = problems("{" + both.dropFirst(2) + "}")
    #expect(alone.count == 2, "\(alone)")
    #expect(alone.contains { $0.contains("share State among") } && alone.contains { $0.contains("share Clique among") })
  }

  // MARK: A partition's own

  @Test("Each partition's broker has a folder, a port and endpoints of its own")
  func ofPartition() throws {
    let all = try settings(
      3, #", "backbone": {"endpoint": "tcp://127.0.0.1:7500"}, "admin": {"port": 9100}, "data": {"directory": "/d"}"#)
    #expect(all.cluster.partition == nil && all.cluster.isHome && all.data.homeDirectory == "/d")
    for number in 0..<3 {
      let one = try all.brokerOfPartition(number)
      #expect(one.cluster.partition == number && one.cluster.isHome == (number == 0))
      #expect(one.data.directory == "/d/partition-\(number)")
      #expect(one.backbone.endpoint == "tcp://127.0.0.1:\(7500 + number)")
      #expect(one.admin.port == 9101 + number)
      #expect(one.broker.services.commands.isEmpty)
      let tap = "ipc:///d/services/tap.ipc"
      #expect(one.broker.services.tap == (number == 0 ? tap : "\(tap).p\(number)"))
      // What an installation has once is where it is without partitions.
      #expect(one.data.homeDirectory == "/d" && one.state.pictureDirectory == "/d/pictures")
      // The rest is as it was.
      #expect(one.channels == all.channels && one.log == all.log && one.keys == all.keys && one.client == all.client)
    }
    let free = try settings(3, #", "admin": {"port": 0}, "state": {"picture_directory": "/p"}"#).brokerOfPartition(2)
    #expect(free.admin.port == 0 && free.state.pictureDirectory == "/p")
  }
}
