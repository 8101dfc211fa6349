import DequeModule
import Log
import Wire

/// Inputs that wait for a store, and the order that they keep.
///
/// States of an input:
/// - running. Can transition to: done, parked (it needs what is not in memory), in line.
/// - in line: an input before it, which it must not overtake, is parked. Can transition to: running, dropped.
/// - parked, with its questions. Can transition to: running (the last question is answered), dropped (the link on which
///   the input came has another session, and nobody waits for the answer).
///
/// Inputs that wait for the same question go on in the order in which they came, so requests for a channel keep their
/// order while the channel is loaded. Otherwise inputs of different clients have no order; inputs that must keep one
/// share a ``Line``.
struct WaitingRoom {
  /// Inputs of one line keep their order, even where only some of them wait for a store.
  enum Line: Hashable {
    /// Subscribes and unsubscribes of one gateway for one channel.
    case interest(gateway: UInt64, ChannelName)
    /// Commands for apps that came over one client's connection.
    case commands(IdentifierKey)
    /// Publications for one channel that backends have committed to the outbox.
    case postings(ChannelName)
  }

  enum Input {
    /// - link: the link on which the request came; nil: a service sent it.
    case request(BrokerRequest, Requester, RequestOccasion, link: LinkOrigin?)
    case refresh(AppHost, RefreshQueue.Place)
    /// Works out all entries of an app's list that is in memory alone and was opened.
    case fill(AppHost, ChannelName)
    /// Looks for the records of a lane whose time has come.
    case look(AppHost, AppLaneLook)
    /// Asks the app about a record whose time has come.
    case due(AppHost, key: String)
    /// Opens a map of which an entry's time is over.
    case openDue(ChannelName)
    case loadRecords(AppHost)
    case loadRevocations
    case loadWebhooks
    /// Reads the next events of a webhook.
    case readOutbox(Outbox)
    case loadDeletions
    /// The next step of deleting users' data.
    case deletion
    /// Takes away what was found of users whose data is deleted.
    case eraseRow(TracedRow)
    case lookAtUser(UserLook)
    case loadNotices
    /// Reads the next notices.
    case readNotices
    /// Asks the app of notifications about those that were read.
    case takeNotices
    /// Asks it about what became of a notification.
    case pushAnswered(PushAnswerTry)
    /// Asks it about a subject of which somebody has acknowledged or seen something.
    case acknowledged(Acknowledgements.Place)
    /// Asks an app about what it has sent from another partition.
    case relay(OutboxMessage)
  }

  /// The link and the session in which a request came. A gateway whose link began anew asks again for what it still
  /// wants, so a request of the former session must not be done as well.
  struct LinkOrigin {
    let link: PeerLink
    /// Nil where the request's own message made the link overflow.
    let session: PeerSession?

    init(_ link: PeerLink) {
      self.link = link
      session = link.open
    }

    /// The session in which the request came, if the link still has it.
    var open: PeerSession? { link.open === session ? session : nil }
    var isOpen: Bool { open != nil }
  }

  final class Waiting {
    let input: Input
    let line: Line?
    /// Bytes for which room is held back on the input's link, for its answer.
    let reserved: Int
    /// Bytes of memory that count for the input: the request, and its answer where no link holds room back for that.
    let bytes: Int
    fileprivate var known: [StoreReply] = []
    /// How many of the input's questions have no answer yet. 0: it is running, or done.
    fileprivate(set) var missing = 0

    init(_ input: Input, reserved: Int, bytes: Int) {
      self.input = input
      line = Line(of: input)
      self.reserved = reserved
      self.bytes = bytes
    }

    /// Takes the answers that the input got, for its next run.
    func takeKnown() -> [StoreReply] {
      defer { known = [] }
      return known
    }

    fileprivate func forget(_ isOld: (LogQuestion) -> Bool) { known.removeAll { isOld($0.question) } }
  }

  private struct Row {
    /// The input at the head of the line is parked, so the rest must wait.
    var isHeldUp = true
    var rest: Deque<Waiting> = []
  }

  private var waiting: [LogQuestion: [Waiting]] = [:]
  /// Lines of which an input waits, with the inputs behind it.
  private var lines: [Line: Row] = [:]
  /// Open questions about things that changed meanwhile: their answers are asked for again.
  private var spoiled: Set<LogQuestion> = []
  /// The question with which each channel is being loaded.
  private var opening: [ChannelName: LogQuestion] = [:]
  /// Loaded channels that no input has opened yet.
  private var opened: [ChannelName: OpenedChannel] = [:]
  /// The channel that was just loaded, while the inputs that waited for it run.
  private var handedOut: ChannelName?
  /// How many questions about each channel that is in use have no answer yet.
  private var reading: [ChannelName: Int] = [:]
  /// Inputs that wait, parked or in line, and the bytes that count for them.
  private(set) var count = 0
  private(set) var bytes = 0

  var isEmpty: Bool { waiting.isEmpty }
  var hasLines: Bool { !lines.isEmpty }

  // MARK: Questions

  func isAsked(_ question: LogQuestion) -> Bool { waiting[question] != nil }

  /// Notes a question that a store answers later.
  mutating func asked(_ question: LogQuestion) {
    waiting[question] = []
    if case .open(let name, _, _, _) = question { opening[name] = question }
    if let name = question.channelInUse { reading[name, default: 0] += 1 }
  }

  /// Whether a question about the channel is open: the channel must not be forgotten meanwhile.
  func isReading(_ name: ChannelName) -> Bool { !reading.isEmpty && reading[name] != nil }

  func opening(_ name: ChannelName) -> LogQuestion? { opening.isEmpty ? nil : opening[name] }

  /// Takes a channel that has been loaded; the first input that asks gets it.
  ///
  /// - Parameter ifExists: the input opens the channel only if something was ever published there. A channel without
  ///   publications is then returned and stays here, for an input that will write to it.
  mutating func takeOpened(_ name: ChannelName, ifExists: Bool = false) -> OpenedChannel? {
    if opened.isEmpty { return nil }
    if ifExists, let opened = opened[name], !opened.exists { return opened }
    return opened.removeValue(forKey: name)
  }

  /// Puts a channel back that an input took and may not open, for the next input that waited for it.
  ///
  /// - Returns: false where no inputs that waited for the channel are running now: the store has to release it.
  mutating func giveBack(_ channel: OpenedChannel, _ name: ChannelName) -> Bool {
    guard handedOut == name else { return false }
    opened[name] = channel
    return true
  }

  /// Notes that all inputs that waited for the loaded channel have run.
  mutating func handedOutAll() { handedOut = nil }

  /// Drops the answers about a channel's entries that waiting inputs hold: they are not true any more.
  mutating func forgetEntries(of name: ChannelName) {
    for inputs in waiting.values {
      for input in inputs { input.forget { if case .entry(name, _) = $0 { true } else { false } } }
    }
  }

  /// Notes that what an open question asks about is being changed: its answer may come out as it was before.
  mutating func spoil(_ question: LogQuestion) {
    if isAsked(question) { spoiled.insert(question) }
  }

  /// Whether a question was spoiled: its answer may not be true any more, and it is to be asked again.
  mutating func takeSpoiled(_ question: LogQuestion) -> Bool { spoiled.remove(question) != nil }

  // MARK: Inputs

  /// Parks an input until the questions are answered. Each of them must have been asked (``asked(_:)``).
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

  /// Counts an input that has to wait for the first time.
  mutating func entered(_ input: Waiting) {
    count += 1
    bytes += input.bytes
  }

  /// Whether an input of the line must wait although it needs nothing of a store.
  func isHeldUp(_ line: Line) -> Bool { lines[line] != nil }

  /// Puts an input at the end of its line.
  mutating func lineUp(_ input: Waiting) { if let line = input.line { lines[line]?.rest.append(input) } }

  /// Counts an input that has waited and is done.
  mutating func left(_ input: Waiting) {
    count -= 1
    bytes -= input.bytes
    if let line = input.line { lines[line]?.isHeldUp = false }
  }

  /// Takes the next input of a line, unless the one before it is parked. A line without inputs is dropped.
  mutating func next(in line: Line) -> Waiting? {
    guard lines[line]?.isHeldUp == false else { return nil }
    if let next = lines[line]?.rest.popFirst() { return next }
    lines[line] = nil
    return nil
  }

  /// Gives an answer to the inputs that wait for it.
  ///
  /// - Returns: the inputs that can go on, in the order in which they came.
  mutating func answered(_ question: LogQuestion, _ answer: LogAnswer) -> [Waiting] {
    let inputs = waiting.removeValue(forKey: question) ?? []
    if let name = question.channelInUse, let count = reading[name] { reading[name] = count > 1 ? count - 1 : nil }
    if case .open(let name, _, _, let ifExists) = question {
      opening[name] = nil
      if case .opened(let channel) = answer, channel.exists || !ifExists {
        // The first input that runs takes the channel and opens it; the others then find it in use.
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
    if case .outbox = requester, let name = request.channel {
      self = .postings(name)
      return
    }
    guard let gateway = requester.link?.gateway else { return nil }
    switch request {
    case .subscribe(let subscribe): self = .interest(gateway: gateway, subscribe.channel)
    case .unsubscribe(let unsubscribe): self = .interest(gateway: gateway, unsubscribe.channel)
    // A call without a client is the gateway's own, made for many people: these need no order.
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
    case .open, .entry, .ending, .kept, .erasure: nil
    }
  }
}
