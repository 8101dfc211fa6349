import Apps
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("Why, through the broker")
struct WhyFactsTests {
  /// The answer to a question, where the only gateway answers with some intervals.
  private func why(
    _ offset: UInt64, _ channel: ChannelName, _ scene: BrokerScene, _ intervals: [CoverageInterval],
    mayKnow: Bool = true
  ) throws -> JSONObject {
    scene.lastID += 1
    let number = scene.lastID
    _ = scene.hears()
    _ = scene.serve(
      number, .why(WhyRequest(user: "ann", channel: channel, offset: offset, mayKnowExclusions: mayKnow)))
    scene.finish(10)
    guard case .survey(let id, .coverage(let query))? = scene.hears().last else { throw MalformedMessage() }
    #expect(query.user == "ann" && query.position.offset == offset)
    scene.send(.findings(LinkFindings(id: id, .coverage(CoverageFindings(intervals: intervals)))), from: 1)
    guard case .result(let bytes)? = scene.answers[number] else { throw MalformedMessage() }
    return try #require(try JSONValue(parsing: bytes).object)
  }

  private func interval(_ scene: BrokerScene, _ channel: ChannelName, filter: TagFilter? = nil) throws
    -> CoverageInterval
  {
    let epoch = try #require(scene.core.channels[channel]?.sequencer.top.epoch)
    return CoverageInterval(
      client: "phone", start: CoverageStart(position: StreamPosition(epoch: epoch, offset: 0), filter: filter, at: 0),
      reach: CoverageReach(covered: 100, written: 100))
  }

  @Test("an entry of a map is held against the filter while nothing newer was written under its key")
  func maps() throws {
    let app = TinyApp()
    let scene = app.scene()
    scene.call(1, "set a 1")
    scene.finish(10)
    scene.call(2, "set b 2")
    scene.finish(10)
    let onlyB = try interval(scene, TinyApp.list, filter: .equal(key: "key", "b"))
    #expect(try why(1, TinyApp.list, scene, [onlyB])["verdict"]?.string == "filtered")
    #expect(try why(2, TinyApp.list, scene, [onlyB])["verdict"]?.string == "delivered")
    scene.call(3, "set a 3")
    scene.finish(10)
    // What the first publication wrote has been written over: its key is not known any more.
    let gone = try why(1, TinyApp.list, scene, [onlyB])
    #expect(gone["verdict"]?.string == "perhaps")
    #expect(gone["sentence"]?.string?.contains(#"the filter key is "b""#) == true)
  }

  @Test("what an app says is sealed is told to whoever may know, and what it is of stays with the broker")
  func seals() throws {
    let app = TinyApp()
    let scene = app.scene()
    scene.call(1, "say 1 sealed")
    scene.finish(10)
    let all = try interval(scene, TinyApp.chat)
    let known = try why(1, TinyApp.chat, scene, [all])
    #expect(known["verdict"]?.string == "delivered" && known["sealed"]?.string == "until_answered")
    #expect(try why(1, TinyApp.chat, scene, [all], mayKnow: false)["sealed"] == nil)
  }
}
