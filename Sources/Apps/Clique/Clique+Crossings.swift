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
    return AppEntry(data: writer.bytes, score: seen, expires: crossing.passes(view.now))
  }

  /// Writes the last crossing of two people into a list entry.
  func writeCrossing(
    _ user: String, _ other: String, _ writer: inout JSONWriter, _ view: any AppView
  ) throws(ClientError) {
    let id = isHome ? "" : CliqueIdentifier.ordered(user, other)
    if let crossing = try shownCrossing(user, other, id, view) { writer.write("crossing", raw: crossing) }
  }

  /// The last crossing of two people as JSON, as lists show it; nil: there is none.
  func lastCrossing(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> [UInt8]? {
    guard let crossing = try crossing(user, other, view), let last = crossing.latest(1).first else { return nil }
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("place", last.place)
      writer.write("time", last.end == 0 ? view.now : last.end)
    }
    return writer.bytes
  }

  /// When and where two people crossed, as the first sees it (``LastSeen``); nil where they did not, one of them is
  /// invisible, or the first blocks the other.
  func crossing(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> Crossing? {
    guard let mine = try view.record(Visits.self, Key.visits(of: user)) else { return nil }
    let theirs = try view.record(Visits.self, Key.visits(of: other))
    let pair = try view.record(Pair.self, Key.pair(CliqueIdentifier.ordered(user, other)))
    var crossing = Crossing(mine, Visits(window: mine.window), from: 0, view.now)
    var isBlockedByOther = false
    if let pair, let side = pair.side(of: user) {
      if pair.state.isBlocked(by: side) { return nil }
      isBlockedByOther = pair.state.isBlocked
      for seen in pair[mark: side.other].lastSeen ?? [] {
        crossing.add(Crossing(mine, seen.asVisits, from: seen.from, view.now))
      }
    }
    if !isBlockedByOther, let theirs { crossing.add(Crossing(mine, theirs, from: pair?.crossedFrom ?? 0, view.now)) }
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
    private static let profile = "profile:"
    private static let members = "members:"

    static func met(by user: String) -> String { met + user }
    static func profile(of user: String) -> String { profile + user }
    static func members(of group: String) -> String { members + group }

    static func whoMet(_ subject: String) -> String? { rest(of: subject, after: met) }
    static func whoseProfile(_ subject: String) -> String? { rest(of: subject, after: profile) }
    static func whoseMembers(_ subject: String) -> String? { rest(of: subject, after: members) }

    private static func rest(of subject: String, after start: String) -> String? {
      guard subject.utf8.starts(with: start.utf8) else { return nil }
      return String(decoding: subject.utf8.dropFirst(start.utf8.count), as: UTF8.self)
    }
  }

  /// The entries that show a user's crossings with the others: in the user's lists and in theirs.
  ///
  /// Between two of whom one blocks the other, an entry that is worked out again shows a later time, as long as they look as
  /// if they were together. So the other's is left alone where the user comes and goes who blocks, and so is the user's own
  /// where the other blocks and has come near only since then.
  ///
  /// - Parameter place: where the user comes or goes, as in a record's key, if the others are those who are near there.
  func entries(
    showingMeetingsOf user: String, with others: [Neighbour], in place: Substring? = nil, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    var entries: [(channel: ChannelName, key: String)] = []
    for other in others {
      let id = CliqueIdentifier.ordered(user, other.user)
      let pair = try view.record(Pair.self, Key.pair(id))
      var (isMine, isTheirs) = (true, true)
      if let pair, let side = pair.side(of: user) {
        isTheirs = !pair.state.isBlocked(by: side)
        if let place, pair.state.isBlocked(by: side.other) {
          isMine = pair[mark: side.other].wasLastSeen(as: other.number, in: place)
        }
      }
      if isMine {
        entries.append((try Channels.crossings(user), other.user))
        entries.append((try Channels.people(user), other.user))
      }
      if isTheirs {
        entries.append((try Channels.crossings(other.user), user))
        entries.append((try Channels.people(other.user), user))
      }
      if pair == nil { continue }
      if isMine { entries.append((try Channels.list(user), id)) }
      if isTheirs { entries.append((try Channels.list(other.user), id)) }
    }
    return entries
  }

  /// Somebody who came to a place, and the number they got there.
  typealias Neighbour = (user: String, number: UInt64)

  /// The users who came to a place shortly before and after the visitor with the number.
  ///
  /// - Parameter plain: the place, as in a record's key.
  func near(
    _ number: UInt64, in plain: Substring, notOf user: String, _ view: any AppView
  ) throws(ClientError) -> [Neighbour] {
    var looks = Int.max
    return try near(number, in: plain, notOf: user, looks: &looks, view)
  }

  private func near(
    _ number: UInt64, in plain: Substring, notOf user: String, looks: inout Int, _ view: any AppView
  ) throws(ClientError) -> [Neighbour] {
    let next = try view.record(Place.self, "places/\(plain)")?.next ?? 0
    let reach = UInt64(rules.maximumMeetings)
    let first = number > reach ? number - reach : 0
    let end = min(next, number + reach + 1)
    guard first < end else { return [] }
    var users: [Neighbour] = []
    for other in first..<end where other != number && looks > 0 {
      looks -= 1
      guard let visitor = try view.record(Visitor.self, "visitor/\(plain)/\(other)") else { continue }
      if !visitor.user.hasSameBytes(as: user) { users.append((visitor.user, other)) }
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
        if known.insert(Array(other.user.utf8)).inserted { users.append(other.user) }
        if users.count == rules.maximumCrossed { return users }
      }
    }
    return users
  }
}

extension Clique.Crossing {
  fileprivate func latest(_ count: Int) -> [Meeting] { Array(meetings.reversed().prefix(count)) }
}
