import Apps
import Log
import Testing
import Wire

@testable import Broker

@Suite("What is kept from somebody does not show, and neither does that it is kept")
struct ConcealmentTests {
  private func scene() -> BrokerScene {
    let scene = BrokerScene(TinyApp())
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  private func history(_ scene: BrokerScene, _ user: String) -> [String] {
    guard case .history(let page)? = scene.ask(.history(.init(channel: TinyApp.chat, limit: 9, viewer: user))) else {
      return ["-"]
    }
    return page.publications.map { "\($0.offset) \(String(decoding: $0.data, as: UTF8.self)) \($0.tags.keys.sorted())" }
  }

  @Test("a change that is kept from somebody stands in the history of all the others, at its own place")
  func change() {
    let scene = scene()
    scene.call(1, "say 1 old")
    scene.finish()
    scene.call(2, "conceal 1 2 bob")
    scene.finish()
    #expect(history(scene, "ann") == [#"1 2 ["edited"]"#, #"2 2 ["edits"]"#])
    #expect(history(scene, "bob") == [#"1 "old" []"#])
    scene.call(3, "conceal 1 3 eve")
    scene.finish()
    #expect(history(scene, "bob").first == #"1 3 ["edited"]"#, "a later change is kept from others")
    #expect(history(scene, "eve").first == #"1 2 ["edited"]"#)
    scene.call(4, "edit 1 4")
    scene.finish()
    for user in ["ann", "bob", "eve"] { #expect(history(scene, user).first == #"1 4 ["edited"]"#) }
  }

  @Test("a gateway that catches up is not given what people read differently: they ask by themselves")
  func resync() {
    let scene = scene()
    scene.call(1, "say 1 old")
    scene.finish()
    let since = StreamPosition(epoch: "disk", offset: 0)
    let whole = BrokerRequest.subscribe(.init(channel: TinyApp.chat, since: since, recoveryLimit: 9))
    scene.request(2, whole, isResync: true)
    scene.call(3, "conceal 1 2 bob")
    scene.finish()
    scene.request(4, whole, isResync: true)
    let member = ClientInfo(user: "bob", client: "b")
    scene.request(
      5, .subscribe(.init(channel: TinyApp.chat, since: since, recoveryLimit: 9, member: member)), isResync: true)
    let answers = scene.hears().compactMap { heard -> [String]? in
      guard case .reply(_, .subscribed(let answer)) = heard else { return nil }
      return answer.recovered ? answer.publications.map { String(decoding: $0.data, as: UTF8.self) } : nil
    }
    #expect(answers == [[#""old""#], [#""old""#]], "the gateway before the change, and bob after it")
  }

  @Test("whoever may only stay is not let in, is not let go, and is still there after the link was reset")
  func stays() {
    let scene = scene()
    let bob = ClientInfo(user: "bob", client: "b")
    let come = BrokerRequest.subscribe(.init(channel: TinyApp.chat, member: bob, isPresent: true))
    scene.request(1, come)
    scene.call(2, "stay bob")
    _ = scene.hears()
    scene.finish()
    #expect(scene.hears().contains(.audience("bob", .admitted)))
    #expect(scene.ask(.presence(TinyApp.chat, viewer: "ann")) == .presence([bob]))
    for refused in [come, .history(.init(channel: TinyApp.chat, limit: 1, viewer: "bob"))] {
      scene.request(3, refused)
      guard case .reply(3, let response)? = scene.hears().last else {
        Issue.record("not answered")
        continue
      }
      #expect(response.errorCode == 103)
    }
    scene.hello(1, session: 2)
    scene.request(4, come, isResync: true)
    scene.send(.resynced, from: 1)
    #expect(!scene.hears().contains(.leave("b")))
    #expect(scene.ask(.presence(TinyApp.chat, viewer: "ann")) == .presence([bob]))
  }
}
