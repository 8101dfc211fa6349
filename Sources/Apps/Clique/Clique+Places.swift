import Wire

extension Clique {
  /// `{"place": name}`: the phone has come into a place, or says that it is still there.
  func enter(_ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView) throws(ClientError) -> AppDecision {
    let name = try place(arguments)
    let draft = CliqueDraft(view)
    let me = try draft.person(call.user)
    if me.invisible { return AppDecision(reply: Self.visible(false)) }
    let key = Key.place(name)
    // Who overstayed is gone, whether or not the timer has run.
    try endVisits(key, draft)
    var place = try draft.read(Place.self, key) ?? Place(name: name)
    let until = view.now + rules.maximumVisit
    if let index = place.visits.firstIndex(where: { $0.user.hasSameBytes(as: call.user) }) {
      place.visits[index].until = until
      draft.write(key, place)
      return draft.decision(reply: Self.visible(true))
    }
    try draft.update(call.user) { person throws(ClientError) in
      if person.places.count >= rules.maximumPlaces {
        throw ClientError.limitExceeded.saying("you are in \(rules.maximumPlaces) places; leave one first")
      }
      person.places.append(name)
    }
    if place.visits.count >= rules.maximumVisitors {
      draft.write(key, place)
      try endVisit(of: place.visits[0].user, key, at: view.now, draft)
      place = try draft.read(Place.self, key) ?? Place(name: name)
    }
    for visit in place.visits.suffix(rules.maximumMeetings) { try meet(call.user, visit.user, in: name, draft) }
    place.visits.append(.init(user: call.user, since: view.now, until: until))
    draft.write(key, place)
    return draft.decision(reply: Self.visible(true))
  }

  /// `{"place": name}`
  func leave(_ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView) throws(ClientError) -> AppDecision {
    let key = Key.place(try place(arguments))
    let draft = CliqueDraft(view)
    try endVisits(key, draft)
    try endVisit(of: call.user, key, at: view.now, draft)
    return draft.decision()
  }

  /// `{"on": true}`: not seen in crossings, and seeing nobody there.
  func setInvisible(
    _ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    guard let on = try arguments.boolean("on") else {
      throw ClientError.badRequest.saying("`on` is missing; send true to be invisible, false to be seen")
    }
    let draft = CliqueDraft(view)
    let me = try draft.person(call.user)
    if me.invisible == on { return AppDecision(reply: Self.visible(!on)) }
    if on { for name in me.places { try endVisit(of: call.user, Key.place(name), at: view.now, draft) } }
    try draft.update(call.user) { person in person.invisible = on }
    for other in try draft.read(Crossed.self, Key.crossed(call.user))?.users ?? [] {
      try refreshCrossing(call.user, other, CliqueIdentifier.ordered(call.user, other), draft)
    }
    return draft.decision(reply: Self.visible(!on))
  }

  private func place(_ arguments: CliqueArguments) throws(ClientError) -> String {
    guard let name = try arguments.string("place"), !name.isEmpty else {
      throw ClientError.badRequest.saying("`place` is missing or empty; name the geofence")
    }
    if name.utf8.count > 100 || name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw ClientError.badRequest.saying(
        "`place` has at most 100 bytes and no control characters; choose another name")
    }
    return name
  }

  private static func visible(_ isVisible: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { $0.write("visible", isVisible) }
    return writer.bytes
  }

  // MARK: Visits

  /// Those that have lasted as long as a visit may: their time is that limit, not when somebody noticed.
  func endVisits(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard let place = try draft.read(Place.self, key) else { return }
    for visit in place.visits where visit.until <= draft.now {
      try endVisit(of: visit.user, key, at: visit.until, draft)
    }
  }

  private func endVisit(of user: String, _ key: String, at end: Int64, _ draft: CliqueDraft) throws(ClientError) {
    guard var place = try draft.read(Place.self, key),
      let index = place.visits.firstIndex(where: { $0.user.hasSameBytes(as: user) })
    else { return }
    // Whom this visitor met stands near: between two who met nobody came later, some only left.
    let near = max(0, index - rules.maximumMeetings)...min(place.visits.count - 1, index + rules.maximumMeetings)
    for other in near where other != index {
      try part(user, place.visits[other].user, in: place.name, at: end, draft)
    }
    place.visits.remove(at: index)
    if place.visits.isEmpty { draft.erase(key) } else { draft.write(key, place) }
    try draft.update(user) { person in person.places.drop(place.name) }
  }

  // MARK: Meetings

  private func meet(
    _ user: String, _ other: String, in place: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    let id = CliqueIdentifier.ordered(user, other)
    if try draft.read(Pair.self, Key.pair(id))?.state.isBlocked ?? false { return }
    let pair = Pair(user, other)
    var crossing =
      try draft.read(Crossing.self, Key.crossing(id)) ?? Crossing(a: pair.a, b: pair.b, window: rules.crossingWindow)
    if crossing.meetings.count >= Crossing.maximumMeetings {
      if let oldest = crossing.meetings.firstIndex(where: { $0.end > 0 }) { crossing.meetings.remove(at: oldest) }
    }
    crossing.meetings.append(.init(place: place, start: draft.now))
    draft.write(Key.crossing(id), crossing)
    try remember(user, other, draft)
    try remember(other, user, draft)
    try refreshCrossing(user, other, id, draft)
  }

  private func part(
    _ user: String, _ other: String, in place: String, at end: Int64, _ draft: CliqueDraft
  ) throws(ClientError) {
    let id = CliqueIdentifier.ordered(user, other)
    guard var crossing = try draft.read(Crossing.self, Key.crossing(id)),
      let index = crossing.meetings.firstIndex(where: { $0.end == 0 && $0.place.hasSameBytes(as: place) })
    else { return }
    crossing.meetings[index].end = max(end, crossing.meetings[index].start, 1)
    draft.write(Key.crossing(id), crossing)
    try refreshCrossing(user, other, id, draft)
  }

  /// The last to be crossed stands last; beyond the limit the first is forgotten by both.
  private func remember(_ user: String, _ other: String, _ draft: CliqueDraft) throws(ClientError) {
    let key = Key.crossed(user)
    var crossed = try draft.read(Crossed.self, key) ?? Crossed()
    crossed.users.drop(other)
    crossed.users.append(other)
    let forgotten = crossed.users.count > rules.maximumCrossed ? crossed.users.removeFirst() : nil
    draft.write(key, crossed)
    if let forgotten { try forgetCrossing(user, forgotten, CliqueIdentifier.ordered(user, forgotten), draft) }
  }

  func forgetCrossing(of pair: Pair, id: String, _ draft: CliqueDraft) throws(ClientError) {
    try forgetCrossing(pair.a, pair.b, id, draft)
  }

  private func forgetCrossing(
    _ user: String, _ other: String, _ id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    guard try draft.read(Crossing.self, Key.crossing(id)) != nil else { return }
    draft.erase(Key.crossing(id))
    for (one, another) in [(user, other), (other, user)] {
      guard var crossed = try draft.read(Crossed.self, Key.crossed(one)) else { continue }
      crossed.users.drop(another)
      if crossed.users.isEmpty { draft.erase(Key.crossed(one)) } else { draft.write(Key.crossed(one), crossed) }
    }
    try refreshCrossing(user, other, id, draft)
  }

  /// Meetings that the window has passed.
  func forgetMeetings(_ key: String, _ draft: CliqueDraft) throws(ClientError) {
    guard var crossing = try draft.read(Crossing.self, key) else { return }
    let id = CliqueIdentifier.ordered(crossing.a, crossing.b)
    let oldest = draft.now - crossing.window
    crossing.meetings.removeAll { $0.end > 0 && $0.end <= oldest }
    if crossing.meetings.isEmpty { return try forgetCrossing(crossing.a, crossing.b, id, draft) }
    draft.write(key, crossing)
    try refreshCrossing(crossing.a, crossing.b, id, draft)
  }

  private func refreshCrossing(
    _ user: String, _ other: String, _ id: String, _ draft: CliqueDraft
  ) throws(ClientError) {
    draft.refresh(try Channels.crossings(user), key: other, .soon)
    draft.refresh(try Channels.crossings(other), key: user, .soon)
    if try draft.read(Pair.self, Key.pair(id)) == nil { return }
    draft.refresh(try Channels.list(user), key: id, .soon)
    draft.refresh(try Channels.list(other), key: id, .soon)
  }
}

extension CliqueIdentifier {
  /// The id of two people, in any order.
  static func ordered(_ one: String, _ two: String) -> String { Clique.Pair(one, two).id }
}
