import Apps
import Log
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Calls of apps: who speaks, what is counted, what was done before")
struct AppCallTests {
  private func scene(_ app: TinyApp = TinyApp()) -> BrokerScene {
    let scene = BrokerScene(app)
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  private func source(
    _ method: String = "tiny.source", isGateways: Bool = false, place: String? = nil
  ) -> BrokerRequest {
    .call(
      .init(
        .other(.init(method: method, data: [])), caller: ClientInfo(user: "ann", client: "service"),
        isGateways: isGateways, attestedPlace: place))
  }

  @Test("an app knows a service from a client, whatever a client calls itself, and a place that was attested")
  func sources() {
    let scene = scene()
    scene.request(1, source())
    scene.request(2, source(isGateways: true))
    scene.request(3, source(place: "park"))
    #expect(
      scene.hears() == [.result(1, "\"client -\""), .result(2, "\"gateway -\""), .result(3, "\"client park\"")])
    guard case .result(let answer)? = scene.ask(source()) else {
      Issue.record("no answer")
      return
    }
    #expect(String(decoding: answer, as: UTF8.self) == "\"service -\"")
    // A step that the gateway takes on the way to what a service asks.
    #expect(scene.ask(source(isGateways: true)) == .result(Array("\"gateway -\"".utf8)))
  }

  // MARK: Limits

  @Test("each limit of an app counts under its own name, and has a line of its own in the log")
  func limits() {
    let scene = scene()
    for (index, limit) in AppLimit.allCases.enumerated() {
      for time in 0...index { scene.call(UInt64(1 + index * 100 + time), "over \(limit.rawValue)", by: "eve") }
    }
    let counts = Dictionary(uniqueKeysWithValues: AppLimit.allCases.enumerated().map { ($1, UInt64($0 + 1)) })
    #expect(scene.core.counters.appLimits == counts)
    #expect(scene.core.counters.callsOverLimit == counts.values.reduce(0, +))
    var told: [String: Int] = [:]
    for line in scene.core.tally.takeRefusals(isMinuteOver: true) {
      told[line.cause.name, default: 0] += line.count
      #expect(line.source == "eve")
      #expect(line.cause.sentence.contains(".") && !line.cause.name.contains("."))
    }
    #expect(told == Dictionary(uniqueKeysWithValues: counts.map { ($0.name, Int($1)) }))
  }

  @Test("a limit that refuses nobody is counted when it is reached; what has no name counts as before")
  func reached() {
    let scene = scene()
    scene.call(1, "reach clique.max_requests_received", by: "eve")
    #expect(scene.hears() == [.result(1, "{}")])
    scene.call(2, "full", by: "eve")
    scene.call(3, "get a", by: "eve")
    #expect(scene.core.counters.appLimits == [.cliqueRequestsReceived: 1])
    #expect(scene.core.counters.callsOverLimit == 2)
    let lines = scene.core.tally.takeRefusals(isMinuteOver: true).map { "\($0.cause.name) \($0.count)" }
    #expect(lines.sorted() == ["app_calls 1", "clique_max_requests_received 1"])
  }

  @Test("a message that is changed into too long a one is counted as well, and what waits for keys by its own name")
  func elsewhere() throws {
    let (scene, id) = try talking()
    scene.request(
      20,
      .edit(
        .init(
          channel: try ChannelName("clique.chat:\(id)"), offset: 1,
          data: Array(#"{"text":"\#(String(repeating: "x", count: 4001))"}"#.utf8),
          editor: ClientInfo(user: "ann", client: "c"))))
    #expect(scene.hears().compactMap(\.error) == [106])
    #expect(scene.core.counters.appLimits == [.cliqueMessageCharacters: 1])

    let app = TinyApp()
    app.isReady = false
    let other = self.scene(app)
    for number in 0...UInt64(BrokerCore.callsPutAside) { other.call(1 + number, "later x", by: "eve") }
    #expect(other.hears().compactMap(\.error) == [111])
    #expect(other.core.tally.takeRefusals(isMinuteOver: true).map(\.cause.name) == ["app_calls_put_aside"])
  }

  // MARK: Asked again

  private func clique(_ disk: ScriptedStore) throws -> BrokerScene {
    let app = Clique()
    let scene = BrokerScene(disk: disk) { $0.namespaces.add(app.namespaces, of: app.name) }
    scene.install(app)
    scene.hello(1)
    scene.hello(2)
    _ = (scene.hears(1), scene.hears(2))
    return scene
  }

  private func call(
    _ scene: BrokerScene, _ id: UInt64, _ user: String, _ method: String, _ json: String, from gateway: UInt64 = 1,
    isRetry: Bool = false
  ) throws {
    let command = try AppCommand("clique." + method, Array(json.utf8), by: user)
    scene.request(
      id, .call(.init(command, caller: ClientInfo(user: user, client: "c-" + user))), from: gateway, isRetry: isRetry)
    scene.finish(.max)
  }

  private func talking() throws -> (BrokerScene, id: String) {
    let scene = try clique(ScriptedStore())
    try call(scene, 1, "ann", "send", #"{"to":"bob","text":"hello"}"#)
    try call(scene, 2, "bob", "accept", #"{"person":"ann"}"#)
    guard case .reply(_, .result(let reply))? = scene.hears().last else { throw ClientError.internalError }
    return (scene, String(String(decoding: reply, as: UTF8.self).split(separator: "\"")[3]))
  }

  @Test(
    "a message without a key that a gateway asks again after a crash is sent once, though its request was accepted since",
    arguments: ["", "disconnect", "send"])
  func acceptedSince(_ then: String) throws {
    let disk = ScriptedStore()
    let before = try clique(disk)
    let hello = #"{"to":"bob","text":"hello"}"#
    try call(before, 7, "ann", "send", hello)
    disk.crash()
    let after = try clique(disk)
    // Bob's gateway was there first.
    try call(after, 1, "bob", "accept", #"{"person":"ann"}"#, from: 2)
    if then == "disconnect" { try call(after, 2, "bob", "disconnect", #"{"person":"ann"}"#, from: 2) }
    if then == "send" { try call(after, 2, "bob", "send", #"{"to":"ann","text":"hi"}"#, from: 2) }
    guard case .reply(_, .result(let reply))? = after.hears(2).first else {
      Issue.record("not accepted")
      return
    }
    let id = String(decoding: reply, as: UTF8.self).split(separator: "\"")[3]
    try call(after, 7, "ann", "send", hello, isRetry: true)
    let texts = disk.written(try ChannelName("clique.chat:\(id)")).map { String(decoding: $0.data, as: UTF8.self) }
    #expect(texts.filter { $0.contains("hello") }.count == 1, "\(texts)")
    let heard = after.hears(1).compactMap { heard -> String? in
      if case .reply(7, .result(let data)) = heard { String(decoding: data, as: UTF8.self) } else { nil }
    }
    #expect(heard == [#"{"conversation":"\#(id)","offset":1}"#])
  }

  @Test("one that was taken back since does not wait again, and the next one does")
  func takenBackSince() throws {
    let disk = ScriptedStore()
    let before = try clique(disk)
    let hello = #"{"to":"bob","text":"hello"}"#
    try call(before, 7, "ann", "send", hello)
    disk.crash()
    let after = try clique(disk)
    try call(after, 1, "ann", "disconnect", #"{"person":"bob"}"#, from: 2)
    try call(after, 7, "ann", "send", hello, isRetry: true)
    func waiting() -> Int {
      let list = BrokerRequest.MapRequest(channel: "clique.list:bob", read: .init(phase: .state))
      guard case .mapPage(let page)? = after.ask(.readMap(list)) else { return -1 }
      return page.entries.count
    }
    #expect(waiting() == 0)
    try call(after, 8, "ann", "send", hello)
    #expect(waiting() == 1)
  }
}
