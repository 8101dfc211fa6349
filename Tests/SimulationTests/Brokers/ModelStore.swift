import Wire

@testable import Log

/// A broker's store over ``EngineModel``, with a network in between on which calls and answers wait, and are lost with
/// the connection.
///
/// States:
/// - owner. Can transition to: owner without a connection (it is lost), lost (fenced, or the lease is over by its own
///   clock and was taken).
/// - owner without a connection: what was committed of what was sent is not known. Can transition to: owner (nobody has
///   taken the lease: the sequence tells), lost.
/// - lost. Can transition to: owner, in a new term, once the broker has heard of the loss.
final class ModelStore: LogStore {
  /// Faults that are put in on purpose.
  enum Mutation: CaseIterable {
    /// What was under way on a lost connection is sent again without a look at the sequence.
    case guesses
    /// Entries are acknowledged when they are sent.
    case acknowledgesEarly
    /// The database holds nothing against epoch and sequence.
    case unfenced
  }

  private struct Call {
    var entries: [LogEntry]
    var seq: UInt64
    /// By the broker's own clock.
    var sentAt: Int64
  }

  private let engine: EngineModel
  private let broker: Int
  /// Milliseconds of a clock that is the broker's own.
  private let uptime: () -> Int64
  private let mutation: Mutation?
  private(set) var term: UInt64
  private var seq: UInt64
  private var session: Int?
  private var leaseEnd: Int64
  private(set) var isLost = false
  private var hasToldLoss = true
  /// Batches that were taken and are not known to be committed, in order.
  private var underWay: [[LogEntry]] = []
  /// How many of them were sent on this connection.
  private var sent = 0
  private var calls: [Call] = []
  private var answers: [(call: Call, outcome: EngineModel.Outcome)] = []
  private var questions: [LogQuestion] = []
  private var news: [LogNews] = []
  private var completions: [LogCompletion] = []

  private static let margin = EngineModel.life / 6

  /// - Returns: nil where another broker has the lease.
  init?(_ engine: EngineModel, of broker: Int, mutation: Mutation?, uptime: @escaping () -> Int64) {
    let (session, begun) = (engine.connect(), uptime())
    guard let lease = engine.take(session, for: broker) else {
      engine.end(session)
      return nil
    }
    self.engine = engine
    self.broker = broker
    self.uptime = uptime
    self.mutation = mutation
    self.session = session
    (term, seq) = (lease.epoch, lease.seq)
    leaseEnd = begun + EngineModel.life - Self.margin
  }

  // MARK: The broker's turn

  private var isFenced: Bool { isLost || uptime() >= leaseEnd }

  func ask(_ question: LogQuestion) -> LogAnswer? {
    if isFenced { return .failed(.fenced) }
    questions.append(question)
    return nil
  }

  func takeNews() -> [LogNews] {
    defer { news = [] }
    if news.contains(.lost) { hasToldLoss = true }
    return news
  }

  func takeCompletions() -> [LogCompletion] {
    defer { completions = [] }
    return completions
  }

  func append(_ batch: LogBatch) -> AppendOutcome {
    if isFenced { return .refused(.fenced) }
    switch batch {
    case .one(let entry): underWay.append([entry])
    case .together(let entries): underWay.append(entries)
    case .relaying: preconditionFailure("the model has one partition, and nobody to send anything to")
    }
    send()
    return .pending
  }

  func release(_ channel: ChannelName) {}
  func sweep(now: Int64) {}
  func scrub() {}
  var bytesWaiting: Int { 0 }
  var isRefusing: Bool { false }
  func close() { if let session { engine.end(session) } }

  // MARK: The network

  var hasCalls: Bool { !calls.isEmpty }
  var hasAnswers: Bool { !answers.isEmpty }
  var hasQuestions: Bool { !questions.isEmpty }
  var isConnected: Bool { session != nil }
  var isIdle: Bool { underWay.isEmpty && questions.isEmpty && news.isEmpty && completions.isEmpty }

  private func send() {
    guard session != nil else { return }
    for batch in underWay[sent...] {
      calls.append(Call(entries: batch, seq: seq + UInt64(sent), sentAt: uptime()))
      sent += 1
      if mutation == .acknowledgesEarly { completions += batch.map { LogCompletion(ticket: $0.ticket) } }
    }
  }

  /// Renews the lease, where nothing else does.
  func renew() {
    guard session != nil, !isLost, calls.isEmpty, answers.isEmpty, sent == 0 else { return }
    underWay.append([])
    send()
  }

  /// The database executes the oldest call.
  func execute() {
    guard let session, !calls.isEmpty else { return }
    let call = calls.removeFirst()
    guard let outcome = engine.commit(call.entries, session, epoch: term, seq: call.seq) else { return cut() }
    answers.append((call, outcome))
  }

  /// The oldest answer arrives.
  func hear() {
    guard !answers.isEmpty else { return }
    let (call, outcome) = answers.removeFirst()
    guard outcome == .committed else { return lose() }
    leaseEnd = max(leaseEnd, call.sentAt + EngineModel.life - Self.margin)
    confirm(1)
  }

  private func confirm(_ count: Int) {
    for batch in underWay.prefix(count) where mutation != .acknowledgesEarly {
      completions += batch.map { LogCompletion(ticket: $0.ticket) }
    }
    underWay.removeFirst(count)
    sent -= count
    seq += UInt64(count)
  }

  /// The connection is lost: calls that were not executed never will be, and answers that were under way never come.
  func cut() {
    guard let session else { return }
    engine.end(session)
    self.session = nil
    calls = []
    answers = []
    sent = 0
  }

  /// The broker comes back to the database.
  func reconnect() {
    guard session == nil, !isLost else { return }
    let (new, begun) = (engine.connect(), uptime())
    guard let lease = engine.reclaim(new, term) else {
      engine.end(new)
      return lose()
    }
    session = new
    leaseEnd = begun + EngineModel.life - Self.margin
    if mutation == .guesses {
      seq = lease.seq
    } else {
      // Without a fence the sequence counts what others have committed, too.
      let done = Int(Int64(bitPattern: lease.seq &- seq))
      guard (0...underWay.count).contains(done) else {
        if !engine.isUnfenced { engine.note("broker \(broker): \(done) were committed of \(underWay.count)") }
        return lose()
      }
      sent = done
      confirm(done)
    }
    send()
  }

  /// Another broker has the lease.
  private func lose() {
    cut()
    isLost = true
    hasToldLoss = false
    if mutation != .acknowledgesEarly {
      completions += underWay.joined().map { LogCompletion(ticket: $0.ticket, error: .fenced) }
    }
    underWay = []
    for question in questions { news.append(.answered(question, .failed(.fenced))) }
    questions = []
    news.append(.lost)
  }

  /// Stands in line, once the broker has heard that it has lost the channels.
  func retake() {
    guard isLost, hasToldLoss else { return }
    let (new, begun) = (engine.connect(), uptime())
    guard let lease = engine.take(new, for: broker) else { return engine.end(new) }
    session = new
    (term, seq) = (lease.epoch, lease.seq)
    leaseEnd = begun + EngineModel.life - Self.margin
    isLost = false
    news.append(.regained)
  }

  /// The oldest question is answered, as the database stands now.
  func answer() {
    guard !questions.isEmpty else { return }
    let question = questions.removeFirst()
    news.append(.answered(question, reply(to: question)))
  }

  private func reply(to question: LogQuestion) -> LogAnswer {
    switch question {
    case .open(let name, _, _, _):
      let channel = engine.channels[name] ?? EngineModel.Channel()
      let position = StreamPosition(epoch: EngineModel.channelEpoch(name), offset: channel.top)
      return .opened(OpenedChannel(position: position, recentOrigins: channel.origins))
    case .page(let name, let range):
      let all = (engine.channels[name]?.publications ?? []).filter {
        $0.offset <= range.through && $0.offset > range.since ?? 0
      }
      return .page(Array(all.prefix(range.limit)))
    case .entry, .ending, .kept, .removeHistory, .erasure: preconditionFailure("streams alone are simulated here")
    }
  }
}
