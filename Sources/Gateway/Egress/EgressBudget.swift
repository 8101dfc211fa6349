import NIOCore
import Synchronization
import Wire

/// How many bytes may wait for all connections of the process: accepted by a connection and not taken by the kernel, or
/// kept on a tape for those who lag.
///
/// Each connection's queue has a limit, and a thousand connections that ask for large pages and read none have a
/// thousand times as much. So there is a limit for all together, in two steps:
/// - From half of it on, a client is read no further while any answer of its own waits (``isTight``).
/// - Beyond it, the connection for which most waits is closed, whichever event loop it is on, then the next, until the
///   rest fits or nothing waits for anybody. A client that reads has little waiting, and is never the one to be closed.
///
/// Only what the kernel did not take at once is counted, so that an ordinary delivery costs nothing here.
final class EgressBudget: Sendable {
  /// Every event loop is asked for its connection with most waiting; when all have answered, the one with most is
  /// closed.
  private struct Search {
    var unanswered: Int
    var most = 0
    var loop = 0
  }

  let limitBytes: Int
  private let eventLoops: [any EventLoop]
  private let loops: [NIOLoopBoundBox<EgressShare?>]
  private let waiting = Atomic<Int>(0)
  private let search = Mutex<Search?>(nil)
  private let refusals: Refusals

  /// - Parameter refusals: where it is written down who was closed.
  init(limitBytes: Int, eventLoops: [any EventLoop], refusals: Refusals) {
    self.limitBytes = limitBytes
    self.eventLoops = eventLoops
    loops = eventLoops.map { NIOLoopBoundBox.makeEmptyBox(valueType: EgressShare.self, eventLoop: $0) }
    self.refusals = refusals
  }

  var waitingBytes: Int { waiting.load(ordering: .relaxed) }

  var isTight: Bool { waitingBytes > limitBytes / 2 }

  /// The budget's part for the event loop with that index; call it on that event loop.
  subscript(loop: Int) -> EgressShare {
    if let egress = loops[loop].value { return egress }
    let egress = EgressShare(self)
    loops[loop].value = egress
    return egress
  }

  fileprivate func change(by bytes: Int) {
    let now = waiting.add(bytes, ordering: .relaxed).newValue
    if bytes > 0 && now > limitBytes { findMost() }
  }

  private func findMost() {
    let begins = search.withLock { search in
      guard search == nil else { return false }
      search = Search(unanswered: eventLoops.count)
      return true
    }
    guard begins else { return }
    for loop in eventLoops.indices { eventLoops[loop].execute { [self] in tellMost(of: loop) } }
  }

  private func tellMost(of loop: Int) {
    let most = self[loop].most?.weight ?? 0
    let found = search.withLock { search -> Search? in
      search?.unanswered -= 1
      if most > search?.most ?? 0 {
        search?.most = most
        search?.loop = loop
      }
      return search?.unanswered == 0 ? search : nil
    }
    guard let found else { return }
    eventLoops[found.loop].execute { [self] in
      // Clients may have read much meanwhile.
      let connection = waitingBytes > limitBytes ? self[found.loop].most : nil
      if let connection {
        refusals.note(.egress, from: connection.remoteAddress)
        connection.closeForBudget()
      }
      let hasClosed = connection != nil
      // This task runs behind the connection's own last one, in which it leaves its tapes: only then is it known how
      // many bytes its end gave back.
      eventLoops[found.loop].execute { [self] in
        search.withLock { $0 = nil }
        if hasClosed && waitingBytes > limitBytes { findMost() }
      }
    }
  }
}

/// The connections of one event loop for which something waits. Bound to it, and deliberately not Sendable.
final class EgressShare {
  private unowned let budget: EgressBudget
  private var waiting: [UInt64: Connection] = [:]
  /// Bytes kept on tapes, as the budget was told last.
  private var keptBytes = 0

  /// A change of so many bytes on tapes is worth telling the budget.
  private static let worthTelling = 64 << 10

  fileprivate init(_ budget: EgressBudget) { self.budget = budget }

  var isTight: Bool { budget.isTight }

  /// The connection for which most waits; nil where nothing waits for any.
  fileprivate var most: Connection? { waiting.values.max { $0.weight < $1.weight } }

  /// Tells that the connection's ``Connection/accountedBytes`` has changed by so many bytes.
  func change(_ connection: Connection, by bytes: Int) {
    if connection.accountedBytes > 0 { waiting[connection.id] = connection } else { waiting[connection.id] = nil }
    budget.change(by: bytes)
  }

  /// Tells how many bytes the event loop's tapes keep for connections that lag. Each of these has something waiting in
  /// its own queue too, so ``most`` finds it.
  func tapesKeep(_ bytes: Int) {
    let change = bytes - keptBytes
    guard change != 0, bytes == 0 || abs(change) >= Self.worthTelling else { return }
    keptBytes = bytes
    budget.change(by: change)
  }
}
