import Log
import Testing
import Wire

@testable import Broker

@Suite("Commands that wait, and entries that the log keeps otherwise than they are shown")
struct AppLaterTests {
  let app = TinyApp()

  private func scene(_ disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let scene = BrokerScene(app, disk: disk)
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  private func resume(_ scene: BrokerScene, error: ClientError? = nil) {
    scene.perform { scene.core.resume("tiny", error: error, in: &$0) }
  }

  @Test("a command waits for what it needs, in order, and nobody behind it does")
  func waits() {
    let scene = scene()
    app.isReady = false
    scene.call(1, "later a")
    scene.call(2, "later b")
    scene.call(3, "get x")
    #expect(scene.hears() == [.result(3, "\"nothing\"")])
    // Asked again meanwhile, it is not run twice.
    scene.call(1, "later a", isRetry: true)
    resume(scene)
    #expect(scene.hears() == [], "it is not there yet")
    app.isReady = true
    resume(scene)
    #expect(scene.hears() == [.result(1, "\"a\""), .result(2, "\"b\"")])
    resume(scene)
    #expect(scene.hears() == [])
  }

  @Test("where what they need will not come, those who wait are told")
  func fails() {
    let scene = scene()
    app.isReady = false
    scene.call(1, "later a")
    resume(scene, error: .internalError)
    #expect(scene.hears().last?.internalError == 1)
  }

  @Test("so many commands wait, and one more is refused")
  func bounded() {
    let scene = scene()
    app.isReady = false
    for id in 1...UInt64(BrokerCore.callsPutAside) { scene.call(id, "later a") }
    #expect(scene.hears() == [])
    scene.call(5000, "later a")
    guard case .reply(5000, let response)? = scene.hears().last else {
      Issue.record("no answer")
      return
    }
    #expect(response.errorCode == 111)
  }

  @Test("a call that is refused because of a limit is counted")
  func counted() {
    let scene = scene()
    scene.call(1, "full")
    #expect(scene.core.counters.callsOverLimit == 1)
    #expect(scene.core.counters.refused == 0)
    for id in 2...5 as ClosedRange<UInt64> { scene.call(id, "full") }
    let lines = scene.core.tally.takeRefusals(isMinuteOver: true)
    #expect(lines.map(\.count) == [1, 4] && lines.allSatisfy { $0.source == "ann" }, "at once, and summed up")
    #expect(scene.core.tally.takeRefusals(isMinuteOver: true).isEmpty)
  }

  @Test("what subscribers see stands in no entry of the log that keeps it otherwise, and is seen again after a restart")
  func kept() {
    let disk = ScriptedStore()
    let before = scene(disk)
    before.request(1, .subscribe(TinyApp.list))
    _ = before.hears()
    before.call(2, "set a secret")
    let seen = before.disk.waiting.contains { $0.publication.change?.key == "a" && $0.channel == TinyApp.list }
    #expect(seen)
    for entry in before.disk.waiting where entry.channel == TinyApp.list {
      #expect(!String(decoding: entry.publication.data, as: UTF8.self).contains("secret"))
    }
    before.finish(.max)
    #expect(
      before.hears().contains { heard in
        if case .publication(TinyApp.list, _, let text) = heard { text.contains("secret") } else { false }
      })
    #expect(before.shown() == ["a": "\"secret\""])
    // The list's entry is worked out as it was, so nothing is written to the list.
    before.call(3, "set a secret")
    #expect(!before.disk.waiting.contains { $0.channel == TinyApp.list })
    before.finish(.max)
    #expect(scene(disk).shown() == ["a": "\"secret\""])
  }

  @Test("while the clock waits to be confirmed, entries are read without what may have ended")
  func doubt() {
    let scene = scene()
    scene.call(1, "set a 1")
    scene.finish(.max)
    scene.time.doubt = 1
    #expect(scene.shown() == ["a": "\"withheld\""])
    scene.time.doubt = 0
    #expect(scene.shown() == ["a": "\"1\""])
  }
}
