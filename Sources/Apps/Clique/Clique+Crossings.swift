import Wire

extension Clique {
  /// `{"order": "recent" | "time", "limit": n}`: whom one has crossed, seen last or together longest first.
  func crossings(
    _ call: AppCall, _ arguments: CliqueArguments, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let order = try arguments.string("order") ?? "recent"
    guard order == "recent" || order == "time" else {
      throw ClientError.badRequest.saying(
        "`order` is \"recent\", for seen last first, or \"time\", for most time together")
    }
    let limit = Int(clamping: min(try arguments.number("limit") ?? 100, 500))
    var found: [(user: String, crossing: Crossing)] = []
    for other in try view.record(Crossed.self, Key.crossed(call.user))?.users ?? [] {
      if let crossing = try crossing(call.user, other, view) { found.append((other, crossing)) }
    }
    let now = view.now
    let rank: (Crossing) -> Int64 = order == "time" ? { $0.total(now) } : { $0.lastSeen(now) }
    found.sort { a, b in
      let (first, second) = (rank(a.crossing), rank(b.crossing))
      return first == second ? a.user.utf8.lexicographicallyPrecedes(b.user.utf8) : first > second
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("people") { writer in
        for (user, crossing) in found.prefix(limit) {
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

  /// The last crossing, in a list entry.
  func writeCrossing(
    _ user: String, _ other: String, _ id: String, _ writer: inout JSONWriter, _ view: any AppView
  ) throws(ClientError) {
    guard let crossing = try crossing(user, other, view), let last = crossing.latest(1).first else { return }
    writer.object("crossing") { writer in
      writer.write("place", last.place)
      writer.write("time", last.end == 0 ? view.now : last.end)
    }
  }

  /// Nil too where one of them is invisible to the other.
  private func crossing(_ user: String, _ other: String, _ view: any AppView) throws(ClientError) -> Crossing? {
    let id = CliqueIdentifier.ordered(user, other)
    guard var crossing = try view.record(Crossing.self, Key.crossing(id)) else { return nil }
    let oldest = view.now - crossing.window
    crossing.meetings.removeAll { $0.end > 0 && $0.end <= oldest }
    if crossing.meetings.isEmpty { return nil }
    for one in [user, other] where try view.record(Person.self, Key.person(one))?.invisible ?? false { return nil }
    if try view.record(Pair.self, Key.pair(id))?.state.isBlocked ?? false { return nil }
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
}

extension Clique.Crossing {
  fileprivate func latest(_ count: Int) -> ArraySlice<Meeting> {
    meetings.sorted { $0.start > $1.start }.prefix(count)
  }
}
