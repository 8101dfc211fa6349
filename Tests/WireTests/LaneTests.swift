import Testing
import Wire

@Suite("Lanes")
struct LaneTests {
  @Test("Publications go before receipts, receipts before typing")
  func order() {
    #expect(Lane.allCases == [.publications, .receipts, .typing])
    #expect(Lane.allCases.shuffled().sorted() == Lane.allCases)
    #expect(Lane.publications.rawValue == 0)
    #expect(Lane.lowest == Lane.allCases.max())
    #expect(ChannelOptions().lane == .publications)
  }

  @Test("Nothing is left out in the lane of publications alone")
  func conflation() {
    #expect(Lane.allCases.filter { !$0.isConflated } == [.publications])
  }

  @Test("A lane is found by its name as written")
  func names() {
    for lane in Lane.allCases { #expect(Lane(name: lane.name) == lane) }
    for name in ["", "Publications", "control", "typing "] { #expect(Lane(name: name) == nil) }
  }
}
