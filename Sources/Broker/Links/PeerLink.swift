import Wire

/// The broker's end of the link to one gateway.
///
/// States:
/// - open: messages flow. Can transition to: overflowed, departed, open in a new session (hello).
/// - overflowed: more was published than the window holds, or the pipe was full; nothing is sent any more, and the gateway
///   is told to open a new session, again and again until it does. Can transition to: open (hello), departed.
/// - departed: nothing was heard for the timeout, or the gateway said goodbye. Its interest and presence are gone; what
///   it published stays known for a while, in case it comes back and asks again. Can transition to: open (hello), and is
///   forgotten after as long again.
///
/// A class, because a link is changed several times for each message, and changing a value inside a dictionary takes
/// memory for each of the accesses on the way to it.
final class PeerLink {
  enum State {
    case open(PeerSession)
    case overflowed
    case departed(since: Int64)
  }

  let gateway: UInt64
  /// The newest that the gateway has opened.
  private(set) var session: UInt64
  private(set) var state: State
  var lastHeard: Int64
  /// Its members were announced as gone: when they come back, they are announced again.
  var lostItsMembers = false
  /// Channels in whose interest set the gateway stands, or which hold members of it.
  var channels: Set<ChannelName> = []
  private var results = PublishResults()

  init(gateway: UInt64, session: UInt64, now: Int64) {
    self.gateway = gateway
    self.session = session
    state = .open(PeerSession(now: now))
    lastHeard = now
  }

  /// Nil where nothing flows.
  var open: PeerSession? { if case .open(let session) = state { session } else { nil } }
  var isOpen: Bool { open != nil }

  /// The gateway said hello again: both sides count from the start.
  func reopen(session: UInt64, now: Int64) {
    self.session = session
    state = .open(PeerSession(now: now))
    lastHeard = now
  }

  /// The session is over: the gateway asks again for what was not answered.
  func overflow() { state = .overflowed }

  func depart(at now: Int64) {
    state = .departed(since: now)
    lostItsMembers = true
    channels = []
  }

  // MARK: What is asked again

  func remember(_ response: BrokerResponse, for request: UInt64) { results.remember(response, for: request) }
  func forgetResults(before request: UInt64) { results.forget(before: request) }
  func startedPublish(_ request: UInt64) { results.started(request) }
  /// What was to be done was not: it is done when it is asked for again.
  func neverStarted(_ request: UInt64) { results.neverStarted(request) }
  func result(of request: UInt64) -> PublishResults.Known { results[request] }
}

/// One session of a link, from a hello to the next or to its end: numbers, window, and what waits for room in it.
///
/// **The window** holds what was sent and is not known to be worked off. Answers keep to half of it: a request whose
/// answer might not find room there is begun later (``backlog``). The other half is for what nobody asked for, and that
/// alone can overflow the link.
final class PeerSession {
  private var nextReceived: UInt64 = 1
  private var nextSent: UInt64 = 0
  private var sentBytes: UInt64 = 0
  private var consumedBytes: UInt64 = 0
  private(set) var lastSent: Int64
  /// Requests that wait for room.
  var backlog = LinkBacklog()
  /// Answers to publications, calls and their like, which were done a while ago and found no room.
  private(set) var lateReplies: [LinkReply] = []
  /// Requests that wait for a store, and the bytes of their answers, for which room is held back.
  private(set) var waiting = 0
  private var reserved = 0

  init(now: Int64) { lastSent = now }

  /// - Returns: false where a number is missing before this one.
  func accept(sequence: UInt64) -> Bool {
    guard sequence == nextReceived else { return false }
    nextReceived += 1
    return true
  }

  private var underWay: UInt64 { sentBytes - consumedBytes }

  /// Whether one more message may go out. One alone always may.
  func hasRoom(for cost: Int, window: UInt64) -> Bool { underWay == 0 || underWay + UInt64(cost) <= window }

  /// Whether something may be begun whose answer holds up to so many bytes.
  func hasRoom(forAnswerOf bytes: Int, window: UInt64) -> Bool {
    underWay + UInt64(reserved) + UInt64(bytes) <= window / 2
  }

  /// A request waits for a store; its answer finds room when it comes.
  func holdBack(_ bytes: Int) {
    waiting += 1
    reserved += bytes
  }

  /// It is answered, or will not be.
  func giveBack(_ bytes: Int) {
    waiting -= 1
    reserved -= bytes
  }

  func reply(later reply: LinkReply) { lateReplies.append(reply) }

  /// Those for which there is room now.
  func takeLateReplies(window: UInt64) -> ArraySlice<LinkReply> {
    var left = window > underWay ? window - underWay : 0
    let fitting = lateReplies.prefix { reply in
      let size = UInt64(LinkBody.reply(reply).cost)
      guard size <= left || underWay == 0 && left == window else { return false }
      left -= min(size, left)
      return true
    }
    lateReplies.removeFirst(fitting.count)
    return fitting
  }

  /// The number of the next message; nil: there is no room left. There always is for what is owed: answers, for which it
  /// was found before, and signs of life.
  func number(_ body: LinkBody, window: UInt64, now: Int64) -> UInt64? {
    let cost = body.cost
    guard body.isOwed || hasRoom(for: cost, window: window) else { return nil }
    defer { nextSent += 1 }
    sentBytes += UInt64(cost)
    lastSent = now
    return nextSent
  }

  func consumed(_ bytes: UInt64) {
    // A gateway that claims more than it was sent is wrong or hostile: believe it no further than is possible.
    consumedBytes = min(max(consumedBytes, bytes), sentBytes)
  }
}

extension LinkBody {
  fileprivate var isOwed: Bool {
    switch self {
    case .reply, .welcome, .brokerHeartbeat: true
    case .hello, .request, .gatewayHeartbeat, .resynced, .goodbye, .obeyed, .publication, .join, .leave, .reset,
      .audience, .discard, .order, .unreadable:
      false
    }
  }
}
