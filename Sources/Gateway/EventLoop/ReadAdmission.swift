import Wire

/// Which reads of an event loop's clients go to the broker now, and which wait: charged by the most that they may be
/// answered with, before they are asked.
///
/// One message of 14 KB can ask for 256 pages of a megabyte each. Without this, all of them would stand between the
/// broker and that client's socket at once, and everybody else's publications behind them.
///
/// - **By connection**: only a few bytes of answers are under way to one, and none while it leaves unread what it has
///   got. What it asks for meanwhile waits in order, so that nothing overtakes: a publish does not go before the
///   subscribe that stands before it.
/// - **By event loop**: small reads and large ones have a budget each, so that the many small ones never wait for the
///   few large ones. Connections take turns: one that asks for much costs the others one of its reads at a time.
/// - **By look at the sockets**: few reads go before the event loop has looked at its other sockets, where anybody is
///   served who could wait (``mostBetweenLooks``). Each costs as much as some hundred deliveries.
///
/// A read is first tried as a small one (``AnswerLimit/isTry``). Only where the broker says that the answer is larger
/// it is asked again among the large ones.
struct ReadAdmission {
  /// All in bytes of answers.
  struct Limits: Equatable, Sendable {
    /// Under way to one connection; one read alone may be more.
    var connection: Int
    /// Under way to the event loop's connections, small reads and large ones each; one read alone may be more.
    var loop: Int
    /// Up to this a read counts as small.
    var small = 64 << 10
  }

  struct Ask {
    var request: BrokerRequest
    var tag: UInt64
    var terms: SubscribeTerms?
    /// The most bytes that the request may be answered with; 0 for one that only waits because something before it
    /// does.
    var cost: Int
    /// What the read is charged when it is asked again without ``AnswerLimit/isTry``; nil: it is not a try.
    var wholeCost: Int?
    /// Milliseconds that never go back.
    var askedAt: Int64
  }

  /// Requests that may wait on one event loop; more are refused. Each connection is bounded long before.
  static let mostWaiting = 65_536

  private struct Queue {
    var waiting: [Ask] = []
    var head = 0
    var underWay: [UInt64: Ask] = [:]
    var charged = 0
    /// The connection's place in one of the lines for the event loop's budgets; nil: it stands in none.
    var ticket: UInt64?
    /// The connection has not taken yet what was sent to it.
    var isBehind = false
    /// The connection is gone; answers to what is under way still come.
    var hasEnded = false

    var first: Ask? { head < waiting.count ? waiting[head] : nil }
    var isEmpty: Bool { first == nil && underWay.isEmpty }

    /// Whether the connection's own limits let the read go; the event loop's budget is not asked here.
    func mayAsk(_ ask: Ask, limit: Int) -> Bool {
      ask.cost == 0 || !isBehind && (charged == 0 || charged + ask.cost <= limit)
    }

    /// The first read, where the ticket is still the connection's and its own limits let the read go.
    func next(_ ticket: UInt64, limit: Int) -> Ask? {
      guard ticket == self.ticket, let ask = first, mayAsk(ask, limit: limit) else { return nil }
      return ask
    }

    /// The first read is under way now: it does not wait any more, and is charged.
    mutating func asked(_ ask: Ask) {
      removeFirst()
      ticket = nil
      if ask.cost > 0 {
        underWay[ask.tag] = ask
        charged += ask.cost
      }
    }

    mutating func removeFirst() {
      head += 1
      guard head == waiting.count || head > 64 else { return }
      waiting.removeFirst(head)
      head = 0
    }
  }

  /// Connections whose next read may go as far as they themselves are concerned, in turn.
  private struct Line {
    /// Tickets that are not their connection's any more are passed over.
    var places: [(connection: UInt64, ticket: UInt64)] = []
    var head = 0
    /// What the reads of this line that are under way are charged together.
    var charged = 0

    var first: (connection: UInt64, ticket: UInt64)? { head < places.count ? places[head] : nil }

    mutating func removeFirst() {
      head += 1
      guard head == places.count || head > 1024 else { return }
      places.removeFirst(head)
      head = 0
    }
  }

  let limits: Limits
  /// How many reads go between two looks of the event loop at its sockets.
  var mostBetweenLooks = Int.max
  /// How many went since the last look.
  private var sinceLook = 0
  private var queues: [UInt64: Queue] = [:]
  private var small = Line()
  private var large = Line()
  private var lastTicket: UInt64 = 0
  private(set) var waitingCount = 0
  #if MUTATIONS
    var mutation: GatewayMutation?
  #endif

  init(limits: Limits) { self.limits = limits }

  /// Nothing waits, and nothing is charged.
  var isIdle: Bool { queues.isEmpty }

  /// Whether a request of the connection waits here: then what it asks for now has to stand behind that.
  func isWaiting(_ connection: UInt64) -> Bool {
    waitingCount > 0 && queues[connection]?.first != nil
  }

  // MARK: In

  /// - Parameter isBehind: the connection has not taken yet what was sent to it.
  /// - Returns: false where too much waits on this event loop.
  mutating func ask(_ ask: Ask, of connection: UInt64, isBehind: Bool) -> Bool {
    guard waitingCount < Self.mostWaiting else { return false }
    waitingCount += 1
    queues[connection, default: Queue()].waiting.append(ask)
    queues[connection]?.isBehind = isBehind
    lineUp(connection)
    return true
  }

  /// The broker's answer came and was given to its connection.
  mutating func answered(_ tag: UInt64, of connection: UInt64, isBehind: Bool) {
    #if MUTATIONS
      if mutation == .keepsReadsCharged { return }
    #endif
    guard release(tag, of: connection) != nil else { return }
    queues[connection]?.isBehind = isBehind
    lineUp(connection)
    tidy(connection)
  }

  /// The broker says that the answer to a try is larger than the try allowed. The read is asked again as a large one,
  /// before everything of its connection that waits.
  ///
  /// - Returns: false where nobody waits for the answer any more.
  mutating func isTooLarge(_ tag: UInt64, of connection: UInt64) -> Bool {
    guard var ask = release(tag, of: connection) else { return false }
    guard let wholeCost = ask.wholeCost, var queue = queues[connection], !queue.hasEnded else {
      lineUp(connection)
      tidy(connection)
      return false
    }
    ask.request = ask.request.limited(to: AnswerLimit(bytes: UInt32(clamping: wholeCost)))
    ask.cost = wholeCost
    ask.wholeCost = nil
    waitingCount += 1
    queue.waiting.insert(ask, at: queue.head)
    // The connection's ticket may stand in the line of small reads, for a read that is second now.
    queue.ticket = nil
    queues[connection] = queue
    lineUp(connection)
    return true
  }

  /// The connection has taken what was sent to it.
  mutating func drained(_ connection: UInt64) {
    guard !queues.isEmpty, queues[connection] != nil else { return }
    queues[connection]?.isBehind = false
    lineUp(connection)
  }

  /// The connection is gone.
  ///
  /// - Returns: its requests that waited and are not asked any more.
  mutating func ended(_ connection: UInt64) -> [Ask] {
    guard !queues.isEmpty, var queue = queues[connection] else { return [] }
    let waiting = Array(queue.waiting[queue.head...])
    waitingCount -= waiting.count
    queue.waiting = []
    queue.head = 0
    queue.hasEnded = true
    queue.ticket = nil
    queues[connection] = queue
    tidy(connection)
    return waiting
  }

  /// Takes out the requests that have waited since before `time`: they are not asked any more.
  mutating func expired(before time: Int64) -> [(connection: UInt64, ask: Ask)] {
    guard waitingCount > 0 else { return [] }
    var expired: [(UInt64, Ask)] = []
    for connection in queues.keys.sorted() {
      let count = expired.count
      while let ask = queues[connection]?.first, ask.askedAt < time {
        queues[connection]?.removeFirst()
        waitingCount -= 1
        expired.append((connection, ask))
      }
      guard expired.count > count else { continue }
      queues[connection]?.ticket = nil
      lineUp(connection)
      tidy(connection)
    }
    return expired
  }

  // MARK: Out

  /// The next request that is to go to the broker, which counts as under way from here on; nil: all that are left wait.
  /// Call it until it says nil.
  mutating func next() -> (connection: UInt64, ask: Ask)? {
    guard waitingCount > 0, !awaitsLook, let next = next(in: \.small) ?? next(in: \.large) else { return nil }
    if next.ask.cost > 0 { sinceLook += 1 }
    return next
  }

  /// Whether the reads that wait do so until the event loop has looked at its sockets: call ``looked()`` then.
  var awaitsLook: Bool { waitingCount > 0 && sinceLook >= mostBetweenLooks }

  /// The event loop has looked at its sockets: ``next()`` may have some more.
  mutating func looked() { sinceLook = 0 }

  private mutating func next(in line: WritableKeyPath<Self, Line>) -> (connection: UInt64, ask: Ask)? {
    while let (connection, ticket) = self[keyPath: line].first {
      guard let ask = queues[connection]?.next(ticket, limit: limits.connection) else {
        self[keyPath: line].removeFirst()
        if queues[connection]?.ticket == ticket { queues[connection]?.ticket = nil }
        continue
      }
      let charged = self[keyPath: line].charged
      guard charged == 0 || charged + ask.cost <= limits.loop else { return nil }
      self[keyPath: line].removeFirst()
      self[keyPath: line].charged += ask.cost
      waitingCount -= 1
      queues[connection]?.asked(ask)
      // A connection that has more to ask for stands behind all the others.
      lineUp(connection)
      tidy(connection)
      return (connection, ask)
    }
    return nil
  }

  // MARK: Lines

  private func line(of ask: Ask) -> WritableKeyPath<Self, Line> { ask.cost <= limits.small ? \.small : \.large }

  /// Gives the connection a place in line for its first read. One whose own limits do not let the read go lines up
  /// later: when one of its answers has come, or when its socket has taken what it got.
  private mutating func lineUp(_ connection: UInt64) {
    guard let queue = queues[connection], queue.ticket == nil, let ask = queue.first,
      queue.mayAsk(ask, limit: limits.connection)
    else { return }
    lastTicket += 1
    queues[connection]?.ticket = lastTicket
    self[keyPath: line(of: ask)].places.append((connection, lastTicket))
  }

  private mutating func release(_ tag: UInt64, of connection: UInt64) -> Ask? {
    guard !queues.isEmpty, let ask = queues[connection]?.underWay.removeValue(forKey: tag) else { return nil }
    queues[connection]?.charged -= ask.cost
    self[keyPath: line(of: ask)].charged -= ask.cost
    return ask
  }

  private mutating func tidy(_ connection: UInt64) {
    if queues[connection]?.isEmpty == true { queues[connection] = nil }
  }
}
