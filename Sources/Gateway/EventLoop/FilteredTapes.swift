import Wire

/// The tapes of a channel on one event loop beside the two that most subscribers share: of those who get only a part of
/// it, and of those whose messages are not wrapped in plain frames. Subscribers with equal filters and the same form
/// share one.
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

  /// A subscriber who has a filter.
  struct Seat {
    /// The filter that the client asked for.
    let own: FilterKey?
    /// What the server lets the client see.
    let audience: TagFilter?
    /// The filter that lets through what both let through.
    let filter: FilterKey?

    init(own: FilterKey? = nil, audience: TagFilter? = nil) {
      self.own = own
      self.audience = audience
      filter = audience == nil ? own : FilterKey(TagFilter.both(own?.filter, audience))
    }
  }

  private var tapes: [FilterKey: Tapes] = [:]
  /// Tapes of joins and leaves, by audience: what the server lets the subscribers see.
  private var presenceTapes: [TagFilter: Tapes] = [:]
  /// The tapes of those without a filter whose messages are wrapped otherwise, and those of joins and leaves for them.
  private var unfiltered = Tapes()
  private var unfilteredPresence = Tapes()
  var seats: [UInt64: Seat] = [:]
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
    if unfiltered[form]?.isEmpty == true { unfiltered[form] = nil }
    if unfilteredPresence[form]?.isEmpty == true { unfilteredPresence[form] = nil }
  }

  private static func vacate<Key: Hashable>(_ form: TapeForm, _ filter: Key, _ tapes: inout [Key: Tapes]) {
    guard tapes[filter]?[form]?.isEmpty == true else { return }
    tapes[filter]?[form] = nil
    if tapes[filter]?.isEmpty == true { tapes[filter] = nil }
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
