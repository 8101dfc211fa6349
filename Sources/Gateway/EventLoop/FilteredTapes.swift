import Wire

/// The tapes of a channel on one event loop beside the two that most subscribers share: of those who get only a part of
/// it, of those whose messages are not wrapped in plain frames, and of those who take patches. Subscribers with equal
/// filters and the same form share one.
///
/// **Patches.** A patch means nothing to a client that does not have the publication before it. So who takes patches
/// begins on a tape of whole publications, and moves to that of patches when one more publication comes: by then the
/// first stands in its way to the client, and what waits of it goes along. The first is whole also for a client that
/// has recovered publications up to just before it: what it recovered can have been edited since it was published,
/// while patches are made against what was published.
final class FilteredTapes {
  /// The tapes of one filter, by form.
  struct Tapes {
    private var json: Tape?
    private var protobuf: Tape?
    private var packed: [TapeForm: Tape] = [:]

    var isEmpty: Bool { json == nil && protobuf == nil && packed.isEmpty }
    var count: Int { (json == nil ? 0 : 1) + (protobuf == nil ? 0 : 1) + packed.count }
    var all: [Tape] { [json, protobuf].compactMap { $0 } + packed.values }

    subscript(form: TapeForm) -> Tape? {
      get {
        if !form.isPlain { return packed[form] }
        return form.format == .json ? json : protobuf
      }
      set {
        if !form.isPlain {
          packed[form] = newValue
        } else if form.format == .json {
          json = newValue
        } else {
          protobuf = newValue
        }
      }
    }

    func forEach(_ body: (Tape, TapeForm) -> Void) {
      if let json { body(json, TapeForm(format: .json)) }
      if let protobuf { body(protobuf, TapeForm(format: .protobuf)) }
      for (form, tape) in packed { body(tape, form) }
    }
  }

  /// A subscriber who has a filter, or takes patches.
  struct Seat {
    /// The filter that the client asked for.
    let own: FilterKey?
    /// What the server lets the client see.
    let audience: TagFilter?
    /// The filter that lets through what both let through.
    let filter: FilterKey?
    /// Takes patches, and has no filter.
    let hasDelta: Bool

    init(own: FilterKey? = nil, audience: TagFilter? = nil, hasDelta: Bool = false) {
      self.own = own
      self.audience = audience
      self.hasDelta = hasDelta
      filter = audience == nil ? own : FilterKey(TagFilter.both(own?.filter, audience))
    }
  }

  private var tapes: [FilterKey: Tapes] = [:]
  /// Tapes of joins and leaves, by audience: what the server lets the subscribers see.
  private var presenceTapes: [TagFilter: Tapes] = [:]
  /// The tapes of those without a filter whose messages are wrapped otherwise or who take patches, and those of joins
  /// and leaves for them.
  private var unfiltered = Tapes()
  private var unfilteredPresence = Tapes()
  private(set) var seats: [UInt64: Seat] = [:]
  /// Subscribers who take patches and for whom nothing was published yet.
  private var newcomers: Set<UInt64> = []
  /// The number of the channel's newest publication that came since there are such tapes, whether any filter let it
  /// through.
  var newest: UInt64 = 0

  var isEmpty: Bool {
    seats.isEmpty && tapes.isEmpty && presenceTapes.isEmpty && unfiltered.isEmpty && unfilteredPresence.isEmpty
  }

  var tapeCount: Int {
    (Array(tapes.values) + Array(presenceTapes.values)).reduce(unfiltered.count + unfilteredPresence.count) {
      $0 + $1.count
    }
  }

  /// Without those of joins and leaves.
  var allTapes: [Tape] { tapes.values.flatMap(\.all) + unfiltered.all }

  /// - Parameter filter: nil: everything.
  func tape(_ form: TapeForm, _ filter: FilterKey?) -> Tape? {
    guard let filter else { return unfiltered[form] }
    return tapes[filter]?[form]
  }

  func presenceTape(_ form: TapeForm, _ audience: TagFilter?) -> Tape? {
    guard let audience else { return unfilteredPresence[form] }
    return presenceTapes[audience]?[form]
  }

  func add(_ tape: Tape, _ form: TapeForm, _ filter: FilterKey?) {
    guard let filter else { return unfiltered[form] = tape }
    tape.isFiltered = true
    tapes[filter, default: Tapes()][form] = tape
  }

  func addPresence(_ tape: Tape, _ form: TapeForm, _ audience: TagFilter?) {
    guard let audience else { return unfilteredPresence[form] = tape }
    presenceTapes[audience, default: Tapes()][form] = tape
  }

  /// Lets go of the tapes that nobody sits on any more.
  func vacate(_ form: TapeForm, _ seat: Seat) {
    if let filter = seat.filter { Self.vacate(form, filter, &tapes) }
    if let audience = seat.audience { Self.vacate(form, audience, &presenceTapes) }
    for form in seat.hasDelta ? [form.with(.full), form.with(.patch)] : [form] where unfiltered[form]?.isEmpty == true {
      unfiltered[form] = nil
    }
    if unfilteredPresence[form]?.isEmpty == true { unfilteredPresence[form] = nil }
  }

  private static func vacate<Key: Hashable>(_ form: TapeForm, _ filter: Key, _ tapes: inout [Key: Tapes]) {
    guard tapes[filter]?[form]?.isEmpty == true else { return }
    tapes[filter]?[form] = nil
    if tapes[filter]?.isEmpty == true { tapes[filter] = nil }
  }

  // MARK: Seats

  /// - Parameter seat: nil: the subscriber has neither a filter nor patches, or is gone.
  func note(_ seat: Seat?, of session: UInt64) {
    seats[session] = seat
    if seat?.hasDelta == true { newcomers.insert(session) } else { newcomers.remove(session) }
  }

  /// The tape on which a subscriber sits who takes patches.
  func deltaTape(of session: SessionDriver) -> Tape? {
    for kind in [DeltaKind.patch, .full] {
      if let tape = unfiltered[session.form.with(kind)], tape.place(of: session.id) != nil { return tape }
    }
    return nil
  }

  /// Moves those who have been given a whole publication to the tape of patches, before the next one is put there.
  ///
  /// - Parameters:
  ///   - move: gives a subscriber a seat on the second tape in place of the one on the first.
  ///   - make: makes the tape of patches.
  func promote(_ move: (SessionDriver, Tape, Tape) -> Void, make: (TapeForm) -> Tape) {
    for tape in unfiltered.all where tape.form.delta == .full {
      let form = tape.form.with(.patch)
      // Those whose connection is gone leave by themselves, and from where they are it is known how far they came.
      for session in tape.sessions where !newcomers.contains(session.id) && session.outlet.isOpen {
        let next = unfiltered[form] ?? make(form)
        unfiltered[form] = next
        move(session, tape, next)
      }
      if tape.isEmpty { unfiltered[tape.form] = nil }
    }
    newcomers.removeAll()
  }

  // MARK: Frames

  /// Calls `body` with the tapes of those without a filter.
  func forEachUnfiltered(_ body: (Tape, TapeForm) -> Void) { unfiltered.forEach(body) }

  /// Calls `body` with the tapes of each filter that the publication passes.
  func forEachTape(passing publication: Publication, _ body: (Tape, TapeForm) -> Void) {
    for (key, tapes) in tapes where key.filter.matches(publication) { tapes.forEach(body) }
  }

  /// Calls `body` with the tapes of those who may see a member come and go.
  func forEachPresenceTape(seeing member: ClientInfo, _ body: (Tape, TapeForm) -> Void) {
    unfilteredPresence.forEach(body)
    for (filter, tapes) in presenceTapes where filter.matches(member: member) { tapes.forEach(body) }
  }
}
