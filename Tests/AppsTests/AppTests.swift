import Apps
import Testing
import Wire

@Suite("App decisions")
struct AppTests {
  @Test("a decision without a reply answers with an empty object")
  func emptyReply() {
    #expect(AppDecision().answer == .reply(Array("{}".utf8)))
  }
}
