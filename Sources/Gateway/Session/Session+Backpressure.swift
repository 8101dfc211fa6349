import DequeModule
import Wire

/// What a client has read later instead of refused: commands wait in their order until there is room for them.
extension Session {
  /// Reads of many publications that one connection may have asked for and got no answer to: what comes behind them
  /// waits here, where it costs nobody anything.
  ///
  /// ``ReadAdmission`` bounds the bytes that are under way, and what does not fit stands in its line, which all
  /// connections of an event loop share and which has an end. The input is held as soon as one read waits there; but
  /// when it is released, all commands that waited for it are begun in one step, before anybody can hold it again.
  /// Without this bound, each of a few hundred connections could then have as many reads in that line as
  /// `client.max_pending_requests` allows, and fill it for everybody.
  static let maximumReads = 8

  /// Whether a command that needs the broker or a token check may begin now.
  func mayBegin(_ command: ClientCommand) -> Bool {
    guard pending.count < configuration.maximumPendingCommands && !isOutputFull && !isInputHeld && !isResting else {
      return false
    }
    if isCheckingPlace && command.isForClique { return false }
    if ties != nil && waitsForBackend(command) { return false }
    return reads.count < Self.maximumReads || !command.isRead
  }

  /// A command of a client that is connected. One that finds others waiting goes behind them.
  mutating func receivedLive(_ command: ClientCommand) {
    switch command.body {
    // A pong and a `send` are no requests, and never wait: a pong that waited behind others would come too late.
    case .pong, .send: begin(command)
    default:
      if !hasWaiting && !isOutputFull && !isInputHeld && !isResting {
        begin(command)
      } else {
        waiting.append(command)
      }
    }
  }

  /// Begins the commands that wait, as far as there is room for them now.
  mutating func beginWaiting() {
    while phase == .live, let command = waiting.first, mayBegin(command) {
      waiting.removeFirst()
      begin(command)
    }
    // An idle connection holds no memory for what it does not do.
    if !hasWaiting { waiting = [] }
  }

  /// Whether the server reads nothing from the client just now for reasons that are not the client's fault. A client
  /// that does not take its answers has itself to blame.
  var isUnread: Bool { isInputHeld || isDraining || isResting || (hasWaiting && !isOutputFull) }

  // MARK: What the peer takes

  /// Bytes that the peer takes are a sign of life: whoever works its way through what it asked for gets its time for a
  /// pong anew. What was under way when the ping was sent stands in front of it, so that time counts from when nothing
  /// waits any more.
  mutating func peerTook(_ progress: PeerProgress) {
    let last = peerProgress
    peerProgress = progress
    let hasTaken = progress.takenBytes > last?.takenBytes ?? .max
    if unansweredPings > 0, hasTaken, progress.isWaiting || last?.isWaiting == true { awaitFromClient() }
  }

  /// Whether ``SessionInput/peerTook(_:)`` should come before the deadline of this time.
  func wantsProgress(at now: Int64) -> Bool { phase == .live && (timers.ping <= now || timers.pong <= now) }
}

extension ClientCommand {
  /// Whether the command may be answered by many publications.
  fileprivate var isRead: Bool {
    switch body {
    case .history: true
    case .subscribe(let ask): ask.recover || ask.type != 0
    case .rpc(let method, _): method == GeneralCall.mapList.rawValue || method == AccountCall.export.rawValue
    default: false
    }
  }
}

/// How far a peer has come with what was sent to it.
public struct PeerProgress: Sendable, Equatable {
  /// Bytes that it acknowledged since the connection began.
  public var takenBytes: UInt64
  /// Some of what was sent is not acknowledged yet, or not even with the kernel.
  public var isWaiting: Bool

  public init(takenBytes: UInt64, isWaiting: Bool) {
    self.takenBytes = takenBytes
    self.isWaiting = isWaiting
  }
}
