import Wire

/// The tapes of those on a channel of one event loop who get only a part of it. Subscribers with equal filters and the
/// same encoding share one.
final class FilteredTapes {
  private struct Kind: Hashable {
    let format: WireFormat
    let filter: TagFilter
  }

  /// A subscriber who has a filter.
  struct Seat {
    /// What the client asked for.
    var own: TagFilter?
    /// What the server lets it see.
    var audience: TagFilter?
    /// What both let through.
    var filter: TagFilter? { TagFilter.both(own, audience) }
  }

  /// What the backbone thread calls a filter, and the tapes here that have it.
  private struct Known {
    /// Held, so that no other filter can come to stand where it is.
    let filter: ChannelFilter
    let json: Tape?
    let protobuf: Tape?
  }

  private var tapes: [Kind: Tape] = [:]
  /// Joins and leaves, by what the server lets see.
  private var presenceTapes: [Kind: Tape] = [:]
  private var known: [ObjectIdentifier: Known] = [:]
  var seats: [UInt64: Seat] = [:]

  var isEmpty: Bool { seats.isEmpty && tapes.isEmpty && presenceTapes.isEmpty }

  var tapeCount: Int { tapes.count + presenceTapes.count }

  var allTapes: some Sequence<Tape> { tapes.values }

  func tape(_ format: WireFormat, _ filter: TagFilter) -> Tape? { tapes[Kind(format: format, filter: filter)] }

  func presenceTape(_ format: WireFormat, _ audience: TagFilter) -> Tape? {
    presenceTapes[Kind(format: format, filter: audience)]
  }

  func add(_ tape: Tape, _ format: WireFormat, _ filter: TagFilter) {
    tapes[Kind(format: format, filter: filter)] = tape
    known = [:]
  }

  func addPresence(_ tape: Tape, _ format: WireFormat, _ audience: TagFilter) {
    presenceTapes[Kind(format: format, filter: audience)] = tape
  }

  /// Lets go of the tapes that nobody sits on any more.
  func vacate(_ format: WireFormat, _ seat: Seat) {
    if let filter = seat.filter, tape(format, filter)?.isEmpty == true {
      tapes[Kind(format: format, filter: filter)] = nil
      known = [:]
    }
    if let audience = seat.audience, presenceTape(format, audience)?.isEmpty == true {
      presenceTapes[Kind(format: format, filter: audience)] = nil
    }
  }

  // MARK: Frames

  /// The tapes with a filter that a publication has passed.
  func tapes(for filter: ChannelFilter) -> (json: Tape?, protobuf: Tape?) {
    if let known = known[ObjectIdentifier(filter)] { return (known.json, known.protobuf) }
    let found = Known(filter: filter, json: tape(.json, filter.filter), protobuf: tape(.protobuf, filter.filter))
    // Those who had it may just have left, and the backbone thread does not know it yet.
    if found.json != nil || found.protobuf != nil { known[ObjectIdentifier(filter)] = found }
    return (found.json, found.protobuf)
  }

  /// Hands on the tapes of those who may see a member come and go.
  func forEachPresenceTape(seeing member: ClientInfo, _ body: (Tape, WireFormat) -> Void) {
    for (kind, tape) in presenceTapes where kind.filter.matches(member: member) { body(tape, kind.format) }
  }
}
