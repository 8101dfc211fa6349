import Wire

/// The records of who was where.
///
/// A visit stands in one record, its visitor's. A place numbers its visitors in the order in which they came, and keeps
/// nothing of how long they stayed: entering writes three small records and leaving one, however many people are there.
/// Crossings are not kept at all: they are worked out from two people's visits when somebody looks.
extension Clique {
  /// Where one person was within the window, and where they are.
  struct Visits: AppRecord {
    struct Visit: Codable, Sendable, Equatable {
      var place: String
      /// The visitor's number at the place. Visitors are numbered in the order in which they came.
      var number: UInt64
      var since: Int64
      /// When the visit ends by itself, in milliseconds since 1970, as all times here.
      var until: Int64
      /// When the visit ended; 0: it goes on.
      var end: Int64 = 0
    }

    /// The visits in the order in which they began.
    var visits: [Visit] = []
    var window: Int64
    /// The mark of ``CliqueRate`` for beginning visits.
    var mark: Int64?

    /// When the next visit ends by itself or is forgotten.
    var due: Int64? {
      visits.map { $0.end == 0 ? $0.until : $0.end.addingReportingOverflow(window).partialValue }.min()
    }

    func index(in place: String) -> Int? { visits.firstIndex { $0.end == 0 && $0.place.hasSameBytes(as: place) } }

    /// The visits as times in places. A visit that got a new number goes on where the one with the old number ended.
    func stays(_ now: Int64) -> [Stay] {
      var stays: [Stay] = []
      for visit in visits {
        // A visit that is overdue has ended, whether or not its timer has run.
        let end = visit.end == 0 && visit.until <= now ? visit.until : visit.end
        if let index = stays.lastIndex(where: { $0.place.hasSameBytes(as: visit.place) && $0.end == visit.since }) {
          stays[index].end = end
        } else {
          stays.append(Stay(place: visit.place, start: visit.since, end: end))
        }
      }
      return stays
    }
  }

  struct Stay: Equatable {
    var place: String
    var start: Int64
    /// When it ended; 0: it goes on.
    var end: Int64
  }

  /// The counter that numbers the visitors of a place.
  struct Place: AppRecord {
    /// The number of the next visitor.
    var next: UInt64 = 0
    /// When no visitor of the place is remembered any more.
    var ends: Int64 = 0

    var due: Int64? { ends }
  }

  /// The visitor of a place who has a number.
  struct Visitor: AppRecord {
    var user: String
    /// When the visit may be forgotten, and the record is looked at.
    var ends: Int64

    var due: Int64? { ends }
  }

  /// When and where two people were together.
  struct Crossing: Equatable {
    struct Meeting: Equatable {
      var place: String
      var start: Int64
      /// When they parted; 0: they are together now.
      var end: Int64 = 0
    }

    var meetings: [Meeting] = []
    var window: Int64

    /// Most meetings of one pair that are worked out, the latest ones.
    static let maximumMeetings = 64

    /// Works out the meetings of two people from their visits.
    ///
    /// - Parameter cut: meetings that began before do not count.
    init(_ one: Visits, _ other: Visits, from cut: Int64, _ now: Int64) {
      window = one.window
      let oldest = now.subtractingReportingOverflow(window).partialValue
      let others = other.stays(now)
      for mine in one.stays(now) {
        for theirs in others where theirs.place.hasSameBytes(as: mine.place) {
          let start = max(mine.start, theirs.start)
          let end = min(mine.end == 0 ? .max : mine.end, theirs.end == 0 ? .max : theirs.end)
          guard start < end, start >= cut, end > oldest else { continue }
          meetings.append(Meeting(place: mine.place, start: start, end: end == .max ? 0 : end))
        }
      }
      sort()
    }

    mutating func sort() {
      meetings.sort {
        $0.start == $1.start ? $0.place.utf8.lexicographicallyPrecedes($1.place.utf8) : $0.start < $1.start
      }
      meetings.removeFirst(max(0, meetings.count - Self.maximumMeetings))
    }

    var areTogether: Bool { meetings.contains { $0.end == 0 } }

    func lastSeen(_ now: Int64) -> Int64 { areTogether ? now : meetings.map(\.end).max() ?? 0 }

    /// When the crossing is shown no more, unless the two meet again; `Int64.max`: they are together.
    func passes(_ now: Int64) -> Int64 { areTogether ? .max : lastSeen(now) + window }

    /// Milliseconds that the two were together. Time in two places at once counts once.
    func total(_ now: Int64) -> Int64 {
      var total: Int64 = 0
      var reached = Int64.min
      for meeting in meetings {
        let end = meeting.end == 0 ? now : meeting.end
        let start = max(meeting.start, reached)
        if end > start { total += end - start }
        reached = max(reached, end)
      }
      return total
    }
  }

  // MARK: Former records

  /// A place as an earlier version kept it, with all its visitors. It is only erased; see ``forgetFormer(_:_:)``.
  struct FormerPlace: AppRecord {
    struct Visit: Codable, Sendable, Equatable {
      var user: String
      var until: Int64
    }

    var name: String
    var visits: [Visit]

    var due: Int64? { visits.map(\.until).min() }
  }

  /// A crossing as an earlier version kept it, one record for each pair. It is only erased.
  struct FormerCrossing: AppRecord {
    var a: String
    var b: String

    var due: Int64? { nil }
  }
}
