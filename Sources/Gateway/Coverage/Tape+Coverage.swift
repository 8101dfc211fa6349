import Wire

/// Where a closed connection's seat on a tape was left.
struct TapeStop {
  unowned let tape: Tape
  /// The newest publication that was handed to the connection; nil: the tape cannot tell.
  let written: UInt64?
}

/// How far a subscriber is, in numbers of publications. A tape knows positions in bytes; what has not been handed to the
/// connection still stands on it, and is looked at frame by frame. That is done when a subscription ends or somebody
/// asks about it, never for a delivery.
extension Tape {
  /// - Parameters:
  ///   - covered: the newest publication that came to the event loop for the channel, whoever wants it.
  ///   - isHeld: nothing was sent of the channel yet, the answer to the subscribe included.
  func reach(
    at place: Int, _ outlet: Outlet, covered: UInt64, isHeld: Bool
  ) -> CoverageReach {
    if isHeld { return CoverageReach(covered: covered, written: 0, isUnsent: true) }
    let stop = outlet.stops.first { $0.tape === self }
    let isBehind = stop != nil || seats[place].cursor < end
    guard let written = stop.map(\.written) ?? written(at: place, upTo: covered) else {
      return CoverageReach(covered: covered, written: covered, unsure: .max)
    }
    // On a filtered tape the numbers have gaps: only of the newest publication it is known where it stands.
    let queued = queuedPublications(outlet)
    guard isFiltered, queued > 0 else { return CoverageReach(covered: covered, written: written, unsure: queued) }
    let isNewest = !isBehind && queued == 1 && newest > 0 && newest <= written
    return CoverageReach(covered: covered, written: written, unsure: isNewest ? written - newest + 1 : .max)
  }

  /// Most publications that the bytes in the connection's own queue, or those that it gave back when it broke, can be
  /// of.
  private func queuedPublications(_ outlet: Outlet) -> UInt64 {
    let bytes = outlet.queuedBytes + outlet.brokenBytes
    if bytes <= 0 { return 0 }
    // How many publications a compressed answer holds, its length does not tell.
    if case .deflated = form.packing { return .max }
    let smallest = Self.smallestPublication(form.format)
    return UInt64((bytes + smallest - 1) / smallest)
  }

  /// The fewest bytes of a publication among others in the answer to a subscribe: `{"data":1,"offset":1},`, and in
  /// Protobuf a tag and a length, the offset, and no data.
  private static func smallestPublication(_ format: WireFormat) -> Int { format == .json ? 20 : 4 }

  /// The newest publication up to which everything was handed to the seat's connection; nil: it cannot be told.
  func written(at place: Int, upTo covered: UInt64) -> UInt64? {
    let cursor = seats[place].cursor
    if isConflated || cursor >= end { return covered }
    guard cursor >= base else { return nil }
    var (position, frames) = (cursor, UInt64(0))
    if isFiltered {
      guard form.isPlain else { return nil }
      let bytes = unsafe Array(bytes(position, Int(frameEnd(from: position, holding: position) - position)))
      return FrameOffset.read(bytes, format: form.format).map { $0 - 1 }
    }
    while position < end {
      position = frameEnd(from: position, holding: position)
      frames += 1
    }
    return covered >= frames ? covered - frames : nil
  }

  /// The connection is closed, and the seat is about to be moved to the end of the tape: notes where it stood.
  func noteStop(at place: Int, _ outlet: Outlet) {
    guard !isConflated, !outlet.stops.contains(where: { $0.tape === self }) else { return }
    outlet.stops.append(TapeStop(tape: self, written: written(at: place, upTo: newest)))
  }
}
