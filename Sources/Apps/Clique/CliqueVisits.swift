import Wire

/// What is kept of who was where.
///
/// A visit stands in one record, its visitor's. A place keeps a number for each who came, in their order, and nothing of
/// how long they stayed: entering writes three small records and leaving one, however many are there. Who crossed whom is
/// not kept at all: it is worked out from two people's visits when somebody looks.
extension Clique {
  /// Where one person was within the window, and is.
  struct Visits: AppRecord {
    struct Visit: Codable, Sendable, Equatable {
      var place: String
      /// In the order in which people came there.
      var number: UInt64
      var since: Int64
      /// When it ends by itself.
      var until: Int64
      /// 0: it goes on.
      var end: Int64 = 0
    }

    /// In the order in which they began.
    var visits: [Visit] = []
    var window: Int64
    /// Of ``CliqueRate``.
    var mark: Int64?

    /// When the next visit ends by itself, or is forgotten.
    var due: Int64? {
      visits.map { $0.end == 0 ? $0.until : $0.end.addingReportingOverflow(window).partialValue }.min()
    }

    func index(in place: String) -> Int? { visits.firstIndex { $0.end == 0 && $0.place.hasSameBytes(as: place) } }

    /// The visits as times in places: one that was said again from another number goes on where the former ended.
    func stays(_ now: Int64) -> [Stay] {
      var stays: [Stay] = []
      for visit in visits {
        // Whoever overstayed is gone, whether or not the timer has run.
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
    /// 0: it goes on.
    var end: Int64
  }

  /// How many have come to a place.
  struct Place: AppRecord {
    /// The number of the next one.
    var next: UInt64 = 0
    /// When nobody is remembered there any more.
    var ends: Int64 = 0

    var due: Int64? { ends }
  }

  /// Who came to a place with a number.
  struct Visitor: AppRecord {
    var user: String
    /// When the visit may be forgotten: looked at again then.
    var ends: Int64

    var due: Int64? { ends }
  }

  /// When and where two people were together.
  struct Crossing: Equatable {
    struct Meeting: Equatable {
      var place: String
      var start: Int64
      /// 0: they are together now.
      var end: Int64 = 0
    }

    var meetings: [Meeting] = []
    var window: Int64

    /// Shown of one pair, the latest.
    static let maximumMeetings = 64

    /// - Parameter cut: what began before does not count.
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
      meetings.sort { $0.start < $1.start }
      meetings.removeFirst(max(0, meetings.count - Self.maximumMeetings))
    }

    var areTogether: Bool { meetings.contains { $0.end == 0 } }

    func lastSeen(_ now: Int64) -> Int64 { areTogether ? now : meetings.map(\.end).max() ?? 0 }

    /// Milliseconds together; time in two places at once counts once.
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

  /// As places were kept before: with all their visitors. Nothing of them is taken over; see ``forgetFormer(_:_:)``.
  struct FormerPlace: AppRecord {
    struct Visit: Codable, Sendable, Equatable {
      var user: String
      var until: Int64
    }

    var name: String
    var visits: [Visit]

    var due: Int64? { visits.map(\.until).min() }
  }

  /// As crossings were kept before: a record for each pair.
  struct FormerCrossing: AppRecord {
    var a: String
    var b: String

    var due: Int64? { nil }
  }
}
