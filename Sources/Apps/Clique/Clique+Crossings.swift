import Wire

extension Clique {
  /// The people whom the caller has crossed, sorted by when they were last seen, or by the time spent together.
  func crossings(
    _ command: CliqueCommand.Crossings, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var found: [(user: String, crossing: Crossing)] = []
    for other in try met(by: call.user, view) {
      if let crossing = try crossing(call.user, other, view) { found.append((other, crossing)) }
    }
    let now = view.now
    let rank: (Crossing) -> Int64 = command.isByTime ? { $0.total(now) } : { $0.lastSeen(now) }
    found.sort { a, b in
      let (first, second) = (rank(a.crossing), rank(b.crossing))
      return first == second ? a.user.utf8.lexicographicallyPrecedes(b.user.utf8) : first > second
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("people") { writer in
        for (user, crossing) in found.prefix(command.limit) {
          writer.object { Self.write(crossing, with: user, now: now, &$0) }
        }
      }
    }
    return AppDecision(reply: writer.bytes)
  }

  func crossingEntry(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard let crossing = try crossing(user, other, view) else { return nil }
    var writer = JSONWriter()
    writer.object { Self.write(crossing, with: other, now: view.now, &$0) }
    let seen = crossing.lastSeen(view.now)
    return AppEntry(data: writer.bytes, score: seen, expires: crossing.areTogether ? .max : seen + crossing.window)
  }

  /// Writes the last crossing of two people into a list entry.
  func writeCrossing(
    _ user: String, _ other: String, _ writer: inout JSONWriter, _ view: any AppView
  ) throws(ClientError) {
    guard let crossing = try crossing(user, other, view), let last = crossing.latest(1).first else { return }
    writer.object("crossing") { writer in
      writer.write("place", last.place)
      writer.write("time", last.end == 0 ? view.now : last.end)
    }
  }

  /// When and where two people crossed; nil where they did not, or one of them is invisible or blocks the other.
  private func crossing(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> Crossing? {
    guard let mine = try view.record(Visits.self, Key.visits(of: user)),
      let theirs = try view.record(Visits.self, Key.visits(of: other))
    else { return nil }
    let pair = try view.record(Pair.self, Key.pair(CliqueIdentifier.ordered(user, other)))
    if pair?.state.isBlocked ?? false { return nil }
    let crossing = Crossing(mine, theirs, from: pair?.crossedFrom ?? 0, view.now)
    if crossing.meetings.isEmpty { return nil }
    for one in [user, other] where try view.record(Person.self, Key.person(one))?.invisible ?? false { return nil }
    return crossing
  }

  private static func write(_ crossing: Crossing, with user: String, now: Int64, _ writer: inout JSONWriter) {
    writer.write("user", user)
    writer.write("seen", crossing.lastSeen(now))
    writer.write("total", crossing.total(now))
    writer.write("together", crossing.areTogether)
    writer.list("latest") { writer in
      for meeting in crossing.latest(3) {
        let end = meeting.end == 0 ? now : meeting.end
        writer.object { writer in
          writer.write("place", meeting.place)
          writer.write("time", meeting.start)
          writer.write("minutes", max(0, end - meeting.start) / 60_000)
        }
      }
    }
  }

  // MARK: Who is near

  /// The subject that is touched when somebody's crossings may have changed.
  enum Subject {
    private static let met = "met:"

    static func met(by user: String) -> String { met + user }

    static func whoMet(_ subject: String) -> String? {
      subject.utf8.starts(with: met.utf8) ? String(subject.dropFirst(met.count)) : nil
    }
  }

  /// The entries that show a user's crossings with the others: in the user's lists and in theirs.
  func entries(
    showingMeetingsOf user: String, with others: [String], _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    var entries: [(channel: ChannelName, key: String)] = []
    for other in others {
      entries.append((try Channels.crossings(user), other))
      entries.append((try Channels.crossings(other), user))
      let id = CliqueIdentifier.ordered(user, other)
      if try view.record(Pair.self, Key.pair(id)) == nil { continue }
      entries.append((try Channels.list(user), id))
      entries.append((try Channels.list(other), id))
    }
    return entries
  }

  /// The users who came to a place shortly before and after the visitor with the number.
  ///
  /// - Parameter plain: the place, as in a record's key.
  func near(
    _ number: UInt64, in plain: Substring, notOf user: String, _ view: any AppView
  ) throws(ClientError) -> [String] {
    var looks = Int.max
    return try near(number, in: plain, notOf: user, looks: &looks, view)
  }

  private func near(
    _ number: UInt64, in plain: Substring, notOf user: String, looks: inout Int, _ view: any AppView
  ) throws(ClientError) -> [String] {
    let next = try view.record(Place.self, "places/\(plain)")?.next ?? 0
    let reach = UInt64(rules.maximumMeetings)
    let first = number > reach ? number - reach : 0
    let end = min(next, number + reach + 1)
    guard first < end else { return [] }
    var users: [String] = []
    for other in first..<end where other != number && looks > 0 {
      looks -= 1
      guard let visitor = try view.record(Visitor.self, "visitor/\(plain)/\(other)") else { continue }
      if !visitor.user.hasSameBytes(as: user) { users.append(visitor.user) }
    }
    return users
  }

  /// The users whom somebody may have crossed: those near them in their visits, the newest visit first.
  func met(by user: String, _ view: any AppView) throws(ClientError) -> [String] {
    guard let visits = try view.record(Visits.self, Key.visits(of: user))?.visits else { return [] }
    var looks = rules.maximumLooks
    var users: [String] = []
    var known: Set<[UInt8]> = []
    for visit in visits.reversed() where looks > 0 {
      let plain = Key.plain(visit.place)
      for other in try near(visit.number, in: plain[...], notOf: user, looks: &looks, view).reversed() {
        if known.insert(Array(other.utf8)).inserted { users.append(other) }
        if users.count == rules.maximumCrossed { return users }
      }
    }
    return users
  }
}

extension Clique.Crossing {
  fileprivate func latest(_ count: Int) -> [Meeting] { Array(meetings.reversed().prefix(count)) }
}
