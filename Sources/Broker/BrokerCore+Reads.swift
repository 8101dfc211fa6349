import Log
import Wire

/// A part of a channel, no larger than the answer it is for may be.
struct BoundedRead {
  var publications: [Publication]
  /// What the channel ended with when it was read.
  var through: UInt64
  /// There is more, or a single publication is more than the answer was to hold.
  var isCut: Bool
}

/// Reads that weigh what they find: however much a channel holds, no more of it is in memory at a time than an answer may
/// hold.
extension BrokerCore {
  /// At least one publication, where there is one.
  func read(
    _ range: LogRange, within answer: AnswerLimit, of state: ChannelState, in turn: inout Turn
  ) throws(ClientError) -> BoundedRead {
    var range = range
    range.bytes = configuration.bytes(of: answer)
    let page = try read(range, of: state, in: &turn)
    return bounded(page.publications, through: page.through, range.bytes)
  }

  /// All that was published after an offset, up to now: also what came while the older part of it was read.
  func readUpToNow(
    since offset: UInt64, limit: Int, within answer: AnswerLimit, of state: ChannelState, in turn: inout Turn
  ) throws(ClientError) -> BoundedRead {
    let top = state.sequencer.top.offset
    var range = LogRange(
      since: offset, through: top, limit: limit, notBefore: oldest(in: state, at: turn.time),
      bytes: configuration.bytes(of: answer))
    var page = try read(range, of: state, in: &turn)
    var publications = page.publications
    while page.through < top, publications.count < limit {
      range.since = page.through
      page = try read(range, of: state, in: &turn)
      publications += page.publications
    }
    return bounded(publications, through: page.through, range.bytes)
  }

  private func bounded(_ found: [Publication], through: UInt64, _ bytes: Int) -> BoundedRead {
    var size = 0
    let fitting = found.prefix { publication in
      size += publication.cost
      return size <= bytes
    }
    if fitting.count == found.count { return BoundedRead(publications: found, through: through, isCut: false) }
    return BoundedRead(publications: Array(found.prefix(max(1, fitting.count))), through: through, isCut: true)
  }

  /// From the store's memory, or what it has read for the input under way: that goes as far as it went when it was
  /// asked.
  func read(
    _ range: LogRange, of state: ChannelState, in turn: inout Turn
  ) throws(ClientError) -> (publications: [Publication], through: UInt64) {
    if let known = turn.page(of: state.name, range) { return known }
    guard case .page(let page) = try stores.ask(.page(state.name, range), of: state.store, in: &turn) else {
      preconditionFailure("a store answers with a page where it is asked for one")
    }
    return (page, range.through)
  }
}

extension Turn {
  /// A page that was read for the same input before, when the channel ended earlier and fewer of it were too old.
  fileprivate func page(of name: ChannelName, _ range: LogRange) -> (publications: [Publication], through: UInt64)? {
    for reply in known {
      guard case .page(name, let former) = reply.question, case .page(let publications) = reply.answer,
        former.since == range.since, former.limit == range.limit, former.reverse == range.reverse,
        former.bytes == range.bytes
      else { continue }
      return (publications.filter { $0.time >= range.notBefore }, former.through)
    }
    return nil
  }
}
