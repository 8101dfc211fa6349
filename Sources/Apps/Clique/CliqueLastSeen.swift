import Wire

/// What somebody who is blocked goes on seeing of crossings.
///
/// A block must not show, so the crossings of the two do not vanish for the one who is blocked: they look as if the other's
/// phone had died at that moment, and pass with the window. The one who blocks sees none of them any more.
///
/// What the two see of their crossings, by what stands between them:
///
///     between them       who blocked sees            the other sees
///     never a block      all                         all
///     a block            nothing                     what was there at the block, with visits that end by themselves
///     a block, lifted    what has begun since then   the same, and what has begun since then
extension Clique {
  /// The visits of somebody at the moment when they blocked somebody else, as the latter goes on seeing them.
  struct LastSeen: Codable, Sendable, Equatable {
    var visits: [Visits.Visit]
    /// For how long a visit that has ended is shown, in milliseconds.
    var window: Int64
    /// Meetings that began before did not count at that moment, in milliseconds since 1970.
    var from: Int64

    /// Most blocks of one person by another that are remembered so, within the window; the first makes room.
    static let most = 4

    var asVisits: Visits { Visits(visits: visits, window: window) }

    func counting(from now: Int64) -> LastSeen {
      LastSeen(visits: visits, window: window, from: max(from, now))
    }

    /// Without visits that are shown no more. Visits that are overdue have ended.
    func advanced(to now: Int64) -> LastSeen {
      var later = self
      for index in visits.indices where visits[index].end == 0 && visits[index].until <= now {
        later.visits[index].end = max(visits[index].until, visits[index].since, 1)
      }
      let oldest = now.subtractingReportingOverflow(window).partialValue
      later.visits.removeAll { $0.end > 0 && $0.end <= oldest }
      return later
    }

    /// Whether the visit is shown as it is without another copy of it.
    func holds(_ visit: Visits.Visit, from: Int64) -> Bool {
      self.from <= from
        && visits.contains { kept in
          kept.number == visit.number && kept.since == visit.since && kept.ending == visit.ending
            && kept.place.hasSameBytes(as: visit.place)
        }
    }
  }
}

extension Clique.Visits.Visit {
  /// When the visit ended, or ends if nobody prolongs it.
  fileprivate var ending: Int64 { end == 0 ? until : end }
}

extension Clique.Mark {
  /// When what is shown of the member's visits changes next by itself.
  var lastSeenDue: Int64? { lastSeen?.compactMap { $0.asVisits.due }.min() }

  /// Whether the other goes on seeing the visit with the number at the place.
  ///
  /// - Parameter place: as in a record's key.
  func wasLastSeen(as number: UInt64, in place: Substring) -> Bool {
    lastSeen?.contains { seen in
      seen.visits.contains { $0.number == number && Clique.Key.plain($0.place).utf8.elementsEqual(place.utf8) }
    } ?? false
  }

  mutating func advanceLastSeen(to now: Int64) {
    guard let lastSeen else { return }
    let later = lastSeen.map { $0.advanced(to: now) }.filter { !$0.visits.isEmpty }
    self.lastSeen = later.isEmpty ? nil : later
  }

  /// Keeps the member's visits as they are, because the member blocks the other now.
  ///
  /// - Parameter from: meetings that began before do not count.
  mutating func keepLastSeen(_ visits: Clique.Visits?, from: Int64, now: Int64) {
    guard let visits else { return }
    let kept = lastSeen ?? []
    // Where nothing has happened since an earlier block, that shows it all already.
    let new = Clique.LastSeen(
      visits: visits.visits.filter { visit in !kept.contains { $0.holds(visit, from: from) } }, window: visits.window,
      from: from)
    lastSeen = Array((kept + [new]).suffix(Clique.LastSeen.most))
    advanceLastSeen(to: now)
  }
}

extension Clique.Crossing {
  /// Adds meetings that somebody sees beside these. Meetings of one place that overlap are one.
  mutating func add(_ other: Clique.Crossing) {
    for meeting in other.meetings {
      var whole = meeting
      meetings.removeAll { known in
        let end = { (meeting: Meeting) in meeting.end == 0 ? Int64.max : meeting.end }
        guard known.place.hasSameBytes(as: whole.place), known.start < end(whole), whole.start < end(known) else {
          return false
        }
        whole = Meeting(
          place: whole.place, start: min(known.start, whole.start),
          end: known.end == 0 || whole.end == 0 ? 0 : max(known.end, whole.end))
        return true
      }
      meetings.append(whole)
    }
    sort()
  }
}
