import Log
import Wire

/// Gives out a channel's offsets, and holds what is known of the channel while it is in use.
///
/// The log stands between giving out an offset and delivering the publication. States of the sequence:
/// - flowing: `next` is one more than the newest entry that the log took. Can transition to: draining.
/// - draining: the log failed an entry, so those behind it fail too, and nothing new is taken until the last of them
///   has come back; then `next` starts again after the top. Nobody saw the offsets that are given out once more.
///   Can transition to: flowing.
struct Sequencer {
  /// Top of the stream: the position of the publication that was delivered last.
  private(set) var top: StreamPosition
  private var next: UInt64
  private var pending = 0
  private(set) var isDraining = false

  init(position: StreamPosition) {
    top = position
    next = position.offset + 1
  }

  /// Offset of the newest publication that the log took, which may not be delivered yet.
  var newest: UInt64 { next - 1 }
  var isIdle: Bool { pending == 0 }
  /// Entries that the log took and has not answered for.
  var underWay: Int { pending }

  /// The offset for the next publication; nil while draining.
  func peek() -> UInt64? { isDraining ? nil : next }

  /// The log has the entry with the peeked offset, and it may be delivered now.
  mutating func kept() {
    precondition(pending == 0, "a log answers a channel's entries in order, so none may be pending before a kept one")
    top.offset = next
    next += 1
  }

  /// The log has the entry with the peeked offset, and will say later what became of it.
  mutating func begin() {
    pending += 1
    next += 1
  }

  /// The oldest pending entry is on disk.
  mutating func completed(offset: UInt64) {
    precondition(offset == top.offset + 1, "a log completes a channel's entries in the order it took them")
    top.offset = offset
    cameBack()
  }

  /// The oldest pending entry is not on disk and never will be.
  mutating func failed() {
    isDraining = true
    cameBack()
  }

  private mutating func cameBack() {
    pending -= 1
    if pending == 0 && isDraining {
      isDraining = false
      next = top.offset + 1
    }
  }
}
