import Wire

/// A channel's tapes on one event loop: made when somebody first sits on them.
struct HubChannel {
  /// What is counted of the channel's namespace.
  let tally: DeliveryTally
  /// Where the channel's name stands among those of all channels (``Hub/names``).
  var place: Int
  private var json: Tape?
  private var protobuf: Tape?
  /// Joins and leaves, for those who asked for them.
  private var jsonPresence: Tape?
  private var protobufPresence: Tape?
  /// Nil where nobody has a filter, nor messages that are not in plain frames, nor patches.
  private(set) var filtered: FilteredTapes?

  init(_ tally: DeliveryTally, place: Int) {
    self.tally = tally
    self.place = place
  }

  var isEmpty: Bool {
    json == nil && protobuf == nil && jsonPresence == nil && protobufPresence == nil && filtered == nil
  }

  // MARK: Tapes

  /// The tape of those without a filter whose messages are wrapped in plain frames.
  @inline(__always)
  func tape(_ format: WireFormat) -> Tape? { format == .json ? json : protobuf }

  func presenceTape(_ format: WireFormat) -> Tape? { format == .json ? jsonPresence : protobufPresence }

  /// - Parameter filter: nil: everything.
  private func tape(_ form: TapeForm, _ filter: FilterKey?) -> Tape? {
    filter == nil && form.isPlain ? tape(form.format) : filtered?.tape(form, filter)
  }

  private func presenceTape(_ form: TapeForm, _ audience: TagFilter?) -> Tape? {
    audience == nil && form.isPlain ? presenceTape(form.format) : filtered?.presenceTape(form, audience)
  }

  private mutating func besides() -> FilteredTapes {
    if let filtered { return filtered }
    let made = FilteredTapes()
    filtered = made
    return made
  }

  /// - Parameter filter: nil: everything.
  mutating func tape(_ form: TapeForm, _ filter: FilterKey?, make: () -> Tape) -> Tape {
    if let tape = tape(form, filter) { return tape }
    let tape = make()
    if filter != nil || !form.isPlain {
      besides().add(tape, form, filter)
    } else if form.format == .json {
      json = tape
    } else {
      protobuf = tape
    }
    return tape
  }

  mutating func presenceTape(_ form: TapeForm, _ audience: TagFilter?, make: () -> Tape) -> Tape {
    if let tape = presenceTape(form, audience) { return tape }
    let tape = make()
    if audience != nil || !form.isPlain {
      besides().addPresence(tape, form, audience)
    } else if form.format == .json {
      jsonPresence = tape
    } else {
      protobufPresence = tape
    }
    return tape
  }

  // MARK: Subscribers

  func seat(of session: SessionDriver) -> FilteredTapes.Seat { filtered?.seats[session.id] ?? FilteredTapes.Seat() }

  mutating func note(_ seat: FilteredTapes.Seat, of session: SessionDriver) {
    if seat.filter == nil && !seat.hasDelta {
      filtered?.note(nil, of: session.id)
      return
    }
    besides().note(seat, of: session.id)
  }

  /// The tapes on which a subscriber sits: that of its publications first, then that of joins and leaves if it gets
  /// them.
  func tapes(of session: SessionDriver) -> [Tape] {
    let seat = seat(of: session)
    let tape = seat.hasDelta ? filtered?.deltaTape(of: session) : tape(session.form, seat.filter)
    return [tape, presenceTape(session.form, seat.audience)].compactMap { $0 }
      .filter { $0.place(of: session.id) != nil }
  }

  /// The tapes of publications, without those of joins and leaves.
  var publicationTapes: [Tape] { [json, protobuf].compactMap { $0 } + (filtered?.allTapes ?? []) }

  var tapeCount: Int {
    [json, protobuf, jsonPresence, protobufPresence].count { $0 != nil } + (filtered?.tapeCount ?? 0)
  }

  var newest: UInt64 { max(json?.newest ?? 0, protobuf?.newest ?? 0, filtered?.newest ?? 0) }

  /// Everybody on the channel.
  var sessions: [SessionDriver] {
    var sessions = Array(json?.sessions ?? []) + Array(protobuf?.sessions ?? [])
    if let filtered { for tape in filtered.allTapes { sessions += tape.sessions } }
    return sessions
  }

  var sessionCount: Int {
    let plain = (json?.sessions.count ?? 0) + (protobuf?.sessions.count ?? 0)
    guard let filtered else { return plain }
    return filtered.allTapes.reduce(plain) { $0 + $1.sessions.count }
  }

  /// Bytes that went to the channel's subscribers since this was asked last, as if nobody lagged: what was put on each
  /// tape, times its subscribers. Nothing is counted for it on the way: a tape knows how long it is.
  func takeDeliveredBytes() -> UInt64 {
    var bytes: UInt64 = 0
    func take(_ tape: Tape) { bytes &+= tape.takeNewBytes() &* UInt64(tape.seats.count) }
    if let json { take(json) }
    if let protobuf { take(protobuf) }
    if let filtered { for tape in filtered.allTapes { take(tape) } }
    return bytes
  }

  var positionedSessions: [SessionDriver] {
    var sessions = (json?.positionedSessions ?? []) + (protobuf?.positionedSessions ?? [])
    if let filtered { for tape in filtered.allTapes { sessions += tape.positionedSessions } }
    return sessions
  }

  /// Lets go of the tapes that nobody sits on any more.
  mutating func vacate(_ form: TapeForm, _ seat: FilteredTapes.Seat) {
    if form.format == .json {
      if json?.isEmpty == true { json = nil }
      if jsonPresence?.isEmpty == true { jsonPresence = nil }
    } else {
      if protobuf?.isEmpty == true { protobuf = nil }
      if protobufPresence?.isEmpty == true { protobufPresence = nil }
    }
    guard let filtered else { return }
    filtered.vacate(form, seat)
    if filtered.isEmpty { self.filtered = nil }
  }
}
