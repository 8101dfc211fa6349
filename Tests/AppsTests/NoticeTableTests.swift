import Testing

@testable import Apps

@Suite("Notifications: the table of one subject")
struct NoticeTableTests {
  /// The table of the documentation, row by row: states by their first letters, `-` where nothing happens.
  private static let rows: [(NoticeState, String)] = [
    (.gone, "waiting - - - - - - - - - - -"),
    (.waiting, "- sending/send gone/suppress gone/suppress - gone/drop gone/drop - - - - -"),
    (.renewed, "- sending/send shown/suppress withdrawing/withdraw - shown/drop gone/drop - - - - -"),
    (.sending, "overtaken - - - - - - shown renewed waiting gone renewed"),
    (.overtaken, "- - - - - - - renewed renewed waiting waiting renewed"),
    (.shown, "renewed - - withdrawing/withdraw updating/update - gone - - - - -"),
    (.withdrawing, "returning - - - - - - gone shown shown gone shown"),
    (.returning, "- - - - - - - waiting renewed renewed waiting renewed"),
    (.updating, "interrupted - - - - - - shown shown shown shown shown"),
    (.interrupted, "- - - - - - - renewed renewed renewed renewed renewed"),
  ]

  @Test("each event leads from each state where the table says")
  func table() {
    #expect(Self.rows.map(\.0) == NoticeState.allCases)
    for (state, row) in Self.rows {
      let cells = row.split(separator: " ")
      #expect(cells.count == NoticeState.Event.allCases.count)
      for (event, cell) in zip(NoticeState.Event.allCases, cells) {
        let step = state.after(event)
        let action = step.action == .nothing ? "" : "/\(step.action)"
        let said = step.state == state && action.isEmpty ? "-" : step.state.rawValue + action
        #expect(said == cell, "\(state) \(event)")
      }
    }
  }

  @Test("nothing is decided while something is under way, and only an end leads out of it")
  func underWay() {
    for state in NoticeState.allCases where state.isUnderWay {
      for event in [NoticeState.Event.unacknowledged, .acknowledged, .seen, .fewer, .nobody, .over] {
        #expect(state.after(event) == (state, .nothing))
      }
      for event in [NoticeState.Event.done, .partly, .again, .hopeless, .lost] {
        #expect(!state.after(event).state.isUnderWay)
      }
    }
  }

  @Test("what has come is never forgotten by the end of a send")
  func pending() {
    for state in [NoticeState.overtaken, .returning, .interrupted] {
      for event in [NoticeState.Event.done, .partly, .again, .hopeless, .lost] {
        #expect(state.after(event).state.isPending, "\(state) \(event)")
      }
    }
  }
}
