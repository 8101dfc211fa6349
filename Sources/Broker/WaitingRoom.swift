import DequeModule
import Log
import Wire

/// Inputs that wait for a store, and the order that they keep.
///
/// States of an input:
/// - running. Can transition to: done, parked (it needs what is not in memory), in line.
/// - in line: one before it, which it must not overtake, is parked. Can transition to: running, dropped.
/// - parked, with its questions. Can transition to: running (the last of them is answered), dropped (the link on which it
///   came has another session, and nobody waits for it).
///
/// Inputs that wait for the same question go on in the order in which they came: so everything that concerns a channel
/// waits its turn while the channel is loaded. What two clients do otherwise has no order; what must have one says so
/// (``Line``).
struct WaitingRoom {
  /// What must not be overtaken.
  enum Line: Hashable {
    /// Subscriptions of a gateway to a channel and their ends.
    case interest(gateway: UInt64, ChannelName)
    /// Commands of one connection for apps.
    case commands(IdentifierKey)
  }

  enum Input {
    /// - link: on which it came; nil: it came from a service.
    case request(BrokerRequest, Requester, RequestOccasion, link: LinkOrigin?)
    case refresh(AppHost, RefreshQueue.Place)
    /// A list in memory alone was opened.
    case fill(AppHost, ChannelName)
    /// Records of a lane are looked for whose time has come.
    case look(AppHost, AppLaneLook)
    /// A record's time has come.
    case due(AppHost, key: String)
    /// A map is opened because something in it is over.
    case openDue(ChannelName)
    case loadRecords(AppHost)
    case loadRevocations
  }

  /// A link as it was when something came on it. A gateway that was forgotten and comes back has another: it asks anew for
  /// what it still wants, so what came on the former must not be done as well.
  struct LinkOrigin {
    let link: PeerLink
    /// Nil where the link overflowed with what came on it.
    let session: PeerSession?

    init(_ link: PeerLink) {
      self.link = link
      session = link.open
    }

    /// The session in which it came, where the link has it still.
    var open: PeerSession? { link.open === session ? session : nil }
    var isOpen: Bool { open != nil }
  }

  final class Waiting {
    let input: Input
    let line: Line?
    /// Bytes of its answer, for which room is held back on its link.
    let reserved: Int
    /// What the request takes, and its answer where no link holds room back for it.
    let bytes: Int
    fileprivate var known: [StoreReply] = []
    /// Questions that are not answered. 0: it is running, or done.
    fileprivate(set) var missing = 0

    init(_ input: Input, reserved: Int, bytes: Int) {
      self.input = input
      line = Line(of: input)
      self.reserved = reserved
      self.bytes = bytes
    }

    /// What it was told, to be run with.
    func takeKnown() -> [StoreReply] {
      defer { known = [] }
      return known
    }

    fileprivate func forget(_ isOld: (LogQuestion) -> Bool) { known.removeAll { isOld($0.question) } }
  }

  private struct Row {
    /// Its first is parked.
    var isHeldUp = true
    var rest: Deque<Waiting> = []
  }

  private var waiting: [LogQuestion: [Waiting]] = [:]
  /// Behind the input of a line that is parked, those that came after it.
  private var lines: [Line: Row] = [:]
  /// Questions whose answers will not be true any more.
  private var spoiled: Set<LogQuestion> = []
  /// Channels that are being loaded.
  private var opening: [ChannelName: LogQuestion] = [:]
  /// Loaded channels that nobody has taken yet.
  private var opened: [ChannelName: OpenedChannel] = [:]
  /// The channel for which inputs go on now.
  private var handedOut: ChannelName?
  /// How many questions are open about a channel that is in use.
  private var reading: [ChannelName: Int] = [:]
  /// Inputs that wait, parked or in line, and what they take.
  private(set) var count = 0
  private(set) var bytes = 0

  var isEmpty: Bool { waiting.isEmpty }
  var hasLines: Bool { !lines.isEmpty }

  // MARK: Questions

  func isAsked(_ question: LogQuestion) -> Bool { waiting[question] != nil }

  /// The store answers later.
  mutating func asked(_ question: LogQuestion) {
    waiting[question] = []
    if case .open(let name, _, _, _) = question { opening[name] = question }
    if let name = question.channelInUse { reading[name, default: 0] += 1 }
  }

  /// Somebody reads the channel, or changes what it holds: it must not be forgotten meanwhile.
  func isReading(_ name: ChannelName) -> Bool { !reading.isEmpty && reading[name] != nil }

  func opening(_ name: ChannelName) -> LogQuestion? { opening.isEmpty ? nil : opening[name] }

  /// A channel that has been loaded, once.
  ///
  /// - Parameter ifExists: one to which nothing was ever written is left to who will write.
  mutating func takeOpened(_ name: ChannelName, ifExists: Bool = false) -> OpenedChannel? {
    if opened.isEmpty { return nil }
    if ifExists, let opened = opened[name], !opened.exists { return opened }
    return opened.removeValue(forKey: name)
  }

  /// Who took a channel may not have it: the next who waited for it may.
  ///
  /// - Returns: false where nobody else waited.
  mutating func giveBack(_ channel: OpenedChannel, _ name: ChannelName) -> Bool {
    guard handedOut == name else { return false }
    opened[name] = channel
    return true
  }

  /// All who waited for the answer have gone on.
  mutating func handedOutAll() { handedOut = nil }

  /// What is held of a channel's entries is not true any more.
  mutating func forgetEntries(of name: ChannelName) {
    for inputs in waiting.values {
      for input in inputs { input.forget { if case .entry(name, _) = $0 { true } else { false } } }
    }
  }

  /// What was asked for is changed: the answer that comes may be the former one.
  mutating func spoil(_ question: LogQuestion) {
    if isAsked(question) { spoiled.insert(question) }
  }

  /// - Returns: true where the answer is not true any more, and the question is to be asked again.
  mutating func takeSpoiled(_ question: LogQuestion) -> Bool { spoiled.remove(question) != nil }

  // MARK: Inputs

  /// The input goes on when the questions are answered, all of which are asked.
  mutating func park(_ input: Waiting, until questions: [LogQuestion], known: [StoreReply]) {
    input.known = known
    input.missing = 0
    if let line = input.line { lines[line, default: Row()].isHeldUp = true }
    for question in Set(questions) where waiting[question] != nil {
      input.missing += 1
      waiting[question]?.append(input)
    }
    precondition(input.missing > 0, "an input waits for a question that was asked")
  }

  /// An input has to wait, for the first time.
  mutating func entered(_ input: Waiting) {
    count += 1
    bytes += input.bytes
  }

  /// Whether an input of the line must wait, though it needs nothing.
  func isHeldUp(_ line: Line) -> Bool { lines[line] != nil }

  /// An input waits behind those of its line.
  mutating func lineUp(_ input: Waiting) { if let line = input.line { lines[line]?.rest.append(input) } }

  /// An input that has waited is done.
  mutating func left(_ input: Waiting) {
    count -= 1
    bytes -= input.bytes
    if let line = input.line { lines[line]?.isHeldUp = false }
  }

  /// The next of a line, unless the one before it is parked.
  mutating func next(in line: Line) -> Waiting? {
    guard lines[line]?.isHeldUp == false else { return nil }
    if let next = lines[line]?.rest.popFirst() { return next }
    lines[line] = nil
    return nil
  }

  /// The store has answered.
  ///
  /// - Returns: the inputs that can go on, in the order in which they came.
  mutating func answered(_ question: LogQuestion, _ answer: LogAnswer) -> [Waiting] {
    let inputs = waiting.removeValue(forKey: question) ?? []
    if let name = question.channelInUse, let count = reading[name] { reading[name] = count > 1 ? count - 1 : nil }
    if case .open(let name, _, _, let ifExists) = question {
      opening[name] = nil
      if case .opened(let channel) = answer, channel.exists || !ifExists {
        // Whoever takes it first has it; for the others it is in use then.
        opened[name] = channel
        handedOut = name
        return ready(inputs, nil)
      }
    }
    return ready(inputs, StoreReply(question: question, answer: answer))
  }

  private func ready(_ inputs: [Waiting], _ reply: StoreReply?) -> [Waiting] {
    inputs.filter { input in
      if let reply { input.known.append(reply) }
      input.missing -= 1
      return input.missing == 0
    }
  }
}

extension WaitingRoom.Line {
  init?(of input: WaitingRoom.Input) {
    guard case .request(let request, let requester, _, _) = input else { return nil }
    self.init(request, of: requester)
  }

  init?(_ request: BrokerRequest, of requester: Requester) {
    guard case .gateway(let gateway, _) = requester else { return nil }
    switch request {
    case .subscribe(let subscribe): self = .interest(gateway: gateway, subscribe.channel)
    case .unsubscribe(let unsubscribe): self = .interest(gateway: gateway, unsubscribe.channel)
    // A gateway asks for itself, for many people one beside the other.
    case .call(let call) where call.caller.client.isEmpty: return nil
    case .call(let call): self = .commands(IdentifierKey(call.caller.client))
    default: return nil
    }
  }
}

extension LogQuestion {
  fileprivate var channelInUse: ChannelName? {
    switch self {
    case .page(let name, _), .removeHistory(let name, _): name
    case .open, .entry, .ending, .kept: nil
    }
  }
}
