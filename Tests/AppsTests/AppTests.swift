import Apps
import Testing
import Wire

@Suite("App decisions")
struct AppTests {
  @Test("A command's key is told from every other's text without its own being made")
  func keysCompare() {
    let keys: [AppCall.Key] = [
      .gateway(0, request: 0), .gateway(1, request: 23), .gateway(12, request: 3), .gateway(.max, request: .max),
      .gateway(10, request: 100), .text(""), .text("1-23"), .text("service-7"),
    ]
    for (index, key) in keys.enumerated() {
      for (other, text) in keys.map(\.description).enumerated() {
        #expect(key.isWritten(text) == (key.description == text), "\(index) and \(other)")
      }
      #expect(!key.isWritten("0" + key.description) && !key.isWritten(key.description + "0"))
    }
    #expect(!AppCall.Key.gateway(1, request: 23).isWritten("1-023"))
    #expect(!AppCall.Key.gateway(1, request: 23).isWritten("-23"))
  }

  @Test("a decision without a reply answers with an empty object")
  func emptyReply() {
    #expect(AppDecision().answer == .reply(Array("{}".utf8)))
  }
}
