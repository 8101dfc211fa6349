import Testing

@testable import Apps

@Suite("Clique: where a person stands towards a group")
struct GroupPlaceTests {
  private static let columns: [GroupPlace.Event] = [
    .add(heard: true), .add(heard: false), .remove, .appoint, .dismiss, .leave, .join,
  ]

  private static let words: [String: GroupPlace] = [
    "outside": .outside, "removed": .removed, "absent": .absent(.member), "absent/admin": .absent(.administrator),
    "member": .present(.member), "admin": .present(.administrator),
  ]

  /// Each cell, in the order of `columns`: the place after it, or what it is refused for. `~`: nobody sees the change.
  private static let table = """
    outside       member   absent  ✗nobody  ✗nobody       ✗nobody  ✗nobody  member
    removed       member   absent  ✗nobody  ✗nobody       ✗nobody  ✗nobody  ✗link
    absent        ~member  =       removed  absent/admin  =        ✗nobody  ~member
    absent/admin  ~admin   =       removed  =             absent   ✗nobody  ~admin
    member        =        =       removed  admin         =        outside  =
    admin         =        =       removed  =             member   outside  =
    """

  @Test("each cell of the table")
  func cells() throws {
    var seen: Set<GroupPlace> = []
    for line in Self.table.split(separator: "\n") {
      let cells = line.split(separator: " ").map(String.init)
      let place = try #require(Self.words[cells[0]])
      seen.insert(place)
      try #require(cells.count == Self.columns.count + 1)
      for (event, cell) in zip(Self.columns, cells.dropFirst()) {
        let step = place.after(event)
        let expected: GroupPlace.Step
        if cell == "=" {
          expected = .init(place: place, outcome: .unchanged)
        } else if cell.hasPrefix("✗") {
          let refusal = try #require(GroupPlace.Refusal(rawValue: String(cell.dropFirst())))
          expected = .init(place: place, outcome: .refused(refusal))
        } else if cell.hasPrefix("~") {
          expected = .init(place: try #require(Self.words[String(cell.dropFirst())]), outcome: .came)
        } else {
          expected = .init(place: try #require(Self.words[cell]), outcome: .changed)
        }
        #expect(step == expected, "\(place) \(event)")
      }
    }
    #expect(seen == Set(Self.words.values), "the table has a row for each place")
  }

  @Test("the only administrator is not dismissed; nothing else depends on whether there is another")
  func lastAdministrator() {
    for place in Self.words.values {
      for event in Self.columns {
        let step = place.after(event, isLast: true)
        if event == .dismiss, place.shown == .administrator {
          #expect(step == .init(place: place, outcome: .refused(.lastAdministrator)))
        } else {
          #expect(step == place.after(event))
        }
      }
    }
  }

  @Test("an absent person is shown as a member is, whatever an administrator does with them")
  func absentLooksPresent() {
    for rank in GroupPlace.Rank.allCases {
      for event in Self.columns where event != .leave && event != .join {
        let (absent, present) = (GroupPlace.absent(rank).after(event), GroupPlace.present(rank).after(event))
        #expect(absent.place.shown == present.place.shown, "\(event)")
        #expect((absent.outcome == .changed) == (present.outcome == .changed), "\(event)")
      }
    }
  }
}
