import Foundation
import Logging
import PostgreSQL

/// A transaction of the owner's: a function of the schema, whose first three arguments are the fence's; and behind it
/// `relay`, where there is something for other partitions.
struct PostgresCall {
  let sql: String
  let parameters: [Parameter]

  /// - Parameters:
  ///   - function: takes epoch, sequence and the lease's life, and then the parameters.
  ///   - relays: what `relay` takes; empty: it is not called.
  init(_ function: String, _ parameters: [Parameter] = [], relays: [Parameter] = []) {
    let call = "\(function)(\(Self.places(1..<parameters.count + 4)))"
    let rest = parameters.count + 4..<parameters.count + 4 + relays.count
    sql = relays.isEmpty ? "SELECT * FROM \(call)" : "SELECT \(call), relay(\(Self.places(rest)))"
    self.parameters = parameters + relays
  }

  private static func places(_ numbers: Range<Int>) -> String { numbers.map { "$\($0)" }.joined(separator: ", ") }
}

/// How transactions that were sent one behind another have ended.
struct PostgresOutcome {
  /// Results of those that are committed, in order: nothing behind the first that failed is. Nil: it is known to be
  /// committed, and its result was lost with a connection.
  var committed: [Rows?] = []
  /// Why the one behind them is not committed; nil: all are.
  var error: LogError?
}

/// The owner's session, over however many connections: sends transactions under the lease, and finds out what became of
/// them when a connection is lost.
///
/// States:
/// - owning: with a connection, or with one that is to be made again. Can transition to: fenced.
/// - fenced: another broker has taken the lease. Can transition to: owning, when the lease is taken again.
final class PostgresSession {
  /// Between two attempts to connect, in seconds.
  static let pause = 0.1
  /// How long a broker that lost the lease waits in line for one that it has asked for, at a time and in all, in
  /// milliseconds: it answers nothing meanwhile.
  private static let askWait: Int64 = 300
  private static let askPatience: Int64 = 3000
  /// In milliseconds.
  private static let complaintInterval: Int64 = 60_000

  private enum State {
    case owning
    case fenced
  }

  let database: PostgresDatabase
  /// How long the lease lasts from the last transaction on, in milliseconds.
  private let life: Int64
  /// How long an idle owner waits before it renews the lease, in milliseconds.
  let renewal: Int64
  /// What is left of a lease when an owner takes it for over: the drift of two clocks, and an answer on its way.
  private let margin: Int64
  private let owner: String
  private let lease: LeaseClock
  private let uptime: @Sendable () -> Int64
  let logger: Logger
  private var state = State.owning
  private var connection: Connection?
  private var taken: PostgresLease
  /// Where this broker's knowledge of the log is kept over restarts.
  private let folder: DataFolderLock?
  /// Up to where transactions were acknowledged here; nil: nothing is known of this log.
  private(set) var mark: LogMark?
  /// When the last transaction that was committed was sent, in milliseconds of ``uptime``.
  private(set) var renewed: Int64
  /// What other brokers are told of this one; nil: nothing.
  private var line: PostgresLine?
  /// When they were told last, and of which lease; nil: never.
  private var told: (at: Int64, epoch: Int64)?
  /// When it was last logged that they could not be told; nil: never.
  private var complained: Int64?
  /// Asked while a connection cannot be had: whether it is worth trying on. The first argument: how long it has been
  /// tried, in seconds; the second: why it could not be had.
  var isWaiting: (Double, PostgresError) -> Bool = { seconds, _ in seconds < 10 }

  /// Why the lease cannot be taken again, although nobody has it, stands in the logs.
  private var hasToldWhy = false

  /// Another broker is to have the log (``ClusterDrain``, ``LeaseLine``), as the fence has told.
  private(set) var isToHandOver = false
  var isFenced: Bool { state == .fenced }
  /// See ``LogStore/term``.
  var term: UInt64 { UInt64(clamping: taken.epoch) }
  /// Milliseconds that never go back.
  var now: Int64 { uptime() }

  /// - Parameters:
  ///   - folder: keeps the mark.
  ///   - begun: when the lease was asked for, in milliseconds of `uptime`.
  init(
    _ connection: Connection, _ taken: PostgresLease, of database: PostgresDatabase, folder: DataFolderLock?,
    owner: String, life: Int64, begun: Int64, lease: LeaseClock, line: PostgresLine? = nil,
    uptime: @escaping @Sendable () -> Int64, logger: Logger
  ) {
    self.line = line
    self.connection = connection
    self.database = database
    self.owner = owner
    self.life = life
    renewal = life / 3
    margin = life / 6
    self.lease = lease
    self.uptime = uptime
    self.logger = logger
    self.taken = taken
    self.folder = folder
    mark = folder?.mark
    renewed = begun
    lease.extend(to: begun + life - margin)
  }

  func close() {
    connection?.close()
    connection = nil
  }

  // MARK: Transactions

  /// Sends the transactions, each as soon as the one before it was sent, and returns when it is known what became of
  /// them: for as long as nobody else takes the lease, what was not committed when a connection was lost is sent again.
  func commit(_ calls: [PostgresCall]) -> PostgresOutcome {
    var outcome = PostgresOutcome()
    if state == .fenced { outcome.error = .fenced }
    let base = taken.seq
    while outcome.error == nil, outcome.committed.count < calls.count {
      do {
        let connection = try connected()
        // The lease's sequence counts what was committed, also where the answer was lost.
        while outcome.committed.count < Int(taken.seq - base), outcome.committed.count < calls.count {
          outcome.committed.append(nil)
        }
        try run(calls[outcome.committed.count...], on: connection, &outcome)
      } catch PostgresLease.Fault.taken {
        fence()
        outcome.error = .fenced
        return outcome
      } catch let error as PostgresError {
        if error.isLost {
          logger.warning("the connection to the log's database was lost: \(error)")
          close()
          continue
        }
        if PostgresFault.isPassing(error) { continue }
        outcome.error = PostgresFault.logError(for: error)
        if outcome.error == .fenced { fence() }
        return outcome
      } catch let error as GivenUp {
        outcome.error = error.reason
        return outcome
      } catch {
        close()
      }
    }
    return outcome
  }

  private func run(
    _ calls: ArraySlice<PostgresCall>, on connection: Connection, _ outcome: inout PostgresOutcome
  ) throws {
    let sent = uptime()
    let deadline = DispatchTime.now() + database.patience
    defer { noteAcknowledged() }
    for (index, call) in calls.enumerated() {
      try connection.send(
        call.sql, [.int(taken.epoch), .int(taken.seq + Int64(index)), .int(life)] + call.parameters, by: deadline)
    }
    for _ in calls {
      do throws(PostgresError) {
        let rows = try connection.receive(by: deadline)
        // Whether it will last is known only when a later commit is confirmed, so what became of it is asked for anew.
        if rows.isUnconfirmed { throw PostgresError(.lost, "a commit was not confirmed by the standby") }
        if rows.notices.contains(where: { $0.state == PostgresFunctions.handOver }) { isToHandOver = true }
        taken.seq += 1
        renewed = sent
        lease.extend(to: sent + life - margin)
        outcome.committed.append(rows)
      } catch {
        // What was sent behind it has a sequence that cannot come any more, and so commits nothing.
        if !error.isLost { while connection.pendingCount > 0 { try drain(connection, by: deadline) } }
        throw error
      }
    }
  }

  private func drain(_ connection: Connection, by deadline: DispatchTime) throws(PostgresError) {
    do throws(PostgresError) { _ = try connection.receive(by: deadline) } catch { if error.isLost { throw error } }
  }

  /// Reads on the owner's connection, which sees all that it has committed.
  func ask(_ sql: String, _ parameters: [Parameter] = []) -> Result<Rows, LogError> {
    if state == .fenced { return .failure(.fenced) }
    do {
      return .success(try connected().query(sql, parameters, within: database.patience))
    } catch PostgresLease.Fault.taken {
      fence()
      return .failure(.fenced)
    } catch let error as PostgresError {
      if error.isLost { close() }
      return .failure(PostgresFault.logError(for: error))
    } catch {
      return .failure((error as? GivenUp)?.reason ?? .unavailable("\(error)"))
    }
  }

  // MARK: The mark

  /// Notes what is about to be acknowledged, before anybody hears of it.
  private func noteAcknowledged() {
    guard var mark, mark.epoch == taken.epoch, mark.seq < taken.seq else { return }
    mark.seq = taken.seq
    self.mark = mark
    folder?.set(mark)
  }

  /// Begins the mark of this lease, over which no power cut leaves an older one.
  func beginMark(of seed: String) throws(PostgresStartError) {
    let mark = LogMark(seed: seed, epoch: taken.epoch, term: taken.term, seq: taken.seq)
    do throws(FileFault) { try folder?.sync(mark) } catch {
      throw .unusableFolder(reason: error.reason)
    }
    self.mark = mark
  }

  // MARK: Connections

  /// The server could not be reached for so long that nobody waits any more.
  private struct GivenUp: Error { var reason: LogError }

  private func connected() throws -> Connection {
    if let connection { return connection }
    let begun = uptime()
    while true {
      let attempt = uptime()
      do {
        let connection = try database.connect()
        let taken = try PostgresLease.reclaim(self.taken, connection, of: database, life: life)
        self.connection = connection
        self.taken = taken
        noteAcknowledged()
        renewed = attempt
        lease.extend(to: attempt + life - margin)
        return connection
      } catch PostgresLease.Fault.taken {
        throw PostgresLease.Fault.taken
      } catch {
        let error = (error as? PostgresError) ?? PostgresError(.lost, "\(error)")
        guard isWaiting(Double(uptime() - begun) / 1000, error) else {
          throw GivenUp(reason: PostgresFault.logError(for: error))
        }
        Thread.sleep(forTimeInterval: Self.pause)
      }
    }
  }

  private func fence() {
    state = .fenced
    lease.extend(to: 0)
    // The advisory lock goes with the session: nobody but a new session asks for it again.
    close()
  }

  /// Tries once to take the lease that another broker has.
  ///
  /// - Returns: whether it is ours again.
  func retake() -> Bool {
    let begun = uptime()
    do {
      let connection = try database.connect()
      // A newer broker may have had it in between, whose schema this one does not know.
      try database.prepare(connection)
      let place = line?.stand(connection, now: begun) ?? .unordered
      // Whoever has asked for the lease waits for it, or one that is behind could be faster.
      let asked = line?.decision.asked.map { begun - $0 < Self.askPatience } ?? false
      let taken = try PostgresLease.take(
        connection, of: database, owner: owner, life: life, after: self.taken.epoch, as: place,
        waiting: asked ? Self.askWait : 0)
      try PostgresSharing.confirm(connection, database)
      try database.migrate(connection)
      self.connection = connection
      (self.taken, renewed, state, isToHandOver) = (taken, begun, .owning, false)
      lease.extend(to: begun + life - margin)
      return true
    } catch let error as PostgresStartError {
      // Tried again and again, and told once.
      if !hasToldWhy { logger.critical("\(error)") }
      hasToldWhy = true
      return false
    } catch {
      return false
    }
  }

  /// Lets go of a lease that was taken and cannot be used: it ends with the session.
  func giveBack() { fence() }

  // MARK: Other brokers

  /// Milliseconds until other brokers are to hear of this one; nil: nobody is told.
  var untilBeat: Int64? {
    guard line != nil, state == .owning else { return nil }
    return max(0, (told?.at).map { $0 + PostgresLine.beat - now } ?? 0)
  }

  /// Once in a while, since it is tried again and again.
  private func complain(_ error: PostgresError) {
    if let complained, now - complained < Self.complaintInterval { return }
    complained = now
    logger.warning("other brokers could not be told of this one: \(error)")
  }

  /// Tells other brokers that this one has the lease, where it is time to and there is a connection.
  func beat() {
    guard untilBeat == 0, let line else { return }
    let isTaken = told?.epoch != taken.epoch
    // Only what was told counts as told, but a word that failed is not repeated at once.
    told = (now, told?.epoch ?? 0)
    guard let connection else { return }
    do throws(PostgresError) {
      try line.tell(connection, epoch: taken.epoch, isTaken: isTaken)
      told?.epoch = taken.epoch
    } catch {
      complain(error)
      if error.isLost { close() }
    }
  }
}
