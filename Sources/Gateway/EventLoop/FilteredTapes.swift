import Wire

/// The tapes of those on a channel of one event loop who get only a part of it. Subscribers with equal filters and the
/// same encoding share one.
final class FilteredTapes {
  /// The tapes of one filter, by encoding.
  struct Tapes {
    var json: Tape?
    var protobuf: Tape?

    var isEmpty: Bool { json == nil && protobuf == nil }
    var count: Int { (json == nil ? 0 : 1) + (protobuf == nil ? 0 : 1) }

    subscript(format: WireFormat) -> Tape? {
      get { format == .json ? json : protobuf }
      set { if format == .json { json = newValue } else { protobuf = newValue } }
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
  var seats: [UInt64: Seat] = [:]
  /// The number of the channel's newest publication that came since somebody has a filter, whether any let it through.
  var newest: UInt64 = 0

  var isEmpty: Bool { seats.isEmpty && tapes.isEmpty && presenceTapes.isEmpty }

  var tapeCount: Int { (Array(tapes.values) + Array(presenceTapes.values)).reduce(0) { $0 + $1.count } }

  var allTapes: [Tape] { tapes.values.flatMap { [$0.json, $0.protobuf].compactMap { $0 } } }

  func tape(_ format: WireFormat, _ filter: FilterKey) -> Tape? { tapes[filter]?[format] }

  func presenceTape(_ format: WireFormat, _ audience: TagFilter) -> Tape? { presenceTapes[audience]?[format] }

  func add(_ tape: Tape, _ format: WireFormat, _ filter: FilterKey) {
    tape.isFiltered = true
    tapes[filter, default: Tapes()][format] = tape
  }

  func addPresence(_ tape: Tape, _ format: WireFormat, _ audience: TagFilter) {
    presenceTapes[audience, default: Tapes()][format] = tape
  }

  /// Lets go of the tapes that nobody sits on any more.
  func vacate(_ format: WireFormat, _ seat: Seat) {
    if let filter = seat.filter { Self.vacate(format, filter, &tapes) }
    if let audience = seat.audience { Self.vacate(format, audience, &presenceTapes) }
  }

  private static func vacate<Key: Hashable>(_ format: WireFormat, _ filter: Key, _ tapes: inout [Key: Tapes]) {
    guard tapes[filter]?[format]?.isEmpty == true else { return }
    tapes[filter]?[format] = nil
    if tapes[filter]?.isEmpty == true { tapes[filter] = nil }
  }

  // MARK: Frames

  /// Calls `body` with the tapes of each filter that the publication passes.
  func forEachTapes(passing publication: Publication, _ body: (Tapes) -> Void) {
    for (key, tapes) in tapes where key.filter.matches(publication) { body(tapes) }
  }

  /// Calls `body` with the tapes of those who may see a member come and go.
  func forEachPresenceTape(seeing member: ClientInfo, _ body: (Tape, WireFormat) -> Void) {
    for (filter, tapes) in presenceTapes where filter.matches(member: member) {
      for format in WireFormat.allCases {
        if let tape = tapes[format] { body(tape, format) }
      }
    }
  }
}
