import Log
import Wire

/// A part of a channel, no larger than the answer it is for may be.
struct BoundedRead {
  var publications: [Publication]
  /// There is more, or a single publication is more than the answer was to hold.
  var isCut: Bool
}

/// Reads that weigh what they find: however much a channel holds, no more of it is in memory at a time than an answer may
/// hold.
extension BrokerCore {
  /// What the answer may hold: what was asked for, and no more than the broker gives.
  func bytes(of answer: AnswerLimit) -> Int { min(Int(answer.bytes), configuration.answerBytes) }

  /// At least one publication, where there is one.
  func read(
    _ range: LogRange, within answer: AnswerLimit, of state: ChannelState
  ) throws(ClientError) -> BoundedRead {
    var range = range
    range.bytes = bytes(of: answer)
    var publications = try read(range, of: state)
    // The store ends with the one that goes beyond.
    let isCut = publications.reduce(0) { $0 + $1.cost } > range.bytes
    if isCut && publications.count > 1 { publications.removeLast() }
    return BoundedRead(publications: publications, isCut: isCut)
  }

  func read(_ range: LogRange, of state: ChannelState) throws(ClientError) -> [Publication] {
    do { return try state.store.read(state.name, range) } catch { throw clientError(for: error) }
  }
}
