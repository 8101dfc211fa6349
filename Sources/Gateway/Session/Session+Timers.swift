import Wire

/// When something is due. `Int64.max`: never.
struct SessionTimers {
  /// Monotonic milliseconds from here on.
  var authenticate = Int64.max
  var ping = Int64.max
  var pong = Int64.max
  var expiry = Int64.max
  var firstPingDelay: Int64 = 0
  /// When the connection's token expires. Seconds since 1970 from here on.
  var expiresAt = Int64.max
  /// When the first subscription expires, or earlier.
  var subscriptionsExpireAt = Int64.max

  /// When the first of the deadlines is due, in monotonic milliseconds; `Int64.max`: never.
  var next: Int64 { min(min(authenticate, ping), min(pong, expiry)) }
}

extension Session {
  mutating func deadlinePassed() {
    switch phase {
    case .awaitingConnect, .refused:
      if time.monotonic >= timers.authenticate { end(.stale) }
    case .connecting:
      // The client has done its part, and the server is late: 3502 is final, and would keep the client from coming
      // back.
      if time.monotonic >= timers.authenticate { end(.serverError) }
    case .live:
      endRest()
      if time.monotonic >= timers.pong { return end(.noPong) }
      endExpired()
      if phase == .live { publishDue() }
      if phase == .live && time.monotonic >= timers.ping { ping() }
    case .leaving: endRest()
    case .closed: break
    }
  }

  /// The next ping counts from when this one was due, unless the loop was so late that two would come at once. Pings go
  /// out while input is held too: a client that hears none takes the server for dead.
  private mutating func ping() {
    let interval = configuration.pingIntervalMilliseconds
    let onTime = saturatingSum(timers.ping, interval)
    timers.ping = onTime > time.monotonic ? onTime : saturatingSum(time.monotonic, interval)
    unansweredPings += 1
    if unansweredPings == 1 { awaitFromClient() }
    send(.serverPing)
  }

  mutating func ponged() {
    guard unansweredPings > 0 else { return end(.badRequest("a pong came without a ping")) }
    unansweredPings -= 1
    awaitFromClient()
  }

  /// Gives the client its time, counted from now, for what it owes: the connect command or a pong. That time does not
  /// run while nobody reads what the client sends.
  mutating func awaitFromClient() {
    if phase == .awaitingConnect {
      timers.authenticate =
        isUnread ? .max : saturatingSum(time.monotonic, configuration.connectTimeoutMilliseconds)
    }
    timers.pong =
      isUnread || unansweredPings == 0
      ? .max : saturatingSum(time.monotonic, configuration.pongTimeoutMilliseconds)
  }
}
