import Wire

/// The broker's end of the link to one gateway.
///
/// States:
/// - open: messages flow. Can transition to: overflowed, departed, open in a new session (hello).
/// - overflowed: more was published than the window holds, the pipe was full, or a message is missing. Nothing is sent
///   but resets, which tell the gateway to open a new session, until it does. Can transition to: open (hello),
///   departed.
/// - departed: nothing was heard for the timeout, or the gateway said goodbye. Its interest and presence are gone; the
///   answers to its publish requests stay known for twice the timeout, in case it comes back and asks again. Can
///   transition to: open (hello), or the link is forgotten.
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
  /// Number of the newest session that the gateway has opened.
  private(set) var session: UInt64
  private(set) var state: State
  /// False where only services ask by way of it.
  let hasClients: Bool
  var lastHeard: Int64
  /// The gateway's members were announced as gone, so they are announced again when they come back.
  var lostItsMembers = false
  /// Channels that the gateway asked for, or that have members of it.
  var channels: Set<ChannelName> = []
  private var results = PublishResults()

  init(gateway: UInt64, session: UInt64, hasClients: Bool = true, now: Int64) {
    self.gateway = gateway
    self.hasClients = hasClients
    self.session = session
    state = .open(PeerSession(now: now))
    lastHeard = now
  }

  /// The open session; nil where the link has overflowed or the gateway departed.
  var open: PeerSession? { if case .open(let session) = state { session } else { nil } }
  var isOpen: Bool { open != nil }

  /// Opens a new session, because the gateway said hello again: both sides count from the start.
  func reopen(session: UInt64, now: Int64) {
    self.session = session
    state = .open(PeerSession(now: now))
    lastHeard = now
  }

  /// Ends the session. In the next one the gateway repeats the requests that have no answer.
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
  /// Notes that a request was dropped before anything of it was done, so that it is done if the gateway repeats it.
  func neverStarted(_ request: UInt64) { results.neverStarted(request) }
  func result(of request: UInt64) -> PublishResults.Known { results[request] }
}

/// One session of a link, from a hello to the next or to its end: sequence numbers, the window, and what waits for
/// room.
///
/// **The window** limits the bytes that were sent and that the gateway has not confirmed as worked off. Answers keep to
/// half of it: a request whose answer might not find room there is begun later (``backlog``). The other half is for
/// publications and other messages that nobody asked for, and only those can overflow the link.
final class PeerSession {
  private var nextReceived: UInt64 = 1
  private var nextSent: UInt64 = 0
  private var sentBytes: UInt64 = 0
  private var consumedBytes: UInt64 = 0
  private(set) var lastSent: Int64
  /// Requests that wait for room for their answers.
  var backlog = LinkBacklog()
  /// Answers to publishes, calls and their like, which were begun a while ago and whose answers found no room.
  private(set) var lateReplies: [LinkReply] = []
  /// How many requests wait for a store, and the bytes for their answers, for which room is held back.
  private(set) var waiting = 0
  private var reserved = 0
  var deletions = DeletionTelling.silent
  /// Nil: the gateway has been told all revocations, or the broker keeps none.
  var telling: RevocationTelling?

  init(now: Int64) { lastSent = now }

  /// Takes the sequence number of a message that has come.
  ///
  /// - Returns: false where the number is not the next one.
  func accept(sequence: UInt64) -> Bool {
    guard sequence == nextReceived else { return false }
    nextReceived += 1
    return true
  }

  private var underWay: UInt64 { sentBytes - consumedBytes }

  /// Whether one more message of so many bytes may go out. A message may always go out where no other is under way.
  func hasRoom(for cost: Int, window: UInt64) -> Bool { underWay == 0 || underWay + UInt64(cost) <= window }

  /// Whether a request may be begun whose answer holds up to so many bytes.
  func hasRoom(forAnswerOf bytes: Int, window: UInt64) -> Bool {
    underWay + UInt64(reserved) + UInt64(bytes) <= window / 2
  }

  /// Holds room back for the answer of a request that waits for a store.
  func reserve(_ bytes: Int) {
    waiting += 1
    reserved += bytes
  }

  /// Gives held room back, because the request was answered or will not be.
  func giveBack(_ bytes: Int) {
    waiting -= 1
    reserved -= bytes
  }

  func reply(later reply: LinkReply) { lateReplies.append(reply) }

  /// Takes the late replies for which there is room now.
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

  /// The sequence number for the next message; nil: the window has no room for it. Messages that are owed always get
  /// one: answers, for which room was found before, and signs of life. Surveys, traces and deletions are few and small,
  /// and must not reset a link that is full of something else.
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
    case .reply, .welcome, .brokerHeartbeat, .survey, .deletions, .trace: true
    case .hello, .request, .gatewayHeartbeat, .resynced, .goodbye, .obeyed, .findings, .forgotten, .publication, .join,
      .leave, .reset, .audience, .discard, .order, .unreadable:
      false
    }
  }
}
