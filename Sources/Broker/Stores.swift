import Log
import Wire

/// The stores, and the inputs that wait for them.
final class Stores {
  /// Keeps namespaces whose durability is `memory`.
  let memory: any LogStore
  /// Keeps the others, and what apps keep.
  let disk: any LogStore
  /// What waits for a store.
  private(set) var room = WaitingRoom()
  /// Somebody else keeps what was kept on disk.
  var isLost = false
  private let configuration: BrokerConfiguration

  init(memory: any LogStore, disk: any LogStore, _ configuration: BrokerConfiguration) {
    self.memory = memory
    self.disk = disk
    self.configuration = configuration
  }

  /// Where a channel with such options is kept.
  func store(of options: ChannelOptions) -> any LogStore { options.durability == .memory ? memory : disk }

  // MARK: Questions

  /// What a store knows.
  ///
  /// - Throws: ``ClientError/waits`` where it has to look; what the client is told where it cannot.
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

  /// What the store knows of a channel that is not in use. While one loads it, all others wait for that.
  func load(
    _ name: ChannelName, _ options: ChannelOptions, ifExists: Bool = false, in turn: inout Turn
  ) throws(ClientError) -> OpenedChannel {
    let withEntries = options.kind == .map && options.mapMode == .persistent
    let question = LogQuestion.open(name, options.durability, withEntries: withEntries, ifExists: ifExists)
    return try load(question, of: store(of: options), in: &turn)
  }

  /// - Parameter question: opens a channel.
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

  /// Who loaded a channel may not have it: the next who waited for it may.
  func giveBack(_ opened: OpenedChannel, _ name: ChannelName, _ options: ChannelOptions) {
    if !room.giveBack(opened, name) { store(of: options).release(name) }
  }

  // MARK: Inputs that wait

  /// Whether a request must wait because it must not overtake one that does.
  func isHeldUp(_ request: BrokerRequest, of requester: Requester) -> Bool {
    guard room.hasLines, let line = WaitingRoom.Line(request, of: requester) else { return false }
    return room.isHeldUp(line)
  }

  /// The input under way needs something that is not there. Nothing of it has been done.
  ///
  /// - Parameter waiting: nil: it is parked for the first time.
  func park(
    _ waiting: WaitingRoom.Waiting?, _ input: @autoclosure () -> WaitingRoom.Input, in turn: inout Turn
  ) {
    room.park(waiting ?? enter(input()), until: turn.missing, known: turn.known)
    turn.missing = []
  }

  /// The input needs nothing yet, and must not overtake one that does.
  func lineUp(_ input: WaitingRoom.Input) { room.lineUp(enter(input)) }

  private func enter(_ input: WaitingRoom.Input) -> WaitingRoom.Waiting {
    var (reserved, taken) = (0, 0)
    if case .request(let request, _, _, let origin) = input {
      let answer = request.answerLimit.map { configuration.bytes(of: $0) } ?? 0
      if let session = origin?.open {
        reserved = answer
        session.holdBack(reserved)
      }
      taken = request.cost + answer - reserved
    }
    let waiting = WaitingRoom.Waiting(input, reserved: reserved, bytes: taken)
    room.entered(waiting)
    return waiting
  }

  /// The store has answered.
  ///
  /// - Parameter goOn: runs each input that can go on, in the order in which they came.
  func answered(_ question: LogQuestion, _ answer: LogAnswer, _ goOn: (WaitingRoom.Waiting) -> Void) {
    var answer = answer
    if room.takeSpoiled(question) {
      guard let now = disk.ask(question) else { return }
      answer = now
    }
    for waiting in room.answered(question, answer) { goOn(waiting) }
    room.handedOutAll()
    // Nobody wanted it after all.
    if case .open(let name, _, _, _) = question, room.takeOpened(name) != nil { disk.release(name) }
  }

  /// An input that has waited is done.
  ///
  /// - Returns: the one behind it, which can go on now.
  func left(_ waiting: WaitingRoom.Waiting) -> WaitingRoom.Waiting? {
    room.left(waiting)
    return waiting.line.flatMap { room.next(in: $0) }
  }

  // MARK: Records that change

  /// Whoever is reading the entry may read what it was.
  func spoil(_ entry: @autoclosure () -> LogQuestion) { if !room.isEmpty { room.spoil(entry()) } }

  /// What is held of a channel's entries is not true any more.
  func forgetEntries(of name: ChannelName) { room.forgetEntries(of: name) }

  // MARK: Room

  /// What the log took and has not on disk yet, in the log's own measure: delivered or not, it takes memory.
  var pendingBytes: Int { disk.bytesWaiting }

  /// Inputs that wait for a store before no more are read.
  static let mostWaiting = 100_000

  /// So much waits for the log that requests should stay in their pipes, where their senders feel it.
  ///
  /// Not while the disk refuses: what needs it is refused then, and the rest goes on.
  var areFull: Bool {
    if room.count >= Self.mostWaiting || room.bytes >= configuration.pendingBytes { return true }
    return pendingBytes >= configuration.pendingBytes && !disk.isRefusing
  }

  /// So much of that has gone that requests are read again.
  var haveRoom: Bool {
    if room.count > Self.mostWaiting / 2 || room.bytes > configuration.pendingBytes / 2 { return false }
    return pendingBytes <= configuration.pendingBytes / 2 || disk.isRefusing
  }

  /// Bytes of requests that may be read before ``areFull``.
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
  /// An input is given up until a store has answered (``Turn/missing``). Nobody is ever told.
  static let waits = ClientError.internalError.saying("the server waits for its store")
}

extension LogError {
  /// What a client is told of the log's trouble: no paths, but what to do.
  var asClientError: ClientError {
    switch self {
    case .full, .readOnly:
      .internalError.saying("the publication was not stored, the server's disk takes nothing now; try again later")
    case .backlog: .tooManyRequests.saying("too many publications wait for the disk; publish more slowly")
    case .notContiguous, .failed, .rejected, .fenced:
      .internalError.saying("the publication was not stored, the server's log failed; try again later")
    case .closed: .internalError.saying("the server is shutting down; try again on the next connection")
    }
  }
}
