import Apps
import Log
import Wire

/// A part of a channel, no larger than the answer it is for may be.
struct BoundedRead {
  var publications: [Publication]
  /// Offset of the newest publication that the channel had when it was read.
  var through: UInt64
  /// The answer did not hold all that was found: publications are missing at its end, or its only one is larger than
  /// the answer was to be.
  var isCut: Bool
}

/// Reads with a limit of bytes: however much a channel holds, no more of it is in memory at a time than one answer may
/// hold.
extension BrokerCore {
  /// Reads what the answer has room for, and at least one publication where there is one.
  func read(
    _ range: LogRange, within answer: AnswerLimit, of state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> BoundedRead {
    var range = range
    range.bytes = configuration.bytes(of: answer)
    let page = try read(range, of: state, in: &turn)
    return bounded(page.publications, through: page.through, range.bytes)
  }

  /// Reads all that was published after an offset, including what was published while the store read the older part.
  func readUpToNow(
    since offset: UInt64, limit: Int, within answer: AnswerLimit, of state: BrokerChannel, in turn: inout Turn
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

  /// The range from the store's memory, or the page that the store has read for this input. Such a page ends where the
  /// channel ended when the store was asked, which may be before the end of the range.
  ///
  /// - Returns: the publications, and the offset up to which they are all that there is.
  /// - Throws: ``ClientError/waits`` where the store has to read.
  func read(
    _ range: LogRange, of state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> (publications: [Publication], through: UInt64) {
    if let known = turn.page(of: state.name, range) {
      return (opened(known.publications, on: state.name, state.options, at: turn.time), known.through)
    }
    guard case .page(let page) = try stores.ask(.page(state.name, range), of: state.store, in: &turn) else {
      preconditionFailure("a store answers with a page where it is asked for one")
    }
    return (opened(page, on: state.name, state.options, at: turn.time), range.through)
  }

  /// The newest publications of a channel, newest first, for an app that decides by them.
  ///
  /// A page that the store has read for this input is read again where the channel has grown since. It may lack a message,
  /// or hold one that was changed: an entry of a list that is worked out from it would replace one that shows the change
  /// already, and stay so. On a channel that never rests the last page counts, since the next message brings the entry up
  /// to date.
  ///
  /// - Throws: ``ClientError/waits`` where the store has to read.
  func readNewest(
    _ range: LogRange, of state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> [Publication] {
    let page = try read(range, of: state, in: &turn)
    if page.through >= range.through || turn.pageCount(of: state.name) >= Self.mostReadings { return page.publications }
    guard case .page(let again) = try stores.ask(.page(state.name, range), of: state.store, in: &turn) else {
      preconditionFailure("a store answers with a page where it is asked for one")
    }
    return opened(again, on: state.name, state.options, at: turn.time)
  }

  /// How often the newest publications of a channel are read for one input, at most.
  private static let mostReadings = 4

  /// Publications as people read them, from what the log keeps. All that is read of streams for anybody comes through
  /// here.
  func opened(
    _ kept: [Publication], on name: ChannelName, _ options: ChannelOptions, at time: BrokerTime
  ) -> [Publication] {
    guard options.app != nil, kept.contains(where: { $0.vanishes != nil }), let app = hosts.host(of: options)?.app
    else { return kept }
    return kept.map { $0.vanishes == nil ? $0 : app.opened($0, on: name, at: time.latest) }
  }
}

extension Turn {
  /// The page that the store read for the same input when it ran before. Since then the channel may have grown, which
  /// the returned offset tells, and publications may have expired, which are left out.
  /// Of several, the one that was read last counts.
  fileprivate func page(of name: ChannelName, _ range: LogRange) -> (publications: [Publication], through: UInt64)? {
    var latest: (publications: [Publication], through: UInt64)?
    for reply in known {
      guard case .page(name, let former) = reply.question, case .page(let publications) = reply.answer,
        former.since == range.since, former.limit == range.limit, former.reverse == range.reverse,
        former.bytes == range.bytes, former.through <= range.through, former.through >= latest?.through ?? 0
      else { continue }
      latest = (publications, former.through)
    }
    return latest.map { ($0.publications.filter { $0.time >= range.notBefore }, $0.through) }
  }

  /// How many pages of a channel the store has read for the input.
  fileprivate func pageCount(of name: ChannelName) -> Int {
    known.count { if case .page(name, _) = $0.question { true } else { false } }
  }
}
