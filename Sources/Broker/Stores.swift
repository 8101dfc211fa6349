import Log
import Wire

/// The stores, and the inputs that wait for them.
final class Stores {
  /// Keeps namespaces whose durability is `memory`.
  let memory: any LogStore
  /// Keeps the others, and what apps keep.
  let disk: any LogStore
  /// The inputs that wait for a store.
  private(set) var room = WaitingRoom()
  /// Another broker keeps the channels on disk now.
  var isLost = false
  /// The term in which the channels were lost.
  var lostTerm: UInt64 = 0
  private let configuration: BrokerConfiguration

  init(memory: any LogStore, disk: any LogStore, _ configuration: BrokerConfiguration) {
    self.memory = memory
    self.disk = disk
    self.configuration = configuration
  }

  /// The store that keeps a channel with such options.
  func store(of options: ChannelOptions) -> any LogStore { options.durability == .memory ? memory : disk }

  // MARK: Questions

  /// Asks a store a question for the input under way.
  ///
  /// - Throws: ``ClientError/waits`` where the answer comes later; the error for the client where the store cannot
  ///   answer.
  func ask(_ question: LogQuestion, of store: any LogStore, in turn: inout Turn) throws(ClientError) -> LogAnswer {
    guard let answer = turn.answer(to: question) ?? askNow(question, of: store) else {
      turn.missing.append(question)
      throw .waits
    }
    if case .failed(let error) = answer { throw error.asClientError }
    return answer
  }

  /// Nil where the answer comes later.
  private func askNow(_ question: LogQuestion, of store: any LogStore) -> LogAnswer? {
    if room.isAsked(question) { return nil }
    if let answer = store.ask(question) { return answer }
    room.asked(question)
    return nil
  }

  func isAsked(_ question: LogQuestion) -> Bool { room.isAsked(question) }

  /// Whether somebody waits for what a store knows of the channel.
  func isReading(_ name: ChannelName) -> Bool { room.isReading(name) }

  // MARK: Channels

  /// Loads what the store knows of a channel that is not in use. While one input loads it, others that need it wait for
  /// the same answer.
  func load(
    _ name: ChannelName, _ options: ChannelOptions, ifExists: Bool = false, in turn: inout Turn
  ) throws(ClientError) -> OpenedChannel {
    let withEntries = options.kind == .map && options.mapMode == .persistent
    let question = LogQuestion.open(name, options.durability, withEntries: withEntries, ifExists: ifExists)
    return try load(question, of: store(of: options), in: &turn)
  }

  /// Loads a channel with the question that opens it (``LogQuestion/open(_:_:withEntries:ifExists:)``).
  ///
  /// - Throws: as ``ask(_:of:in:)``.
  func load(_ question: LogQuestion, of store: any LogStore, in turn: inout Turn) throws(ClientError) -> OpenedChannel {
    guard case .open(let name, _, _, let ifExists) = question else {
      preconditionFailure("a channel is loaded with the question that opens it")
    }
    if let opened = room.takeOpened(name, ifExists: ifExists) { return opened }
    if let other = room.opening(name) {
      turn.missing.append(other)
      throw .waits
    }
    guard case .opened(let opened) = try ask(question, of: store, in: &turn) else {
      preconditionFailure("a store opens a channel that it is asked to open")
    }
    return opened
  }

  /// Gives back a channel that the input under way has loaded and may not open. The next input that waited for it gets
  /// it; where there is none, the store releases it.
  func giveBack(_ opened: OpenedChannel, _ name: ChannelName, _ options: ChannelOptions) {
    if !room.giveBack(opened, name) { store(of: options).release(name) }
  }

  // MARK: Inputs that wait

  /// Whether a request must wait because another waits that it must not overtake.
  func isHeldUp(_ request: BrokerRequest, of requester: Requester) -> Bool {
    guard room.hasLines, let line = WaitingRoom.Line(request, of: requester) else { return false }
    return room.isHeldUp(line)
  }

  /// Parks the input under way until its missing questions are answered. Nothing of it has been done.
  ///
  /// - Parameter waiting: the input as it waited before; nil: it is parked for the first time.
  func park(
    _ waiting: WaitingRoom.Waiting?, _ input: @autoclosure () -> WaitingRoom.Input, in turn: inout Turn
  ) {
    room.park(waiting ?? enter(input()), until: turn.missing, known: turn.known)
    turn.missing = []
  }

  /// Puts an input in line behind one that waits and that it must not overtake.
  func lineUp(_ input: WaitingRoom.Input) { room.lineUp(enter(input)) }

  private func enter(_ input: WaitingRoom.Input) -> WaitingRoom.Waiting {
    var (reserved, taken) = (0, 0)
    if case .request(let request, _, _, let origin) = input {
      let answer = request.answerLimit.map { configuration.bytes(of: $0) } ?? 0
      if let session = origin?.open {
        reserved = answer
        session.reserve(reserved)
      }
      taken = request.cost + answer - reserved
    }
    let waiting = WaitingRoom.Waiting(input, reserved: reserved, bytes: taken)
    room.entered(waiting)
    return waiting
  }

  /// Gives a store's answer to the inputs that wait for it.
  ///
  /// - Parameter goOn: runs an input that can go on; called in the order in which they came.
  func answered(_ question: LogQuestion, _ answer: LogAnswer, _ goOn: (WaitingRoom.Waiting) -> Void) {
    var answer = answer
    if room.takeSpoiled(question) {
      guard let now = disk.ask(question) else { return }
      answer = now
    }
    for waiting in room.answered(question, answer) { goOn(waiting) }
    room.handedOutAll()
    // None of the inputs opened the channel after all.
    if case .open(let name, _, _, _) = question, room.takeOpened(name) != nil { disk.release(name) }
  }

  /// Takes an input out that has waited and is done.
  ///
  /// - Returns: the next input in its line, which can go on now; nil: none can.
  func left(_ waiting: WaitingRoom.Waiting) -> WaitingRoom.Waiting? {
    room.left(waiting)
    return waiting.line.flatMap { room.next(in: $0) }
  }

  // MARK: Records that change

  /// Says that an entry is being changed: the answer of a store that is reading it now may hold what it was, and is
  /// asked for again.
  func spoil(_ entry: @autoclosure () -> LogQuestion) { if !room.isEmpty { room.spoil(entry()) } }

  /// Drops the answers about a channel's entries that waiting inputs hold: they are not true any more.
  func forgetEntries(of name: ChannelName) { room.forgetEntries(of: name) }

  // MARK: Room

  /// Bytes that the log took and has not on disk yet, in the log's own measure: delivered or not, they take memory.
  var pendingBytes: Int { disk.bytesWaiting }

  /// Most inputs that wait for a store; with as many, no more requests are read.
  static let mostWaiting = 100_000

  /// So much waits for a store that requests should stay in their pipes, where their senders feel it.
  ///
  /// While the disk refuses to write, what waits for it does not count: it may wait long, and requests that need no
  /// disk should go on. Those that need it are refused.
  var areFull: Bool {
    if room.count >= Self.mostWaiting || room.bytes >= configuration.pendingBytes { return true }
    return pendingBytes >= configuration.pendingBytes && !disk.isRefusing
  }

  /// At most half of what makes ``areFull`` waits, so that requests may be read again.
  var haveRoom: Bool {
    if room.count > Self.mostWaiting / 2 || room.bytes > configuration.pendingBytes / 2 { return false }
    return pendingBytes <= configuration.pendingBytes / 2 || disk.isRefusing
  }

  /// Bytes of requests that may be read before ``areFull`` is true.
  var bytesOfRoom: Int { max(0, configuration.pendingBytes - room.bytes - (disk.isRefusing ? 0 : pendingBytes)) }

  func sweep(at wall: Int64) {
    memory.sweep(now: wall)
    disk.sweep(now: wall)
  }

  func close() {
    memory.close()
    disk.close()
  }
}

extension ClientError {
  /// Thrown to give an input up until a store has answered (``Turn/missing``). It is sent to nobody.
  static let waits = ClientError.internalError.saying("the server waits for its store")
}

extension LogError {
  /// What a client is told when the log fails: what to do, and no paths.
  var asClientError: ClientError {
    switch self {
    case .full, .readOnly, .unavailable:
      .internalError.saying("the publication was not stored, the server's disk takes nothing now; try again later")
    case .backlog: .tooManyRequests.saying("too many publications wait for the disk; publish more slowly")
    case .notContiguous, .failed, .rejected, .fenced:
      .internalError.saying("the publication was not stored, the server's log failed; try again later")
    case .closed: .internalError.saying("the server is shutting down; try again on the next connection")
    }
  }
}
