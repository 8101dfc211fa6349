import Auth
import NIOCore
import NIOEmbedded
import Synchronization
import Wire

@testable import Gateway
@testable import ZeroMQ

/// One event loop of a simulated gateway: the real shard with its hub, tapes and admission of reads, on an event loop
/// that only runs when it is told to.
final class SimulatedLoop {
  let eventLoop = EmbeddedEventLoop()
  let shard: Shard
  let fanOut: FanOut
  let load: ShardLoad
  private let mailbox: ShardMailbox
  private let checks = SteppedExecutor()
  private let turn = Turn()
  /// What the backbone thread has for this event loop and has not handed over yet.
  private var batch: [Handover] = []
  private var batchBytes = 0
  private var batchShare = 0

  private final class Turn {
    var isWanted = false
    var ends: [() -> Void] = []
  }

  /// Limits so small that the simulation reaches each of them.
  struct Limits {
    var queueBytes = 1500
    var windowBytes = 2000
    var reads = ReadAdmission.Limits(connection: 700, loop: 1200, small: 250)
  }

  init(
    index: Int, rules: SessionRules, uplink: Mailbox<UplinkMessage>, limits: Limits, clock: SimulatedClock,
    randomness: SeededRandom
  ) {
    // The fan-out's clock goes on with each look, so that a slice is over after a few and tapes have to wait for
    // another.
    var nanoseconds: UInt64 = 0
    var fanOutLimits = FanOut.Limits(queueBytes: limits.queueBytes)
    fanOutLimits.quota = 2
    fanOutLimits.slicesInARow = 2
    fanOutLimits.smallTape = 2
    fanOut = FanOut(limits: fanOutLimits, ring: nil) {
      nanoseconds += 100_000
      return nanoseconds
    }
    load = ShardLoad(uplink: uplink)
    let turn = turn
    fanOut.requestTurn = { turn.isWanted = true }
    shard = Shard(
      loopIndex: index, verifier: SimulatedVerifier(), rules: rules, uplink: uplink, windowBytes: limits.windowBytes,
      reads: limits.reads, requestTimeout: 4000, load: load, fanOut: fanOut, checkExecutor: checks,
      randomness: randomness, clock: { SessionTime(monotonic: clock.now, wall: clock.wall / 1000) },
      atTurnsEnd: { turn.ends.append($0) })
    shard.paceVisitors()
    mailbox = ShardMailbox(
      eventLoop: eventLoop, shard: NIOLoopBound(shard, eventLoop: eventLoop), load: load)
  }

  // MARK: The backbone thread's side

  func add(_ handover: Handover, bytes: Int, share: Int) {
    batch.append(handover)
    batchBytes += bytes
    batchShare += share
  }

  /// Hands over what there is for this event loop.
  ///
  /// - Returns: the bytes, as the gateway's account counts them; nil: there was nothing.
  func handOver() -> (bytes: Int, share: Int)? {
    guard !batch.isEmpty else { return nil }
    mailbox.hand(over: batch, bytes: batchBytes)
    defer { (batch, batchBytes, batchShare) = ([], 0, 0) }
    return (batchBytes, batchShare)
  }

  // MARK: Its own side

  /// Does everything that is due now: checked tokens, what was handed over, the ends of turns, one more slice.
  func run() {
    checks.run()
    eventLoop.run()
    let ends = turn.ends
    turn.ends = []
    for end in ends { end() }
    guard turn.isWanted else { return }
    turn.isWanted = false
    shard.passed()
  }

  func pass(_ milliseconds: Int64) { eventLoop.advanceTime(by: .milliseconds(milliseconds)) }

  /// Whether nothing is left for ``run()``, as far as can be told.
  var isQuiet: Bool {
    batch.isEmpty && !turn.isWanted && turn.ends.isEmpty && checks.isEmpty && !load.isHandoverWaiting
  }
}

/// Runs tasks when it is told to, on the caller's thread.
final class SteppedExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  var isEmpty: Bool { jobs.withLock { $0.isEmpty } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  func run() {
    while true {
      let due = jobs.withLock { jobs in
        defer { jobs = [] }
        return jobs
      }
      if due.isEmpty { return }
      for job in due { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }
}

/// A token is the user's name, and after it the channels that the server subscribes them to.
struct SimulatedVerifier: TokenVerifier {
  func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
    let words = token.split(separator: " ").map(String.init)
    guard let user = words.first else { throw .invalid(reason: "it is empty") }
    var claims = ConnectionClaims(user: user)
    for channel in words.dropFirst() { claims.subscriptions[channel] = SubscriptionGrant() }
    return claims
  }

  func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
    throw .invalid(reason: "nobody has any")
  }
}
