import Log
import Testing
import Wire

@testable import Broker

@Suite("BrokerCore changes and removes publications")
struct EditTests {
  private let author = ClientInfo(user: "ann", client: "c")

  /// Publications 1 to 3 by the author.
  private func scene() -> BrokerScene {
    let scene = BrokerScene()
    scene.hello(1)
    for text in ["1", "2", "3"] {
      _ = scene.ask(.publish(.init(channel: "d:1", data: Array(text.utf8), info: author, tags: ["t": text])))
    }
    scene.finish(3)
    return scene
  }

  private func edit(_ scene: BrokerScene, _ offset: UInt64, _ text: String?, by editor: ClientInfo?) -> BrokerResponse?
  {
    scene.ask(.edit(.init(channel: "d:1", offset: offset, data: text.map { Array($0.utf8) }, editor: editor)))
  }

  private func history(_ scene: BrokerScene) -> [Publication] {
    guard case .history(let page)? = scene.ask(.history(.init(channel: "d:1", limit: 100))) else { return [] }
    return page.publications
  }

  @Test("history shows what was changed as it is now, and that it was, when the disk has it")
  func changed() {
    let scene = scene()
    _ = edit(scene, 2, "x", by: author)
    #expect(history(scene).map(\.data) == ["1", "2", "3"].map { Array($0.utf8) })
    scene.finish()
    let kept = history(scene)
    #expect(kept.map { String(decoding: $0.data, as: UTF8.self) } == ["1", "x", "3", "x"])
    #expect(kept[1].tags == ["t": "2", "edited": String(scene.time.wall)])
    #expect(kept[1].info == author)
    #expect(kept[3].tags == ["edits": "2"])
  }

  @Test("what was removed is gone from history, and cannot be changed any more")
  func removed() {
    let scene = scene()
    _ = edit(scene, 2, nil, by: author)
    scene.finish()
    let kept = history(scene)
    #expect(kept.map { String(decoding: $0.data, as: UTF8.self) } == ["1", "null", "3", "null"])
    #expect(kept[1].tags["deleted"] != nil)
    #expect(kept[3].tags == ["deletes": "2"])
    #expect(edit(scene, 2, "y", by: author)?.errorCode == 107)
    #expect(edit(scene, 4, "y", by: author)?.errorCode == 107)
  }

  @Test("live subscribers are told in order, with an offset of its own")
  func live() {
    let scene = scene()
    scene.request(1, .subscribe("d:1"))
    _ = scene.hears()
    _ = edit(scene, 1, "x", by: author)
    scene.finish()
    #expect(scene.hears() == [.publication("d:1", 4, "x")])
  }

  @Test("only the author may, or a service")
  func authors() {
    let scene = scene()
    #expect(edit(scene, 1, "x", by: ClientInfo(user: "bob", client: "c"))?.errorCode == 103)
    #expect(edit(scene, 1, "x", by: ClientInfo(user: "", client: "c"))?.errorCode == 103)
    _ = edit(scene, 1, "x", by: nil)
    scene.finish()
    #expect(history(scene)[0].data == Array("x".utf8))
    #expect(history(scene)[0].info == author)
  }

  @Test("what has no author is nobody's to change")
  func noAuthor() {
    let scene = scene()
    _ = scene.ask(.publish(.init(channel: "d:1", data: [0x34])))
    scene.finish()
    #expect(edit(scene, 4, "x", by: ClientInfo(user: "", client: "c"))?.errorCode == 103)
  }

  @Test("an offset that is not there is refused", arguments: [0, 4, UInt64.max] as [UInt64])
  func noSuchOffset(offset: UInt64) {
    #expect(edit(scene(), offset, "x", by: author)?.errorCode == 107)
  }

  @Test("a channel without history has nothing to change")
  func noHistory() {
    let scene = BrokerScene()
    let request = BrokerRequest.EditRequest(channel: "bare:1", offset: 1, data: nil, editor: nil)
    #expect(scene.ask(.edit(request))?.errorCode == 108)
  }

  @Test("a change that the disk did not take changes nothing")
  func failure() {
    let scene = scene()
    _ = edit(scene, 2, "x", by: author)
    scene.finish(error: .full("x"))
    #expect(history(scene).map(\.data) == ["1", "2", "3"].map { Array($0.utf8) })
  }

  @Test("a change that a gateway asks again is made once")
  func retry() {
    let scene = scene()
    let request = BrokerRequest.edit(.init(channel: "d:1", offset: 2, data: [0x39], editor: author))
    _ = scene.hears()
    scene.request(1, request)
    scene.request(1, request, isRetry: true)
    scene.finish(.max)
    scene.request(1, request, isRetry: true)
    scene.finish(.max)
    #expect(scene.hears() == [.reply(1, .published(4)), .reply(1, .published(4))])
    #expect(history(scene).count == 4)
  }

  @Test("who may not see a publication does not hear that it was changed")
  func audience() {
    let app = TinyApp()
    let scene = BrokerScene(app)
    scene.hello(1)
    scene.call(1, "secret 1")
    scene.finish()
    scene.call(2, "edit 1 2")
    scene.finish()
    let tags = scene.disk.written(TinyApp.chat).map(\.tags)
    #expect(tags.map { $0["only"] } == ["ann", "ann"])
    #expect(tags.map { $0["hidden"] } == ["|x|", "|x|"])
    let bob = BrokerRequest.HistoryRequest(channel: TinyApp.chat, limit: 10, viewer: "bob")
    guard case .history(let page)? = scene.ask(.history(bob)) else {
      Issue.record("no history")
      return
    }
    #expect(page.publications.isEmpty)
  }
}
