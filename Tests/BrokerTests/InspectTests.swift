import Log
import Testing
import Wire

@testable import Broker

@Suite("Inspections, through the broker")
struct InspectTests {
  private func scene(_ change: (inout BrokerConfiguration) -> Void = { _ in }) -> BrokerScene {
    let scene = BrokerScene(change)
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  private func find(_ text: String, _ scene: BrokerScene, id: UInt64 = 1) {
    scene.send(.findings(LinkFindings(id: id, .inspected(Array(text.utf8)))), from: 1)
  }

  /// The answer to a question, where the only gateway knows nothing.
  private func answer(_ request: InspectRequest, _ scene: BrokerScene) throws -> JSONObject {
    scene.lastID += 1
    let number = scene.lastID
    _ = scene.serve(number, .inspect(request))
    guard case .survey(let id, .inspect(request))? = scene.hears().last else {
      throw MalformedMessage()
    }
    find("{}", scene, id: id)
    return try object(scene.answers[number])
  }

  private func object(_ response: BrokerResponse?) throws -> JSONObject {
    guard case .result(let bytes)? = response else { throw MalformedMessage() }
    return try #require(try JSONValue(parsing: bytes).object)
  }

  @Test("what the broker knows of a channel stands beside what each gateway found, and who did not answer is counted")
  func channel() throws {
    let scene = scene()
    scene.hello(2)
    _ = scene.hears(2)
    scene.request(1, .subscribe("room", member: "c"))
    for number in 2...4 as ClosedRange<UInt64> { scene.publish(number, "room", "\(number)", key: "k\(number)") }
    _ = scene.hears()
    _ = scene.serve(1, .inspect(InspectRequest(.channel("room"))))
    find(#"{"subscribers":1}"#, scene)
    #expect(scene.answers[1] == nil)
    scene.pass(2_000)
    let answer = try object(scene.answers[1])
    #expect(answer["unanswered"]?.text == "1")
    let gateway = try #require(answer["gateways"]?.array?.first?.object)
    #expect(gateway["uid"]?.string == LinkIdentity.text(of: 1))
    #expect(gateway["found"]?.object?["subscribers"]?.text == "1")
    let broker = try #require(answer["broker"]?.object)
    #expect(broker["offset"]?.text == "3" && broker["kind"]?.string == "stream" && broker["exists"]?.bool == true)
    #expect(broker["history"]?.object?["publications"]?.text == "3" && broker["idempotency_keys"]?.text == "3")
    #expect(broker["presence"]?.object?["clients"]?.text == "1" && broker["gateways"]?.text == "1")
  }

  @Test("a channel that does not exist is not made by looking at it, and one without a namespace is refused")
  func nothing() throws {
    let scene = scene()
    let broker = try #require(try answer(InspectRequest(.channel("d:nobody")), scene)["broker"]?.object)
    #expect(broker["exists"]?.bool == false && scene.core.channels.count == 0)
    #expect(scene.ask(.inspect(InspectRequest(.channel("nowhere:x"))))?.errorCode == 102)
    #expect(scene.core.surveys.count == 0)
  }

  @Test("an inspection waits for a store like any request, and the gateways are asked when it has answered")
  func waits() throws {
    let scene = scene()
    scene.disk.delays = true
    _ = scene.serve(1, .inspect(InspectRequest(.channel("d:1"))))
    #expect(scene.hears().isEmpty && scene.core.surveys.count == 0)
    scene.answer()
    guard case .survey? = scene.hears().last else {
      Issue.record("the gateways were not asked")
      return
    }
    find("{}", scene)
    #expect(try object(scene.answers[1])["broker"] != nil)
  }

  @Test("of a user the revocations in force are told, and no others")
  func revocations() throws {
    let scene = BrokerScene()
    scene.perform { scene.core.openRevocations(in: &$0) }
    for user in ["ann", "ben"] { _ = scene.ask(.revoke(.init(.user(user, issuedBefore: 7, channel: nil)))) }
    _ = scene.ask(.revoke(.init(.id("x"))))
    scene.finish(3)
    let answer = try object(scene.ask(.inspect(InspectRequest(.user("ann")))))
    let broker = try #require(answer["broker"]?.object)
    let revocations = try #require(broker["revocations"]?.array)
    #expect(revocations.count == 1 && revocations.first?.object?["issued_before"]?.text == "7")
    #expect(broker["tokens_revoked_by_id"]?.text == "1")
  }

  @Test("why somebody may not use an app's channel is said by the app; everything else the gateways say")
  func access() throws {
    let scene = BrokerScene { configuration in
      configuration.namespaces.add(TinyApp().namespaces, of: "tiny")
    }
    scene.install(TinyApp())
    func app(_ action: ChannelAction, _ channel: ChannelName) throws -> JSONObject? {
      let request = InspectRequest(.access(user: "ann", action, channel))
      return try object(scene.ask(.inspect(request)))["broker"]?.object?["app"]?.object
    }
    #expect(try app(.subscribe, TinyApp.chat)?["allowed"]?.bool == true)
    let publish = try #require(try app(.publish, TinyApp.chat))
    #expect(publish["allowed"]?.bool == false && publish["code"]?.text == "103")
    #expect(try app(.publish, "room") == nil)
    _ = scene.ask(
      .call(.init(.other(.init(method: "tiny.bar", data: Array("ann".utf8))), caller: .init(user: "x", client: "y"))))
    scene.finish(10)
    #expect(try app(.subscribe, TinyApp.chat)?["allowed"]?.bool == false)
  }

  @Test("top is added up over gateways, with how far each channel has come, and names only what may be named")
  func top() throws {
    let scene = scene()
    scene.publish(1, "room", "1")
    _ = scene.hears()
    _ = scene.serve(1, .top(visible: [NamePattern("roo*")]))
    let found = TopFindings(channels: [
      .init("room", subscribers: 2, bytesPerSecond: 10), .init("secret", subscribers: 1, bytesPerSecond: 99),
    ])
    scene.send(.findings(LinkFindings(id: 1, .top(found))), from: 1)
    let channels = try #require(try object(scene.answers[1])["channels"]?.array)
    #expect(channels.count == 1 && channels.first?.object?["offset"]?.text == "1")
  }

  @Test("what a service may ask is said by its grant: a channel's by the channel, people's by everything")
  func grants() {
    var grant = ServiceGrant()
    grant.read = [NamePattern("chat:*")]
    #expect(grant.refusal(of: .inspect(InspectRequest(.channel("chat:1")))) == nil)
    #expect(grant.refusal(of: .inspect(InspectRequest(.access(user: "a", .publish, "news")))) == "read=news")
    for request in [BrokerRequest.inspect(InspectRequest(.user("a"))), .top(visible: nil)] {
      #expect(grant.refusal(of: request) == "read=*")
    }
    grant.read.append(NamePattern("*"))
    #expect(grant.refusal(of: .inspect(InspectRequest(.user("a")))) == nil)
    // What is done once needs what it would need else.
    let once = BrokerRequest.once(OnceKey(owner: "", key: "k"), .historyRemove("chat:1"))
    #expect(grant.refusal(of: once) == "publish=chat:1")
  }
}
