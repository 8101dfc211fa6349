import Wire

/// The broker's end of the link to one gateway.
///
/// States:
/// - open: messages flow. Can transition to: overflowed, departed, open in a new session (hello).
/// - overflowed: the window closed or the pipe was full; nothing is sent any more, and the gateway is told to open a
///   new session, again and again until it does. Can transition to: open (hello), departed.
/// - departed: nothing was heard for the timeout, or the gateway said goodbye. Its interest and presence are gone; what
///   it published stays known for a while, in case it comes back and asks again. Can transition to: open (hello), and is
///   forgotten after as long again.
///
/// A class, because a link is changed several times for each message, and changing a value inside a dictionary takes
/// memory for each of the accesses on the way to it.
final class PeerLink {
  enum State: Equatable {
    case open
    case overflowed
    case departed(since: Int64)
  }

  let gateway: UInt64
  private(set) var session: UInt64
  var state = State.open
  private(set) var nextReceived: UInt64 = 1
  private var nextSent: UInt64 = 0
  private(set) var sentBytes: UInt64 = 0
  private(set) var consumedBytes: UInt64 = 0
  var lastHeard: Int64
  var lastSent: Int64
  /// Its members were announced as gone: when they come back, they are announced again.
  var lostItsMembers = false
  /// The overflow was acted upon: later messages that find it are simply not sent.
  var resetIsSent = false
  /// Channels in whose interest set the gateway stands, or which hold members of it.
  var channels: Set<ChannelName> = []
  private var results = PublishResults()

  init(gateway: UInt64, session: UInt64, now: Int64) {
    self.gateway = gateway
    self.session = session
    lastHeard = now
    lastSent = now
  }

  /// The gateway said hello again: both sides count from the start.
  func reopen(session: UInt64, now: Int64) {
    self.session = session
    state = .open
    resetIsSent = false
    nextReceived = 1
    nextSent = 0
    sentBytes = 0
    consumedBytes = 0
    lastHeard = now
  }

  /// - Returns: false where a number is missing before this one.
  func accept(sequence: UInt64) -> Bool {
    guard sequence == nextReceived else { return false }
    nextReceived += 1
    return true
  }

  /// The header of the next message, if it may be sent; a window that closes overflows the link.
  func header(_ kind: LinkHeader.Kind, bodyBytes: Int, window: UInt64, now: Int64) -> LinkHeader? {
    guard state == .open else { return nil }
    let size = UInt64(LinkHeader.length + bodyBytes)
    guard sentBytes - consumedBytes + size <= window || sentBytes == consumedBytes else {
      state = .overflowed
      return nil
    }
    defer { nextSent += 1 }
    sentBytes += size
    lastSent = now
    return LinkHeader(kind: kind, session: session, sequence: nextSent)
  }

  func consumed(_ bytes: UInt64) {
    // A gateway that claims more than it was sent is wrong or hostile: believe it no further than is possible.
    consumedBytes = min(max(consumedBytes, bytes), sentBytes)
  }

  func remember(_ response: BrokerResponse, for request: UInt64) { results.remember(response, for: request) }
  func forgetResults(before request: UInt64) { results.forget(before: request) }
  func startedPublish(_ request: UInt64) { results.started(request) }
  func result(of request: UInt64) -> PublishResults.Known { results[request] }
}
