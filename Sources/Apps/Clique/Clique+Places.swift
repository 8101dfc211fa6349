import Wire

extension Clique {
  /// Begins a visit, because the caller has come to a place, or prolongs it, because they are still there.
  func enter(
    _ name: String, _ hasToken: Bool, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    try checkAttested(name, hasToken, call)
    let draft = CliqueDraft(view)
    if try draft.person(call.user).invisible { return AppDecision(reply: Self.visible(false)) }
    var visits = try visits(of: call.user, draft)
    let stored = visits
    try endOverdue(&visits, draft)
    if let index = visits.index(in: name) {
      try stay(&visits, index, call.user, draft)
    } else {
      try begin(&visits, name, call.user, draft)
    }
    write(visits, after: stored, of: call.user, draft)
    return draft.decision(reply: Self.visible(true))
  }

  func leave(_ name: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    var visits = try visits(of: call.user, draft)
    let stored = visits
    try endOverdue(&visits, draft)
    if let index = visits.index(in: name) { end(&visits, index, at: view.now, draft) }
    write(visits, after: stored, of: call.user, draft)
    return draft.decision()
  }

  /// Makes the caller invisible, or visible again. Invisible people are shown in no crossings and are shown none.
  func setInvisible(_ on: Bool, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    if try draft.person(call.user).invisible == on { return AppDecision(reply: Self.visible(!on)) }
    if on {
      var visits = try visits(of: call.user, draft)
      let stored = visits
      try endOverdue(&visits, draft)
      for index in visits.visits.indices where visits.visits[index].end == 0 {
        end(&visits, index, at: view.now, draft)
      }
      write(visits, after: stored, of: call.user, draft)
    }
    try draft.update(call.user) { person in person.invisible = on }
    draft.touch(Subject.met(by: call.user))
    return draft.decision(reply: Self.visible(!on))
  }

  /// Checks that the caller may claim to be in the place, each time, also where they only prolong a visit.
  private func checkAttested(_ name: String, _ hasToken: Bool, _ call: AppCall) throws(ClientError) {
    if call.source == .service {
      guard hasToken else { return }
      throw ClientError.badRequest.saying("a service is believed without a token; leave `token` out")
    }
    if let attested = call.attestedPlace {
      if attested.hasSameBytes(as: name) { return }
      throw ClientError.permissionDenied.saying("the place token is for another place; ask for one that names this one")
    }
    // The gateway has checked no token, so the one in the command counts for nothing.
    if hasToken { throw ClientError.permissionDenied.saying("`token` was not checked; send it as a string") }
    if rules.requiresPlaceToken {
      throw ClientError.permissionDenied.saying(
        "your backend has to say that you are there: ask it for a place token, and send it as `token`")
    }
  }

  private static func visible(_ isVisible: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.write("visible", isVisible) }
    return writer.bytes
  }

  // MARK: Visits

  private func visits(of user: String, _ draft: CliqueDraft) throws(ClientError) -> Visits {
    try draft.read(Visits.self, Key.visits(of: user)) ?? Visits(window: rules.crossingWindow)
  }

  private func write(_ visits: Visits, after stored: Visits, of user: String, _ draft: CliqueDraft) {
    if visits == stored { return }
    let key = Key.visits(of: user)
    if visits.visits.isEmpty { draft.erase(key) } else { draft.write(key, visits) }
  }

  private func begin(
    _ visits: inout Visits, _ name: String, _ user: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    if visits.visits.count(where: { $0.end == 0 }) >= rules.maximumPlaces {
      throw ClientError.limitExceeded.counted(as: .cliquePlaces).saying(
        "you are in \(rules.maximumPlaces) places; leave one first")
    }
    guard let mark = CliqueRate(perDay: rules.visitsPerDay).next(after: visits.mark, now: draft.now) else {
      throw ClientError.limitExceeded.counted(as: .cliqueVisitsPerDay).saying(
        "you have come to \(rules.visitsPerDay) places a day or nearly so many at once; say it again later")
    }
    visits.mark = mark
    try add(&visits, name, user, draft)
  }

  private func add(
    _ visits: inout Visits, _ name: String, _ user: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let (placeKey, until) = (Key.place(name), draft.now + rules.maximumVisit)
    var place = try draft.read(Place.self, placeKey) ?? Place()
    let number = place.next
    place.next += 1
    // The visitor stays a little longer than the visit is remembered: when it is forgotten, the people near are looked
    // for once more.
    let ends = until + rules.crossingWindow + CliqueRules.hour
    place.ends = ends
    draft.write(placeKey, place)
    draft.write(Key.visitor(name, number), Visitor(user: user, ends: ends))
    if visits.visits.count >= rules.maximumVisits, let first = visits.visits.firstIndex(where: { $0.end > 0 }) {
      visits.visits.remove(at: first)
    }
    visits.visits.append(Visits.Visit(place: name, number: number, since: draft.now, until: until))
    draft.touch(Key.visitor(name, number))
  }

  /// Prolongs a visit. Nothing is written unless the visit gets noticeably longer, so phones may repeat it as often as
  /// they like.
  private func stay(
    _ visits: inout Visits, _ index: Int, _ user: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let visit = visits.visits[index]
    let until = draft.now + rules.maximumVisit
    guard until - visit.until >= rules.maximumVisit / 12 else { return }
    // Newcomers are compared with those who came last. Somebody who stays while many others come gets a new number, so
    // as to be among them again.
    let next = try draft.read(Place.self, Key.place(visit.place))?.next ?? 0
    if next > visit.number, next - visit.number > UInt64(rules.maximumMeetings / 2) {
      visits.visits[index].end = draft.now
      try add(&visits, visit.place, user, draft)
    } else {
      visits.visits[index].until = until
    }
  }

  private func end(_ visits: inout Visits, _ index: Int, at end: Int64, _ draft: CliqueDraft) {
    let visit = visits.visits[index]
    visits.visits[index].end = max(end, visit.since, 1)
    draft.touch(Key.visitor(visit.place, visit.number))
  }

  /// Ends the visits that have lasted as long as they may, at that limit rather than now, and forgets the visits that
  /// ended before the window.
  func endOverdue(_ visits: inout Visits, _ draft: CliqueDraft) throws(ClientError) {
    for index in visits.visits.indices where visits.visits[index].end == 0 {
      if visits.visits[index].until <= draft.now { end(&visits, index, at: visits.visits[index].until, draft) }
    }
    let oldest = draft.now - visits.window
    for visit in visits.visits where visit.end > 0 && visit.end <= oldest {
      draft.touch(Key.visitor(visit.place, visit.number))
    }
    visits.visits.removeAll { $0.end > 0 && $0.end <= oldest }
  }

  // MARK: Time

  /// Ends the overdue visits of one visitor. Each visitor has a decision of their own, so that each is small, however
  /// many visits end together.
  func visitsAreDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var visits = try draft.read(Visits.self, key) else { return }
    try endOverdue(&visits, draft)
    if visits.visits.isEmpty { draft.erase(key) } else { draft.write(key, visits) }
  }

  /// Erases a visitor's number at a place, unless one of their visits still has it, which lasted longer than expected.
  func visitorIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let visitor = try draft.read(Visitor.self, key), visitor.ends <= draft.now else { return }
    let visits = try draft.read(Visits.self, Key.visits(of: visitor.user))?.visits ?? []
    guard let visit = visits.first(where: { Key.visitor($0.place, $0.number) == key }) else { return draft.erase(key) }
    let ends = max(visit.end, visit.until) + rules.crossingWindow + CliqueRules.hour
    draft.write(key, Visitor(user: visitor.user, ends: max(ends, draft.now + CliqueRules.hour)))
  }

  /// Erases a place's counter, so that its numbers begin anew, unless its last visitor is still remembered.
  func placeIsDue(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var place = try draft.read(Place.self, key), place.ends <= draft.now else { return }
    let plain = key.dropFirst("places/".utf8.count)
    guard place.next > 0, try draft.read(Visitor.self, "visitor/\(plain)/\(place.next - 1)") != nil else {
      return draft.erase(key)
    }
    place.ends = draft.now + CliqueRules.hour
    draft.write(key, place)
  }

  /// Erases records of an older data folder, in which visits had no records of their own. They are not converted,
  /// because what they say is over within a day and phones tell anew where they are. They go when they are due, of a
  /// place one visitor at a time.
  func forgetFormer(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard key.utf8.starts(with: "place/".utf8), var place = try draft.read(FormerPlace.self, key),
      let visitor = place.visits.first
    else {
      if let crossing = try draft.read(FormerCrossing.self, key) {
        for user in [crossing.a, crossing.b] { draft.erase("crossed/" + Key.plain(user)) }
      }
      return draft.erase(key)
    }
    draft.erase("crossed/" + Key.plain(visitor.user))
    for other in place.visits.dropFirst().prefix(rules.maximumMeetings) {
      let crossing = "crossing/" + CliqueIdentifier.ordered(visitor.user, other.user)
      if try draft.read(FormerCrossing.self, crossing) != nil { draft.erase(crossing) }
    }
    place.visits.removeFirst()
    if place.visits.isEmpty { draft.erase(key) } else { draft.write(key, place) }
  }
}

extension CliqueIdentifier {
  /// The id of the conversation of two people, named in any order.
  static func ordered(_ one: String, _ two: String) -> String { Clique.Pair(one, two).id }
}
