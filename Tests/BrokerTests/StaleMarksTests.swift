import Log
import Testing
import Wire

@testable import Broker

@Suite("What a killed broker had still to work out is marked")
struct StaleMarksTests {
  let app = TinyApp()

  @Test("an entry that was to be worked out when the broker was killed is, when its list is opened again")
  func openedAfterRestart() {
    let before = app.scene()
    before.call(1, "set a 1")
    before.finish(.max)
    before.call(2, "soon a 2")
    _ = before.disk.finish()
    let after = app.scene(before.disk)
    #expect(after.shown() == ["a": "\"1\""])
    after.turn(2)
    #expect(after.shown() == ["a": "\"2\""])
  }

  @Test("what is marked is worked out by the next broker though nobody opens it, and nothing else is")
  func marked() {
    let before = app.scene()
    for key in ["a", "b"] { before.call(1, "set \(key) 1") }
    before.finish(.max)
    before.call(2, "soon a 2")
    _ = before.disk.finish()
    app.forgetWorkedOut()
    let after = app.scene(before.disk)
    after.turn(2)
    #expect(app.workedOut.contains("a") && !app.workedOut.contains("b"))
    #expect(after.shown() == ["a": "\"2\"", "b": "\"1\""])
  }

  @Test("a place that is touched all the time costs one mark, which goes a minute after it was left alone")
  func marksGo() {
    let scene = app.scene()
    let marks: ChannelName = "tiny.marks:all"
    func written() -> [Bool] { scene.disk.changes(of: marks).map(\.removed) }
    for index in 1...300 {
      scene.call(UInt64(index), "soon a \(index)")
      scene.turn(by: 400)
    }
    #expect(written() == [false])
    scene.turn(20, by: 4000)
    #expect(written() == [false, true])
    scene.hello(1, session: 2)
    scene.call(400, "soon a x")
    scene.finish(.max)
    #expect(written() == [false, true, false])
  }

  @Test("marks stay where what they stand for could not be worked out")
  func marksStay() {
    let scene = app.scene()
    scene.call(1, "soon a 1")
    scene.finish(.max)
    for _ in 0..<40 {
      scene.pass(2500)
      scene.finish(.max, error: .full("x"))
    }
    #expect(scene.disk.changes(of: "tiny.marks:all").count == 1)
  }

  @Test("one key of a list that nobody has open is read alone, as it is shown")
  func oneKey() {
    let before = app.scene()
    before.call(1, "set a 1")
    before.call(2, "set b 2")
    before.finish(.max)
    let after = app.scene(before.disk)
    let opened = after.disk.opened
    func read(_ key: String) -> BrokerResponse? {
      after.ask(.readMap(.init(channel: TinyApp.list, key: key, read: .init(phase: .state))))
    }
    guard case .mapPage(let page)? = read("b"), case .mapPage(let nothing)? = read("c") else {
      Issue.record("no page")
      return
    }
    #expect(page.entries.map(\.data) == [Array("\"2\"".utf8)] && nothing.entries.isEmpty)
    #expect(page.position == .init(epoch: "disk", offset: 2) && nothing.position == page.position)
    #expect(after.disk.opened == opened)
  }
}
