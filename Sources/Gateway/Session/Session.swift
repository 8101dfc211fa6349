import Auth
import DequeModule
public import Wire

/// What one client connection may do: a pure machine. Inputs go in with the time, actions come out; a ``SessionDriver``
/// performs them.
///
/// The states of a connection (``Phase``):
///
///     awaitingConnect ──connect──▶ connecting ──all subscribed──▶ live
///           │                          │  └──refused: error──▶ refused
///           └───────────┬──────────────┴───────────┬───────────┘
///                       ▼    (live too)            ▼
///                     closed ◀─────────────────────┘
///
/// Three promises, each by construction rather than by timing:
/// - *No gap and no double.* When the broker's answer to a subscribe comes in, everything up to its position has
///   passed the hub and everything after it is still to come. So the answer is turned, in one step, into
///   `send(subscribe result with what was missed)` and then `attach`. For the server-side subscriptions of a connect
///   `attach` is held (``HubFlags/held``) until the connect result is out.
/// - *Each successful subscribe at the broker is followed by exactly one unsubscribe*, whatever happens to the client
///   while the answer is under way: an answer nobody waits for any more is turned into the unsubscribe.
/// - *Each command with an id is answered once, or the connection closes.* (`send` has no answer in the protocol.)
///
/// Not copyable: a getter of a copyable session may copy it, with all that it refers to, which its driver paid for
/// twice with each input.
public struct Session: ~Copyable {
  public enum Phase: UInt8, Sendable {
    /// The transport is open, nobody has said who they are.
    /// Can transition to: connecting, closed.
    case awaitingConnect
    /// The token is being checked or the server-side subscriptions are under way. Commands that come meanwhile are
    /// held: SDKs send subscribes along with their connect.
    /// Can transition to: live, refused, closed.
    case connecting
    /// Can transition to: leaving, closed.
    case live
    /// The user is sent away, and has asked for the deletion of their own data: the answer to that is still to come. Nothing
    /// else is answered, and nothing is read any more.
    /// Can transition to: closed.
    case leaving
    /// The connect was answered with an error; the client is about to leave. What it still sends is ignored, because a
    /// final disconnect would keep an SDK from coming back with a new token.
    /// Can transition to: closed.
    case refused
    /// Can transition to: nothing. Answers of the broker that are still to come are tidied up.
    case closed
  }

  let rules: SessionRules
  let identity: SessionIdentity
  let format: WireFormat
  public internal(set) var phase = Phase.awaitingConnect
  /// The token of a place is being checked: the app's commands behind it wait. It stands here because it fits into what
  /// the phase leaves of a word.
  var isCheckingPlace = false
  /// The client leaves by itself when it is told its slot, and connects anew. It stands here as the one above does.
  var leavesAtSlot = false
  /// Empty: anonymous, or not connected yet.
  public internal(set) var user = ""
  /// The token's `info` as it was when the client connected: a refresh moves the expiry alone.
  var connectionInfo: [UInt8]?
  /// Identity of the newest token that the client is here by; nil: there is none.
  var token: TokenIdentity?
  var attempt: ConnectAttempt?
  /// What the connection has to do with the backend; nil: nothing, or nothing yet.
  var ties: BackendTies?
  var subscriptions: [ChannelName: SessionSubscription] = [:]
  var pending = PendingOperations()
  /// Tags of requests under way whose answers may be large.
  var reads: Set<UInt64> = []
  /// Publishes that `publish_interval` keeps back.
  var paced = PacedPublishes()
  /// Commands that wait for room, at most those of one message: while some wait, the socket is not read.
  var waiting: Deque<ClientCommand> = []
  var lastTag: UInt64 = 0
  var timers = SessionTimers()
  /// How far the peer had come when the last ping was sent, or when a pong was last due; nil: not known yet.
  var peerProgress: PeerProgress?
  /// The driver has commands read later: the broker is behind, reads wait for room, or many tokens are being checked.
  var isInputHeld = false
  /// So much of what the client asked for waits for it that it may not ask for more yet.
  var isOutputFull = false
  /// The client leaves, because the server ends: nothing more is read.
  var isDraining = false
  /// Pings without a pong. More than one only while input is held, or while the peer works its way towards the first.
  /// It stands behind the flags because there it fits into what they leave of a word.
  var unansweredPings: UInt32 = 0
  /// How fast the client has been; nil: nothing is counted, or the client has asked for nothing yet.
  var rates: SessionRates?
  /// The time of the input in hand.
  var time = SessionTime(monotonic: 0, wall: 0)
  /// The actions of the input in hand.
  var out: [SessionAction] = []

  /// - Parameter firstPingDelayMilliseconds: a random part of the ping interval, so that clients that reconnected
  ///   together are not pinged together ever after.
  public init(rules: SessionRules, identity: SessionIdentity, format: WireFormat, firstPingDelayMilliseconds: Int64) {
    self.rules = rules
    self.identity = identity
    self.format = format
    timers.firstPingDelay = firstPingDelayMilliseconds
  }

  /// When ``SessionInput/deadline`` is due, in monotonic milliseconds; nil: never.
  public var nextDeadline: Int64? {
    let due = min(min(timers.next, paced.nextDue), rates?.restUntil ?? .max)
    return phase == .closed || due == .max ? nil : due
  }

  /// False while what the client sends could only be kept: a connect is under way, commands wait already, or the client
  /// rests because it was too fast.
  public var wantsInput: Bool {
    phase != .connecting && phase != .leaving && !hasWaiting && !isOutputFull && !isDraining && !isResting
  }

  /// True once nothing is to come any more: closed, and each request of which the answer matters was answered.
  public var isDrained: Bool { phase == .closed && pending.isEmpty }

  /// True while a command is under way whose answer the client should still get.
  public var awaitsAnswers: Bool { phase != .closed && (!pending.isEmpty || hasWaiting) }

  /// Whether commands wait for room.
  var hasWaiting: Bool { !waiting.isEmpty }

  func isPending(_ tag: UInt64) -> Bool { pending[tag] != nil }

  var configuration: SessionConfiguration { rules.configuration }

  /// Takes one input and appends what is to be done, in order.
  public mutating func handle(_ input: SessionInput, at time: SessionTime, into actions: inout [SessionAction]) {
    swap(&out, &actions)
    defer { swap(&out, &actions) }
    self.time = time
    let wasUnread = isUnread
    defer {
      if hasWaiting { beginWaiting() }
      if isUnread != wasUnread { awaitFromClient() }
    }
    switch input {
    case .opened: awaitFromClient()
    case .brokerAnswered(let tag, let response): brokerAnswered(tag, response)
    case _ where phase == .closed: break
    case .command(let command): received(command)
    case .malformed(let sentence): end(.badRequest(sentence))
    case .connectionTokenChecked(let tag, let result): connectionTokenChecked(tag, result)
    case .subscriptionTokenChecked(let tag, let result): subscriptionTokenChecked(tag, result)
    case .placeTokenChecked(let tag, let result): placeTokenChecked(tag, result)
    case .backendAnswered(let tag, let answer): backendAnswered(tag, answer)
    case .pollOpened(let tag, let epoch): pollOpened(tag, epoch)
    case .tracked(let tag, let answer): tracked(tag, answer)
    case .pollRestarted(let channel, let number): pollRestarted(channel, number)
    case .channelLost(let channel): channelLost(channel)
    case .inputHeld(let holds): isInputHeld = holds
    case .outputFull(let full):
      isOutputFull = full
      awaitFromClient()
    case .slot(let milliseconds): slotComes(after: milliseconds)
    case .draining: isDraining = true
    case .peerTook(let progress): peerTook(progress)
    case .deadline: deadlinePassed()
    case .transportClosed: end(nil)
    case .shutdown: end(.shutdown)
    case .kick(let code): sendAway(code)
    case .addSubscription(let subscription): addSubscription(subscription)
    case .removeSubscription(let channel, let code, let cause): removeSubscription(channel, code, because: cause)
    case .changeExpiry(let expiry): changeExpiry(expiry)
    case .tokensRevoked(let tokens): tokensRevoked(tokens)
    }
  }

  /// Keeps what is to be done when an answer comes, under a new tag. An answer whose tag is not kept any more is
  /// ignored.
  mutating func remember(_ operation: PendingOperation) -> UInt64 {
    lastTag &+= 1
    pending.append(operation, tag: lastTag)
    return lastTag
  }

  @discardableResult
  mutating func ask(_ request: consuming BrokerRequest, then operation: PendingOperation) -> UInt64 {
    let tag = remember(operation)
    out.append(.request(tag: tag, consume request))
    return tag
  }

  mutating func send(_ reply: ClientReply) { out.append(.send(reply)) }

  mutating func fail(_ id: UInt32, _ error: ClientError) { out.append(.send(.error(id: id, error))) }
}

/// What a session does when an answer comes: to a request, from a token check or of the backend.
enum PendingOperation {
  indirect case connect(id: UInt32, ClientCommand.Connect)
  /// The claims of the token, where there is one that was found valid.
  indirect case backendConnect(id: UInt32, subs: [String: ClientCommand.Subscribe], ConnectionClaims?)
  /// The token is checked, or the backend is asked.
  indirect case subscriptionToken(QueuedSubscribe, ChannelName)
  indirect case subscribe(SubscribeOrder)
  /// A subscribe that nobody waits for; `member` as it was given.
  indirect case abandoned(ChannelName, member: ClientInfo?)
  case publish(id: UInt32)
  case history(id: UInt32, binaryData: Bool)
  case presence(id: UInt32)
  case presenceStats(id: UInt32)
  case call(id: UInt32, CallAnswer)
  case placeToken(id: UInt32, [UInt8])
  case refresh(id: UInt32)
  indirect case subRefresh(id: UInt32, ChannelName)
  indirect case backendWrite(ProxiedWrite)
  case backendCall(id: UInt32)
  case backendRefresh
  indirect case backendSubRefresh(ChannelName)
  indirect case openPoll(SubscribeOrder)
  indirect case track(id: UInt32, ChannelName, expiresAt: Int64)
}

extension DisconnectCode {
  /// The sentence goes into the close frame, cut where it does not fit.
  static func badRequest(_ sentence: String) -> DisconnectCode {
    DisconnectCode(code: DisconnectCode.badRequest.code, reason: sentence)
  }
}

func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 {
  let (sum, overflow) = a.addingReportingOverflow(b)
  return overflow ? (b > 0 ? .max : .min) : sum
}
