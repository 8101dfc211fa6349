import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite("Scenario files")
struct ScenarioFileTests {
  private static let least = #"{ "about": "A test.", "groups": [ { "rate": 10 } ] }"#

  private func decode(_ text: String, _ overrides: [String] = []) throws -> Scenario {
    try ScenarioFile.decode(
      Data(text.utf8), file: "test.json", overrides: try overrides.map { try ScenarioFile.Override($0) })
  }

  private func failure(_ text: String, _ overrides: [String] = []) -> String {
    do {
      _ = try decode(text, overrides)
      return "no error"
    } catch { return "\(error)" }
  }

  @Test("What a file leaves out has its default")
  func defaults() throws {
    let scenario = try decode(Self.least)
    #expect(scenario.name == "test")
    #expect(scenario.measure == .delivery)
    #expect(scenario.turns == 5 && scenario.workers == 1 && scenario.warmup == 2 && scenario.duration == 10)
    #expect(scenario.peers == ["fanfare", "floor"])
    let expected = Scenario.Group(
      name: "group0", channels: 1, subscribers: 1, rate: 10, payload: 128, burst: 1, publishers: 1, slow: 0,
      namespace: "")
    #expect(scenario.groups == [expected])
    #expect(scenario.ramp == nil && scenario.missed == nil)
    #expect(try decode(Self.least, ["measure=saturation"]).ramp?.p99LimitMilliseconds == 50)
    #expect(try decode(Self.least, ["measure=resume"]).missed == 100)
    // A part of an object that is left out has the same default as the whole of it.
    #expect(try decode(Self.least, ["measure=saturation", "ramp={}"]).ramp == Scenario.Defaults.ramp)
    #expect(try decode(Self.least, ["measure=saturation"]).ramp == Scenario.Defaults.ramp)
    let made = try ScenarioFile.made(of: [ScenarioFile.Override("groups.0.rate=1")])
    #expect(made.groups[0].payload == Scenario.Defaults.group.payload && made.turns == Scenario.Defaults.turns)
  }

  @Test("An override reaches any key: by place, by a group's name, and where the file has no such key")
  func overrides() throws {
    let text = #"{ "about": "A test.", "groups": [ { "name": "a", "rate": 1 }, { "name": "b", "rate": 2 } ] }"#
    let scenario = try decode(
      text,
      ["groups.0.rate=2.5", "groups.b.subscribers=100", "turns=3", "name=other", "ramp.factor=2", "measure=saturation"])
    #expect(scenario.groups[0].rate == 2.5)
    #expect(scenario.groups[1].subscribers == 100)
    #expect(scenario.turns == 3)
    #expect(scenario.name == "other")
    #expect(scenario.ramp?.factor == 2)
  }

  @Test(
    "A mistake is told with file, key and what is right",
    arguments: [
      (
        #"{ "about": "x", "groups": [ { "rate": 1, "subsribers": 3 } ] }"#, "groups.0.subsribers",
        "did you mean \"subscribers\"?"
      ),
      (#"{ "about": "x", "groups": [ { "rate": 1 } ], "qqqq": 3 }"#, "\"qqqq\"", "the keys are name, about"),
      (#"{ "groups": [ { "rate": 1 } ] }"#, "\"about\" is missing", "one sentence"),
      (#"{ "about": "x", "groups": [] }"#, "\"groups\" must be", "not a list"),
      (#"{ "about": "x", "groups": [ { "rate": "many" } ] }"#, "\"groups.0.rate\"", "not the text \"many\""),
      (#"{ "about": "x", "groups": [ { "rate": 1, "payload": 35 } ] }"#, "\"groups.0.payload\"", "from 36 to"),
      (#"{ "about": "x", "groups": [ { "rate": 1, "channels": 1.5 } ] }"#, "\"groups.0.channels\"", "not 1.5"),
      (#"{ "about": "x", "groups": [ { "rate": 1 } ], "measure": "speed" }"#, "\"measure\"", "\"saturation\""),
      (
        #"{ "about": "x", "groups": [ { "rate": 1 } ], "settings": ["a"] }"#, "the setting \"a\"",
        "client.ping_interval=5m"
      ),
      (#"{ "about": "x", "groups": [ { "rate": 1 } ], "missed": 3 }"#, "\"missed\" belongs", "resume"),
      (#"{ "about": "x", "groups": [ { "rate": 1 } ], "measure": "idle" }"#, "publishes nothing", "leave \"rate\" out"),
      (#"{ "about": "x", "groups": [ { } ] }"#, "publishes", "set \"groups.0.rate\""),
      (#"{ "about": "x", "groups": [ { "rate": 1, "worker": 1 } ] }"#, "for worker 1", "set \"workers\""),
      (#"{ "about": "x", "groups": [ { "rate": 1, "publishers": 2 } ] }"#, "2 publishers for 1 channels", "at most"),
      (#"{ "about": "x", "groups": [ { "rate": 1, "subscribers": 0 } ] }"#, "no group has subscribers", "set"),
      (#"{ "about": "x", "groups": [ { "rate": 1, "name": "a b" } ] }"#, "a b", "letters, digits"),
      (
        #"{ "about": "x", "groups": [ { "rate": 1, "name": "a" }, { "name": "a" } ] }"#, "two groups",
        "a name of its own"
      ),
      (#"{ "about": "x", "groups": [ { "rate": 1, "channels": 2000, "subscribers": 2000 } ] }"#, "a million", "fewer"),
      (#"[1]"#, "the scenario must be an object", "a list"),
      (#"{ "about": "x", "#, "is no JSON", "test.json"),
    ])
  func mistakes(text: String, place: String, advice: String) {
    let error = failure(text)
    #expect(error.contains("test.json"))
    #expect(error.contains(place))
    #expect(error.contains(advice))
  }

  @Test("An override that leads nowhere says why")
  func wrongOverrides() {
    #expect(failure(Self.least, ["groups.3.rate=1"]).contains("there is no 3, there are 0"))
    #expect(failure(Self.least, ["about.x=1"]).contains("has no parts"))
    #expect(failure(Self.least, ["groups.0.raet=1"]).contains("did you mean \"rate\"?"))
    #expect(failure(Self.least, ["turns"]).contains("write it like"))
  }

  @Test("Every scenario of the repository loads, has a sentence, and publishes to somebody")
  func committed() throws {
    let all = try ScenarioFile.all()
    let expected = [
      "coalesce", "coldread", "connectstorm", "durable", "durable-many", "durable-many-most", "durable-most", "fanout",
      "fanout-10k", "fanout-tls", "headofline", "headofline-rest", "idle",
      "latency", "resumestorm", "rooms", "rooms-one", "saturation", "slowreaders", "slowreaders-none", "soak",
    ]
    #expect(Set(all.map(\.name)).isSuperset(of: expected))
    for (name, result) in all {
      let scenario = try result.get()
      #expect(scenario.name == name)
      #expect(scenario.about.hasSuffix("."), "\(name)")
      for goal in scenario.goals ?? [] {
        #expect(scenario.turns >= Verdict.turnsNeeded, "\(name)")
        let measured = goal.scenario == nil ? scenario.peers : try ScenarioFile.load(goal.scenario ?? "").peers
        for peer in [goal.peer, goal.of].compactMap({ $0 }) { #expect(measured.contains(peer), "\(name)") }
      }
      for peer in scenario.peers { #expect(PeerCatalogue.names.contains(peer), "\(name)") }
      for worker in 0..<scenario.workers {
        let plan = WorkerPlan(
          worker: worker, workers: scenario.workers, target: .loopback("floor", "ws://127.0.0.1:1/"),
          scenario: scenario, run: "1")
        #expect(try !Roster(plan).subscribers.isEmpty, "\(name)")
      }
    }
  }

  @Test("A scenario that is only compared with another differs from it in what its name says")
  func pairs() throws {
    var (slow, none) = (try ScenarioFile.load("slowreaders"), try ScenarioFile.load("slowreaders-none"))
    slow.groups[0].slow = 0
    #expect(slow.groups == none.groups && slow.duration == none.duration)
    none = try ScenarioFile.load("headofline-rest")
    var flood = try ScenarioFile.load("headofline")
    flood.groups[1].rate = 0
    #expect(flood.groups == none.groups && flood.duration == none.duration)
    for (name, other) in [("durable", "durable-many"), ("durable-most", "durable-many-most")] {
      var many = try ScenarioFile.load(other)
      let few = try ScenarioFile.load(name)
      many.groups[0].channels = few.groups[0].channels
      #expect(many.groups == few.groups && many.settings == few.settings && many.ramp == few.ramp)
    }
    var one = try ScenarioFile.load("rooms-one")
    one.groups[0].publishers = 50
    #expect(try one.groups == ScenarioFile.load("rooms").groups)
  }

  @Test("What is built in is benchmarks/scenarios, byte by byte; `make scenarios` makes it anew")
  func builtIn() throws {
    let folder = ServerProcess.repository.appending(path: "benchmarks/scenarios").path
    #expect(try ScenarioFile.all().map(\.name) == ScenarioFile.all(in: folder).map(\.name))
    for (name, _) in try ScenarioFile.all(in: folder) {
      #expect(try ScenarioFile.text(of: name) == ScenarioFile.text(of: name, in: folder), "\(name)")
    }
  }

  @Test("A folder of one's own is used in place of what is built in")
  func folder() async throws {
    try await withTemporaryFolder { folder in
      try Data(Self.least.utf8).write(to: folder.appending(path: "mine.json"))
      #expect(try ScenarioFile.all(in: folder.path).map(\.name) == ["mine"])
      #expect(try ScenarioFile.load("mine", in: folder.path).groups[0].rate == 10)
      #expect(try ScenarioFile.text(of: "mine", in: folder.path) == Data(Self.least.utf8))
      #expect(throws: BenchError.self) { try ScenarioFile.load("fanout", in: folder.path) }
      let nowhere = folder.appending(path: "nowhere").path
      #expect(throws: BenchError.self) { try ScenarioFile.all(in: nowhere) }
    }
  }

  private func made(_ overrides: [String]) -> Result<Scenario, BenchError> {
    Result { () throws(BenchError) in
      var parsed: [ScenarioFile.Override] = []
      for text in overrides { parsed.append(try ScenarioFile.Override(text)) }
      return try ScenarioFile.made(of: parsed)
    }
  }

  @Test("Without a file the numbers that are given make a scenario, and the rules are those of files")
  func madeUp() throws {
    let scenario = try made([
      "groups.0.channels=100", "groups.0.subscribers=20", "groups.0.publishers=10", "groups.0.rate=1000",
      "groups.0.payload=256", "turns=3",
    ]).get()
    let group = scenario.groups[0]
    #expect(scenario.name == "ad-hoc" && scenario.groups.count == 1 && scenario.turns == 3)
    #expect((group.channels, group.subscribers, group.publishers) == (100, 20, 10))
    #expect(group.rate == 1000 && group.payload == 256)
    #expect(try made(["measure=connect", "groups.0.subscribers=500"]).get().measure == .connect)
    func failure(_ overrides: [String]) -> String {
      if case .failure(let error) = made(overrides) { error.description } else { "none" }
    }
    #expect(failure(["groups.0.rate=1", "groups.0.payload=35"]).hasPrefix("the command line: \"groups.0.payload\""))
    #expect(failure(["groups.0.rate=1", "groups.0.publishers=2"]).contains("2 publishers for 1 channels"))
    #expect(failure(["groups.0.subscribers=9"]).contains("(--rate)"))
    #expect(failure(["turns=3"]).contains("name a scenario"))
  }

  @Test("A scenario that does not exist is told with one that does")
  func unknown() {
    #expect(throws: BenchError.self) { try ScenarioFile.load("/nowhere/x.json") }
    do {
      _ = try ScenarioFile.load("fanuot")
      Issue.record("it was found")
    } catch { #expect(error.description.contains("did you mean fanout?")) }
  }
}
